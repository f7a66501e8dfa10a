/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_COPY_WAY_H
#define SB_MACHINE_COPY_WAY_H

#include "machine/primitive.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Which of two ways of copying is the faster for copies of some size: a process's own copies tell.
 * Now and then the next four go by both ways in turns, and the way that took less has won a trial.
 * The way that has won more of them is the usual one; so neither a copy that was disturbed decides,
 * nor whether it found its data in caches. Threads may share this: they spoil a trial at most.
 * All zero at first: the first way, and a trial at once.
 */
#define SB_COPY_WAYS 2
/* Of a trial, in this order: what takes longer from copy to copy, or every other time, does so by
 * both ways alike. */
#define SB_WAY_TRIED 4
/* So many trials more that one way has won than the other settle it, */
#define SB_WAY_LEAD 4
/* and then there are so many copies from one trial to the next, twice as many after each that finds
 * what was known, up to the most. */
#define SB_WAY_REST 128
#define SB_WAY_REST_MOST 1024

typedef struct sb_way {
    _Atomic uint32_t turn; /* copies since the present trial, or the last one, began */
    _Atomic int32_t lead;  /* trials that the second way has won more than the first */
    _Atomic uint32_t rest; /* copies to the next trial beyond SB_WAY_REST */
    _Atomic uint64_t spent[SB_COPY_WAYS]; /* by the present trial */
} sb_way_t;

typedef struct sb_way_choice {
    bool second;
    bool timed;
    bool last; /* of a trial */
} sb_way_choice_t;

/* How the next copy is to be done. */
static inline sb_way_choice_t sb_way_next(sb_way_t *way)
{
    static const bool second[SB_WAY_TRIED] = {false, true, true, false};
    uint32_t turn = atomic_fetch_add_explicit(&way->turn, 1, memory_order_relaxed);

    if (turn < SB_WAY_TRIED)
        return (sb_way_choice_t){second[turn], true, turn == SB_WAY_TRIED - 1};
    if (turn >=
        SB_WAY_TRIED + SB_WAY_REST - 1 + atomic_load_explicit(&way->rest, memory_order_relaxed))
        atomic_store_explicit(&way->turn, 0, memory_order_relaxed);
    return (sb_way_choice_t){.second = atomic_load_explicit(&way->lead, memory_order_relaxed) > 0};
}

static inline void sb_way_vote(sb_way_t *way)
{
    uint64_t first = atomic_exchange_explicit(&way->spent[0], 0, memory_order_relaxed);
    uint64_t second = atomic_exchange_explicit(&way->spent[1], 0, memory_order_relaxed);
    int32_t before = atomic_load_explicit(&way->lead, memory_order_relaxed);
    int32_t lead = before;
    uint32_t rest = SB_WAY_REST + atomic_load_explicit(&way->rest, memory_order_relaxed);

    if (second < first)
        lead += before < SB_WAY_LEAD;
    else
        lead -= before > -SB_WAY_LEAD;
    atomic_store_explicit(&way->lead, lead, memory_order_relaxed);
    rest = lead == before ? sb_min(2 * rest, SB_WAY_REST_MOST) : SB_WAY_REST;
    atomic_store_explicit(&way->rest, rest - SB_WAY_REST, memory_order_relaxed);
    if (lead > -SB_WAY_LEAD && lead < SB_WAY_LEAD)
        atomic_store_explicit(&way->turn, 0, memory_order_relaxed);
}

/* A copy of `bytes` that was to be timed took so long. */
static inline void sb_way_record(sb_way_t *way, sb_way_choice_t choice, size_t bytes, uint64_t ns)
{
    atomic_fetch_add_explicit(&way->spent[choice.second], (ns << 20) / bytes, memory_order_relaxed);
    if (choice.last)
        sb_way_vote(way);
}

/* Two classes for each doubling of sizes from SB_COPY_LONG on, of which the last has no end. */
#define SB_WAY_CLASSES 20

static inline size_t sb_way_class(size_t bytes)
{
    size_t doubled = 0;

    while (bytes >= SB_COPY_LONG << (doubled + 1))
        doubled++;
    bool upper = 2 * bytes >= (size_t)3 * SB_COPY_LONG << doubled;
    return sb_min(2 * doubled + upper, SB_WAY_CLASSES - 1);
}

/*
 * Whether the two begin at places of their pages that are less than a line apart, but not at the
 * same: there a way of copying may take many times as long as elsewhere.
 */
static inline bool sb_way_beside(const void *to, const void *from)
{
    size_t apart = ((uintptr_t)to - (uintptr_t)from) % SB_PAGE;

    return apart != 0 && (apart < SB_LINE || apart > SB_PAGE - SB_LINE);
}

/* Copies the one way or the other. The second has to be so many sixteenths faster to be taken. */
static inline void sb_way_copy(sb_way_t *way, sb_copy_t *first, sb_copy_t *second,
                               uint32_t sixteenths, void *restrict to, const void *restrict from,
                               size_t bytes)
{
    sb_way_choice_t choice = sb_way_next(way);
    uint64_t began = choice.timed ? sb_now_ns() : 0;

    (choice.second ? second : first)(to, from, bytes);
    if (!choice.timed)
        return;
    uint64_t ns = sb_now_ns() - began;
    sb_way_record(way, choice, bytes, choice.second ? ns + ns * sixteenths / 16 : ns);
}

#endif
