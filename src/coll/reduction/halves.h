/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_HALVES_H
#define SB_COLL_REDUCTION_HALVES_H

#include "coll/reduction/workspace.h"

/*
 * How a long allreduce of two ranks goes through their rings: in halves, of which each rank
 * combines one, or so that each combines all, with contributions that are copied in by ordinary
 * stores or past the caches (rings.c). Halves are safe everywhere: as many bytes cross, and each is
 * combined once. Rank 0 tries the others, as the copy policy has it, and says in a word for each
 * class of sizes from which position on messages go otherwise: from the next one on. The present
 * one cannot end at the other rank before that has heard of it, so both always go alike. The order
 * of combination is that of ranks in each of them.
 */

/* Part of making the workspace. */
void sb_halves_prepare(sb_team_t *team);

/* Whether such an allreduce goes so. The same on both ranks. */
bool sb_halves_may_be(const sb_team_t *team, const sb_reduction_t *reduction);

/* One for which that holds. */
sb_status_t sb_halves_allreduce(sb_team_t *team, const sb_reduction_t *reduction);

/* The same as part of a message that something else times: that goes on. */
sb_status_t sb_halves_within(sb_team_t *team, const sb_reduction_t *reduction);

#endif
