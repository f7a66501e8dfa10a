/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of samples.
 *
 * Blocks of the two sides alternate, and the side that goes first alternates too, so that a slow
 * drift of the machine falls on both. What a sample is, and what of it counts, the method says.
 * Nothing is subtracted. */

#include "measure.h"

#include "block.h"
#include "clock.h"
#include "kinds.h"
#include "method.h"

#include <stdio.h>
#include <stdlib.h>

/* The longest row of calls. */
static const double ROW_SECONDS = 0.02;

/* Agreed times are further apart than a call takes, by so much. */
static const double WINDOW_FACTOR = 1.5, WINDOW_MOST = 1.0;
/* Every rank has heard of the first agreed time before it comes. */
static const double LEAD_SECONDS = 2e-4, LEAD_SECONDS_PER_RANK = 1e-5;

enum { PAIRS = 20, WARM_UP = 3, MINIMUM_CALLS = 5, LATE_SHARE = 10, ROW_TRIES = 3 };

struct side {
    const struct bench_calls *calls;
    struct bench_record record;
    struct bench_switch_samples switches;
    struct bench_switches block; /* those of the last block */
    double spent;                /* wall time of all its blocks */
    double width;                /* between agreed times */
    long taken;                  /* samples, those that do not count too */
    int count;                   /* samples in one block */
    int repeat;                  /* calls in one sample */
};

struct measurement {
    struct bench_point *point;
    struct side sides[2];
    int side_count;
    struct bench_samples ratios;
    struct bench_samples line;
    struct bench_block block;
};

/* Rank 0 says when the block's first call is to begin. */
static void agree_on_window(struct bench_point *point, const struct side *side)
{
    const struct bench_job *job = point->job;
    double lead = LEAD_SECONDS + LEAD_SECONDS_PER_RANK * job->ranks;
    double plan[2] = {bench_point_now(point) + lead, side->width};
    job->host.bcast(plan, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    point->window = (struct bench_window){.next = plan[0], .width = plan[1]};
}

/* Collective. Who waits for the others is not yet in the block. */
static void begin_block(struct measurement *m, const struct side *side)
{
    struct bench_point *point = m->point;
    point->repeat = side->repeat;
    point->ahead = bench_clock_ahead(point->job);
    if (point->method->unbroken)
        side->calls->barrier(MPI_COMM_WORLD);
    for (int i = 0; point->method->rank_means && i < WARM_UP; i++)
        point->kind->call(point, side->calls, bench_root(point));
    if (point->method->timed)
        agree_on_window(point, side);
}

static double run_block(struct measurement *m, struct side *side, int count)
{
    begin_block(m, side);
    side->block = (struct bench_switches){0};
    double start = bench_now();
    for (int i = 0; i < count; i++) {
        struct bench_stint stint = m->point->method->sample(m->point, side->calls);
        bench_block_put(&m->block, i, stint, side->repeat);
        bench_switches_add(&side->block, stint.switches);
    }
    double spent = bench_now() - start;
    bench_block_combine(&m->block, m->point, count);
    return spent;
}

/* Whether a row takes no longer, by one of some: calls may have something to set up, and ranks may
 * be off their processors. What its barriers take does not count: where ranks that go on to the
 * host's calls never yield, the last of them may leave only when they lose their turn. */
static bool is_row_within(struct measurement *m, struct side *side, double seconds)
{
    for (int i = 0; i < ROW_TRIES; i++) {
        run_block(m, side, 1);
        double own = bench_block_own(&m->block, 0) * side->repeat;
        if (bench_maximum(m->point->job, own) <= seconds)
            return true;
    }
    return false;
}

/* As many as fit into a row that is not too long, for each side by itself. */
static void choose_repeat(struct measurement *m, struct side *side)
{
    int most = m->point->repeat_most;
    double share = m->point->options->seconds / PAIRS;
    double seconds = share < ROW_SECONDS ? share : ROW_SECONDS;
    side->repeat = most > 0 ? 1 : m->point->repeat;
    while (side->repeat < most && is_row_within(m, side, seconds))
        side->repeat = 2 * side->repeat < most ? 2 * side->repeat : most;
}

/* A block takes a PAIRS-th of the time that the side may take. */
static void choose_block(struct measurement *m, struct side *side)
{
    const struct bench_job *job = m->point->job;
    run_block(m, side, WARM_UP);
    double each = bench_maximum(job, run_block(m, side, WARM_UP) / WARM_UP);
    if (m->point->method->timed)
        each = side->width = WINDOW_FACTOR * each;
    double wanted = m->point->options->seconds / PAIRS / (each > 1e-9 ? each : 1e-9);
    double most = (double)m->point->options->max_calls / PAIRS;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < BENCH_BLOCK_MOST ? wanted : BENCH_BLOCK_MOST;
    side->count = wanted < 1.0 ? 1 : (int)wanted;
}

/* Where many are late, calls take longer than it looked at first. */
static void widen(struct side *side, int late)
{
    if (LATE_SHARE * late > side->count && 2.0 * side->width < WINDOW_MOST)
        side->width *= 2.0;
}

static int record_switches(struct measurement *m, struct side *side)
{
    const struct bench_point *point = m->point;
    double calls = (double)side->count * side->repeat;
    if (!point->method->unbroken)
        return 0;
    return bench_switches_record(&side->switches, point->job, side->block, calls);
}

static int record_block(struct measurement *m, struct side *side, double *median)
{
    side->spent += run_block(m, side, side->count);
    side->taken += side->count;
    widen(side, m->block.late_count);
    if (record_switches(m, side) != 0)
        return -1;
    return bench_block_record(&m->block, m->point, &side->record, median);
}

static int record_pair(struct measurement *m, int pair)
{
    double median[2] = {0.0, 0.0};
    for (int i = 0; i < m->side_count; i++) {
        int s = (pair + i) % m->side_count;
        if (record_block(m, &m->sides[s], &median[s]) != 0)
            return -1;
    }
    if (!m->point->line->crowded && bench_line_record(m->point->line, &m->line) != 0)
        return -1;
    if (m->side_count < 2 || median[0] <= 0.0 || median[1] <= 0.0)
        return 0;
    double ratio = median[0] / median[1];
    return bench_samples_add(&m->ratios, &ratio, 1);
}

static bool side_wants_more(const struct side *side, const struct bench_options *options)
{
    bool few = side->taken < MINIMUM_CALLS;
    bool early = side->spent < options->seconds;
    return few || (early && side->taken < options->max_calls);
}

/* Both sides go on together, so one of them may pass its limits, though not by more than double. */
static bool wants_more(const struct measurement *m)
{
    double spent = 0.0;
    bool more = false;
    bool few = false;
    for (int s = 0; s < m->side_count; s++) {
        spent += m->sides[s].spent;
        more = more || side_wants_more(&m->sides[s], m->point->options);
        few = few || m->sides[s].taken < MINIMUM_CALLS;
    }
    return few || (more && spent < 2.0 * m->point->options->seconds);
}

static int take_samples(struct measurement *m)
{
    const struct bench_job *job = m->point->job;
    int failed = 0;
    for (int s = 0; s < m->side_count; s++) {
        choose_repeat(m, &m->sides[s]);
        choose_block(m, &m->sides[s]);
    }
    for (int pair = 0; bench_agree(job, wants_more(m)); pair++)
        failed |= record_pair(m, pair);
    return failed;
}

/* Of a call made for the purpose: the last one may have been a barrier. Collective. */
static void note_algorithm(struct bench_point *point, char *name, size_t size)
{
    const struct bench_job *job = point->job;
    point->kind->call(point, &job->program, bench_root(point));
    const char *algorithm = job->last_algorithm != NULL ? job->last_algorithm() : NULL;
    snprintf(name, size, "%s", algorithm != NULL ? algorithm : "");
}

static void summarise_side(struct side *side, struct bench_side_times *times)
{
    times->figure = bench_samples_summary(&side->record.figures);
    times->most = bench_samples_summary(&side->record.most);
    times->skew = bench_samples_summary(&side->record.skews);
    times->span = bench_samples_summary(&side->record.spans);
    times->late = side->record.late;
    times->switching = bench_switches_summary(&side->switches);
}

static void summarise(struct measurement *m, struct bench_times *times)
{
    const struct side *last = &m->sides[m->side_count - 1];
    times->calls = (last->taken - last->record.late) * last->repeat;
    summarise_side(&m->sides[0], &times->host);
    summarise_side(&m->sides[1], &times->program);
    times->ratio = bench_samples_summary(&m->ratios);
    times->line = bench_samples_summary(&m->line);
    if (times->program.figure.median > 0.0)
        times->ratio.median = times->host.figure.median / times->program.figure.median;
}

static void release(struct measurement *m)
{
    for (int s = 0; s < m->side_count; s++) {
        bench_record_destroy(&m->sides[s].record);
        bench_switches_destroy(&m->sides[s].switches);
    }
    bench_samples_destroy(&m->ratios);
    bench_samples_destroy(&m->line);
    bench_block_destroy(&m->block);
}

/* Ranks that share a processor cannot begin at one time: nothing is measured then. */
static bool can_measure(const struct bench_point *point)
{
    return point->job->fits || !point->method->timed;
}

int bench_measure(struct bench_point *point, struct bench_times *times)
{
    const struct bench_job *job = point->job;
    struct measurement m = {.point = point, .side_count = point->options->host_only ? 1 : 2};
    m.sides[0].calls = &job->host;
    m.sides[1].calls = &job->program;
    int failed = bench_block_create(&m.block);
    if (point->line->crowded)
        failed |= bench_line_record(point->line, &m.line);
    if (bench_maximum(job, failed) == 0.0 && can_measure(point))
        failed = take_samples(&m);
    *times = (struct bench_times){0};
    if (!point->options->host_only)
        note_algorithm(point, times->algorithm, sizeof times->algorithm);
    times->sharing = bench_job_sharing(job);
    if (!failed)
        summarise(&m, times);
    release(&m);
    return failed ? -1 : 0;
}
