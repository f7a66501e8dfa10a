/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_RINGS_H
#define SB_COLL_REDUCTION_RINGS_H

#include "coll/reduction/workspace.h"

/* An allreduce whose mode of copying in somebody else has chosen, and times. */
sb_status_t sb_reduction_rings_allreduce_as(sb_team_t *team, const sb_reduction_t *reduction,
                                            sb_copy_mode_t mode);

/* A reduce_scatter in windows, of whatever parts. */
sb_status_t sb_reduction_rings_reduce_parts(sb_team_t *team, const sb_reduction_t *reduction);

/* Of two ranks with a processor each: each gives the other `other`, as many bytes as its `own`,
 * which is combined with what it is given. `phases`: all is given before that. */
sb_status_t sb_reduction_rings_swap_parts(sb_team_t *team, const sb_reduction_t *own,
                                          const char *other, bool phases);

/* A reduce_scatter, through rings or by loads. */
sb_status_t sb_reduction_rings_reduce_scatter(sb_team_t *team, const sb_reduction_t *reduction);

/* Whether it may be by loads: of long parts, and two ranks with a processor each that have heaps.
 */
bool sb_reduction_rings_parts_loaded(const sb_team_t *team, const sb_reduction_t *reduction);

/* A scan or an exscan in the rings of the workspace, and its expected time. */
sb_status_t sb_reduction_rings_scan(sb_team_t *team, const sb_reduction_t *reduction,
                                    sb_wanted_t wanted);
double sb_reduction_rings_scan_cost(const sb_shape_t *shape, size_t bytes);

/* Expected times of the others, by who gets a result. */
double sb_reduction_rings_cost_of_all(const sb_shape_t *shape, size_t bytes);
double sb_reduction_rings_cost_of_root(const sb_shape_t *shape, size_t bytes);
double sb_reduction_rings_cost_of_parts(const sb_shape_t *shape, size_t bytes);

/* A ring holds so many windows at least: some are filled while others are read. */
#define SB_RINGS_WINDOWS 4

/* So many bytes are a window alone. */
#define SB_RINGS_ALONE ((size_t)4 << 10)

/* Bytes of the windows of a message that goes round in so many bytes of the rings. */
size_t sb_reduction_rings_window(const sb_team_t *team, const sb_reduction_t *reduction,
                                 size_t span);

/* What the algorithms have in common. */
#define SB_RINGS(algorithm, of, was, call, costs, what)                                            \
    SB_REDUCES(algorithm, call, .name = "rings", .former = was, .collective = of,                  \
               .doc = "Every rank puts its vector into its ring, in windows" what,                 \
               .source = "Sobor; see docs/reductions.md", .prepare = sb_workspace_prepare,         \
               .cost = costs)

#endif
