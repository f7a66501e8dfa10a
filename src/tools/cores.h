/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_CORES_H
#define SB_TOOLS_CORES_H

#include "topology/levels.h"

/*
 * Every core of a machine with the units that it is in, all levels of them, whether or not groups
 * are made of them. For those who measure or model a machine.
 */
typedef struct sb_core {
    unsigned cpu;             /* its first processor of those, in the system's numbering */
    int unit[SB_LEVELS_MOST]; /* by sb_level_kind_t: logical index of the unit; -1: in none */
} sb_core_t;

/*
 * Lists the cores in the order of the machine, an array that the caller frees; cores without a
 * processor that the control group allows and that is in `mine` (NULL: all are) are left out.
 * SB_ERR_MEMORY, or SB_OK.
 */
sb_status_t sb_cores_read(const sb_topology_t *topology, const uint64_t *mine, sb_core_t **cores,
                          size_t *count);

/* The closest level that has both in one unit; SB_LEVEL_TOP: none but the machine. */
sb_level_kind_t sb_cores_level(const sb_core_t *a, const sb_core_t *b);

#endif
