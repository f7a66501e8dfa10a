/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_HALVES_H
#define SB_COLL_REDUCTION_HALVES_H

#include "coll/reduction/workspace.h"

/* An allreduce of two ranks of which each combines one half, see halves.c; or as long ones go, see
 * ways.h. The order of combination is that of ranks in each of them. */

/* Whether such an allreduce is long. The same on both ranks. */
bool sb_halves_may_be(const sb_team_t *team, const sb_reduction_t *reduction);

/* One for which that holds, as is found to be fast. */
sb_status_t sb_halves_allreduce(sb_team_t *team, const sb_reduction_t *reduction);

/* The same, as is said here: in halves, or by each rank, with contributions copied in so. */
sb_status_t sb_halves_as(sb_team_t *team, const sb_reduction_t *reduction, sb_copy_mode_t mode);

#endif
