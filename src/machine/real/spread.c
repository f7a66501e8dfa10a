/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/real/spread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * From one look at the others to the next, and so much more for each of them, whose lines are
 * fetched then; and from a move to the next one, twice as long each time: if the system undoes what
 * is done here, it knows of something that is not seen here. A move takes some tens of
 * microseconds.
 */
#define LOOK_NS UINT64_C(1000000)
#define LOOK_EACH_NS UINT64_C(10000)
#define REST_FIRST_NS UINT64_C(2000000)
#define REST_MOST_NS UINT64_C(1000000000)

/* After so many rests without a move it is forgotten how often there were some. */
#define CALM 8

/* The clock is read after so many times of giving the processor away. */
#define GIVEN_PER_CLOCK 8

/* Two ranks less, so that it is better for the call: with one less the two would change places. */
#define LESS 2

/* Who waits so many times less often than this rank is busy. */
#define BUSY 4

#define PLACE_BITS 16
#define PLACE_MASK ((UINT64_C(1) << PLACE_BITS) - 1)

static struct {
    sb_spread_place_t *places; /* NULL: nothing to do */
    sb_spread_rank_t *rank;    /* what is known of each */
    uint32_t ranks;
    uint32_t own;
    uint64_t given;
    uint32_t looks; /* one after the other that found this rank's processor too full */
    uint32_t moves;
    uint64_t looked;
    uint64_t moved;
    uint64_t rest;
} spread;

/* Of threads that wait in calls at the same time one is the rank. */
static bool is_first_thread(void)
{
    static _Thread_local int8_t first; /* 0: not asked yet */

    if (first == 0)
        first = syscall(SYS_gettid) == getpid() ? 1 : -1;
    return first > 0;
}

/* Relaxed, as all of it: hints, which nothing else follows from. */
static void say(uint64_t place)
{
    atomic_store_explicit(&spread.places[spread.own].word, spread.given << PLACE_BITS | place,
                          memory_order_relaxed);
}

static uint64_t place_now(void)
{
    int processor = sched_getcpu();

    return processor < 0 || processor >= SB_SPREAD_PROCESSORS ? 0 : (uint64_t)processor + 1;
}

void sb_spread_share(sb_spread_place_t *places, uint32_t ranks, uint32_t own)
{
    spread.rank = calloc(ranks, sizeof *spread.rank);
    if (spread.rank == NULL)
        return;
    spread.places = places;
    spread.ranks = ranks;
    spread.own = own;
    spread.rest = REST_FIRST_NS;
    say(place_now());
}

/* This process says nothing any more. */
static void end(void)
{
    if (spread.places == NULL)
        return;
    say(0);
    spread.places = NULL;
    free(spread.rank);
}

uint32_t sb_spread_moves(void)
{
    return spread.moves;
}

/* How many ranks are where, and of which processors one is busy. */
typedef struct census {
    uint16_t ranks[SB_SPREAD_PROCESSORS];
    cpu_set_t busy;
    uint32_t behind; /* ranks of this one's processor that go before it */
} census_t;

static void count_ranks(census_t *census, const sb_spread_rank_t *ranks, uint32_t count,
                        uint32_t own)
{
    memset(census, 0, sizeof *census);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = ranks[i].place;
        if (place == 0 || place > SB_SPREAD_PROCESSORS)
            continue;
        census->ranks[place - 1]++;
        if (ranks[i].lately < ranks[own].lately / BUSY)
            CPU_SET(place - 1, &census->busy);
        census->behind += i > own && place == ranks[own].place;
    }
}

int sb_spread_target(const sb_spread_rank_t *ranks, uint32_t count, uint32_t own,
                     const cpu_set_t *allowed, uint32_t looks, bool *full)
{
    uint32_t here = ranks[own].place;
    census_t census;
    int best = -1;

    *full = false;
    if (here == 0 || here > SB_SPREAD_PROCESSORS)
        return -1;
    count_ranks(&census, ranks, count, own);
    /* Ranks of several full processors look from different ones on: they do not go to one. */
    for (uint32_t step = 0; step < SB_SPREAD_PROCESSORS; step++) {
        uint32_t next = (here + step) % SB_SPREAD_PROCESSORS;
        if (CPU_ISSET(next, allowed) && !CPU_ISSET(next, &census.busy) &&
            (best < 0 || census.ranks[next] < census.ranks[best]))
            best = (int)next;
    }
    *full = best >= 0 && census.ranks[best] + LESS <= census.ranks[here - 1];
    return *full && census.behind <= looks ? best : -1;
}

/* What all say now. False: it was never looked before. */
static bool look_at_all(void)
{
    bool before = spread.looked != 0;

    for (uint32_t i = 0; i < spread.ranks; i++) {
        uint64_t word = atomic_load_explicit(&spread.places[i].word, memory_order_relaxed);
        spread.rank[i].lately = (word >> PLACE_BITS) - spread.rank[i].gave;
        spread.rank[i].gave = word >> PLACE_BITS;
        spread.rank[i].place = (uint32_t)(word & PLACE_MASK);
    }
    return before;
}

/*
 * Linux from 6.2 on keeps what a thread has asked for: one that was given the few processors of its
 * control group would not have those that the group is given later. So it is given all that there
 * are, of which the system leaves it the group's, unless it might run on less than that before.
 * Where that is no longer its own, it is all as well.
 */
static void let_go(const cpu_set_t *allowed)
{
    cpu_set_t all, left;

    memset(&all, 0xff, sizeof all);
    if (sched_setaffinity(0, sizeof all, &all) != 0 ||
        sched_getaffinity(0, sizeof left, &left) != 0 || !CPU_EQUAL(&left, allowed))
        (void)sched_setaffinity(0, sizeof *allowed, allowed);
}

/* Whether this thread now runs there. Afterwards it may run where it might before. */
static bool go(int processor, const cpu_set_t *allowed)
{
    cpu_set_t only;

    CPU_ZERO(&only);
    CPU_SET((unsigned)processor, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0)
        return false;
    say((uint64_t)processor + 1);
    let_go(allowed);
    return true;
}

static void spread_out(uint64_t now)
{
    cpu_set_t allowed;
    bool full;

    /* A larger set than this one is left alone. */
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        end();
        return;
    }
    int target =
        sb_spread_target(spread.rank, spread.ranks, spread.own, &allowed, spread.looks, &full);
    spread.looks = full ? spread.looks + 1 : 0;
    if (target < 0)
        return;
    spread.looks = 0;
    if (!go(target, &allowed)) {
        end();
        return;
    }
    spread.rest = now - spread.moved > CALM * spread.rest ? REST_FIRST_NS
                                                          : sb_min(2 * spread.rest, REST_MOST_NS);
    spread.moved = now;
    spread.moves++;
}

void sb_spread_given(void)
{
    if (!is_first_thread() || spread.places == NULL)
        return;
    spread.given++;
    say(place_now());
    if (spread.given % GIVEN_PER_CLOCK != 0)
        return;
    uint64_t now = sb_now_ns();
    if (now - spread.looked < LOOK_NS + spread.ranks * LOOK_EACH_NS ||
        now - spread.moved < spread.rest)
        return;
    bool before = look_at_all();
    spread.looked = now;
    if (before)
        spread_out(now);
}
