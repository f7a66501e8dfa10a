/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/topology.h"

#include <stdlib.h>
#include <unistd.h>

void sb_topology_close(sb_topology_t *topology)
{
    if (topology == NULL)
        return;
    for (size_t i = 0; i < SB_LEVELS_MOST; i++)
        free(topology->level[i].units);
    free(topology->cores.units);
    free(topology->nodes);
    free(topology);
}

static size_t online_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (size_t)count : 1;
}

void sb_topology_count(const sb_topology_t *topology, sb_topology_counts_t *counts)
{
    if (topology != NULL) {
        *counts = topology->counts;
        return;
    }
    size_t online = online_processors();
    *counts = (sb_topology_counts_t){1, 1, online, online, online};
}

int sb_topology_node_of(const sb_topology_t *topology, const uint64_t *cpus)
{
    size_t smallest = SIZE_MAX;
    int found = -1;

    if (topology == NULL)
        return 0;
    for (size_t i = 0; !sb_cpus_empty(cpus) && i < topology->counts.numa_nodes; i++) {
        const uint64_t *of_node = topology->nodes[i].cpus;
        if (sb_cpus_inside(cpus, of_node) && sb_cpus_count(of_node) < smallest) {
            smallest = sb_cpus_count(of_node);
            found = (int)i;
        }
    }
    return found;
}

size_t sb_topology_numa_nodes(void)
{
    sb_topology_counts_t counts;

    sb_topology_count(sb_topology_self(), &counts);
    return counts.numa_nodes;
}

static uint64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

uint64_t sb_topology_memory_per_core(void)
{
    const sb_topology_t *topology = sb_topology_self();
    sb_topology_counts_t counts;
    uint64_t memory = 0;

    sb_topology_count(topology, &counts);
    if (topology != NULL)
        memory = topology->memory;
    if (memory == 0)
        memory = physical_memory();
    return memory / sb_max(counts.cores, 1);
}

size_t sb_topology_cache(const sb_topology_t *topology, sb_level_kind_t kind)
{
    return topology != NULL && kind <= SB_LEVEL_L3 ? topology->cache[kind] : 0;
}
