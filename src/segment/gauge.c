/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/gauge.h"

#include "base/middle.h"

#include <stdlib.h>
#include <string.h>

/* The others are waited for no longer: with those that have come there is enough to do. */
#define COMING_NS (SB_GAUGE_NS / 4)
#define PARTNERS_MOST 8

/* With each partner lines go to and fro, in batches; then a piece is read line by line; then it is
 * copied. It is written anew before each. */
#define BATCHES 9
#define BATCH 16
#define HOPS (BATCHES * BATCH)
#define SAMPLES 9
#define STEPS (HOPS + 2 * SAMPLES)
#define PIECE ((size_t)64 << 10)
#define LINES 64
/* Lines are looked at in an order that no processor guesses: multiples of a number that is prime to
 * theirs. */
#define SKIP 29

/* A batch of hops, or one piece, takes less. The clock is read before each of them. */
#define PART_NS 1500000

/* In place of a partner's number: the result is there. */
#define OVER UINT32_MAX

struct sb_gauge {
    _Alignas(4096) unsigned char piece[PIECE];
    sb_word64_t claims; /* who finds 0 measures */
    sb_gauge_result_t result;
    sb_wide_flag_t call;   /* number of the call << 32 | 1 + whom it is for, or OVER */
    sb_wide_flag_t ping;   /* of who measures: number of the call << 32 | step */
    sb_wide_flag_t pong[]; /* of each process: 1: it is here; then its answer to ping */
};

size_t sb_gauge_bytes(uint32_t size)
{
    return sb_round_up(sizeof(sb_gauge_t) + size * sizeof(sb_wide_flag_t), _Alignof(sb_gauge_t));
}

/* One process's part. */
typedef struct part {
    sb_gauge_t *gauge;
    uint32_t rank;
    uint32_t size;
    uint64_t until;
    uint64_t call;
    char *copy; /* private memory for a piece */
} part_t;

static sb_status_t check_time(void *context)
{
    const uint64_t *until = context;

    return sb_now_ns() < *until ? SB_OK : SB_ERR_PEER_DEAD;
}

/* False: it was too long. A partner that runs answers within the bare looks. */
static bool await(sb_flag_t *flag, uint64_t value, uint64_t until)
{
    const sb_waiter_t waiter = {.bare_spins = 5000,
                                .paused_spins = 100,
                                .yield = 1,
                                .yield_after_ns = 100000,
                                .sleep_after_ns = UINT64_MAX,
                                .check_every_ns = 50000,
                                .check = check_time,
                                .check_context = &until};

    return sb_flag_wait(flag, value, &waiter) == SB_OK;
}

/* ---- who is asked ---- */

static bool answer(const part_t *part)
{
    sb_gauge_t *gauge = part->gauge;

    for (uint64_t step = 1; step <= STEPS; step++) {
        if (!await(&gauge->ping.flag, part->call << 32 | step, part->until))
            return false;
        if (step > HOPS)
            memset(gauge->piece, (int)step, PIECE);
        sb_flag_publish(&gauge->pong[part->rank].flag, part->call << 32 | step);
    }
    return true;
}

static void attend(part_t *part, sb_gauge_result_t *result)
{
    sb_gauge_t *gauge = part->gauge;
    bool on = true;

    sb_flag_publish(&gauge->pong[part->rank].flag, 1);
    while (on && await(&gauge->call.flag, (part->call + 1) << 32, part->until)) {
        uint64_t call = sb_flag_read(&gauge->call.flag);
        part->call = call >> 32;
        if ((uint32_t)call == OVER) {
            *result = gauge->result;
            return;
        }
        on = (uint32_t)call != part->rank + 1 || answer(part);
    }
}

/* ---- who measures ---- */

static bool do_step(const part_t *part, uint32_t other, uint64_t step)
{
    sb_flag_publish(&part->gauge->ping.flag, part->call << 32 | step);
    return await(&part->gauge->pong[other].flag, part->call << 32 | step, part->until);
}

static bool time_hops(const part_t *part, uint32_t other, double *line)
{
    double batches[BATCHES];
    bool on = true;

    for (uint64_t batch = 0; batch < BATCHES && on; batch++) {
        uint64_t started = sb_now_ns();
        on = started < part->until;
        for (uint64_t i = 1; i <= BATCH && on; i++)
            on = do_step(part, other, batch * BATCH + i);
        batches[batch] = (double)(sb_now_ns() - started) / (2 * BATCH);
    }
    *line = on ? sb_middle_of(batches, BATCHES) : 0;
    return on;
}

static void look_at_lines(const part_t *part)
{
    const sb_word64_t *words = (const sb_word64_t *)(const void *)part->gauge->piece;

    for (size_t i = 0; i < LINES; i++)
        (void)sb_load64(words + i * SKIP % LINES * (PIECE / LINES / sizeof *words), SB_RELAXED);
}

static void copy_piece(const part_t *part)
{
    sb_copy(part->copy, part->gauge->piece, PIECE);
    sb_keep_order();
}

/* The median time of what is done with a piece that the other has just written. */
static bool time_piece(const part_t *part, uint32_t other, uint64_t before,
                       void (*work)(const part_t *part), double *ns)
{
    double samples[SAMPLES], clock[SAMPLES];
    bool on = true;

    for (uint64_t i = 0; i < SAMPLES && on; i++) {
        on = do_step(part, other, before + i + 1);
        uint64_t started = sb_now_ns();
        uint64_t middle = sb_now_ns();
        work(part);
        uint64_t ended = sb_now_ns();
        samples[i] = (double)(ended - middle);
        clock[i] = (double)(middle - started);
        on = on && ended < part->until;
    }
    if (on)
        *ns = sb_middle_of(samples, SAMPLES) - sb_middle_of(clock, SAMPLES);
    return on;
}

/* Adds what one partner tells. False: it does not answer, or time is up. */
static bool ask(part_t *part, uint32_t other, sb_gauge_result_t *sum)
{
    double line, lines, bytes;

    part->call++;
    sb_flag_publish(&part->gauge->call.flag, part->call << 32 | (other + 1));
    if (!time_hops(part, other, &line) || !time_piece(part, other, HOPS, look_at_lines, &lines) ||
        !time_piece(part, other, HOPS + SAMPLES, copy_piece, &bytes))
        return false;
    sum->line += line;
    sum->next_line += lines > line ? (lines - line) / (LINES - 1) : 0;
    sum->byte += bytes / (double)PIECE;
    return true;
}

/* Asks some of the others, dealt evenly over all. */
static uint32_t ask_some(part_t *part, bool (*is_here)(uint32_t rank), sb_gauge_result_t *sum)
{
    uint64_t coming = sb_now_ns() + COMING_NS;
    uint32_t others = 0, seen = 0, asked = 0;

    for (uint32_t rank = 0; rank < part->size; rank++)
        others += rank != part->rank && is_here(rank);
    uint32_t step = sb_max((others + PARTNERS_MOST - 1) / PARTNERS_MOST, 1);
    for (uint32_t rank = 0; rank < part->size; rank++) {
        if (rank == part->rank || !is_here(rank) || seen++ % step != 0 ||
            !await(&part->gauge->pong[rank].flag, 1, coming))
            continue;
        if (!ask(part, rank, sum))
            return 0;
        asked++;
    }
    return asked;
}

static void measure(part_t *part, bool (*is_here)(uint32_t rank), sb_gauge_result_t *result)
{
    sb_gauge_result_t sum = {0};
    sb_gauge_t *gauge = part->gauge;

    part->copy = malloc(PIECE);
    if (part->copy != NULL) {
        memset(part->copy, 0, PIECE);
        uint32_t asked = ask_some(part, is_here, &sum);
        if (asked > 0)
            *result =
                (sb_gauge_result_t){sum.line / asked, sum.next_line / asked, sum.byte / asked};
        free(part->copy);
    }
    gauge->result = *result;
    sb_flag_publish(&gauge->call.flag, (part->call + 1) << 32 | OVER);
}

bool sb_gauge_take(sb_gauge_t *gauge, uint32_t rank, uint32_t size, bool (*is_here)(uint32_t rank),
                   sb_gauge_result_t *result)
{
    part_t part = {
        .gauge = gauge, .rank = rank, .size = size, .until = sb_now_ns() + SB_GAUGE_NS - PART_NS};
    /* Relaxed: nothing was written before it. */
    bool first = sb_add64(&gauge->claims, 1, SB_RELAXED) == 0;

    *result = (sb_gauge_result_t){0};
    if (first)
        measure(&part, is_here, result);
    else
        attend(&part, result);
    return first;
}
