/* SPDX-License-Identifier: BSD-3-Clause */
/* The method.
 *
 * Every sample starts from a synchronisation of all ranks outside the timed part, by the barrier of
 * the side that is timed, as a program would have it. A barrier that lets the root go before the
 * others hides part of the call that follows: --sync common takes one barrier for both. What counts
 * is the slowest rank, so the samples of a block are combined by their maximum. Blocks of the two
 * sides alternate, and the side that goes first alternates too, so that a slow drift of the machine
 * falls on both. Nothing is subtracted. */

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

static const double BATCH_SECONDS = 0.02;

enum { PAIRS = 20, WARM_UP = 3, MINIMUM_CALLS = 5, BLOCK_MAXIMUM = 4096 };

struct side {
    const struct bench_calls *calls;
    struct bench_samples samples;
    struct bench_switch_samples switches;
    struct bench_switches before; /* those of the last block */
    struct bench_switches after;
    double spent; /* wall time of all its blocks */
    int block;    /* samples in one block */
    int repeat;   /* calls in one sample */
};

struct measurement {
    struct bench_point *point;
    struct side sides[2];
    int side_count;
    struct bench_samples ratios;
    struct bench_samples line;
    double *local;
    double *slowest;
};

void bench_synchronise(const struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_calls *by = point->options->common_sync ? &point->job->program : calls;
    by->barrier(MPI_COMM_WORLD);
}

/* Another barrier follows: ranks that were done would go on to the host's own calls, and where
 * those never yield keep the processor from ranks that still have to be told. */
double bench_sample_barrier(struct bench_point *point, const struct bench_calls *calls)
{
    calls->barrier(MPI_COMM_WORLD);
    double start = bench_now();
    for (int i = 0; i < point->repeat; i++)
        calls->barrier(MPI_COMM_WORLD);
    double spent = bench_now() - start;
    calls->barrier(MPI_COMM_WORLD);
    return spent / point->repeat;
}

double bench_sample_bcast(struct bench_point *point, const struct bench_calls *calls)
{
    int root = bench_root(point);
    bench_buffers_renew(&point->buffers, point->call, point->job->rank == root);
    unsigned char *slot = bench_buffers_slot(&point->buffers, point->call++);
    bench_synchronise(point, calls);
    double start = bench_now();
    calls->bcast(slot, (int)point->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    return bench_now() - start;
}

/* Each root must have received the call before its own, so that no rank runs ahead: with more ranks
 * than cores this shows what a call costs a program, which calls timed one by one may hide. */
double bench_sample_chain(struct bench_point *point, const struct bench_calls *calls)
{
    calls->barrier(MPI_COMM_WORLD);
    double start = bench_now();
    for (int i = 0; i < point->repeat; i++) {
        int root = i % point->job->ranks;
        bench_buffers_renew(&point->buffers, point->call, point->job->rank == root);
        unsigned char *slot = bench_buffers_slot(&point->buffers, point->call++);
        calls->bcast(slot, (int)point->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    }
    return (bench_now() - start) / point->repeat;
}

/* On one rank alone every call goes to the host: the difference is the price of interposition. */
double bench_sample_passthrough(struct bench_point *point, const struct bench_calls *calls)
{
    char byte = 0;
    double start = bench_now();
    for (int i = 0; i < point->repeat; i++)
        calls->bcast(&byte, 1, MPI_BYTE, 0, MPI_COMM_SELF);
    return (bench_now() - start) / point->repeat;
}

static double run_block(struct measurement *m, struct side *side, int count)
{
    m->point->repeat = side->repeat;
    if (m->point->unbroken)
        side->calls->barrier(MPI_COMM_WORLD); /* who waits for it is not yet in the block */
    side->before = bench_switches_now();
    double start = bench_now();
    for (int i = 0; i < count; i++)
        m->local[i] = m->point->sampler(m->point, side->calls);
    double spent = bench_now() - start;
    side->after = bench_switches_now();
    m->point->job->reduce(m->local, m->slowest, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return spent;
}

/* As many as fit into a batch that is not too long, for each side by itself. */
static void choose_repeat(struct measurement *m, struct side *side)
{
    int most = m->point->repeat_most;
    side->repeat = most > 0 ? 1 : m->point->repeat;
    while (side->repeat < most) {
        if (bench_maximum(m->point->job, run_block(m, side, 1)) > BATCH_SECONDS)
            break;
        side->repeat = 2 * side->repeat < most ? 2 * side->repeat : most;
    }
}

/* A block takes a PAIRS-th of the time that the side may take. */
static void choose_block(struct measurement *m, struct side *side)
{
    const struct bench_job *job = m->point->job;
    run_block(m, side, WARM_UP);
    double each = bench_maximum(job, run_block(m, side, WARM_UP) / WARM_UP);
    double wanted = m->point->options->seconds / PAIRS / (each > 1e-9 ? each : 1e-9);
    double most = (double)m->point->options->max_calls / PAIRS;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < BLOCK_MAXIMUM ? wanted : BLOCK_MAXIMUM;
    side->block = wanted < 1.0 ? 1 : (int)wanted;
}

/* Each sample has two calls more, which are not timed. */
static int record_switches(struct measurement *m, struct side *side)
{
    const struct bench_point *point = m->point;
    double calls = (double)side->block * (side->repeat + 2);
    if (!point->unbroken)
        return 0;
    return bench_switches_record(&side->switches, point->job, side->before, side->after, calls);
}

static int record_block(struct measurement *m, struct side *side, double *median)
{
    side->spent += run_block(m, side, side->block);
    if (record_switches(m, side) != 0)
        return -1;
    if (bench_samples_add(&side->samples, m->slowest, (size_t)side->block) != 0)
        return -1;
    *median = bench_median(m->slowest, (size_t)side->block);
    return 0;
}

static int record_pair(struct measurement *m, int pair)
{
    double median[2] = {0.0, 0.0};
    for (int i = 0; i < m->side_count; i++) {
        int s = (pair + i) % m->side_count;
        if (record_block(m, &m->sides[s], &median[s]) != 0)
            return -1;
    }
    if (m->point->line != NULL && bench_line_record(m->point->line, &m->line) != 0)
        return -1;
    if (m->side_count < 2 || median[1] <= 0.0)
        return 0;
    double ratio = median[0] / median[1];
    return bench_samples_add(&m->ratios, &ratio, 1);
}

static bool side_wants_more(const struct side *side, const struct bench_options *options)
{
    bool few = side->samples.count < MINIMUM_CALLS;
    bool early = side->spent < options->seconds;
    return few || (early && side->samples.count < (size_t)options->max_calls);
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
        few = few || m->sides[s].samples.count < MINIMUM_CALLS;
    }
    return few || (more && spent < 2.0 * m->point->options->seconds);
}

static int take_samples(struct measurement *m)
{
    const struct bench_job *job = m->point->job;
    for (int s = 0; s < m->side_count; s++) {
        choose_repeat(m, &m->sides[s]);
        choose_block(m, &m->sides[s]);
    }
    int failed = 0;
    for (int pair = 0; bench_agree(job, wants_more(m)); pair++)
        failed |= record_pair(m, pair);
    return failed;
}

/* Of a call made for the purpose: the last one may have been a barrier. Collective. */
static void note_algorithm(struct bench_point *point, char *name, size_t size)
{
    const struct bench_job *job = point->job;
    point->sampler(point, &job->program);
    const char *algorithm = job->last_algorithm != NULL ? job->last_algorithm() : NULL;
    snprintf(name, size, "%s", algorithm != NULL ? algorithm : "");
}

static void summarise(struct measurement *m, struct bench_times *times)
{
    struct side *last = &m->sides[m->side_count - 1];
    times->calls = (long)last->samples.count * last->repeat;
    times->host = bench_samples_summary(&m->sides[0].samples);
    times->program = bench_samples_summary(&m->sides[1].samples);
    times->ratio = bench_samples_summary(&m->ratios);
    times->line = bench_samples_summary(&m->line);
    times->host_switching = bench_switches_summary(&m->sides[0].switches);
    times->program_switching = bench_switches_summary(&m->sides[1].switches);
    if (times->program.median > 0.0)
        times->ratio.median = times->host.median / times->program.median;
}

static void release(struct measurement *m)
{
    for (int s = 0; s < m->side_count; s++) {
        bench_samples_destroy(&m->sides[s].samples);
        bench_switches_destroy(&m->sides[s].switches);
    }
    bench_samples_destroy(&m->ratios);
    bench_samples_destroy(&m->line);
    free(m->local);
    free(m->slowest);
}

int bench_measure(struct bench_point *point, struct bench_times *times)
{
    const struct bench_job *job = point->job;
    struct measurement m = {.point = point, .side_count = point->options->host_only ? 1 : 2};
    m.sides[0].calls = &job->host;
    m.sides[1].calls = &job->program;
    m.local = calloc(BLOCK_MAXIMUM, sizeof *m.local);
    m.slowest = calloc(BLOCK_MAXIMUM, sizeof *m.slowest);
    int failed = m.local == NULL || m.slowest == NULL;
    if (bench_maximum(job, failed) == 0.0)
        failed = take_samples(&m);
    *times = (struct bench_times){0};
    if (!point->options->host_only)
        note_algorithm(point, times->algorithm, sizeof times->algorithm);
    if (!failed)
        summarise(&m, times);
    release(&m);
    return failed ? -1 : 0;
}
