/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_CONTROL_H
#define SB_TEAM_CONTROL_H

#include "machine/machine.h"

/*
 * A control block is what one rank of a team shows to the others: its flags, each on lines of its
 * own, and its slots for small messages. Only its owner writes to it, but for the fields that say
 * otherwise. Every number in it only grows, for as long as the team exists.
 */

/* A small message beside its flag: up to 48 bytes travel in the flag's own line. */
#define SB_SLOT_BYTES 256
#define SB_SLOT_PAYLOAD (SB_SLOT_BYTES - 16)
#define SB_SLOT_IN_LINE 48
#define SB_SLOTS 16

/* Where ranks share processors: who fills all of them has to wait until each of the others has run,
 * and should do so seldom. */
#define SB_SLOTS_CROWDED 64

typedef struct sb_slot {
    _Alignas(SB_SLOT_BYTES) sb_flag_t flag; /* number of the slot's use + 1; note: see bcast */
    unsigned char payload[SB_SLOT_PAYLOAD];
} sb_slot_t;

/* What one exchange within the team may carry. */
#define SB_EXCHANGE_BYTES 240

typedef struct sb_box {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t flag;
    unsigned char payload[SB_EXCHANGE_BYTES];
} sb_box_t;

typedef struct sb_control {
    sb_wide_flag_t arrived;    /* barriers this rank has entered */
    sb_wide_flag_t released;   /* barriers this rank knows to be complete */
    sb_wide_flag_t woken;      /* the same, written by whoever releases this rank, which does
                                  not leave the barrier before: so writers never meet */
    sb_wide_flag_t done;       /* slot uses of the team this rank is done with */
    sb_wide_counter_t entered; /* any rank: arrivals at the central counter */
    sb_wide_counter_t closed;  /* any rank: members that have left the team */
    sb_box_t box[2];           /* exchanges of odd and even number */
    sb_slot_t slot[];          /* of a team's number of them */
} sb_control_t;

static inline size_t sb_control_bytes(uint32_t slots)
{
    return sizeof(sb_control_t) + slots * sizeof(sb_slot_t);
}

#endif
