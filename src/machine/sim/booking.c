/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/booking.h"

#include "machine/sim/engine.h"

#include <stdlib.h>
#include <string.h>

static void forget_past(sb_booking_t *booking, uint64_t now)
{
    size_t past = 0;

    while (past < booking->count && booking->span[past].until <= now)
        past++;
    booking->count -= past;
    if (past > 0)
        memmove(booking->span, booking->span + past, booking->count * sizeof *booking->span);
}

static void insert(sb_booking_t *booking, size_t at, sb_span_t span)
{
    if (booking->count == booking->room) {
        booking->room = 2 * booking->room + 4;
        booking->span = realloc(booking->span, booking->room * sizeof *booking->span);
        if (booking->span == NULL)
            sb_sim_stop("the simulator is out of memory");
    }
    memmove(booking->span + at + 1, booking->span + at,
            (booking->count - at) * sizeof *booking->span);
    booking->span[at] = span;
    booking->count++;
}

/* The span before which there is room from *begin on, which is moved behind those before it. */
static size_t find_gap(const sb_booking_t *booking, uint64_t length, uint64_t *begin)
{
    size_t at = 0;

    for (; at < booking->count && booking->span[at].from < *begin + length; at++) {
        if (booking->span[at].until > *begin)
            *begin = booking->span[at].until;
    }
    return at;
}

uint64_t sb_book(sb_booking_t *booking, uint64_t now, uint64_t ready, uint64_t length)
{
    uint64_t begin = ready;

    forget_past(booking, now);
    size_t at = find_gap(booking, length, &begin);
    if (length == 0)
        return begin;
    if (at > 0 && booking->span[at - 1].until == begin)
        booking->span[at - 1].until += length;
    else
        insert(booking, at, (sb_span_t){begin, begin + length});
    return begin;
}

void sb_booking_free(sb_booking_t *booking)
{
    free(booking->span);
    *booking = (sb_booking_t){0};
}
