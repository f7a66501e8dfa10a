/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_BLOCK_TIMES_H
#define SB_TEAM_BLOCK_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* How far times of blocks of calls (team/block_policy.h) are from each other. */

static inline uint64_t sb_a_little_above(uint64_t ns)
{
    return ns + ns / 64;
}

/* A sixteenth above a time. */
static inline uint64_t sb_beyond(uint64_t ns)
{
    return ns + ns / 16;
}

/* Enough if two blocks say so. */
static inline bool sb_is_slower(uint64_t ns, uint64_t than)
{
    return ns > than + than / 8;
}

/* So much above or below a time is more than chance. */
static inline bool sb_is_far_above(uint64_t ns, uint64_t than)
{
    return ns > than + than / 2;
}

#endif
