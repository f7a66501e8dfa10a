/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_FLOW_H
#define SB_TEAM_FLOW_H

#include "team/control.h"

/*
 * A flow is what one rank writes and one or more others read, through a ring of memory that they
 * share. Positions count its bytes and only grow; what lies at position x stays there until all
 * readers are done with it. The writer publishes up to where there is data, each reader in a flag
 * of its own up to where it is done: its credit. The writer may fill what is before position e once
 * all are done with what is before e - (ring size).
 *
 *     writer   sb_flow_reserve(e)   write the bytes before e   sb_flow_commit(e)
 *     reader   sb_flow_peek(e)      read them                  sb_flow_consume(e)
 *
 * Either end keeps what it saw last of the other's flags, and looks at them again only when that is
 * used up. What waits has a form that does not (sb_flow_try_...).
 *
 * Where flags and ring lie is told by who makes the flow: in the control blocks of a team, or in a
 * resource's memory. A unit other than bytes (slots, rounds) does as well; then the ring's size
 * counts those. Members that take turns as writers of one flow, each in a ring of its own, count
 * positions together: then one credit of each reader is enough for the rings of all.
 */

/* One flag of each of some ranks, at the same place of their blocks. */
typedef struct sb_peers {
    void *const *blocks; /* in rank order */
    size_t offset;       /* of the flag in a block */
    uint32_t count;
    uint32_t self; /* is left out; `count`: nobody is */
} sb_peers_t;

static inline sb_flag_t *sb_peers_flag(const sb_peers_t *peers, uint32_t rank)
{
    return (sb_flag_t *)(void *)((char *)peers->blocks[rank] + peers->offset);
}

/*
 * Waits until all flags are at least `value`; sets `least`, unless it is NULL, to the smallest that
 * was seen. Each rank begins with the one after itself, so that not all want the same line at once.
 */
static inline sb_status_t sb_peers_wait(const sb_peers_t *peers, uint64_t value,
                                        const sb_waiter_t *waiter, uint64_t *least)
{
    uint32_t rank = peers->self + 1 < peers->count ? peers->self + 1 : 0;

    if (least != NULL)
        *least = UINT64_MAX;
    for (uint32_t step = 0; step < peers->count; step++) {
        if (rank != peers->self) {
            sb_flag_t *flag = sb_peers_flag(peers, rank);
            sb_status_t status = sb_flag_wait(flag, value, waiter);
            if (status != SB_OK)
                return status;
            if (least != NULL)
                *least = sb_min(*least, sb_flag_read(flag));
        }
        rank = rank + 1 < peers->count ? rank + 1 : 0;
    }
    return SB_OK;
}

/* The smallest of the flags; UINT64_MAX where there are none. */
uint64_t sb_peers_least(const sb_peers_t *peers);

/* How many of the flags are below `value`. */
uint32_t sb_peers_missing(const sb_peers_t *peers, uint64_t value);

/* The writer's end. Private to it. */
typedef struct sb_flow_out {
    sb_peers_t readers;   /* up to where each is done */
    sb_flag_t *published; /* the writer's; NULL: who writes says it in another way */
    uint64_t room;        /* the ring's size */
    uint64_t known;       /* all readers are done with what is before, at least */
} sb_flow_out_t;

/* A reader's end. Private to it. */
typedef struct sb_flow_in {
    sb_flag_t *published; /* of the writer, or of who passes its news on */
    sb_flag_t *consumed;  /* the reader's own */
    uint64_t seen;        /* there is data before, at least */
} sb_flow_in_t;

/* For sb_flow_reserve and sb_flow_try_reserve: looks at the readers' flags. */
sb_status_t sb_flow_wait_credit(sb_flow_out_t *out, uint64_t end, const sb_waiter_t *waiter);
bool sb_flow_look_credit(sb_flow_out_t *out, uint64_t end);

/* Whether it is known that what is before `end` may be written. */
static inline bool sb_flow_has_room(const sb_flow_out_t *out, uint64_t end)
{
    return SB_LIKELY(end <= out->known + out->room);
}

/* Waits until what is before `end` may be written. Returns SB_OK, or what the wait returned. */
static inline sb_status_t sb_flow_reserve(sb_flow_out_t *out, uint64_t end,
                                          const sb_waiter_t *waiter)
{
    if (sb_flow_has_room(out, end))
        return SB_OK;
    return sb_flow_wait_credit(out, end, waiter);
}

/* Whether what is before `end` may be written by now. */
static inline bool sb_flow_try_reserve(sb_flow_out_t *out, uint64_t end)
{
    return sb_flow_has_room(out, end) || sb_flow_look_credit(out, end);
}

/* Shows the readers what is before `end`. */
static inline void sb_flow_commit(const sb_flow_out_t *out, uint64_t end)
{
    sb_flag_publish(out->published, end);
}

/* It is known from elsewhere that all readers are done with what is before `position`. */
static inline void sb_flow_credit(sb_flow_out_t *out, uint64_t position)
{
    out->known = sb_max(out->known, position);
}

/* Waits until what is before `end` may be read. Returns SB_OK, or what the wait returned. */
static inline sb_status_t sb_flow_peek(sb_flow_in_t *in, uint64_t end, const sb_waiter_t *waiter)
{
    if (end <= in->seen)
        return SB_OK;
    sb_status_t status = sb_flag_wait(in->published, end, waiter);
    if (SB_LIKELY(status == SB_OK))
        in->seen = sb_flag_read(in->published);
    return status;
}

/* Whether what is before `end` may be read by now. */
static inline bool sb_flow_try_peek(sb_flow_in_t *in, uint64_t end)
{
    if (end > in->seen)
        in->seen = sb_flag_read(in->published);
    return end <= in->seen;
}

/* This reader is done with what is before `end`. */
static inline void sb_flow_consume(const sb_flow_in_t *in, uint64_t end)
{
    sb_flag_publish(in->consumed, end);
}

/*
 * Where a flow goes on in its ring. Only the first `window` bytes may be in use: from their end it
 * goes on at the ring's next round, and the positions in between are left out, so that credits stay
 * as they are. Private, and equal at all ends that agree on the window and the pieces.
 */
typedef struct sb_cursor {
    uint64_t position;
    uint64_t round;  /* the position of the ring's first byte this time */
    uint64_t ring;   /* bytes */
    uint64_t window; /* bytes, at most `ring` */
} sb_cursor_t;

static inline sb_cursor_t sb_cursor(uint64_t ring, uint64_t position)
{
    return (sb_cursor_t){position, position - position % ring, ring, ring};
}

/* The byte of the ring that the position is at. */
static inline size_t sb_cursor_place(const sb_cursor_t *cursor)
{
    return (size_t)(cursor->position - cursor->round);
}

/* Goes on where the next `bytes`, at most the window, are in one piece. */
static inline void sb_cursor_fit(sb_cursor_t *cursor, size_t bytes)
{
    if (sb_cursor_place(cursor) + bytes > cursor->window)
        cursor->position = cursor->round += cursor->ring;
}

/* Goes on where there is something of the window, and returns how much of `most` bytes fits. */
static inline size_t sb_cursor_piece(sb_cursor_t *cursor, size_t most)
{
    sb_cursor_fit(cursor, 1);
    return sb_min(most, cursor->window - sb_cursor_place(cursor));
}

static inline void sb_cursor_pass(sb_cursor_t *cursor, size_t bytes)
{
    cursor->position += bytes;
}

/* Passes what is left of a cache line. */
static inline void sb_cursor_align(sb_cursor_t *cursor)
{
    cursor->position = (cursor->position + SB_LINE - 1) & ~(uint64_t)(SB_LINE - 1);
}

/* So many pieces should fit a ring: one is written, others are read, and credit travels. */
#define SB_FLOW_PIECES 4

/* Bytes of the pieces of a message, where there is no reason for others. */
static inline size_t sb_flow_piece_usual(size_t message)
{
    return message < (size_t)256 << 10 ? (size_t)8 << 10 : (size_t)32 << 10;
}

/* Bytes of the first one. */
static inline size_t sb_flow_first(size_t message)
{
    return sb_min(message, sb_flow_piece_usual(message));
}

/* The piece, in whole lines, as far as the ring has room for so many. */
static inline size_t sb_flow_piece(uint64_t piece, size_t ring)
{
    size_t most = ring / SB_FLOW_PIECES;

    return sb_min(sb_round_up(sb_min((size_t)piece, most), SB_LINE), most);
}

/* What these do to flags is reported by the line of the algorithm. */
#define sb_peers_wait(...) SB_SITED(sb_peers_wait(__VA_ARGS__))
#define sb_peers_least(...) SB_SITED(sb_peers_least(__VA_ARGS__))
#define sb_peers_missing(...) SB_SITED(sb_peers_missing(__VA_ARGS__))
#define sb_flow_reserve(...) SB_SITED(sb_flow_reserve(__VA_ARGS__))
#define sb_flow_try_reserve(...) SB_SITED(sb_flow_try_reserve(__VA_ARGS__))
#define sb_flow_commit(...) SB_SITED_VOID(sb_flow_commit(__VA_ARGS__))
#define sb_flow_peek(...) SB_SITED(sb_flow_peek(__VA_ARGS__))
#define sb_flow_try_peek(...) SB_SITED(sb_flow_try_peek(__VA_ARGS__))
#define sb_flow_consume(...) SB_SITED_VOID(sb_flow_consume(__VA_ARGS__))

#endif
