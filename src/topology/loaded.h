/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_LOADED_H
#define SB_TOPOLOGY_LOADED_H

/* For the files of this folder only: what hides behind sb_topology_t. */

#include "topology/levels.h"

#include <hwloc.h>

struct sb_topology {
    hwloc_topology_t hwloc;
    sb_level_t level[SB_LEVELS_MOST]; /* each kind by itself, whether it is active or not */
};

/* Fills in `level`; false if memory is exhausted. What was found so far is freed with the rest. */
bool sb_topology_find_levels(sb_topology_t *topology);

/* Copies the processors of `bitmap` that fit. */
void sb_cpus_from_hwloc(uint64_t *cpus, hwloc_const_bitmap_t bitmap);

/* Loads `machine`, or the present one if NULL. Returns NULL with errno set. */
sb_topology_t *sb_topology_load(const char *machine);

/* The NUMA node of that logical index, or NULL. */
hwloc_obj_t sb_topology_numa_object(const sb_topology_t *topology, int node);

/* The objects that count as cores: cores, or processors where the machine shows no cores. */
hwloc_obj_type_t sb_topology_core_type(const sb_topology_t *topology);

#endif
