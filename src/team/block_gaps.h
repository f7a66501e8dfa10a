/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_BLOCK_GAPS_H
#define SB_TEAM_BLOCK_GAPS_H

#include "base/config.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a program does between calls whose blocks are compared (block_policy.h), where who decides
 * says when its calls end. A benchmark that takes turns with another library every few calls has
 * such a turn in one block once, in the next twice.
 *
 * Where a call lasts until all are done with it, as a Reduce does for its root, a block decides
 * nothing if a third of it is what came between some of its calls and not between others. Where
 * much of a call's work is done by others after it has ended here, as of a scatter, hardly a block
 * would decide then. There of what comes before a call no more counts than came before either of
 * the last two, and every block decides.
 */
typedef struct sb_block_gaps {
    uint64_t call_from; /* when the last call began, */
    uint64_t call_end;  /* and ended; */
    uint64_t inside;    /* what those of the present block took, */
    uint64_t least;     /* and the least between two of them; */
    uint64_t last[2];   /* before the last two calls, the last one in [1]; */
    uint64_t beside;    /* what counts of no block, so far; ns */
    bool told;          /* it is said when calls end */
    bool evened;        /* by the last two */
} sb_block_gaps_t;

/* A call begins. Returns the time without what does not count. */
static inline uint64_t sb_block_gaps_pass(sb_block_gaps_t *gaps, uint64_t clock)
{
    uint64_t gap = clock - gaps->call_end;

    gaps->call_from = clock;
    if (!gaps->told)
        return clock;
    gaps->least = sb_min(gaps->least, gap);
    if (gaps->evened)
        gaps->beside += gap - sb_min(gap, sb_min(gaps->last[0], gaps->last[1]));
    gaps->last[0] = gaps->last[1];
    gaps->last[1] = gap;
    return clock - gaps->beside;
}

/* It has ended. */
static inline void sb_block_gaps_end(sb_block_gaps_t *gaps, uint64_t clock)
{
    if (!gaps->told)
        gaps->last[0] = gaps->last[1] = UINT64_MAX;
    gaps->told = true;
    gaps->inside += clock - gaps->call_from;
    gaps->call_end = clock;
}

/* The next call is the first that counts of a block. */
static inline void sb_block_gaps_reset(sb_block_gaps_t *gaps)
{
    gaps->inside = 0;
    gaps->least = UINT64_MAX;
}

/* Whether a block of so many calls that took so long says nothing. */
static inline bool sb_block_gaps_uneven(const sb_block_gaps_t *gaps, uint64_t took, uint64_t calls)
{
    uint64_t counted = gaps->inside + calls * gaps->least;

    return gaps->told && !gaps->evened && took > counted && took - counted > took / 3;
}

#endif
