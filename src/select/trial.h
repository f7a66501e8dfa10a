/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SELECT_TRIAL_H
#define SB_SELECT_TRIAL_H

#include "team/team.h"

/*
 * Whether Sobor or the host MPI serves the calls of one operation and size class faster, found out
 * while the program runs. One of them is the usual side; now and then the other is tried against
 * it, and takes its place if it is clearly faster.
 *
 * A trial has rounds. In each a block of calls goes to the usual side, then one to the other; the
 * first call of a block is not timed, as the end of the block before may fall into it. A single
 * call tells nothing: its cost may fall to another rank, or into the next call. The time of a block
 * is what the slowest rank has spent inside its calls. The other side wins a round if it is a tenth
 * faster, and takes no more of all ranks' time together. With WON_MOST rounds it becomes the usual
 * one; LOST_MOST lost ones end the trial.
 *
 * Every member goes through the same states at the same calls: they follow from the number of calls
 * alone, and from times that the members tell each other at the end of each round and judge alike.
 */
typedef struct sb_trial {
    bool hosted; /* the usual side is the host */
    bool trying; /* the call at hand goes to the other side */
    bool timed;  /* and its time is to be recorded */
    bool over;   /* the trial has just ended */
    uint8_t at;  /* calls of the round that have begun */
    uint8_t won, lost;
    uint64_t spent[2]; /* by this rank in the timed calls of the round; ns; the usual side first */
    uint64_t least[2]; /* by the slowest rank, in the best round of the trial */
    uint64_t rest;     /* calls to the next trial; 0: there was none yet */
    uint32_t fixed;    /* what `rest` is to be; 0: more and more */
} sb_trial_t;

/* What members tell each other of a round: both sides' time of the slowest, and of all together. */
typedef struct sb_spent {
    uint64_t slowest[2];
    uint64_t sum[2];
} sb_spent_t;

/* That of one member, and of more. */
static inline sb_spent_t sb_spent(const uint64_t spent[2])
{
    return (sb_spent_t){{spent[0], spent[1]}, {spent[0], spent[1]}};
}

void sb_spent_add(sb_spent_t *all, const sb_spent_t *some);

/* Nothing was tried yet. */
static inline sb_trial_t sb_trial(bool hosted, uint32_t rest)
{
    return (sb_trial_t){.hosted = hosted, .fixed = rest};
}

/* Whether a round has ended: its times are to be agreed on before the next call. */
bool sb_trial_is_due(const sb_trial_t *trial);

/* Agrees on them, and draws the conclusion. Collective, through shared memory. */
sb_status_t sb_trial_agree(sb_trial_t *trial, sb_team_t *team);

/* The conclusion alone, of what all members have spent. The same at each. */
void sb_trial_judge(sb_trial_t *trial, const sb_spent_t *all);

/* The next call: says which side serves it, and for how many calls that stays so. */
uint32_t sb_trial_next(sb_trial_t *trial);

/* Whether the host serves the call at hand. */
static inline bool sb_trial_is_hosted(const sb_trial_t *trial)
{
    return trial->hosted != trial->trying;
}

/* What a timed call has taken at this rank; ns. */
static inline void sb_trial_record(sb_trial_t *trial, uint64_t ns)
{
    trial->spent[trial->trying] += ns;
}

#endif
