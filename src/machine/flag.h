/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_FLAG_H
#define SB_MACHINE_FLAG_H

/*
 * Flags and counters over the primitives.
 *
 * Waking a sleeper. A waiter adds itself to the flag's `sleepers` before its first sleep, makes
 * every running process execute a full fence (membarrier), and then, before each sleep, looks at
 * the flag once more and sleeps in the kernel on the flag's low half. It takes itself out when the
 * wait ends, whatever ends it. A publisher stores the flag and then looks at `sleepers`. The two
 * sides need "store, fence, load" each; membarrier lets the sleeper pay for both fences, so that
 * publishing stays a plain store on the path where nobody sleeps. Where membarrier is not available
 * the time limit of each sleep bounds what a missed wake-up can cost.
 *
 * Why one fence is enough for all sleeps of a wait. Let F be the fence that it puts into a
 * publisher, and take any publication of that one, earlier or later. If its look at `sleepers`
 * comes after F, the look sees the waiter, who was counted before F and stays so: it wakes. If its
 * look comes before F, so does its store: every look of the waiter, all of which come after the
 * membarrier, sees the flag. A process that did not run then, or that registers for membarrier
 * later, has executed a full fence after the count all the same: in the kernel, as it began to run,
 * or as it registered.
 *
 * A reader that spins takes the flag's line away as soon as it is stored, and a publisher that then
 * looks at the `sleepers` on it waits for the line to come back. So it first looks at a word in
 * which the job's sleepers are counted; the same fence orders both looks.
 */

#include "base/status.h"
#include "machine/primitive.h"

/*
 * Flags stand this far apart, so that none moves with another: two lines of 64 bytes on x86-64,
 * whose processors fetch them in pairs; on AArch64 the longest line that there is. The simulated
 * machine's is the same wherever it runs.
 */
#if defined(__aarch64__) && !defined(SB_SIMULATED)
#define SB_FLAG_STRIDE 256
#else
#define SB_FLAG_STRIDE 128
#endif

typedef struct sb_flag {
    sb_word64_t value;    /* grows only; one writer at a time */
    sb_word32_t sleepers; /* waiters that have slept, or are about to, and still wait */
    uint32_t note;        /* the writer's own, ordered by value: see sb_flag_t's users */
} sb_flag_t;

typedef struct sb_counter {
    sb_word64_t value;
} sb_counter_t;

/* The same on lines of their own. */
typedef struct sb_wide_flag {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t flag;
} sb_wide_flag_t;

typedef struct sb_wide_counter {
    _Alignas(SB_FLAG_STRIDE) sb_counter_t counter;
} sb_wide_counter_t;

/*
 * How one rank waits, and what it does meanwhile. One for each team; private to the rank.
 */
typedef struct sb_waiter {
    uint32_t bare_spins;       /* looks at the flag, one after the other, before anything else */
    uint32_t paused_spins;     /* then looks with a processor's pause between them */
    uint32_t progress_every;   /* looks between two calls of `progress` */
    bool stays_awake;          /* see `progress` */
    bool yield;                /* give the processor to another process between looks, */
    uint64_t yield_after_ns;   /* after waiting this long */
    uint64_t sleep_after_ns;   /* let the kernel put the rank to sleep after waiting this long */
    uint64_t sleep_longest_ns; /* and wake it after at most this long, to call `progress` */
    uint64_t awake_ns;         /* between two sleeps it calls `progress`, if any, for so long */
    uint64_t check_every_ns;   /* time between two calls of `check` */
    /* Lets the host MPI serve other ranks; may be NULL. Returns whether they may want something
     * of this process whenever they like: a rank that `stays_awake` then does not sleep. */
    bool (*progress)(void *context);
    void *progress_context;
    sb_status_t (*check)(void *context); /* are the peers alive? may be NULL */
    void *check_context;
} sb_waiter_t;

/* Wakes every sleeper of the flag. */
void sb_flag_wake(sb_flag_t *flag);

/* The waiting part of sb_flag_wait. */
sb_status_t sb_flag_wait_long(sb_flag_t *flag, uint64_t value, const sb_waiter_t *waiter);

/*
 * Waits for what no flag tells: until `ready` says so, which looks by itself, at the network for
 * one. The rank does not sleep, since nobody would wake it. Returns as sb_flag_wait does.
 */
sb_status_t sb_wait_for(bool (*ready)(void *context), void *context, const sb_waiter_t *waiter);

/* Acquire: pairs with the store in sb_flag_publish. */
static inline uint64_t sb_flag_read(const sb_flag_t *flag)
{
    return sb_load64(&flag->value, SB_ACQUIRE);
}

/* Release: pairs with the load in sb_flag_read. */
static inline void sb_flag_publish(sb_flag_t *flag, uint64_t value)
{
    sb_store64(&flag->value, value, SB_RELEASE);
    /* Only the compiler has to keep this order; see "Waking a sleeper" above for the processor. */
    sb_keep_order();
    /* Relaxed: nothing is read on the strength of it. */
    if (SB_UNLIKELY(sb_anyone_sleeps() && sb_load32(&flag->sleepers, SB_RELAXED) != 0))
        sb_flag_wake(flag);
}

/* The 32 bits that are the flag's writer's own; the next publish shows them. */
static inline void sb_flag_set_note(sb_flag_t *flag, uint32_t note)
{
    sb_note_write(&flag->note, note);
}

/* To be read after the flag, and before its writer may write it again. */
static inline uint32_t sb_flag_note(const sb_flag_t *flag)
{
    return sb_note_read(&flag->note);
}

/*
 * Waits until the flag is at least `value`. Returns SB_OK, or what the waiter's check returned.
 */
static inline sb_status_t sb_flag_wait(sb_flag_t *flag, uint64_t value, const sb_waiter_t *waiter)
{
    if (SB_LIKELY(sb_flag_read(flag) >= value))
        return SB_OK;
    return sb_flag_wait_long(flag, value, waiter);
}

/*
 * What the flag stands for will be put together with bytes of this rank's own, which may be in no
 * cache: as long as it is not there, those to be read (or NULL) and to be written begin to come.
 */
static inline void sb_flag_meanwhile(const sb_flag_t *flag, uint64_t value, const void *read,
                                     void *write, size_t bytes)
{
    sb_fetch_until(&flag->value, value, read, write, bytes);
}

/*
 * Waits until the flag is at least `value`, or so many nanoseconds have passed without that: false.
 * For what may be had elsewhere.
 */
bool sb_flag_wait_some(sb_flag_t *flag, uint64_t value, const sb_waiter_t *waiter,
                       uint64_t patience);

/*
 * Looks at the flag up to `looks` times, with a pause in between, until it is at least `value`.
 * Returns what was seen last.
 */
static inline uint64_t sb_flag_hope(const sb_flag_t *flag, uint64_t value, uint32_t looks)
{
    uint64_t seen = sb_flag_read(flag);

    for (uint32_t i = 1; i < looks && seen < value; i++) {
        sb_pause();
        seen = sb_flag_read(flag);
    }
    return seen;
}

/*
 * Adds and returns the value before. Acquire and release: whoever adds later sees what everybody
 * who added earlier did before.
 */
static inline uint64_t sb_counter_add(sb_counter_t *counter, uint64_t amount)
{
    return sb_add64(&counter->value, amount, SB_ACQ_REL);
}

/* Acquire: pairs with sb_counter_add. */
static inline uint64_t sb_counter_read(const sb_counter_t *counter)
{
    return sb_load64(&counter->value, SB_ACQUIRE);
}

#ifdef SB_SIMULATED
#include "machine/sim/flag_sim.h"
#endif

#endif
