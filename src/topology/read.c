/* SPDX-License-Identifier: BSD-3-Clause */
/* All that is done by hwloc: a machine is read, and then known as plain data. */
#include "topology/read.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const hwloc_obj_type_t types[SB_LEVELS_MOST] = {
    [SB_LEVEL_L2] = HWLOC_OBJ_L2CACHE,
    [SB_LEVEL_L3] = HWLOC_OBJ_L3CACHE,
    [SB_LEVEL_NUMA] = HWLOC_OBJ_NUMANODE,
    [SB_LEVEL_PACKAGE] = HWLOC_OBJ_PACKAGE,
};

/* Only what levels are made of. Groups stay, because NUMA nodes may hang on them. */
static void choose_types(hwloc_topology_t hwloc)
{
    hwloc_topology_set_all_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < SB_COUNT_OF(types); i++)
        hwloc_topology_set_type_filter(hwloc, types[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
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

bool sb_topology_is_file(const char *machine)
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
    return sb_topology_is_file(machine) ? hwloc_topology_set_xml(hwloc, machine)
                                        : set_synthetic(hwloc, machine);
}

/*
 * With the first topology of a process hwloc loads its plug-ins, for devices and the like: 2 ms and
 * 3 MB for what is not looked at here. Only a variable keeps it from that. The environment is left
 * alone, since other threads may be reading it: a copy with that variable in front takes its place
 * meanwhile, and is kept for whoever still reads it. If a thread sets a new variable just then, it
 * has made a copy of its own, which stays; and if one has changed the copy, that stays, without the
 * variable. hwloc forgets with the last topology that is closed, so the
 * program's own have their plug-ins; and those that it has loaded already are not touched.
 */
static int init_without_plugins(hwloc_topology_t *hwloc)
{
    static char no_folder[] = "HWLOC_PLUGINS_PATH=/dev/null";
    static char **newest;
    char **whole = environ;
    size_t count = 1;

    while (whole != NULL && whole[count - 1] != NULL)
        count++;
    char **kept = calloc(count + 2, sizeof *kept);
    if (kept == NULL)
        return -1;
    /* Each holds the one before it: what looks for lost memory finds them all. Relaxed: nobody
     * reads them by this. */
    kept[count + 1] = (char *)__atomic_exchange_n(&newest, kept, __ATOMIC_RELAXED);
    kept[0] = no_folder;
    for (size_t i = 1; i < count; i++)
        kept[i] = whole[i - 1];
    environ = kept;
    int result = hwloc_topology_init(hwloc);
    bool changed = count > 1 && memcmp(kept + 1, whole, (count - 1) * sizeof *kept) != 0;
    char **ours = kept;
    /* Relaxed: what environ points to has not changed since it was there before. */
    __atomic_compare_exchange_n(&environ, &ours, changed ? kept + 1 : whole, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return result;
}

/* Returns NULL with errno set. */
static hwloc_topology_t load(const char *machine, int (*init)(hwloc_topology_t *hwloc))
{
    hwloc_topology_t hwloc;

    if (init(&hwloc) != 0)
        return NULL;
    choose_types(hwloc);
    choose_flags(hwloc);
    errno = EINVAL;
    if (choose_source(hwloc, machine) == 0 && hwloc_topology_load(hwloc) == 0)
        return hwloc;
    int error = errno;
    hwloc_topology_destroy(hwloc);
    errno = error;
    return NULL;
}

/* Copies the processors that fit. */
static void copy_cpus(uint64_t *cpus, hwloc_const_bitmap_t bitmap)
{
    int processor;

    for (processor = hwloc_bitmap_first(bitmap); processor >= 0 && processor < SB_CPUS_MOST;
         processor = hwloc_bitmap_next(bitmap, processor))
        sb_cpus_add(cpus, (unsigned)processor);
}

static size_t count_type(hwloc_topology_t hwloc, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(hwloc, type);

    return count > 0 ? (size_t)count : 0;
}

/* The objects that count as cores: cores, or processors where the machine shows no cores. */
static hwloc_obj_type_t core_type(hwloc_topology_t hwloc)
{
    return count_type(hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/*
 * Memory without processors of its own, or with all the processors of other nodes, makes no unit:
 * of nested or equal units the first stays, and hwloc lists inner nodes before outer ones.
 */
static bool makes_unit(const sb_level_t *level, const uint64_t *cpus)
{
    for (size_t i = 0; level->kind == SB_LEVEL_NUMA && i < level->count; i++) {
        if (sb_cpus_inside(level->units[i].cpus, cpus))
            return false;
    }
    return !sb_cpus_empty(cpus);
}

static bool read_units(sb_level_t *level, hwloc_topology_t hwloc, hwloc_obj_type_t type)
{
    size_t count = count_type(hwloc, type);

    if (count == 0)
        return true;
    level->units = calloc(count, sizeof level->units[0]);
    if (level->units == NULL)
        return false;
    for (unsigned i = 0; i < count; i++) {
        sb_unit_t unit = {.cores = 0};
        copy_cpus(unit.cpus, hwloc_get_obj_by_type(hwloc, type, i)->cpuset);
        if (makes_unit(level, unit.cpus))
            level->units[level->count++] = unit;
    }
    return true;
}

static void count_cores(sb_level_t *level, const sb_level_t *cores)
{
    for (size_t i = 0; i < level->count; i++) {
        sb_unit_t *unit = &level->units[i];
        for (size_t core = 0; core < cores->count; core++)
            unit->cores += sb_cpus_inside(cores->units[core].cpus, unit->cpus);
        level->cores_per_unit = sb_max(level->cores_per_unit, unit->cores);
    }
}

static bool read_levels(sb_topology_t *topology, hwloc_topology_t hwloc)
{
    topology->cores.kind = SB_LEVEL_TOP;
    if (!read_units(&topology->cores, hwloc, core_type(hwloc)))
        return false;
    for (unsigned kind = 0; kind < SB_LEVELS_MOST; kind++) {
        topology->level[kind].kind = kind;
        if (!read_units(&topology->level[kind], hwloc, types[kind]))
            return false;
        count_cores(&topology->level[kind], &topology->cores);
    }
    return true;
}

static bool read_nodes(sb_topology_t *topology, hwloc_topology_t hwloc)
{
    hwloc_obj_t node = NULL;

    topology->nodes = calloc(topology->counts.numa_nodes, sizeof topology->nodes[0]);
    if (topology->nodes == NULL)
        return false;
    while ((node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        topology->nodes[node->logical_index].os_index = node->os_index;
        copy_cpus(topology->nodes[node->logical_index].cpus, node->cpuset);
    }
    return true;
}

static void count_all(sb_topology_t *topology, hwloc_topology_t hwloc)
{
    int allowed = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(hwloc));

    topology->counts = (sb_topology_counts_t){
        .packages = count_type(hwloc, HWLOC_OBJ_PACKAGE),
        .numa_nodes = sb_max(count_type(hwloc, HWLOC_OBJ_NUMANODE), 1),
        .cores = count_type(hwloc, core_type(hwloc)),
        .pus = count_type(hwloc, HWLOC_OBJ_PU),
        .allowed_pus = allowed > 0 ? (size_t)allowed : 0,
    };
}

static const char *info_of(hwloc_obj_t package, const char *name)
{
    return package == NULL ? NULL : hwloc_obj_get_info_by_name(package, name);
}

static sb_processor_t processor_of(hwloc_obj_t package)
{
    const char *implementer = info_of(package, "CPUImplementer");

    if (implementer != NULL)
        return sb_processor_find(implementer, info_of(package, "CPUPart"), NULL);
    return sb_processor_find(info_of(package, "CPUVendor"), info_of(package, "CPUFamilyNumber"),
                             info_of(package, "CPUModelNumber"));
}

/* Arm's processors have no names, but numbers that tell them apart. */
static void name_model(sb_topology_t *topology, hwloc_obj_t package)
{
    const char *model = info_of(package, "CPUModel"), *part = info_of(package, "CPUPart");
    const char *implementer = info_of(package, "CPUImplementer");

    if (model != NULL)
        snprintf(topology->model, sizeof topology->model, "%s", model);
    else if (implementer != NULL && part != NULL)
        snprintf(topology->model, sizeof topology->model, "implementer %.40s, part %.40s",
                 implementer, part);
}

static void read_rest(sb_topology_t *topology, hwloc_topology_t hwloc)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, 0);

    name_model(topology, package);
    topology->processor = processor_of(package);
    copy_cpus(topology->cpus, hwloc_topology_get_topology_cpuset(hwloc));
    copy_cpus(topology->allowed, hwloc_topology_get_allowed_cpuset(hwloc));
    topology->here = hwloc_topology_is_thissystem(hwloc) == 1;
    topology->memory = hwloc_get_root_obj(hwloc)->total_memory;
    for (unsigned kind = SB_LEVEL_L2; kind <= SB_LEVEL_L3; kind++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(hwloc, types[kind], 0);
        topology->cache[kind] = cache == NULL ? 0 : (size_t)cache->attr->cache.size;
    }
}

sb_topology_t *sb_topology_read(const char *machine)
{
    sb_topology_t *topology = calloc(1, sizeof *topology);
    bool file = machine != NULL && sb_topology_is_file(machine);
    hwloc_topology_t hwloc =
        topology == NULL ? NULL : load(machine, file ? hwloc_topology_init : init_without_plugins);

    if (hwloc == NULL) {
        free(topology);
        return NULL;
    }
    count_all(topology, hwloc);
    read_rest(topology, hwloc);
    bool complete = read_nodes(topology, hwloc) && read_levels(topology, hwloc);
    hwloc_topology_destroy(hwloc);
    if (complete)
        return topology;
    sb_topology_close(topology);
    errno = ENOMEM;
    return NULL;
}

bool sb_topology_describe(const char *machine, char *text, size_t size)
{
    hwloc_topology_t hwloc = load(machine, hwloc_topology_init);
    int length = hwloc == NULL ? 0 : hwloc_topology_export_synthetic(hwloc, text, size, 0);

    if (hwloc != NULL)
        hwloc_topology_destroy(hwloc);
    return length > 0 && (size_t)length < size;
}

sb_status_t sb_topology_save(const char *machine, const char *path)
{
    hwloc_topology_t hwloc = load(machine, hwloc_topology_init);
    int result = hwloc == NULL ? -1 : hwloc_topology_export_xml(hwloc, path, 0);

    if (hwloc != NULL)
        hwloc_topology_destroy(hwloc);
    return result == 0 ? SB_OK : SB_ERR_SYSTEM;
}
