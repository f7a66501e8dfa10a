/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/mapping.h"

#include "topology/levels.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A core on the table: ranks get them round by round, in each round one of every domain. */
typedef struct card {
    uint64_t cpus[SB_CPU_WORDS];
    int node;
    int domain; /* the node or package it is dealt from */
    size_t round;
} card_t;

bool sb_mapping_parse(const char *name, sb_mapping_t *mapping)
{
    static const char *const names[] = {[SB_MAP_CORE] = "core",
                                        [SB_MAP_NUMA] = "numa",
                                        [SB_MAP_SOCKET] = "socket",
                                        [SB_MAP_NONE] = "none"};

    for (size_t i = 0; i < SB_COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *mapping = (sb_mapping_t)i;
            return true;
        }
    }
    return false;
}

static int domain_of(const sb_topology_t *topology, const card_t *card, sb_mapping_t mapping)
{
    int package = sb_level_unit_of(&topology->level[SB_LEVEL_PACKAGE], card->cpus);

    if (mapping == SB_MAP_NUMA)
        return card->node;
    return mapping == SB_MAP_CORE || package < 0 ? 0 : package;
}

/* Cores before this one in the same domain. */
static size_t round_of(const card_t *cards, size_t count, int domain)
{
    size_t round = 0;

    for (size_t i = 0; i < count; i++)
        round += cards[i].domain == domain;
    return round;
}

/* Lays out the allowed cores; returns how many there are. */
static size_t lay_out_cores(card_t *cards, const sb_topology_t *topology, sb_mapping_t mapping)
{
    size_t count = 0;

    for (size_t i = 0; i < topology->cores.count; i++) {
        card_t *card = &cards[count];
        for (size_t word = 0; word < SB_CPU_WORDS; word++)
            card->cpus[word] = topology->cores.units[i].cpus[word] & topology->allowed[word];
        if (sb_cpus_empty(card->cpus))
            continue;
        card->node = sb_topology_node_of(topology, card->cpus);
        card->domain = domain_of(topology, card, mapping);
        card->round = round_of(cards, count, card->domain);
        count++;
    }
    return count;
}

/* Without a topology: the processors of this process. */
static size_t lay_out_processors(card_t *cards, size_t room)
{
    sb_place_t here;
    size_t count = 0;

    sb_place_read(&here, "", NULL);
    for (unsigned processor = 0; processor < SB_CPUS_MOST && count < room; processor++) {
        if (!sb_cpus_has(here.cpus, processor))
            continue;
        sb_cpus_add(cards[count].cpus, processor);
        cards[count].round = count;
        count++;
    }
    return count;
}

static int compare_cards(const void *left, const void *right)
{
    const card_t *a = left;
    const card_t *b = right;

    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    return (a->domain > b->domain) - (a->domain < b->domain);
}

static void deal(sb_place_t *places, size_t ranks, const card_t *cards, size_t count,
                 size_t allowed_cpus)
{
    for (size_t i = 0; i < ranks; i++) {
        const card_t *card = &cards[i % count];
        places[i] = (sb_place_t){.numa_node = card->node,
                                 .local_ranks = (uint32_t)ranks,
                                 .allowed_cpus = (uint32_t)allowed_cpus};
        memcpy(places[i].cpus, card->cpus, sizeof card->cpus);
    }
}

static sb_status_t leave_unbound(sb_place_t *places, size_t ranks, const sb_topology_t *topology,
                                 size_t allowed_cpus)
{
    sb_place_t place = {.local_ranks = (uint32_t)ranks, .allowed_cpus = (uint32_t)allowed_cpus};

    if (topology == NULL)
        sb_place_read(&place, "", NULL);
    else
        memcpy(place.cpus, topology->allowed, sizeof place.cpus);
    place.numa_node = sb_topology_node_of(topology, place.cpus);
    for (size_t i = 0; i < ranks; i++)
        places[i] = place;
    return sb_cpus_empty(place.cpus) ? SB_ERR_UNSUPPORTED : SB_OK;
}

sb_status_t sb_places_map(sb_place_t *places, size_t ranks, const sb_topology_t *topology,
                          sb_mapping_t mapping)
{
    sb_topology_counts_t counts;

    sb_topology_count(topology, &counts);
    if (mapping == SB_MAP_NONE)
        return leave_unbound(places, ranks, topology, counts.allowed_pus);
    card_t *cards = calloc(counts.cores + 1, sizeof cards[0]);
    if (cards == NULL)
        return SB_ERR_MEMORY;
    size_t count = topology == NULL ? lay_out_processors(cards, counts.cores)
                                    : lay_out_cores(cards, topology, mapping);
    qsort(cards, count, sizeof cards[0], compare_cards);
    if (count > 0)
        deal(places, ranks, cards, count, counts.allowed_pus);
    free(cards);
    return count > 0 ? SB_OK : SB_ERR_UNSUPPORTED;
}

bool sb_place_bind(const sb_place_t *place)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (unsigned processor = 0; processor < sb_min(CPU_SETSIZE, SB_CPUS_MOST); processor++) {
        if (sb_cpus_has(place->cpus, processor))
            CPU_SET(processor, &set);
    }
    return sched_setaffinity(0, sizeof set, &set) == 0;
}
