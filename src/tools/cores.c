/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/cores.h"

#include <stdlib.h>

/* The first processor of the core that may be used, or -1. */
static int first_allowed(const sb_topology_t *topology, const uint64_t *cpus, const uint64_t *mine)
{
    for (unsigned cpu = 0; cpu < SB_CPUS_MOST; cpu++) {
        if (sb_cpus_has(cpus, cpu) && sb_cpus_has(topology->allowed, cpu) &&
            (mine == NULL || sb_cpus_has(mine, cpu)))
            return (int)cpu;
    }
    return -1;
}

static void describe_core(const sb_topology_t *topology, const uint64_t *cpus, unsigned cpu,
                          sb_core_t *core)
{
    core->cpu = cpu;
    for (unsigned kind = 0; kind < SB_LEVELS_MOST; kind++)
        core->unit[kind] = sb_level_unit_of(&topology->level[kind], cpus);
    core->unit[SB_LEVEL_NUMA] = sb_topology_node_of(topology, cpus);
}

sb_status_t sb_cores_read(const sb_topology_t *topology, const uint64_t *mine, sb_core_t **cores,
                          size_t *count)
{
    const sb_level_t *all = &topology->cores;

    *count = 0;
    *cores = calloc(sb_max(all->count, 1), sizeof **cores);
    if (*cores == NULL)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < all->count; i++) {
        const uint64_t *cpus = all->units[i].cpus;
        int cpu = first_allowed(topology, cpus, mine);
        if (cpu >= 0)
            describe_core(topology, cpus, (unsigned)cpu, &(*cores)[(*count)++]);
    }
    return SB_OK;
}

sb_level_kind_t sb_cores_level(const sb_core_t *a, const sb_core_t *b)
{
    for (unsigned kind = 0; kind < SB_LEVELS_MOST; kind++) {
        if (a->unit[kind] >= 0 && a->unit[kind] == b->unit[kind])
            return (sb_level_kind_t)kind;
    }
    return SB_LEVEL_TOP;
}
