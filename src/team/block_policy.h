/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_BLOCK_POLICY_H
#define SB_TEAM_BLOCK_POLICY_H

#include "team/copy_policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which of two ways calls take where ranks share processors, by what was measured. There the time
 * of one call says little: ranks run in turns, so one call finds that those who ran before have
 * done it all, and the next one waits for all of them. So blocks of calls are compared, each from
 * the beginning of a call to that of the same rank's call so many later. What the rank does between
 * its calls is in it, and with that whatever the others do on its processor meanwhile.
 *
 * Now and then there is a comparison: blocks of both ways by turns, in pairs. The other way is
 * taken if it was faster by a sixteenth in two pairs, of three at most; so one block in which
 * something else ran decides nothing. The rest after a comparison is so long that the slower way
 * takes a small part of all time. Private to the rank that decides; it tells the others.
 */

/* One class of sizes (sb_copy_class), counted in calls that this rank decided. All zero at first.
 */
typedef struct sb_block_class {
    uint64_t began;      /* of what is measured in the present block, by sb_now_ns */
    uint64_t ns[2];      /* of the present pair: of the usual way, of the other */
    uint64_t sum[2];     /* of all pairs of the comparison */
    uint32_t since;      /* the last comparison */
    uint32_t rest;       /* from then to the next one; 0: there was none */
    uint32_t lengths;    /* of comparisons that it is at least */
    uint16_t call;       /* of the present block, */
    uint8_t block;       /* of the comparison, */
    bool comparing;      /* if there is one */
    uint8_t won;         /* pairs, by the other way, */
    uint8_t lost;        /* and by the usual one */
    uint8_t usual;       /* 0, which is safe everywhere, or 1 */
    uint8_t comparisons; /* that came to an end, up to 255 */
} sb_block_class_t;

typedef struct sb_block_policy {
    sb_block_class_t of[SB_COPY_CLASSES];
} sb_block_policy_t;

/* The way of this rank's next call of so many bytes, which begins now. */
uint8_t sb_block_choose(sb_block_policy_t *policy, size_t bytes, uint64_t now);

#endif
