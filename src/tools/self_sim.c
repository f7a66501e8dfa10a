/* SPDX-License-Identifier: BSD-3-Clause */
/* What speaks of this process, for ranks on the simulated machine. */
#include "tools/self_sim.h"

#include "machine/sim/engine.h"

#include <string.h>

static const sb_topology_t *simulated;
static const sb_place_t *simulated_places;

void sb_topology_simulate(const sb_topology_t *topology, const sb_place_t *places)
{
    simulated = topology;
    simulated_places = places;
}

const sb_topology_t *sb_topology_self(void)
{
    return simulated;
}

void sb_place_self(sb_place_t *place)
{
    *place = simulated_places[sb_sim_rank()];
}

/* The engine knows the owner's wish from when the memory was taken. */
sb_status_t sb_topology_prefer(void *address, size_t bytes, int numa_node)
{
    (void)address;
    (void)bytes;
    (void)numa_node;
    return SB_OK;
}

sb_status_t sb_topology_pages(const void *address, size_t bytes, size_t *counts, size_t nodes,
                              size_t *elsewhere)
{
    memset(counts, 0, nodes * sizeof counts[0]);
    *elsewhere = 0;
    for (size_t at = 0; at < bytes; at += SB_PAGE) {
        int node = sb_sim_numa_of((const char *)address + at);
        if (node >= 0 && (size_t)node < nodes)
            counts[node]++;
        else
            (*elsewhere)++;
    }
    return SB_OK;
}
