/* SPDX-License-Identifier: BSD-3-Clause */
#include "reductions.h"

#include "measure.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

enum { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN };

static const struct {
    const char *name;
    const char *function;
    void *program;
} REDUCTIONS[BENCH_REDUCTIONS] = {
    {"reduce", "PMPI_Reduce", (void *)MPI_Reduce},
    {"allreduce", "PMPI_Allreduce", (void *)MPI_Allreduce},
    {"reduce_scatter", "PMPI_Reduce_scatter", (void *)MPI_Reduce_scatter},
    {"reduce_scatter_block", "PMPI_Reduce_scatter_block", (void *)MPI_Reduce_scatter_block},
    {"scan", "PMPI_Scan", (void *)MPI_Scan},
    {"exscan", "PMPI_Exscan", (void *)MPI_Exscan},
};

typedef int rooted(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int shared(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int dealt(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm);

int bench_reductions_which(const char *collective)
{
    for (int i = 0; i < BENCH_REDUCTIONS; i++)
        if (strcmp(REDUCTIONS[i].name, collective) == 0)
            return i;
    return -1;
}

int bench_reductions_find(struct bench_job *job, void *libmpi)
{
    for (int i = 0; i < BENCH_REDUCTIONS; i++) {
        job->host.reductions[i] = dlsym(libmpi, REDUCTIONS[i].function);
        job->program.reductions[i] = REDUCTIONS[i].program;
        if (job->host.reductions[i] == NULL) {
            fprintf(stderr, "sobor-bench: SOBOR_BENCH_LIBMPI: the library has no %s\n",
                    REDUCTIONS[i].function);
            return -1;
        }
    }
    return 0;
}

static bool is_dealt(int which)
{
    return which == REDUCE_SCATTER || which == REDUCE_SCATTER_BLOCK;
}

static void choose_type(struct bench_reduction *reduction, size_t bytes)
{
    reduction->type = bytes % sizeof(double) == 0  ? MPI_DOUBLE
                      : bytes % sizeof(float) == 0 ? MPI_FLOAT
                                                   : MPI_UNSIGNED_CHAR;
    reduction->element = bytes % sizeof(double) == 0  ? sizeof(double)
                         : bytes % sizeof(float) == 0 ? sizeof(float)
                                                      : 1;
}

/* Parts of reduce_scatter are equal, of one element at least. */
static int create_reduction(struct bench_reduction *reduction, const struct bench_point *point)
{
    int ranks = point->job->ranks;
    *reduction = (struct bench_reduction){.which = bench_reductions_which(point->collective)};
    choose_type(reduction, point->bytes);
    reduction->elements = (int)(point->bytes / reduction->element);
    reduction->counts = malloc((size_t)ranks * sizeof *reduction->counts);
    if (reduction->counts == NULL)
        return -1;
    if (is_dealt(reduction->which)) {
        int part = reduction->elements < ranks ? 1 : reduction->elements / ranks;
        for (int i = 0; i < ranks; i++)
            reduction->counts[i] = part;
        reduction->elements = part * ranks;
    }
    size_t bytes = (size_t)reduction->elements * reduction->element;
    reduction->area = (bytes + LINE - 1) / LINE * LINE;
    return 0;
}

static int create(struct bench_point *point, size_t *bytes)
{
    int failed = create_reduction(&point->reduction, point);
    *bytes = 2 * point->reduction.area;
    return failed;
}

static void destroy(struct bench_point *point)
{
    free(point->reduction.counts);
    point->reduction.counts = NULL;
}

static int call_reduction(struct bench_point *point, const struct bench_calls *calls, int root)
{
    const struct bench_reduction *reduction = &point->reduction;
    unsigned char *out = bench_buffers_slot(&point->buffers, point->call++);
    unsigned char *in = out + reduction->area;
    void *function = calls->reductions[reduction->which];
    MPI_Datatype type = reduction->type;
    MPI_Comm world = MPI_COMM_WORLD;
    switch (reduction->which) {
    case REDUCE:
        return ((rooted *)function)(out, in, reduction->elements, type, MPI_SUM, root, world);
    case REDUCE_SCATTER:
        return ((dealt *)function)(out, in, reduction->counts, type, MPI_SUM, world);
    case REDUCE_SCATTER_BLOCK:
        return ((shared *)function)(out, in, reduction->counts[0], type, MPI_SUM, world);
    default:
        return ((shared *)function)(out, in, reduction->elements, type, MPI_SUM, world);
    }
}

/* Elements that this rank receives, where `root` is the root. */
static int received(const struct bench_point *point, int root)
{
    const struct bench_reduction *reduction = &point->reduction;
    int rank = point->job->rank;
    if (is_dealt(reduction->which))
        return reduction->counts[rank];
    bool nothing = reduction->which == REDUCE ? rank != root : reduction->which == EXSCAN && !rank;
    return nothing ? 0 : reduction->elements;
}

/* As bench_buffers_renew: what is given is written anew, as plain numbers; what is received into is
 * touched. */
static void renew(struct bench_point *point, int root)
{
    const struct bench_reduction *reduction = &point->reduction;
    size_t ahead = point->call + point->buffers.ahead;
    unsigned char *out = bench_buffers_slot(&point->buffers, ahead), *in = out + reduction->area;
    memset(out, 0x40 | (int)(point->call & 7), (size_t)reduction->elements * reduction->element);
    for (size_t i = 0; i < (size_t)received(point, root) * reduction->element; i += LINE)
        *(volatile unsigned char *)(in + i) = (unsigned char)~point->call;
}

/* What a rank gives: so small that every sum is exact, of bytes too. */
static int given(int rank, size_t call, size_t i)
{
    uint64_t z = ((uint64_t)rank * 8191 + call * 131 + i) * 0x9e3779b97f4a7c15u;
    return (int)(z >> 62);
}

static void put(const struct bench_reduction *reduction, unsigned char *at, int value)
{
    double whole = value;
    float half = (float)value;
    unsigned char byte = (unsigned char)value;
    const void *from = reduction->element == sizeof whole  ? (const void *)&whole
                       : reduction->element == sizeof half ? (const void *)&half
                                                           : (const void *)&byte;
    memcpy(at, from, reduction->element);
}

/* Whether element i of the result is the sum of ranks [0, until). */
static bool is_right(const struct bench_reduction *reduction, const unsigned char *at, int until,
                     size_t call, size_t i)
{
    unsigned char expected[sizeof(double)];
    int sum = 0;
    for (int rank = 0; rank < until; rank++)
        sum += given(rank, call, i);
    put(reduction, expected, sum);
    return memcmp(at, expected, reduction->element) == 0;
}

static long check(struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_reduction *reduction = &point->reduction;
    int root = bench_root(point), rank = point->job->rank, until = point->job->ranks;
    size_t call = point->call, element = reduction->element, first = 0;
    unsigned char *out = bench_buffers_slot(&point->buffers, call), *in = out + reduction->area;
    for (size_t i = 0; i < (size_t)reduction->elements; i++)
        put(reduction, out + i * element, given(rank, call, i));
    memset(in, 0xa5, reduction->area);
    if (call_reduction(point, calls, root) != MPI_SUCCESS)
        return 1;
    if (is_dealt(reduction->which))
        first = (size_t)reduction->counts[0] * (size_t)rank;
    if (reduction->which == SCAN || reduction->which == EXSCAN)
        until = rank + (reduction->which == SCAN);
    for (size_t i = 0; i < (size_t)received(point, root); i++)
        if (!is_right(reduction, in + i * element, until, call, first + i))
            return 1;
    return 0;
}

const struct bench_kind bench_reductions_kind = {
    .create = create, .destroy = destroy, .renew = renew, .call = call_reduction, .check = check};
