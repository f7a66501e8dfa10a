/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/build.h"
#include "base/config.h"
#include "segment/arena.h"
#include "segment/process.h"
#include "team/hello.h"
#include "team/hierarchy.h"

#include <string.h>

#define MAGIC 0x6f6c6c65726f6273u /* "sborello" */

sb_refusal_t sb_greetings_judge(const sb_greeting_t *first, const sb_greeting_t *other)
{
    if (other->magic != MAGIC || other->build != first->build)
        return SB_REFUSAL_FOREIGN;
    if (!other->enabled)
        return SB_REFUSAL_DISABLED;
    return other->node == first->node ? SB_REFUSAL_NONE : SB_REFUSAL_NODES;
}

void sb_profile_self(sb_profile_t *profile)
{
    *profile = (sb_profile_t){.greeting = {.magic = MAGIC,
                                           .build = sb_build_id(),
                                           .node = sb_process_node(),
                                           .enabled = sb_config()->enabled.number != 0}};
    sb_place_self(&profile->place);
    sb_settings_self(&profile->settings);
}

/* Laps of a ring's near part, a quarter of a core's cache. Where whole rings help they save a tenth
 * of a message; to have them takes as long as twenty messages or more. */
#define RING_LAPS 64

#define RING_LEAST ((size_t)512 << 10)
#define RING_MOST ((size_t)4 << 20)
#define PART_OF_MEMORY 8

/*
 * A ring of twice the core's cache has its oldest half in the shared cache by the time it is filled
 * again. Writing there, and reading from there, is faster than passing lines between the private
 * caches of two cores.
 */
static size_t ring_bytes(const sb_config_t *config)
{
    if (config->ring.number != 0)
        return (size_t)config->ring.number;
    return sb_min(sb_max(2 * sb_topology_cache(sb_topology_self(), SB_LEVEL_L2), RING_LEAST),
                  RING_MOST);
}

/*
 * What comes over a network has room for whole messages, so that a rank that is late does not hold
 * up those that are there. But no communicator takes much of what a rank may own.
 */
static size_t ring_of_nodes(const sb_config_t *config)
{
    if (config->ring.number != 0)
        return (size_t)config->ring.number;
    return sb_max(sb_min(sb_arena_bound() / PART_OF_MEMORY, RING_MOST), ring_bytes(config));
}

/* What SOBOR_<COLLECTIVE>_ALGORITHM says, for each. Of every team that is made, so without printf:
 * the settings are zero. */
static void name_algorithms(sb_settings_t *settings, const sb_config_t *config)
{
    const char *const wishes[] = {
#define SB_WISH(enumerator, name, function) config->name##_algorithm.text,
        SB_EACH_COLLECTIVE(SB_WISH)
#undef SB_WISH
    };

    for (uint32_t c = 0; c < SB_COLLECTIVES; c++)
        memcpy(settings->algorithm[c], wishes[c], strnlen(wishes[c], SB_NAME_BYTES - 1));
}

/* The levels that the barrier asked for goes by; all, where it names none. */
static uint32_t wished_levels(const char *algorithm)
{
    unsigned levels;

    return sb_hierarchy_named(algorithm, &levels) ? levels : SB_LEVELS_ALL;
}

/* NULL: those that are built in. Set before there is a team, or a second thread. */
static const sb_prices_t *own_prices;

void sb_settings_price(const sb_prices_t *prices)
{
    own_prices = prices;
}

/* Prices that are the same on every machine are those of no processor. */
static uint32_t own_processor(const sb_config_t *config)
{
    const sb_topology_t *topology = sb_topology_self();
    bool counts = topology != NULL && config->prices.number == SB_PRICES_AUTO;

    return counts ? topology->processor : SB_PROCESSOR_OTHER;
}

void sb_settings_self(sb_settings_t *settings)
{
    const sb_config_t *config = sb_config();

    *settings = (sb_settings_t){
        .ring_bytes = ring_bytes(config),
        .ring_of_nodes = ring_of_nodes(config),
        .fragment_bytes = config->fragment.number,
        .tree_arity = config->tree_arity.number < 1 ? 1 : (uint32_t)config->tree_arity.number,
        .barrier_arity = (uint32_t)config->barrier_arity.number,
        .levels = wished_levels(config->barrier_algorithm.text),
        .segment = (uint32_t)config->segment.number,
        .stores = (uint32_t)config->stores.number,
        .bcast_tree = (uint32_t)config->bcast_tree.number,
        .bcast_slots = (uint32_t)sb_min(config->bcast_slots.number, UINT32_MAX),
        .bcast_sets = (uint32_t)sb_min(config->bcast_sets.number, UINT32_MAX),
        .cma = (uint32_t)config->cma.number,
        .queue_slots = (uint32_t)sb_min(config->queue_slots.number, UINT32_MAX),
        .queue_sets = (uint32_t)sb_min(config->queue_sets.number, UINT32_MAX),
        .queue_fragment = config->queue_fragment.number,
        .trials = (uint32_t)config->trials.number,
        .trial_rest = (uint32_t)config->trial_rest.number,
        .reproducible = (uint32_t)config->reproducible.number,
        .loads = config->heap.number != 0 ? (uint32_t)config->heap_least.number : 0,
        .collectives = sb_collectives_among(config->collectives.text),
        .bcast_form = (uint32_t)config->cluster_bcast.number,
        .bcast_rdaas = (uint32_t)config->cluster_bcast_rdaas.number,
        .scatter_by = (uint32_t)config->cluster_scatter.number,
        .pings = (uint32_t)config->network_pings.number,
        .processor = own_processor(config),
        .grows = sb_arena_pages_cost() ? RING_LAPS : 0,
        .bcast_short = config->cluster_bcast_short.number,
        .bcast_long = config->cluster_bcast_long.number,
        .prices = own_prices == NULL ? sb_prices_standard : *own_prices,
    };
    name_algorithms(settings, config);
}
