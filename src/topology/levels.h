/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_LEVELS_H
#define SB_TOPOLOGY_LEVELS_H

#include "topology/topology.h"

/*
 * The active levels of a machine: those of L2 cache, L3 cache, NUMA node and package whose units
 * are shared by two or more cores. Of levels with the same units one stays: the NUMA nodes if they
 * are among them, else the lowest.
 */
#define SB_LEVEL_BIT(kind) (1U << (kind))
#define SB_LEVELS_ALL (SB_LEVEL_BIT(SB_LEVELS_MOST) - 1)

/* From the lowest level, with the smallest units, up. */
typedef struct sb_levels {
    size_t count;
    sb_level_t level[SB_LEVELS_MOST];
} sb_levels_t;

/*
 * The active levels among `kinds`, a set of SB_LEVEL_BIT; their units are the topology's. Without a
 * topology there are none. They are the same for every process of a node.
 */
void sb_levels_read(sb_levels_t *levels, const sb_topology_t *topology, unsigned kinds);

/*
 * Index of the unit that holds all of `cpus`, or -1: a rank bound to more than one unit has no
 * place at this level.
 */
int sb_level_unit_of(const sb_level_t *level, const uint64_t *cpus);

/* "l2", "l3", "numa", "package", "top". */
const char *sb_level_name(sb_level_kind_t kind);

/*
 * Reads names separated by commas or pluses, such as "numa,package" ("socket" is a package), as a
 * set of SB_LEVEL_BIT. Returns false if one of them is no level.
 */
bool sb_levels_parse(const char *names, unsigned *kinds);

#endif
