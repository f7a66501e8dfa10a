/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_BLOCK_SIZES_H
#define SB_TEAM_BLOCK_SIZES_H

#include "team/copy_policy.h"

/*
 * How long the messages of calls are whose blocks are compared (block_policy.h). Those of one class
 * of sizes are alike, but in the last one, which has no end: there a block whose messages are twice
 * as long in the mean as those of the block before, or half, decides nothing.
 */
typedef struct sb_block_sizes {
    uint64_t bytes; /* of the calls of the present block that are measured, */
    uint64_t mean;  /* and of one in the last block */
} sb_block_sizes_t;

/* A call, of which the block begins if it is the first that is measured. */
static inline void sb_block_sizes_pass(sb_block_sizes_t *sizes, size_t bytes, bool first)
{
    sizes->bytes = (first ? 0 : sizes->bytes) + sb_max(bytes, SB_COPY_LEAST);
}

/* The block, of so many calls, is over: whether it says nothing. */
static inline bool sb_block_sizes_differ(sb_block_sizes_t *sizes, uint64_t calls)
{
    uint64_t before = sizes->mean;

    sizes->mean = sizes->bytes / calls;
    return before > 0 && (sizes->mean > 2 * before || before > 2 * sizes->mean);
}

#endif
