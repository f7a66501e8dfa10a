/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_SLOTS_H
#define SB_COLL_REDUCTION_SLOTS_H

#include "coll/reduction/reduction.h"

/*
 * Reductions through the slots of the lanes, see bcast/message.h: uses of slots are counted alike
 * by all members, and in one use every rank may publish in its own lane.
 */

/* Bytes of the largest piece: whole elements in one slot. */
static inline size_t sb_slot_piece(const sb_operator_t *operation)
{
    return SB_SLOT_PAYLOAD / operation->element * operation->element;
}

static inline uint64_t sb_slot_pieces(const sb_reduction_t *reduction)
{
    size_t piece = sb_slot_piece(reduction->operation);

    return (reduction->bytes + piece - 1) / piece;
}

/* Publishes `bytes` in this rank's slot of the use, once it is free. */
sb_status_t sb_slot_publish(sb_team_t *team, uint64_t use, const void *from, size_t bytes);

/* All members are done with the uses before this one. */
static inline void sb_slots_passed(sb_team_t *team, uint64_t use)
{
    if (team->slots_free_below < use)
        team->slots_free_below = use;
}

/*
 * Every rank publishes its contribution, in pieces; each combines what it wants. A rank that wants
 * nothing leaves when its contribution is published.
 */
sb_status_t sb_slots_reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted);

/*
 * Ranks that wait for nobody may be so many calls ahead of the others, but no more: where they
 * share processors, a row of such calls has this to pay, as if it were one more turn for each.
 */
static inline double sb_slots_row_cost(const sb_shape_t *shape)
{
    return sb_fold_turns(shape, 1);
}

/* Expected time of that where a rank combines so many sources. */
double sb_slots_cost(const sb_shape_t *shape, size_t bytes, double sources);

#endif
