/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/loaded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sb_cpus_from_hwloc(uint64_t *cpus, hwloc_const_bitmap_t bitmap)
{
    int processor;

    memset(cpus, 0, SB_CPU_WORDS * sizeof cpus[0]);
    for (processor = hwloc_bitmap_first(bitmap); processor >= 0 && processor < SB_CPUS_MOST;
         processor = hwloc_bitmap_next(bitmap, processor))
        sb_cpus_add(cpus, (unsigned)processor);
}

hwloc_obj_type_t sb_topology_core_type(const sb_topology_t *topology)
{
    return hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE
                                                                         : HWLOC_OBJ_PU;
}

/* Only what levels are made of. Groups stay, because NUMA nodes may hang on them. */
static void choose_types(hwloc_topology_t hwloc)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE,
                                             HWLOC_OBJ_L2CACHE, HWLOC_OBJ_CORE};

    hwloc_topology_set_all_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < SB_COUNT_OF(types); i++)
        hwloc_topology_set_type_filter(hwloc, types[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
}

/*
 * Processors that a control group forbids are kept, so that all ranks of a node see one machine and
 * number its units alike, whatever their groups. The other flags save time, and keep hwloc from
 * moving this thread over all processors; the hwloc at run time may be too old to know them.
 */
static void choose_flags(hwloc_topology_t hwloc)
{
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
    unsigned long stay = 0;
    unsigned long less = 0;

#if HWLOC_API_VERSION >= 0x20500
    stay = HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
#if HWLOC_API_VERSION >= 0x20800
    less = HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
           HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    if (hwloc_topology_set_flags(hwloc, flags | stay | less) != 0 &&
        hwloc_topology_set_flags(hwloc, flags | stay) != 0)
        hwloc_topology_set_flags(hwloc, flags);
}

static bool is_file_name(const char *machine)
{
    size_t length = strlen(machine);

    return strchr(machine, '/') != NULL ||
           (length > 4 && strcmp(machine + length - 4, ".xml") == 0);
}

/* hwloc wants processors named; a description that ends with cores has one in each. */
static int set_synthetic(hwloc_topology_t hwloc, const char *machine)
{
    char text[4096];
    const char *last = strrchr(machine, ' ');

    if (last == NULL || strncmp(last + 1, "core:", 5) != 0)
        return hwloc_topology_set_synthetic(hwloc, machine);
    int length = snprintf(text, sizeof text, "%s pu:1", machine);
    return length < (int)sizeof text ? hwloc_topology_set_synthetic(hwloc, text) : -1;
}

static int choose_source(hwloc_topology_t hwloc, const char *machine)
{
    if (machine == NULL)
        return 0;
    return is_file_name(machine) ? hwloc_topology_set_xml(hwloc, machine)
                                 : set_synthetic(hwloc, machine);
}

sb_topology_t *sb_topology_load(const char *machine)
{
    sb_topology_t *topology = calloc(1, sizeof *topology);

    if (topology == NULL)
        return NULL;
    if (hwloc_topology_init(&topology->hwloc) != 0) {
        free(topology);
        return NULL;
    }
    choose_types(topology->hwloc);
    choose_flags(topology->hwloc);
    errno = EINVAL;
    if (choose_source(topology->hwloc, machine) != 0 || hwloc_topology_load(topology->hwloc) != 0) {
        int error = errno;
        sb_topology_close(topology);
        errno = error;
        return NULL;
    }
    if (!sb_topology_find_levels(topology)) {
        sb_topology_close(topology);
        errno = ENOMEM;
        return NULL;
    }
    return topology;
}

sb_topology_t *sb_topology_open(const char *machine, char *error, size_t size)
{
    sb_topology_t *topology = sb_topology_load(machine);

    if (topology != NULL)
        return topology;
    if (is_file_name(machine))
        snprintf(error, size, "%s: expected an hwloc XML file: %s", machine,
                 access(machine, R_OK) != 0 ? strerror(errno) : "the file could not be understood");
    else
        snprintf(error, size,
                 "expected an hwloc XML file or a synthetic description such as "
                 "\"package:2 numa:2 core:8 pu:1\", found \"%s\"",
                 machine);
    return NULL;
}

void sb_topology_close(sb_topology_t *topology)
{
    if (topology == NULL)
        return;
    for (size_t i = 0; i < SB_LEVELS_MOST; i++)
        free(topology->level[i].units);
    hwloc_topology_destroy(topology->hwloc);
    free(topology);
}

static size_t count_type(const sb_topology_t *topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology->hwloc, type);

    return count > 0 ? (size_t)count : 0;
}

static size_t online_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (size_t)count : 1;
}

void sb_topology_count(const sb_topology_t *topology, sb_topology_counts_t *counts)
{
    if (topology == NULL) {
        size_t online = online_processors();
        *counts = (sb_topology_counts_t){1, 1, online, online, online};
        return;
    }
    int allowed = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology->hwloc));
    *counts = (sb_topology_counts_t){
        .packages = count_type(topology, HWLOC_OBJ_PACKAGE),
        .numa_nodes = sb_max(count_type(topology, HWLOC_OBJ_NUMANODE), 1),
        .cores = count_type(topology, sb_topology_core_type(topology)),
        .pus = count_type(topology, HWLOC_OBJ_PU),
        .allowed_pus = allowed > 0 ? (size_t)allowed : 0,
    };
}

const char *sb_topology_model(const sb_topology_t *topology)
{
    hwloc_obj_t package = NULL;

    if (topology != NULL)
        package = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, 0);
    return package == NULL ? NULL : hwloc_obj_get_info_by_name(package, "CPUModel");
}

void sb_topology_allowed(const sb_topology_t *topology, uint64_t *cpus)
{
    memset(cpus, 0, SB_CPU_WORDS * sizeof cpus[0]);
    if (topology != NULL)
        sb_cpus_from_hwloc(cpus, hwloc_topology_get_allowed_cpuset(topology->hwloc));
}

hwloc_obj_t sb_topology_numa_object(const sb_topology_t *topology, int node)
{
    if (node < 0)
        return NULL;
    return hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)node);
}

int sb_topology_node_of(const sb_topology_t *topology, const uint64_t *cpus)
{
    uint64_t node_cpus[SB_CPU_WORDS];
    size_t smallest = SIZE_MAX;
    int found = -1;
    hwloc_obj_t node;

    if (topology == NULL)
        return 0;
    for (int i = 0; (node = sb_topology_numa_object(topology, i)) != NULL; i++) {
        sb_cpus_from_hwloc(node_cpus, node->cpuset);
        size_t size = sb_cpus_count(node_cpus);
        if (!sb_cpus_empty(cpus) && sb_cpus_inside(cpus, node_cpus) && size < smallest) {
            smallest = size;
            found = i;
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
        memory = hwloc_get_root_obj(topology->hwloc)->total_memory;
    if (memory == 0)
        memory = physical_memory();
    return memory / sb_max(counts.cores, 1);
}

size_t sb_topology_core_cache(void)
{
    const sb_topology_t *topology = sb_topology_self();
    hwloc_obj_t cache = NULL;

    if (topology != NULL)
        cache = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_L2CACHE, 0);
    return cache == NULL ? 0 : (size_t)cache->attr->cache.size;
}
