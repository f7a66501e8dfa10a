/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_AHEAD_H
#define SB_COLL_VECTOR_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether a sender takes the lines of its next message ahead. A copy by loads and stores would wait
 * for them one by one. One by string instructions takes lines over without fetching them, and those
 * that were fetched for it were so in vain: it takes up to twice as long. Which copy the library
 * makes depends on the processor and the size. So a sender tries both ways, by turns of some
 * messages each, and goes on with the faster; from time to time again. It counts from one turn to
 * the next, and the shortest of each way: what else the program does is in both. Private to a rank,
 * nothing has to be agreed.
 */
typedef struct sb_ahead {
    uint64_t began;   /* the present turn, ns */
    uint64_t best[2]; /* the shortest turn without and with it */
    uint32_t left;    /* messages that go as the last one did */
    uint8_t turns;    /* of this trial that are not over; 0: there is none */
    bool on;
} sb_ahead_t;

/* Classes of doubling sizes of messages. */
#define SB_AHEAD_CLASSES 6

size_t sb_ahead_class(size_t bytes);

/* Nothing is left: a turn is over now, or a rest between two trials. */
bool sb_ahead_turn(sb_ahead_t *ahead, uint64_t now);

#endif
