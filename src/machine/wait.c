/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one wait function. A wait goes through up to four stages, each with a limit from the waiter:
 *
 *   1. look at the flag again and again: the answer is usually a line transfer away;
 *   2. look with the processor's pause in between, and let the host MPI make progress;
 *   3. after some time (none where ranks outnumber processors, and longer where it was away for
 *      long lately) give the processor away between looks, still with progress: a rank inside Sobor
 *      must serve rendezvous and one-sided traffic;
 *   4. sleep in the kernel until the flag is published, waking now and then for some time of
 *      progress: who has one-sided traffic with this rank sends the next request when it has the
 *      answer to the last one, and so gets several answers between two sleeps.
 *
 * A rank that others may want something of whenever they like, as the host says in its progress,
 * stays in the third stage instead, and makes progress at each look there. If it has a processor of
 * its own it gives that away now and then only.
 *
 * From the second stage on the clock is read now and then, and the peers are checked to be alive.
 * A wait for what no flag tells has the stages 2 and 3 only.
 */
#include "machine/machine.h"

/* Looks between two readings of the clock while spinning; a reading costs about one look. */
#define LOOKS_PER_CLOCK 64

/* A check that is due more often than this is for a short patience, not for dead peers. */
#define OFTEN_NS 1000000

/* Who is to stay awake gives a processor of its own away so seldom: something else that runs there
 * has it for milliseconds each time, and a request for each of them is a few hundred a second. */
#define KEPT_NS 1000000

/* The half of the value that changes first: the kernel compares 32 bits. */
static uint32_t *futex_word(sb_flag_t *flag)
{
    uint32_t *halves = (uint32_t *)(void *)&flag->value;

    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? halves : halves + 1;
}

void sb_flag_wake(sb_flag_t *flag)
{
    sb_futex_wake(futex_word(flag));
}

/* What one fruitless wait has behind it. */
typedef struct waiting {
    uint64_t started; /* 0: the clock was not read yet */
    uint64_t now;
    uint64_t checked;
    uint64_t patience; /* how long it keeps a processor of its own; 0: not asked yet */
    uint64_t sleep;
    uint64_t woke; /* when it had its processor again */
    bool wanted;   /* it is to stay awake, by what progress said last */
    bool away;     /* the last turn gave the processor away */
    bool counted;  /* among the sleepers */
} waiting_t;

/*
 * Before the first sleep of a wait. The count stays until the wait ends, and so does what the fence
 * gives: see "Waking a sleeper" in flag.h. A fence for each sleep would stop every processor of the
 * job about two thousand times a second for each rank that waits, the one they wait for too.
 */
static void count_in(sb_flag_t *flag, waiting_t *state)
{
    state->counted = true;
    sb_add32(&flag->sleepers, 1, SB_SEQ_CST);
    sb_count_sleeper(1);
    sb_fence_all();
}

/* When the wait has ended, whatever ended it. */
static void count_out(sb_flag_t *flag)
{
    /* Relaxed: a publisher that still sees this sleeper makes a call too many. */
    sb_add32(&flag->sleepers, UINT32_MAX, SB_RELAXED);
    sb_count_sleeper(-1);
}

/* Stage 4: one sleep of at most `longest` nanoseconds. */
static void sleep_once(sb_flag_t *flag, uint64_t value, uint64_t longest)
{
    uint64_t seen = sb_flag_read(flag);

    if (seen < value)
        sb_futex_wait(futex_word(flag), (uint32_t)seen, longest);
}

/* Reads the clock and, when it is time, checks the peers. */
static sb_status_t look_around(waiting_t *state, const sb_waiter_t *waiter)
{
    state->now = sb_now_ns();
    if (state->started == 0)
        state->started = state->checked = state->now;
    if (waiter->check == NULL || state->now - state->checked < waiter->check_every_ns)
        return SB_OK;
    state->checked = state->now;
    return waiter->check(waiter->check_context);
}

/* Looks after this one, of number `looks`, at which nothing is done but pause. */
static uint32_t idle_looks(uint32_t looks, const sb_waiter_t *waiter)
{
    uint32_t idle = LOOKS_PER_CLOCK - 1 - looks % LOOKS_PER_CLOCK;
    uint32_t every = waiter->progress_every;

    if (waiter->progress == NULL)
        return idle;
    return (uint32_t)sb_min(idle, every - 1 - looks % every);
}

static bool has_own_processor(const sb_waiter_t *waiter)
{
    return waiter->yield_after_ns > 0;
}

/* Where others may be waiting for this processor, it is given away at each look all the same. */
static bool keeps_processor(const waiting_t *state, const sb_waiter_t *waiter)
{
    return state->wanted && has_own_processor(waiter) && state->now - state->woke < KEPT_NS;
}

/* Whether it is time to give the processor away, for the first time or again. */
static bool is_patience_over(waiting_t *state, uint64_t waited, const sb_waiter_t *waiter)
{
    if (!waiter->yield || waited < waiter->yield_after_ns)
        return false;
    if (has_own_processor(waiter) && state->patience == 0)
        state->patience = sb_patience_ns(waiter->yield_after_ns);
    return waited >= state->patience;
}

static void let_others_run(const sb_waiter_t *waiter)
{
    if (has_own_processor(waiter))
        sb_lend_processor();
    else
        sb_give_processor();
}

/*
 * Stages 3 and 4: one turn of giving the processor away after look number `looks`. Returns how many
 * more looks it has taken.
 */
static uint32_t give_way(sb_flag_t *flag, uint64_t value, uint32_t looks, waiting_t *state,
                         const sb_waiter_t *waiter)
{
    uint64_t waited = state->started == 0 ? 0 : state->now - state->started;

    state->away = true;
    if (waited >= waiter->sleep_after_ns && !state->wanted) {
        if (state->counted && waiter->progress != NULL &&
            state->now - state->woke < waiter->awake_ns) {
            sb_pause();
            return 0;
        }
        if (state->sleep < waiter->sleep_longest_ns)
            state->sleep = state->sleep == 0 ? waiter->sleep_longest_ns / 16 : state->sleep * 2;
        if (!state->counted)
            count_in(flag, state);
        sleep_once(flag, value, state->sleep);
        state->woke = waiter->awake_ns > 0 ? sb_now_ns() : 0;
        return 0;
    }
    if (is_patience_over(state, waited, waiter)) {
        if (keeps_processor(state, waiter)) {
            sb_pause();
            return 0;
        }
        let_others_run(waiter);
        state->woke = state->wanted ? sb_now_ns() : 0;
        return 0;
    }
    state->away = false;
    uint32_t idle = idle_looks(looks, waiter);
    sb_pause();
    sb_spin(&flag->value, value, idle, true);
    return idle;
}

/*
 * Whether the clock is read before turn number `looks`. A turn that gives the processor away takes
 * as long as others like: who is to be asked often is asked after each of them.
 */
static bool reads_clock(const waiting_t *state, uint32_t looks, const sb_waiter_t *waiter)
{
    return state->counted || state->wanted || looks % LOOKS_PER_CLOCK == 0 ||
           (state->away && waiter->check != NULL && waiter->check_every_ns < OFTEN_NS);
}

static bool makes_progress(const waiting_t *state, uint32_t looks, const sb_waiter_t *waiter)
{
    return waiter->progress != NULL &&
           (state->counted || state->wanted || looks % waiter->progress_every == 0);
}

/* Stages 2 to 4. */
static sb_status_t take_turns(sb_flag_t *flag, uint64_t value, waiting_t *state,
                              const sb_waiter_t *waiter)
{
    for (uint32_t looks = 1; sb_flag_read(flag) < value; looks++) {
        if (makes_progress(state, looks, waiter)) {
            /* Hosts that know of too few processors give this one away in their progress. */
            state->wanted = waiter->progress(waiter->progress_context) && waiter->stays_awake;
            if (sb_flag_read(flag) >= value)
                break;
        }
        if (reads_clock(state, looks, waiter)) {
            sb_status_t status = look_around(state, waiter);
            if (status != SB_OK)
                return sb_flag_read(flag) >= value ? SB_OK : status;
        }
        looks += give_way(flag, value, looks, state, waiter);
    }
    return SB_OK;
}

sb_status_t sb_flag_wait_long(sb_flag_t *flag, uint64_t value, const sb_waiter_t *waiter)
{
    if (sb_spin(&flag->value, value, waiter->bare_spins, false) >= value ||
        sb_spin(&flag->value, value, waiter->paused_spins, true) >= value)
        return SB_OK;
    waiting_t state = {0};
    sb_status_t status = take_turns(flag, value, &state, waiter);
    if (state.counted)
        count_out(flag);
    return status;
}

/* What is asked first when patience is at an end. */
static sb_status_t give_up(void *context)
{
    (void)context;
    return SB_ERR_UNSUPPORTED;
}

bool sb_flag_wait_some(sb_flag_t *flag, uint64_t value, const sb_waiter_t *waiter,
                       uint64_t patience)
{
    sb_waiter_t bounded = *waiter;

    if (sb_flag_read(flag) >= value)
        return true;
    uint64_t started = sb_now_ns();
    if (sb_spin(&flag->value, value, waiter->bare_spins, false) >= value ||
        sb_spin(&flag->value, value, waiter->paused_spins, true) >= value)
        return true;
    if (sb_now_ns() - started >= patience)
        return sb_flag_read(flag) >= value;
    bounded.check = give_up;
    bounded.check_every_ns = patience;
    return sb_flag_wait(flag, value, &bounded) == SB_OK;
}

sb_status_t sb_wait_for(bool (*ready)(void *context), void *context, const sb_waiter_t *waiter)
{
    waiting_t state = {0};

    for (uint32_t looks = 1; !ready(context); looks++) {
        sb_status_t status = looks % LOOKS_PER_CLOCK == 0 ? look_around(&state, waiter) : SB_OK;
        if (status != SB_OK)
            return status;
        if (is_patience_over(&state, state.now - state.started, waiter))
            let_others_run(waiter);
        else
            sb_pause();
        sb_until_mail();
    }
    return SB_OK;
}
