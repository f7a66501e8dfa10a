/* SPDX-License-Identifier: BSD-3-Clause */
#include "kinds.h"

#include "measure.h"
#include "parts.h"
#include "reductions.h"

#include <string.h>
#include <unistd.h>

enum { LATE_MICROSECONDS = 300 };

static int create_nothing(struct bench_point *point, size_t *bytes)
{
    (void)point;
    *bytes = 0;
    return 0;
}

static void destroy_nothing(struct bench_point *point)
{
    (void)point;
}

static void renew_nothing(struct bench_point *point, int root)
{
    (void)point;
    (void)root;
}

static int call_barrier(struct bench_point *point, const struct bench_calls *calls, int root)
{
    (void)root;
    point->call++;
    return calls->barrier(MPI_COMM_WORLD);
}

/* Nobody may leave before the last has come. One rank in turn comes late, to make a barrier that
 * does not wait show itself. Clocks agree within a node only. */
static long check_barrier(struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_job *job = point->job;
    size_t call = point->call++;
    if ((int)(call % (size_t)job->ranks) == job->rank)
        usleep(LATE_MICROSECONDS);
    double come = bench_now();
    calls->barrier(MPI_COMM_WORLD);
    double left = bench_now();
    return job->one_node && left < bench_maximum(job, come);
}

/* On one rank alone every call goes to the host: the difference is the price of interposition. */
static int call_alone(struct bench_point *point, const struct bench_calls *calls, int root)
{
    char byte = 0;
    (void)point;
    (void)root;
    return calls->bcast(&byte, 1, MPI_BYTE, 0, MPI_COMM_SELF);
}

static int create_bcast(struct bench_point *point, size_t *bytes)
{
    *bytes = point->bytes;
    return 0;
}

static void renew_bcast(struct bench_point *point, int root)
{
    bench_buffers_renew(&point->buffers, point->call, point->job->rank == root);
}

static int call_bcast(struct bench_point *point, const struct bench_calls *calls, int root)
{
    unsigned char *slot = bench_buffers_slot(&point->buffers, point->call++);
    return calls->bcast(slot, (int)point->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static long check_bcast(struct bench_point *point, const struct bench_calls *calls)
{
    int root = bench_root(point);
    size_t call = point->call;
    uint64_t seed = point->options->seed + call;
    bench_buffers_fill(&point->buffers, call, point->job->rank == root ? seed : ~seed);
    call_bcast(point, calls, root);
    return bench_buffers_verify(&point->buffers, call, seed) != 0;
}

static const struct bench_kind BARRIER = {.sizeless = true,
                                          .create = create_nothing,
                                          .destroy = destroy_nothing,
                                          .renew = renew_nothing,
                                          .call = call_barrier,
                                          .check = check_barrier};
static const struct bench_kind PASSTHROUGH = {.sizeless = true,
                                              .bytes = 1,
                                              .create = create_nothing,
                                              .destroy = destroy_nothing,
                                              .renew = renew_nothing,
                                              .call = call_alone};
static const struct bench_kind BCAST = {.create = create_bcast,
                                        .destroy = destroy_nothing,
                                        .renew = renew_bcast,
                                        .call = call_bcast,
                                        .check = check_bcast};

const struct bench_kind *bench_kind_of(const char *collective)
{
    if (strcmp(collective, "barrier") == 0)
        return &BARRIER;
    if (strcmp(collective, "passthrough") == 0)
        return &PASSTHROUGH;
    if (bench_reductions_which(collective) >= 0)
        return &bench_reductions_kind;
    return bench_parts_which(collective) >= 0 ? &bench_parts_kind : &BCAST;
}
