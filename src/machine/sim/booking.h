/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_BOOKING_H
#define SB_MACHINE_SIM_BOOKING_H

#include <stddef.h>
#include <stdint.h>

typedef struct sb_span {
    uint64_t from, until;
} sb_span_t;

/*
 * When something that serves one at a time is busy, from now on. What is booked for later leaves
 * the time before it to others, though they ask after it; who does not fit in there comes behind.
 */
typedef struct sb_booking {
    sb_span_t *span; /* apart from each other, the earliest first */
    size_t count;
    size_t room;
} sb_booking_t;

/*
 * It is to serve for `length`, from `ready` on. Nobody asks for what lies before `now` any more.
 * Returns when it begins. Ends the simulation if memory is exhausted.
 */
uint64_t sb_book(sb_booking_t *booking, uint64_t now, uint64_t ready, uint64_t length);

/* Nothing is booked. The memory stays, */
static inline void sb_booking_clear(sb_booking_t *booking)
{
    booking->count = 0;
}

/* or not. */
void sb_booking_free(sb_booking_t *booking);

#endif
