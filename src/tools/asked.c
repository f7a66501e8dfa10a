/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/asked.h"

#include "select/tuning.h"
#include "tools/machines.h"

/* What a shape says of the hierarchy of its ranks. */
static sb_status_t group(sb_shape_t *shape, unsigned kinds, const sb_topology_t *topology,
                         const sb_place_t *places)
{
    sb_levels_t levels;
    sb_groups_t groups;

    sb_levels_read(&levels, topology, kinds);
    sb_status_t status = sb_groups_build(&groups, topology, &levels, places, shape->ranks);
    shape->ungrouped = groups.refusal;
    shape->stages = (uint32_t)groups.count;
    for (size_t i = 0; i < groups.count; i++)
        shape->fan[i] = (uint32_t)sb_stage_largest(&groups.stage[i]);
    shape->apart = groups.count > 1 && groups.stage[groups.count - 1].kind == SB_LEVEL_TOP;
    sb_groups_free(&groups);
    return status == SB_ERR_MEMORY ? status : SB_OK;
}

/* This machine's, as far as settings let it count; another one's. */
static sb_processor_t processor_of(const sb_settings_t *settings, const sb_topology_t *topology)
{
    return topology == sb_topology_self() ? (sb_processor_t)settings->processor
                                          : topology->processor;
}

sb_status_t sb_asked_shape(sb_shape_t *shape, const sb_settings_t *settings,
                           const sb_topology_t *topology, const sb_place_t *places, uint32_t ranks)
{
    *shape = (sb_shape_t){
        .prices = &settings->prices,
        .processor = processor_of(settings, topology),
        .ranks = ranks,
        .oversubscribed = sb_places_oversubscribed(places, ranks),
        .processors = (uint32_t)sb_places_processors(places, ranks),
        .tree_arity = settings->tree_arity,
        .barrier_arity = settings->barrier_arity,
        .ring_bytes = (size_t)settings->ring_bytes,
        .loads = settings->loads,
    };
    return group(shape, settings->levels, topology, places);
}

void sb_asked_rules(sb_settings_t *settings, const sb_shape_t *shape, sb_rules_t *room)
{
    const sb_rules_t *rules = sb_tuning_self();

    settings->rules = NULL;
    if (rules == NULL)
        return;
    *room = *rules;
    sb_rules_keep(room, shape->ranks, shape->oversubscribed);
    settings->rules = room;
}
