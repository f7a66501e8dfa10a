/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_WAYS_H
#define SB_COLL_REDUCTION_WAYS_H

#include "coll/reduction/workspace.h"

/*
 * How a long allreduce of two ranks goes: in halves, of which each rank combines one, or so that
 * each combines all, with contributions that are copied in by ordinary stores or past the caches
 * (rings.c); and where each reads what the other shares (SOBOR_HEAP), out of contributions where
 * they are: each combines one half where it belongs and reads the other there (slices.c), or
 * combines all (placed.h). Halves through rings are safe everywhere: as many bytes cross, and each
 * is combined once. Rank 0 tries the others, as the copy policy has it, those by loads by blocks of
 * calls, and says in a word for each class of sizes from which position on messages go otherwise:
 * from the next one on. The present one cannot end at the other rank before that has heard of it,
 * so both always go alike, and a way that is not used costs nothing. The order of combination is
 * that of ranks in each of them.
 *
 * A long reduce_scatter has words of its own. It goes as without loads, which is safe everywhere
 * (rings_parts.c), or contributions stay where they are (sb_placed_part).
 */

/* Part of making the workspace. */
void sb_ways_prepare(sb_team_t *team);

/* How the present message goes, as was said before. sb_workspace_copied ends it. */
sb_copy_mode_t sb_ways_choose(sb_team_t *team, const sb_reduction_t *reduction, sb_ways_t of);

/* Of a message that took no room in the rings, in which the ranks have met since its word: words
 * count positions, so it takes one. Of what is before nobody wants anything. */
void sb_ways_pass(sb_team_t *team);

#endif
