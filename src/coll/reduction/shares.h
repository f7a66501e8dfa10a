/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_SHARES_H
#define SB_COLL_REDUCTION_SHARES_H

#include "coll/reduction/reduction.h"

/*
 * The memory of the large reductions. Each rank owns one block, on its own NUMA node:
 *
 *     in[d]       windows of its contribution
 *     result[d]   what it has combined of a window
 *     relay[d]    what it has brought near of a window's result
 *
 * A window is a range of the message that passes through at a time; it takes turns in the d buffers
 * of each kind. Turns are counted alike by all members. Ranks go step by step, with a barrier
 * between steps: what is written in one step may be read in the next, and a buffer is used again
 * when all have gone through a barrier since it was last read.
 *
 * Ranks side by side on one NUMA node are a group, where each has two of them at least; packages
 * take the place of nodes where there are many of these. Groups combine a window one after the
 * other, so that between them travels what is combined already, and the order stays that of ranks.
 */

/* Private to the rank, equal on all but for `group`. One allocation. */
typedef struct sb_shares {
    const sb_algorithm_t *barrier; /* between steps */
    size_t buffer;                 /* bytes of one */
    uint32_t depth;                /* d */
    uint64_t turns;                /* of windows so far */
    uint32_t groups;
    uint32_t group;   /* this rank's */
    uint32_t first[]; /* of each group the first rank; and behind the last, p */
} sb_shares_t;

/* Most groups: a window passes them one after the other. */
#define SB_SHARES_GROUPS 4

/*
 * Makes the team's shares at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_shares_prepare(sb_team_t *team);

typedef enum sb_share_kind { SB_SHARE_IN, SB_SHARE_RESULT, SB_SHARE_RELAY } sb_share_kind_t;

/* The rank's buffer for the window of this turn. Behind a result there is room for as much. */
static inline char *sb_share_buffer(const sb_team_t *team, uint32_t rank, uint64_t turn,
                                    sb_share_kind_t kind)
{
    const sb_shares_t *shares = team->shares;
    size_t number = (size_t)(turn % shares->depth) * 3 + kind;

    return team->shares_share.bases[rank] + number * shares->buffer;
}

static inline sb_status_t sb_shares_meet(sb_team_t *team)
{
    return team->shares->barrier->barrier(team);
}

/* What the barriers between `steps` steps cost. */
double sb_shares_steps_cost(const sb_shape_t *shape, double steps);

#endif
