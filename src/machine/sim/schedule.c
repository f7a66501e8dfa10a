/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who runs next. In a timed run every rank whose next step has a time has a turn: those that run by
 * their clock, those that spin or sleep by the end of their patience. The earliest is taken; the
 * running rank goes on without a switch as long as nobody is earlier. Each processor has one
 * current rank and a queue; a rank that spins keeps its processor.
 *
 * In a guided run the guide chooses among the ranks that can take a step, at every access to an
 * atomic word; times and processors play no part.
 */
#include "machine/sim/random.h"
#include "machine/sim/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_TIES 1
#define STREAM_NOISE 2
#define LIMIT_STANDARD 10000000000u /* ns */

sb_sim_spot_t *sb_sim_spot;

/* --- whose turn it is ---------------------------------------------------------------------- */

/*
 * A tree of turns: those of the ranks, from `leaves` on, and of each two the earlier one, up to
 * that of all at 1. No step of a change waits for a guess of the processor: who is earlier is as
 * good as random.
 */
static void set_turn(sb_sim_t *sim, uint32_t rank, sb_turn_t turn)
{
    sb_turn_t *turns = sim->turns;
    uint32_t at = sim->leaves + rank;

    turns[at] = turn;
    for (; at > 1; at /= 2) {
        sb_turn_t other = turns[at ^ 1];
        turn = other < turn ? other : turn;
        turns[at / 2] = turn;
    }
}

static sb_turn_t turn_of(const sb_sim_t *sim, const sb_rank_t *rank, uint64_t time)
{
    return (sb_turn_t)time << 64 | (uint64_t)sim->tie[rank->number] << 32 | rank->number;
}

static uint64_t time_of(sb_turn_t turn)
{
    return (uint64_t)(turn >> 64);
}

static sb_rank_t *rank_of(const sb_sim_t *sim, sb_turn_t turn)
{
    return &sim->rank[(uint32_t)turn];
}

/* In place of the turn that it has, if any. */
static void give_turn(sb_sim_t *sim, const sb_rank_t *rank, uint64_t time)
{
    set_turn(sim, rank->number, turn_of(sim, rank, time));
}

static void remove_turn(sb_sim_t *sim, const sb_rank_t *rank)
{
    set_turn(sim, rank->number, NO_TURN);
}

/* Whether it has a turn at `time` or before. */
static bool goes_on_by(const sb_sim_t *sim, const sb_rank_t *rank, uint64_t time)
{
    sb_turn_t turn = sim->turns[sim->leaves + rank->number];

    return turn != NO_TURN && time_of(turn) <= time;
}

/* The earliest, or NO_TURN. */
static sb_turn_t first_turn(const sb_sim_t *sim)
{
    return sim->turns[1];
}

static void clear_turns(sb_sim_t *sim)
{
    memset(sim->turns, 0xff, 2 * sim->leaves * sizeof *sim->turns);
}

/* --- the end of a run ---------------------------------------------------------------------- */

static void set_running(sb_sim_t *sim, sb_rank_t *rank)
{
    sim->running = rank;
    sb_sim_spot = rank == NULL ? NULL : &rank->spot;
}

static void leave(sb_sim_t *sim)
{
    sb_rank_t *self = sim->running;

    set_running(sim, NULL);
    sb_fibre_switch(&self->fibre, &sim->outside);
}

_Noreturn static void finish(sb_sim_t *sim, sb_sim_end_t end)
{
    sim->end = end;
    leave(sim);
    abort();
}

_Noreturn void sb_sim_stop(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sb_sim->problem, sizeof sb_sim->problem, format, arguments);
    va_end(arguments);
    finish(sb_sim, SB_SIM_STOPPED);
}

void sb_sim_check_failed(void)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;

    if (watch != NULL && watch->failed != NULL && watch->failed(watch->context))
        finish(sb_sim, SB_SIM_STOPPED);
}

static uint64_t word_now(const sb_sim_t *sim, const sb_awaited_t *awaited)
{
    uint64_t value = 0;

    memcpy(&value, sim->block[awaited->block].base + awaited->offset, sizeof value);
    return value;
}

static const char *state_name(sb_rank_state_t state)
{
    static const char *const names[] = {[SB_RANK_READY] = "waits for its processor",
                                        [SB_RANK_RUNS] = "runs",
                                        [SB_RANK_SPINS] = "spins",
                                        [SB_RANK_SLEEPS] = "sleeps",
                                        [SB_RANK_RECEIVES] = "waits for a message",
                                        [SB_RANK_MEETS] = "waits for all to meet",
                                        [SB_RANK_ENDED] = "has ended"};
    return names[state];
}

static void describe_place(const sb_sim_t *sim, const sb_awaited_t *awaited, char *text,
                           size_t size)
{
    const sb_sim_watch_t *watch = sim->options.watch;

    snprintf(text, size, "block %u of rank %u at byte %llu", awaited->block,
             sim->block[awaited->block].owner, (unsigned long long)awaited->offset);
    if (watch != NULL && watch->describe != NULL)
        watch->describe(watch->context, awaited->block, awaited->offset, text, size);
}

static size_t describe_rank(const sb_sim_t *sim, const sb_rank_t *rank, char *text, size_t size)
{
    char place[128];
    int length = snprintf(text, size, "  rank %u %s", rank->number, state_name(rank->state));

    if (rank->awaited.block != NOBODY && (size_t)length < size) {
        describe_place(sim, &rank->awaited, place, sizeof place);
        length += snprintf(text + length, size - (size_t)length, ", waits for %llu in %s: %llu",
                           (unsigned long long)rank->awaited.wanted, place,
                           (unsigned long long)word_now(sim, &rank->awaited));
    }
    if (rank->spot.site != NULL && (size_t)length < size)
        length += snprintf(text + length, size - (size_t)length, " (%s:%d)", rank->spot.site->file,
                           rank->spot.site->line);
    if ((size_t)length < size)
        length += snprintf(text + length, size - (size_t)length, "\n");
    return sb_min((size_t)length, size);
}

/* A sleeper whose flag is there has missed its wake-up. */
static bool missed_wake_up(const sb_sim_t *sim, const sb_rank_t *rank)
{
    return rank->state == SB_RANK_SLEEPS && rank->awaited.block != NOBODY &&
           word_now(sim, &rank->awaited) >= rank->awaited.wanted;
}

/* Ends the run and says who waits for what. */
_Noreturn static void stuck(sb_sim_t *sim, const char *what)
{
    sb_sim_end_t end = SB_SIM_STUCK;

    for (uint32_t i = 0; i < sim->ranks; i++) {
        if (missed_wake_up(sim, &sim->rank[i]))
            end = SB_SIM_LATE;
    }
    if (end == SB_SIM_LATE)
        what = "lost wake-up: a rank sleeps though its flag is there";
    size_t length = (size_t)snprintf(sim->problem, sizeof sim->problem, "%s\n", what);
    for (uint32_t i = 0; i < sim->ranks && length < sizeof sim->problem; i++) {
        if (sim->rank[i].state != SB_RANK_ENDED)
            length += describe_rank(sim, &sim->rank[i], sim->problem + length,
                                    sizeof sim->problem - length);
    }
    finish(sim, end);
}

/* --- processors ---------------------------------------------------------------------------- */

static sb_processor_t *processor_of(sb_sim_t *sim, const sb_rank_t *rank)
{
    return &sim->processors[rank->processor];
}

static void enqueue_last(sb_sim_t *sim, sb_processor_t *processor, sb_rank_t *rank)
{
    rank->state = SB_RANK_READY;
    rank->next = NOBODY;
    if (processor->first == NOBODY)
        processor->first = rank->number;
    else
        sim->rank[processor->tail].next = rank->number;
    processor->tail = rank->number;
}

static void enqueue_first(sb_processor_t *processor, sb_rank_t *rank)
{
    rank->state = SB_RANK_READY;
    rank->next = processor->first;
    if (processor->first == NOBODY)
        processor->tail = rank->number;
    processor->first = rank->number;
}

static void take_processor(sb_sim_t *sim, sb_processor_t *processor, sb_rank_t *rank)
{
    processor->current = rank->number;
    processor->last = rank->number;
    processor->slice_end = rank->clock + sim->machine.slice;
    rank->state = SB_RANK_RUNS;
    rank->interrupted = true;
    give_turn(sim, rank, rank->clock);
}

/* The processor is free from `time` on: the first in its queue gets it. */
static void dispatch(sb_sim_t *sim, sb_processor_t *processor, uint64_t time)
{
    processor->current = NOBODY;
    if (processor->first == NOBODY)
        return;
    sb_rank_t *rank = &sim->rank[processor->first];
    processor->first = rank->next;
    if (rank->clock < time)
        rank->clock = time;
    if (processor->last != rank->number)
        rank->clock += sim->machine.context_switch;
    rank->serial = rank->clock;
    take_processor(sim, processor, rank);
}

static void leave_line(sb_sim_t *sim, sb_rank_t *rank)
{
    uint32_t *at = &rank->line->waiting;

    while (*at != rank->number)
        at = &sim->rank[*at].next;
    *at = rank->next;
    rank->line = NULL;
}

/* A rank that waits shares its processor from now on: it has until the end of its slice. */
static void cut_wait(sb_sim_t *sim, const sb_processor_t *processor, const sb_rank_t *rank,
                     uint64_t time)
{
    uint64_t end = processor->slice_end > time ? processor->slice_end : time;
    bool waits = rank->state == SB_RANK_SPINS || rank->state == SB_RANK_RECEIVES;

    if (waits && !goes_on_by(sim, rank, end))
        give_turn(sim, rank, end);
}

/* The kernel prefers a rank that was asleep to the one that has the processor. */
static void preempt(sb_sim_t *sim, sb_processor_t *processor, sb_rank_t *rank, uint64_t time)
{
    sb_rank_t *current = &sim->rank[processor->current];

    enqueue_first(processor, rank);
    if (current->state == SB_RANK_SPINS) {
        leave_line(sim, current);
        remove_turn(sim, current);
        enqueue_last(sim, processor, current);
        dispatch(sim, processor, time);
        return;
    }
    if (processor->slice_end > time)
        processor->slice_end = time;
    cut_wait(sim, processor, current, time);
}

/* The rank can go on at `time`, if its processor is free. `urgent`: it was asleep. */
static void make_ready(sb_sim_t *sim, sb_rank_t *rank, uint64_t time, bool urgent)
{
    sb_processor_t *processor = processor_of(sim, rank);

    if (rank->clock < time)
        rank->clock = time;
    rank->serial = rank->clock;
    if (processor->current == NOBODY) {
        take_processor(sim, processor, rank);
    } else if (urgent) {
        preempt(sim, processor, rank, time);
    } else {
        enqueue_last(sim, processor, rank);
        cut_wait(sim, processor, &sim->rank[processor->current], time);
    }
}

/* The running rank goes to the end of its processor's queue. */
static void rotate(sb_sim_t *sim, sb_rank_t *rank)
{
    sb_processor_t *processor = processor_of(sim, rank);

    enqueue_last(sim, processor, rank);
    dispatch(sim, processor, rank->clock);
}

static uint64_t next_noise(const sb_sim_t *sim, sb_processor_t *processor)
{
    return sb_random_below(&processor->noise_state, 2 * sim->machine.noise_every) + 1;
}

/* Stalls of the processor up to the rank's clock. One that fell into a wait costs what is left. */
static void suffer_noise(sb_sim_t *sim, sb_rank_t *rank)
{
    sb_processor_t *processor = processor_of(sim, rank);

    while (processor->next_noise <= rank->clock) {
        uint64_t end = processor->next_noise + sim->machine.noise_length;
        if (!rank->interrupted)
            rank->clock += sim->machine.noise_length;
        else if (end > rank->clock)
            rank->clock = end;
        processor->next_noise += next_noise(sim, processor);
    }
    rank->interrupted = false;
}

/* --- timed runs ---------------------------------------------------------------------------- */

static void go_on_with(sb_sim_t *sim, sb_rank_t *rank)
{
    sb_rank_t *self = sim->running;

    if (rank == self)
        return;
    set_running(sim, rank);
    sb_fibre_switch(&self->fibre, &rank->fibre);
}

/* The rank that spins has lost patience, or its time on the processor is over. */
static void end_spin(sb_sim_t *sim, sb_rank_t *rank, uint64_t time)
{
    leave_line(sim, rank);
    rank->clock = time;
    rank->interrupted = true;
    rank->expired = time >= rank->deadline;
    if (rank->expired) {
        rank->state = SB_RANK_RUNS;
        give_turn(sim, rank, time);
    } else {
        rotate(sim, rank);
    }
}

static void run_chosen(sb_sim_t *sim);

static void remove_sleeper(sb_sim_t *sim, const sb_rank_t *rank)
{
    uint32_t *at = &sim->sleepers;

    while (*at != rank->number)
        at = &sim->rank[*at].next;
    *at = rank->next;
}

static bool waits(const sb_rank_t *rank)
{
    return rank->state == SB_RANK_SPINS || rank->state == SB_RANK_SLEEPS ||
           rank->awaited.block != NOBODY;
}

/* The rank that is probably next, and where it goes on, come from memory while this one runs. */
static void fetch_next(const sb_sim_t *sim)
{
    if (first_turn(sim) == NO_TURN)
        return;
    const char *stack = rank_of(sim, first_turn(sim))->fibre.stack_pointer;
    __builtin_prefetch(stack);
    __builtin_prefetch(stack + 64);
    __builtin_prefetch(stack + 128);
    __builtin_prefetch(stack + 192);
    for (uint32_t i = 2; i < 4 && sim->turns[i] != NO_TURN; i++) {
        const char *rank = (const char *)rank_of(sim, sim->turns[i]);
        for (size_t at = 0; at < 192; at += 64)
            __builtin_prefetch(rank + at);
    }
}

/* Hands the processor of this process to the rank, and returns when it is ours again; false: the
 * rank has only given up waiting. */
static bool take_turn(sb_sim_t *sim, sb_turn_t turn)
{
    sb_rank_t *rank = rank_of(sim, turn);
    uint64_t time = time_of(turn);

    if (time > sim->progress + sim->options.limit_ns * 1000 && waits(rank))
        stuck(sim, "deadlock: ranks wait, and nothing has changed for long");
    if (rank->state == SB_RANK_SPINS) {
        end_spin(sim, rank, time);
        return false;
    }
    if (rank->state == SB_RANK_SLEEPS) {
        remove_sleeper(sim, rank);
        rank->expired = true;
        make_ready(sim, rank, time, true);
        return false;
    }
    if (rank->clock < time)
        rank->clock = rank->serial = time;
    fetch_next(sim);
    go_on_with(sim, rank);
    return true;
}

/* The rank whose step is next. */
static void run_earliest(sb_sim_t *sim)
{
    sb_turn_t first;

    do {
        first = first_turn(sim);
        if (first == NO_TURN)
            stuck(sim, "deadlock: no rank can go on");
        remove_turn(sim, rank_of(sim, first));
    } while (!take_turn(sim, first));
}

void sb_sim_reach(void)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    if (sim->guided)
        return;
    suffer_noise(sim, self);
    const sb_processor_t *processor = processor_of(sim, self);
    if (SB_UNLIKELY(processor->first != NOBODY && self->clock >= processor->slice_end)) {
        rotate(sim, self);
        run_earliest(sim);
        return;
    }
    sb_turn_t own = turn_of(sim, self, self->clock), first = first_turn(sim);
    if (own < first)
        return;
    remove_turn(sim, rank_of(sim, first));
    set_turn(sim, self->number, own);
    if (!take_turn(sim, first))
        run_earliest(sim);
}

void sb_sim_spin_on(sb_line_t *line, uint64_t deadline)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;
    const sb_processor_t *processor = processor_of(sim, self);
    uint64_t end = deadline;

    if (processor->first != NOBODY && processor->slice_end < end)
        end = processor->slice_end < self->clock ? self->clock : processor->slice_end;
    self->state = SB_RANK_SPINS;
    self->deadline = deadline;
    self->expired = false;
    self->line = line;
    self->next = line->waiting;
    line->waiting = self->number;
    give_turn(sim, self, end);
    run_earliest(sim);
    self->serial = self->clock;
}

void sb_sim_wake_line(sb_line_t *line, uint64_t time)
{
    sb_sim_t *sim = sb_sim;

    while (line->waiting != NOBODY) {
        sb_rank_t *rank = &sim->rank[line->waiting];
        line->waiting = rank->next;
        rank->line = NULL;
        if (rank->clock < time)
            rank->clock = time;
        rank->state = SB_RANK_RUNS;
        rank->interrupted = true;
        give_turn(sim, rank, rank->clock);
    }
}

void sb_sim_sleep_on(uint32_t block, uint64_t offset, uint64_t limit)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    self->state = SB_RANK_SLEEPS;
    self->expired = false;
    self->deadline = self->clock + limit;
    self->futex_block = block;
    self->futex_offset = offset;
    self->next = sim->sleepers;
    sim->sleepers = self->number;
    dispatch(sim, processor_of(sim, self), self->clock);
    give_turn(sim, self, self->deadline);
    run_earliest(sim);
}

uint32_t sb_sim_wake_sleepers(uint32_t block, uint64_t offset, uint64_t time)
{
    sb_sim_t *sim = sb_sim;
    uint32_t woken = 0;

    for (uint32_t *at = &sim->sleepers; *at != NOBODY;) {
        sb_rank_t *rank = &sim->rank[*at];
        if (rank->futex_block != block || rank->futex_offset != offset) {
            at = &rank->next;
            continue;
        }
        *at = rank->next;
        woken++;
        if (sim->guided) {
            rank->state = SB_RANK_RUNS;
            sim->pending[rank->number].enabled = true;
            continue;
        }
        remove_turn(sim, rank);
        make_ready(sim, rank, time, true);
    }
    return woken;
}

void sb_sim_yield(void)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    self->clock += sim->machine.yield;
    self->serial = self->clock;
    if (sim->guided || processor_of(sim, self)->first == NOBODY)
        return;
    rotate(sim, self);
    run_earliest(sim);
}

/* The running rank keeps its processor until mail comes; `arrival`: of what is on its way. */
void sb_sim_await_mail(uint64_t arrival)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    self->state = SB_RANK_RECEIVES;
    self->interrupted = true;
    if (sim->guided) {
        sim->pending[self->number] =
            (sb_sim_pending_t){SB_SIM_STARTS, arrival != UINT64_MAX, NOBODY, 0};
        run_chosen(sim);
    } else {
        if (arrival != UINT64_MAX)
            give_turn(sim, self, arrival);
        if (processor_of(sim, self)->first != NOBODY)
            cut_wait(sim, processor_of(sim, self), self, self->clock);
        run_earliest(sim);
    }
    self->state = SB_RANK_RUNS;
}

/* In a guided run no time passes: what has come ends a sleep whose limit would let it go on. */
void sb_sim_mail_comes(sb_rank_t *rank, uint64_t arrival)
{
    sb_sim_t *sim = sb_sim;

    rank->mail_news++;
    if (sim->guided && rank->state == SB_RANK_SLEEPS && rank->requests != NULL) {
        remove_sleeper(sim, rank);
        rank->state = SB_RANK_RUNS;
        sim->pending[rank->number].enabled = true;
    }
    if (rank->state != SB_RANK_RECEIVES)
        return;
    sim->pending[rank->number].enabled = true;
    if (sim->guided)
        return;
    if (!goes_on_by(sim, rank, arrival))
        give_turn(sim, rank, arrival > rank->clock ? arrival : rank->clock);
}

/* --- guided runs --------------------------------------------------------------------------- */

static bool spin_ends(const sb_sim_t *sim, const sb_rank_t *rank)
{
    const sb_sim_pending_t *pending = &sim->pending[rank->number];

    return word_now(sim, &(sb_awaited_t){pending->block, pending->offset, 0}) >=
               rank->pending_wanted ||
           sb_sim_has_news(rank);
}

static bool any_enabled(const sb_sim_t *sim)
{
    bool any = false;

    for (uint32_t i = 0; i < sim->ranks; i++) {
        const sb_rank_t *rank = &sim->rank[i];
        if (rank->pending_spin)
            sim->pending[i].enabled = spin_ends(sim, rank);
        any = any || sim->pending[i].enabled;
    }
    return any;
}

static void run_chosen(sb_sim_t *sim)
{
    const sb_sim_guide_t *guide = sim->options.guide;

    if (!any_enabled(sim))
        stuck(sim, "deadlock: no rank can go on");
    uint32_t next = guide->next(guide->context, sim->pending, sim->ranks);
    if (next == SB_SIM_NOBODY)
        finish(sim, SB_SIM_STOPPED);
    go_on_with(sim, &sim->rank[next]);
}

void sb_sim_step(sb_sim_step_t step, uint32_t block, uint64_t offset)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    if (!sim->guided) {
        sb_sim_reach();
        return;
    }
    self->clock += 1000;
    sim->pending[self->number] = (sb_sim_pending_t){step, true, block, offset};
    run_chosen(sim);
}

void sb_sim_guided_wait(uint32_t block, uint64_t offset, uint64_t wanted)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    sim->pending[self->number] = (sb_sim_pending_t){SB_SIM_READS, false, block, offset};
    self->pending_spin = true;
    self->pending_wanted = wanted;
    self->state = SB_RANK_SPINS;
    run_chosen(sim);
    self->pending_spin = false;
    self->state = SB_RANK_RUNS;
}

void sb_sim_guided_sleep(uint32_t block, uint64_t offset)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;

    if (sb_sim_has_news(self))
        return;
    sim->pending[self->number] = (sb_sim_pending_t){SB_SIM_WRITES, false, block, offset};
    self->futex_block = block;
    self->futex_offset = offset;
    self->state = SB_RANK_SLEEPS;
    self->next = sim->sleepers;
    sim->sleepers = self->number;
    run_chosen(sim);
}

/* --- meetings ------------------------------------------------------------------------------ */

static void run_next(sb_sim_t *sim)
{
    if (sim->guided)
        run_chosen(sim);
    else
        run_earliest(sim);
}

static void leave_processor(sb_sim_t *sim, sb_rank_t *rank)
{
    if (!sim->guided)
        dispatch(sim, processor_of(sim, rank), rank->clock);
}

/* Takes the rank back into the race. */
static void resume(sb_sim_t *sim, sb_rank_t *rank, uint64_t time)
{
    if (sim->guided) {
        rank->state = SB_RANK_RUNS;
        sim->pending[rank->number] = (sb_sim_pending_t){SB_SIM_STARTS, true, NOBODY, 0};
        return;
    }
    make_ready(sim, rank, time, false);
}

static bool takes_part(const sb_sim_t *sim, const sb_rank_t *rank, uint32_t node)
{
    return rank->state == SB_RANK_MEETS && (node == sim->machine.nodes || rank->node == node);
}

/* Those of a node who have met know what each of them did before. */
static void order_members(const sb_sim_t *sim, uint32_t node)
{
    const sb_sim_watch_t *watch = sim->options.watch;

    for (uint32_t i = 0; watch->send != NULL && i < sim->ranks; i++) {
        if (!takes_part(sim, &sim->rank[i], node))
            continue;
        uint32_t *clock = watch->send(watch->context, i);
        for (uint32_t j = 0; clock != NULL && j < sim->ranks; j++) {
            if (takes_part(sim, &sim->rank[j], node))
                watch->receive(watch->context, j, clock);
        }
        free(clock);
    }
}

static void end_meeting(sb_sim_t *sim, uint32_t node)
{
    sb_meeting_t *meeting = &sim->meetings[node];
    const sb_sim_watch_t *watch = sim->options.watch;

    if (watch != NULL && meeting->members == sim->ranks)
        watch->meet(watch->context);
    else if (watch != NULL)
        order_members(sim, node);
    meeting->here = 0;
    if (sim->progress < meeting->latest)
        sim->progress = meeting->latest;
    for (uint32_t i = 0; i < sim->ranks; i++) {
        if (takes_part(sim, &sim->rank[i], node))
            resume(sim, &sim->rank[i], meeting->latest);
    }
}

static void set_guided(sb_sim_t *sim, bool on)
{
    sim->guided = on;
    for (uint32_t i = 0; i < sim->machine.nodes * sim->processors_per_node; i++)
        sim->processors[i].current = sim->processors[i].first = NOBODY;
}

/* Meets; the last to come calls for what `turn` says of guidance: -1 off, 1 on, 0 as it is. */
static void meet(uint32_t node, int turn)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = sim->running;
    uint32_t index = node == SB_SIM_ALL ? sim->machine.nodes : node;
    sb_meeting_t *meeting = &sim->meetings[index];

    sb_sim_reach();
    uint64_t begin = self->clock;
    if (meeting->here++ == 0 || meeting->latest < self->clock)
        meeting->latest = self->clock;
    self->state = SB_RANK_MEETS;
    sim->pending[self->number] = (sb_sim_pending_t){SB_SIM_STARTS, false, NOBODY, 0};
    leave_processor(sim, self);
    if (meeting->here == meeting->members) {
        if (turn != 0)
            set_guided(sim, turn > 0);
        end_meeting(sim, index);
    }
    run_next(sim);
    sb_sim_note(SB_SIM_HOST, begin, self->clock);
}

void sb_sim_meet(uint32_t node)
{
    meet(node, 0);
}

void sb_sim_guided(bool on)
{
    if (sb_sim->options.guide != NULL)
        meet(SB_SIM_ALL, on ? 1 : -1);
}

void sb_sim_allgather(uint32_t node, const void *mine, void *all, size_t bytes)
{
    sb_sim_t *sim = sb_sim;
    uint32_t index = node == SB_SIM_ALL ? sim->machine.nodes : node;
    sb_meeting_t *meeting = &sim->meetings[index];
    uint32_t place = 0;

    for (uint32_t i = 0; i < sim->running->number; i++)
        place += node == SB_SIM_ALL || sim->rank[i].node == node;
    if (meeting->board_bytes < bytes * meeting->members) {
        meeting->board = realloc(meeting->board, bytes * meeting->members);
        meeting->board_bytes = bytes * meeting->members;
        if (meeting->board == NULL)
            sb_sim_stop("the simulator is out of memory");
    }
    memcpy(meeting->board + place * bytes, mine, bytes);
    meet(node, 0);
    memcpy(all, meeting->board, bytes * meeting->members);
    meet(node, 0);
}

void sb_sim_compute(uint64_t picoseconds)
{
    sb_rank_t *self = sb_sim->running;
    uint64_t begin = self->clock;

    if (sb_sim->guided)
        return;
    self->clock += picoseconds;
    self->serial = self->clock;
    /* Before the others go on: until then somebody computes, however long they wait. */
    if (sb_sim->progress < self->clock)
        sb_sim->progress = self->clock;
    sb_sim_reach();
    sb_sim_note(SB_SIM_HOST, begin, self->clock);
}

/* --- a run --------------------------------------------------------------------------------- */

static void rank_main(void *argument)
{
    sb_sim_t *sim = sb_sim;
    sb_rank_t *self = argument;

    sim->body(sim->argument, self->number);
    sb_sim_net_settled();
    self->state = SB_RANK_ENDED;
    sim->pending[self->number] = (sb_sim_pending_t){SB_SIM_ENDED, false, NOBODY, 0};
    leave_processor(sim, self);
    if (--sim->alive == 0) {
        sb_sim_net_end(sim);
        finish(sim, SB_SIM_COMPLETE);
    }
    run_next(sim);
    abort();
}

static void draw_ties(sb_sim_t *sim)
{
    uint64_t state = sb_random_stream(sim->options.seed, STREAM_TIES, 0);

    for (uint32_t i = 0; i < sim->ranks; i++)
        sim->tie[i] = i;
    for (uint32_t i = sim->ranks; i > 1; i--) {
        uint32_t other = (uint32_t)sb_random_below(&state, i);
        uint32_t kept = sim->tie[i - 1];
        sim->tie[i - 1] = sim->tie[other];
        sim->tie[other] = kept;
    }
}

static void begin_processors(sb_sim_t *sim)
{
    for (uint32_t i = 0; i < sim->machine.nodes * sim->processors_per_node; i++) {
        sb_processor_t *processor = &sim->processors[i];
        *processor = (sb_processor_t){
            .current = NOBODY, .last = NOBODY, .first = NOBODY, .next_noise = UINT64_MAX};
        processor->noise_state = sb_random_stream(sim->options.seed, STREAM_NOISE, i);
        if (sim->options.noise && sim->machine.noise_every > 0)
            processor->next_noise = next_noise(sim, processor);
    }
}

static void begin_rank(sb_sim_t *sim, sb_rank_t *rank)
{
    sb_rank_t kept = *rank;

    *rank = (sb_rank_t){.number = kept.number,
                        .node = kept.node,
                        .core = kept.core,
                        .processor = kept.processor,
                        .fibre = kept.fibre};
    rank->awaited.block = NOBODY;
    sim->pending[rank->number] = (sb_sim_pending_t){SB_SIM_STARTS, true, NOBODY, 0};
    sb_fibre_prepare(&rank->fibre, rank_main, rank);
    make_ready(sim, rank, 0, false);
}

void sb_sim_schedule_begin(sb_sim_t *sim)
{
    clear_turns(sim);
    sim->progress = 0;
    sim->guided = false;
    sim->reached = 0;
    sim->sleepers = NOBODY;
    sim->alive = sim->ranks;
    sim->problem[0] = '\0';
    draw_ties(sim);
    begin_processors(sim);
    for (uint32_t i = 0; i <= sim->machine.nodes; i++)
        sim->meetings[i].here = 0;
    for (uint32_t i = 0; i < sim->ranks; i++)
        begin_rank(sim, &sim->rank[i]);
}

sb_sim_end_t sb_sim_run(sb_sim_t *sim, sb_sim_body_t *body, void *argument)
{
    sb_sim = sim;
    sim->body = body;
    sim->argument = argument;
    sb_sim_memory_begin(sim);
    sb_sim_caches_begin(sim);
    sb_sim_net_begin(sim);
    sb_sim_schedule_begin(sim);
    sim->record_count = 0;
    sb_rank_t *first = rank_of(sim, first_turn(sim));
    remove_turn(sim, first);
    set_running(sim, first);
    sb_fibre_switch(&sim->outside, &first->fibre);
    return sim->end;
}

/* --- making and freeing -------------------------------------------------------------------- */

/* Room for the processors of each core: some cores of a hybrid machine have fewer. */
static uint32_t most_threads(const sb_sim_t *sim)
{
    uint32_t most = 1;

    for (uint32_t core = 0; core < sim->machine.cores; core++)
        most = (uint32_t)sb_max(most, sim->machine.core[core].threads);
    return most;
}

/* Ranks of one core are dealt over its threads. */
static void place_rank(sb_sim_t *sim, uint32_t number)
{
    const sb_sim_options_t *options = &sim->options;
    sb_rank_t *rank = &sim->rank[number];
    uint32_t room = sim->processors_per_node / sim->machine.cores;
    uint32_t before_it = 0;

    rank->number = number;
    rank->node = options->node == NULL ? 0 : options->node[number];
    rank->core = options->core[number];
    for (uint32_t i = 0; i < number; i++)
        before_it += sim->rank[i].node == rank->node && sim->rank[i].core == rank->core;
    uint32_t threads = (uint32_t)sb_max(1, sim->machine.core[rank->core].threads);
    rank->processor =
        rank->node * sim->processors_per_node + rank->core * room + before_it % threads;
    sim->meetings[rank->node].members++;
    sim->meetings[sim->machine.nodes].members++;
}

/* Room for what algorithms put on their stacks: some bytes for each rank of the team. */
static size_t stack_bytes(uint32_t ranks)
{
    size_t bytes = ((size_t)128 << 10) + (size_t)ranks * 256;

#if defined(__SANITIZE_ADDRESS__)
    bytes *= 4;
#endif
    return sb_round_up(bytes, 65536);
}

bool sb_sim_schedule_new(sb_sim_t *sim)
{
    uint32_t ranks = sim->ranks;

    if (sim->options.limit_ns == 0)
        sim->options.limit_ns = LIMIT_STANDARD;
    sim->processors_per_node = sim->machine.cores * most_threads(sim);
    sim->rank = calloc(ranks, sizeof *sim->rank);
    for (sim->leaves = 2; sim->leaves < ranks;)
        sim->leaves *= 2;
    sim->turns = aligned_alloc(SB_LINE, sb_round_up(2 * sim->leaves * sizeof *sim->turns, SB_LINE));
    sim->tie = calloc(ranks, sizeof *sim->tie);
    sim->pending = calloc(ranks, sizeof *sim->pending);
    sim->processors =
        calloc((size_t)sim->machine.nodes * sim->processors_per_node, sizeof *sim->processors);
    sim->meetings = calloc(sim->machine.nodes + 1, sizeof *sim->meetings);
    if (sim->rank == NULL || sim->turns == NULL || sim->tie == NULL || sim->pending == NULL ||
        sim->processors == NULL || sim->meetings == NULL)
        return false;
    for (uint32_t i = 0; i < ranks; i++) {
        place_rank(sim, i);
        if (!sb_fibre_new(&sim->rank[i].fibre, stack_bytes(ranks)))
            return false;
    }
    return true;
}

void sb_sim_schedule_free(sb_sim_t *sim)
{
    for (uint32_t i = 0; sim->rank != NULL && i < sim->ranks; i++)
        sb_fibre_free(&sim->rank[i].fibre);
    for (uint32_t i = 0; sim->meetings != NULL && i <= sim->machine.nodes; i++)
        free(sim->meetings[i].board);
    free(sim->rank);
    free(sim->turns);
    free(sim->tie);
    free(sim->pending);
    free(sim->processors);
    free(sim->meetings);
}
