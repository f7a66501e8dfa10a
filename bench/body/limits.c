/* SPDX-License-Identifier: BSD-3-Clause */
#include "limits.h"

#include "base/heap.h"
#include "check.h"
#include "share.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* That the functions below work for: one at a time. */
static struct limit at_work;

/* What the heap of this process offers, and the other's process. */
static const sb_heap_t *heap;
static int other_process;

static const void *reach(uint64_t address, size_t bytes)
{
    return heap->reach(other_process, address, bytes, true);
}

/* The types that the bench calls with cost no call of MPI. */
static size_t bytes_of(int count, MPI_Datatype type)
{
    int size = type == MPI_BYTE || type == MPI_UNSIGNED_CHAR ? 1
               : type == MPI_FLOAT                           ? (int)sizeof(float)
               : type == MPI_DOUBLE                          ? (int)sizeof(double)
                                                             : 0;
    if (size == 0)
        MPI_Type_size(type, &size);
    return (size_t)count * (size_t)size;
}

static int barrier(MPI_Comm comm)
{
    (void)comm;
    limit_barrier(&at_work);
    return MPI_SUCCESS;
}

static int bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    enum limit_form form = at_work.form;
    size_t bytes = bytes_of(count, type);
    (void)comm;
    /* The bench's own words are not in its buffers. */
    if (form == LIMIT_DIRECT && !heap->shares(buffer, bytes))
        at_work.form = LIMIT_ORDINARY;
    limit_broadcast(&at_work, buffer, bytes, root);
    at_work.form = form;
    return MPI_SUCCESS;
}

static int gather(const void *send, int count, MPI_Datatype type, void *receive, int received,
                  MPI_Datatype as, int root, MPI_Comm comm)
{
    (void)received, (void)as, (void)comm;
    limit_gather(&at_work, send, receive, bytes_of(count, type), root);
    return MPI_SUCCESS;
}

static int scatter(const void *send, int count, MPI_Datatype type, void *receive, int received,
                   MPI_Datatype as, int root, MPI_Comm comm)
{
    (void)received, (void)as, (void)comm;
    limit_scatter(&at_work, send, receive, bytes_of(count, type), root);
    return MPI_SUCCESS;
}

static int allgather(const void *send, int count, MPI_Datatype type, void *receive, int received,
                     MPI_Datatype as, MPI_Comm comm)
{
    (void)received, (void)as, (void)comm;
    limit_allgather(&at_work, send, receive, bytes_of(count, type));
    return MPI_SUCCESS;
}

static int alltoall(const void *send, int count, MPI_Datatype type, void *receive, int received,
                    MPI_Datatype as, MPI_Comm comm)
{
    (void)received, (void)as, (void)comm;
    limit_alltoall(&at_work, send, receive, bytes_of(count, type));
    return MPI_SUCCESS;
}

static enum limit_element element_of(MPI_Datatype type)
{
    return type == MPI_DOUBLE ? LIMIT_DOUBLE : type == MPI_FLOAT ? LIMIT_FLOAT : LIMIT_BYTE;
}

static int reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  int root, MPI_Comm comm)
{
    (void)op, (void)comm;
    limit_reduce(&at_work, send, receive, bytes_of(count, type), element_of(type), root);
    return MPI_SUCCESS;
}

static int allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm)
{
    (void)op, (void)comm;
    limit_allreduce(&at_work, send, receive, bytes_of(count, type), element_of(type));
    return MPI_SUCCESS;
}

void bench_limits_create(struct bench_limits *limits, const struct bench_job *job)
{
    limits->segment = job->one_node ? bench_share(job, limit_segment_bytes) : NULL;
    sb_heap_function_t *function =
        (sb_heap_function_t *)(uintptr_t)dlsym(RTLD_DEFAULT, SB_HEAP_FUNCTION);
    heap = function != NULL ? function() : NULL;
    double own = getpid(), first = job->rank == 0 ? own : 0.0, second = job->rank == 0 ? 0.0 : own;
    first = bench_maximum(job, first);
    second = bench_maximum(job, second);
    other_process = (int)(job->rank == 0 ? second : first);
}

/* Collective: whether each can read the other's buffers. */
static bool is_direct(const struct bench_point *point)
{
    const struct bench_job *job = point->job;
    const unsigned char *own = point->buffers.pool;
    bool shares = heap != NULL && own != NULL && heap->shares(own, 1);
    uint64_t address[2] = {0}, mine[2] = {0};
    mine[job->rank] = shares ? (uintptr_t)own : 0;
    job->allreduce(mine, address, 2, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD);
    bool readable = shares && heap->reach(other_process, address[!job->rank], 1, true) != NULL;
    return bench_maximum(job, readable ? 0.0 : 1.0) == 0.0;
}

void bench_limits_destroy(struct bench_limits *limits)
{
    bench_unshare(limits->segment, limit_segment_bytes);
}

bool bench_limits_has(const struct bench_limits *limits, const char *collective)
{
    static const char *const known[] = {"barrier",   "bcast",    "gather", "scatter",
                                        "allgather", "alltoall", "reduce", "allreduce"};
    for (size_t i = 0; limits->segment != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], collective) == 0)
            return true;
    return false;
}

/* The limit in the place of the host. */
static struct bench_job stand_in(const struct bench_job *job)
{
    struct bench_job other = *job;
    other.host.barrier = barrier;
    other.host.bcast = bcast;
    other.host.parts[bench_parts_which("gather")] = (void *)gather;
    other.host.parts[bench_parts_which("scatter")] = (void *)scatter;
    other.host.parts[bench_parts_which("allgather")] = (void *)allgather;
    other.host.parts[bench_parts_which("alltoall")] = (void *)alltoall;
    other.host.reductions[bench_reductions_which("reduce")] = (void *)reduce;
    other.host.reductions[bench_reductions_which("allreduce")] = (void *)allreduce;
    return other;
}

int bench_limits_measure(struct bench_point *point, struct bench_limit_times *times)
{
    struct limit_segment *segment = point->limits->segment;
    const struct bench_job *job = point->job, other = stand_in(job);
    int failed = 0;
    *times = (struct bench_limit_times){0};
    point->job = &other;
    for (int form = 0; form < LIMIT_FORMS; form++) {
        struct bench_times both;
        if (form == LIMIT_DIRECT && !is_direct(point))
            continue;
        job->host.barrier(MPI_COMM_WORLD);
        if (job->rank == 0)
            limit_begin(segment);
        at_work = (struct limit){
            .segment = segment, .rank = job->rank, .form = (enum limit_form)form, .reach = reach};
        job->host.barrier(MPI_COMM_WORLD);
        failed |= bench_measure(point, &both);
        if (bench_is_checked(point))
            times->wrong += bench_check_host(point);
        times->limit[form] = both.host.figure;
        times->program[form] = both.program.figure;
    }
    point->job = job;
    return failed;
}
