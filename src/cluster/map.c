/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/map.h"

#include <stdlib.h>
#include <string.h>

typedef struct resident {
    uint64_t name;
    uint32_t rank;
    bool alone;
} resident_t;

static int by_name(const void *left, const void *right)
{
    const resident_t *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* For each rank the lowest of its node. */
static void find_firsts(resident_t *resident, uint32_t ranks, uint32_t *first)
{
    const resident_t *lowest = NULL;

    qsort(resident, ranks, sizeof *resident, by_name);
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t rank = resident[i].rank;
        first[rank] = rank;
        if (resident[i].alone)
            continue;
        if (lowest == NULL || lowest->name != resident[i].name)
            lowest = &resident[i];
        first[rank] = lowest->rank;
    }
}

/* `first` becomes the number of the node; begin[node + 1] counts its ranks. */
static void number_nodes(sb_map_t *map, uint32_t *first)
{
    for (uint32_t rank = 0; rank < map->ranks; rank++) {
        uint32_t node = first[rank] == rank ? map->nodes++ : map->node_of[first[rank]];
        map->node_of[rank] = node;
        map->local_of[rank] = map->begin[node + 1]++;
    }
    for (uint32_t node = 0; node < map->nodes; node++)
        map->begin[node + 1] += map->begin[node];
    map->smallest = map->ranks;
    for (uint32_t node = 0; node < map->nodes; node++)
        map->smallest = (uint32_t)sb_min(map->smallest, sb_map_size(map, node));
}

static void list_members(sb_map_t *map)
{
    for (uint32_t rank = 0; rank < map->ranks; rank++)
        map->member[map->begin[map->node_of[rank]] + map->local_of[rank]] = rank;
    map->contiguous = true;
    for (uint32_t i = 1; i < map->ranks; i++)
        map->contiguous = map->contiguous && map->member[i] == map->member[i - 1] + 1;
}

sb_status_t sb_map_make(sb_map_t *map, const uint64_t *name, const bool *alone, uint32_t ranks)
{
    resident_t *resident = calloc(ranks, sizeof *resident);
    uint32_t *first = calloc(ranks, sizeof *first);

    *map = (sb_map_t){.ranks = ranks};
    map->node_of = calloc(ranks, sizeof *map->node_of);
    map->local_of = calloc(ranks, sizeof *map->local_of);
    map->begin = calloc((size_t)ranks + 1, sizeof *map->begin);
    map->member = calloc(ranks, sizeof *map->member);
    bool there = resident != NULL && first != NULL && map->node_of != NULL &&
                 map->local_of != NULL && map->begin != NULL && map->member != NULL;
    for (uint32_t rank = 0; there && rank < ranks; rank++)
        resident[rank] = (resident_t){name[rank], rank, alone != NULL && alone[rank]};
    if (there) {
        find_firsts(resident, ranks, first);
        number_nodes(map, first);
        list_members(map);
    } else {
        sb_map_free(map);
    }
    free(resident);
    free(first);
    return there ? SB_OK : SB_ERR_MEMORY;
}

void sb_map_free(sb_map_t *map)
{
    free(map->node_of);
    free(map->local_of);
    free(map->begin);
    free(map->member);
    *map = (sb_map_t){0};
}
