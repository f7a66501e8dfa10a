/* SPDX-License-Identifier: BSD-3-Clause */
/* The samplers.
 *
 * sobor   All ranks meet, buffers are written anew before; one call is timed. What counts is the
 *         slowest rank of each call. Barriers are timed in rows. The variant chain is a row whose
 *         root goes round: each root must have received the call before its own, so that no rank
 *         runs ahead.
 * single  As the most used suite does: a barrier, one call, again; buffers are written once. What
 *         counts are the means that the ranks find. With --arrival ranks come late to the call.
 * row     As the vendor's suite does: calls from one root without a pause, divided by their
 *         number; buffers are written once.
 * window  No barrier: all begin at an agreed time. Until the last rank is done, the time runs. */

#include "method.h"

#include "arrival.h"
#include "kinds.h"

#include <string.h>

enum { CHAIN_ROUNDS = 5, BARRIER_ROW = 100, ROW = 1000, PASSTHROUGH_ROW = 1000 };

static struct bench_stint time_call(struct bench_point *point, const struct bench_calls *calls,
                                    int root)
{
    struct bench_stint stint = {.start = bench_point_now(point)};
    point->kind->call(point, calls, root);
    stint.end = bench_point_now(point);
    return stint;
}

static void synchronise(const struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_calls *by = point->common_sync ? &point->job->program : calls;
    by->barrier(MPI_COMM_WORLD);
}

static struct bench_stint sample_fresh(struct bench_point *point, const struct bench_calls *calls)
{
    int root = bench_root(point);
    point->kind->renew(point, root);
    synchronise(point, calls);
    return time_call(point, calls, root);
}

static struct bench_stint sample_single(struct bench_point *point, const struct bench_calls *calls)
{
    int root = bench_root(point);
    synchronise(point, calls);
    bench_come_late(point);
    return time_call(point, calls, root);
}

/* Another barrier follows: ranks that were done would go on to the host's own calls, and where
 * those never yield keep the processor from ranks that still have to be told. Neither barrier's
 * switches count: there are rows of one call. */
static struct bench_stint sample_row(struct bench_point *point, const struct bench_calls *calls)
{
    int root = bench_root(point);
    calls->barrier(MPI_COMM_WORLD);
    struct bench_switches before = bench_switches_now();
    struct bench_stint stint = {.start = bench_point_now(point)};
    for (int i = 0; i < point->repeat; i++)
        point->kind->call(point, calls, root);
    stint.end = bench_point_now(point);
    stint.switches = bench_switches_since(before);
    calls->barrier(MPI_COMM_WORLD);
    return stint;
}

static struct bench_stint sample_chain(struct bench_point *point, const struct bench_calls *calls)
{
    calls->barrier(MPI_COMM_WORLD);
    struct bench_stint stint = {.start = bench_point_now(point)};
    for (int i = 0; i < point->repeat; i++) {
        int root = i % point->job->ranks;
        point->kind->renew(point, root);
        point->kind->call(point, calls, root);
    }
    stint.end = bench_point_now(point);
    return stint;
}

/* Who looks at the clock for the first time when the call should have begun is late, and with it
 * the call. As long as nobody knows how far apart calls have to be, they come after a barrier. */
static struct bench_stint sample_window(struct bench_point *point, const struct bench_calls *calls)
{
    if (point->window.width == 0.0)
        return sample_fresh(point, calls);
    int root = bench_root(point);
    point->kind->renew(point, root);
    struct bench_stint stint = {.start = point->window.next};
    point->window.next += point->window.width;
    stint.late = bench_point_now(point) > stint.start;
    while (bench_point_now(point) < stint.start)
        continue;
    point->kind->call(point, calls, root);
    stint.end = bench_point_now(point);
    return stint;
}

const char *const bench_method_names[] = {"sobor", "single", "row", "window", NULL};

static const struct bench_method METHODS[] = {
    {.name = "sobor", .sample = sample_fresh, .repeat = 1, .synchronised = true},
    {.name = "single",
     .sample = sample_single,
     .repeat = 1,
     .synchronised = true,
     .rank_means = true},
    {.name = "row", .sample = sample_row, .repeat = 1, .repeat_most = ROW, .unbroken = true},
    {.name = "window", .sample = sample_window, .repeat = 1, .timed = true},
};

static const struct bench_method BARRIERS = {.name = "sobor",
                                             .sample = sample_row,
                                             .repeat = 1,
                                             .repeat_most = BARRIER_ROW,
                                             .unbroken = true};

static const struct bench_method CHAIN = {
    .name = "sobor", .sample = sample_chain, .repeat = CHAIN_ROUNDS, .each_root = true};

const struct bench_method bench_method_passthrough = {.sample = sample_row,
                                                      .repeat = PASSTHROUGH_ROW};

const struct bench_method *bench_method_of(const char *name, const struct bench_point *point)
{
    bool own = strcmp(name, METHODS[0].name) == 0;
    if (strcmp(point->variant, "chain") == 0)
        return own ? &CHAIN : NULL;
    if (own && strcmp(point->collective, "barrier") == 0)
        return &BARRIERS;
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++)
        if (strcmp(METHODS[i].name, name) == 0)
            return &METHODS[i];
    return NULL;
}
