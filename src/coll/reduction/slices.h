/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_SLICES_H
#define SB_COLL_REDUCTION_SLICES_H

#include "coll/reduction/workspace.h"

/*
 * Reductions in slices: windows of the message go through the workspace. In each step every rank
 * copies a window of its contribution in, combines its slice of the window before, and copies out
 * what it wants of the one before that; so all three go on at the same time. A contribution that
 * the others can read where it is (SOBOR_HEAP) need not be copied in, nor a result copied out of
 * the workspace, see placed.h.
 */

/* A barrier takes as long as so many bytes that are copied in, combined and copied out. */
#define SB_SLICES_BARRIER 10000.0

/* Shorter slices of groups are given to fewer ranks. */
#define SB_SLICE_LEAST ((size_t)512)

static inline uint32_t sb_group_size(const sb_workspace_t *space, uint32_t group)
{
    return space->first[group + 1] - space->first[group];
}

/* Bytes of a window, whole elements, `most` at most. */
size_t sb_slices_window(const sb_team_t *team, const sb_reduction_t *reduction, uint32_t groups,
                        size_t most);

/* `all`: every rank wants everything, and what groups have in common is brought near once. `mode`:
 * how contributions come, see ways.h; SB_COPY_ANY: it is chosen here. */
sb_status_t sb_slices_reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                             bool all, sb_copy_mode_t mode);

/* This rank gets the combination of the ranks below `sources`. */
sb_status_t sb_slices_scan(sb_team_t *team, const sb_reduction_t *reduction, uint32_t sources);

/* Expected time where each rank copies `out` bytes out. */
double sb_slices_cost(const sb_shape_t *shape, size_t bytes, double out);

#endif
