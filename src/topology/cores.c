/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/cores.h"

#include "topology/loaded.h"

#include <stdlib.h>

static const hwloc_obj_type_t caches[] = {
    [SB_LEVEL_L2] = HWLOC_OBJ_L2CACHE,
    [SB_LEVEL_L3] = HWLOC_OBJ_L3CACHE,
};

static int unit_above(const sb_topology_t *topology, hwloc_obj_type_t type, hwloc_obj_t core)
{
    hwloc_obj_t unit = hwloc_get_ancestor_obj_by_type(topology->hwloc, type, core);

    return unit == NULL ? -1 : (int)unit->logical_index;
}

static void describe_core(const sb_topology_t *topology, hwloc_obj_t object, unsigned cpu,
                          sb_core_t *core)
{
    uint64_t cpus[SB_CPU_WORDS] = {0};

    sb_cpus_from_hwloc(cpus, object->cpuset);
    core->cpu = cpu;
    core->unit[SB_LEVEL_L2] = unit_above(topology, HWLOC_OBJ_L2CACHE, object);
    core->unit[SB_LEVEL_L3] = unit_above(topology, HWLOC_OBJ_L3CACHE, object);
    core->unit[SB_LEVEL_NUMA] = sb_topology_node_of(topology, cpus);
    core->unit[SB_LEVEL_PACKAGE] = unit_above(topology, HWLOC_OBJ_PACKAGE, object);
}

sb_status_t sb_cores_read(const sb_topology_t *topology, sb_core_t **cores, size_t *count)
{
    hwloc_topology_t hwloc = topology->hwloc;
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(hwloc);
    hwloc_obj_t object = NULL;
    size_t most = (size_t)hwloc_get_nbobjs_by_type(hwloc, sb_topology_core_type(topology));

    *count = 0;
    *cores = calloc(sb_max(most, 1), sizeof **cores);
    if (*cores == NULL)
        return SB_ERR_MEMORY;
    while ((object = hwloc_get_next_obj_by_type(hwloc, sb_topology_core_type(topology), object)) !=
           NULL) {
        int cpu = hwloc_bitmap_first(object->cpuset);
        while (cpu >= 0 && !hwloc_bitmap_isset(allowed, (unsigned)cpu))
            cpu = hwloc_bitmap_next(object->cpuset, cpu);
        if (cpu >= 0)
            describe_core(topology, object, (unsigned)cpu, &(*cores)[(*count)++]);
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

size_t sb_topology_cache(const sb_topology_t *topology, sb_level_kind_t kind)
{
    hwloc_obj_t cache = NULL;

    if (kind <= SB_LEVEL_L3)
        cache = hwloc_get_obj_by_type(topology->hwloc, caches[kind], 0);
    return cache == NULL ? 0 : (size_t)cache->attr->cache.size;
}

bool sb_topology_describe(const sb_topology_t *topology, char *text, size_t size)
{
    int length = hwloc_topology_export_synthetic(topology->hwloc, text, size, 0);

    return length > 0 && (size_t)length < size;
}

sb_status_t sb_topology_save(const sb_topology_t *topology, const char *path)
{
    return hwloc_topology_export_xml(topology->hwloc, path, 0) == 0 ? SB_OK : SB_ERR_SYSTEM;
}
