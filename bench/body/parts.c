/* SPDX-License-Identifier: BSD-3-Clause */
#include "parts.h"

#include "measure.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, SEND = 0, RECEIVE = 1 };

enum { SCATTER, SCATTERV, GATHER, GATHERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW };

static const struct {
    const char *name;
    const char *function;
    void *program;
} PARTS[BENCH_PARTS] = {
    {"scatter", "PMPI_Scatter", (void *)MPI_Scatter},
    {"scatterv", "PMPI_Scatterv", (void *)MPI_Scatterv},
    {"gather", "PMPI_Gather", (void *)MPI_Gather},
    {"gatherv", "PMPI_Gatherv", (void *)MPI_Gatherv},
    {"allgather", "PMPI_Allgather", (void *)MPI_Allgather},
    {"allgatherv", "PMPI_Allgatherv", (void *)MPI_Allgatherv},
    {"alltoall", "PMPI_Alltoall", (void *)MPI_Alltoall},
    {"alltoallv", "PMPI_Alltoallv", (void *)MPI_Alltoallv},
    {"alltoallw", "PMPI_Alltoallw", (void *)MPI_Alltoallw},
};

typedef int rooted(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);
typedef int spread(const void *, const int *, const int *, MPI_Datatype, void *, int, MPI_Datatype,
                   int, MPI_Comm);
typedef int collected(const void *, int, MPI_Datatype, void *, const int *, const int *,
                      MPI_Datatype, int, MPI_Comm);
typedef int shared(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
typedef int shared_varying(const void *, int, MPI_Datatype, void *, const int *, const int *,
                           MPI_Datatype, MPI_Comm);
typedef int exchanged(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                      const int *, MPI_Datatype, MPI_Comm);
typedef int exchanged_typed(const void *, const int *, const int *, const MPI_Datatype *, void *,
                            const int *, const int *, const MPI_Datatype *, MPI_Comm);

int bench_parts_which(const char *collective)
{
    for (int i = 0; i < BENCH_PARTS; i++)
        if (strcmp(PARTS[i].name, collective) == 0)
            return i;
    return -1;
}

bool bench_parts_vary(int which)
{
    return which % 2 == 1 || which == ALLTOALLW;
}

int bench_parts_find(struct bench_job *job, void *libmpi)
{
    for (int i = 0; i < BENCH_PARTS; i++) {
        job->host.parts[i] = dlsym(libmpi, PARTS[i].function);
        job->program.parts[i] = PARTS[i].program;
        if (job->host.parts[i] == NULL) {
            fprintf(stderr, "sobor-bench: SOBOR_BENCH_LIBMPI: the library has no %s\n",
                    PARTS[i].function);
            return -1;
        }
    }
    return 0;
}

/* Bytes of the part with this index; `bytes` on average, or nearly. */
static size_t part_bytes(const struct bench_point *point, int which, int index)
{
    size_t bytes = point->bytes, ranks = (size_t)point->job->ranks, i = (size_t)index;
    switch (bench_parts_vary(which) ? point->options->counts : BENCH_EQUAL) {
    case BENCH_LINEAR:
        return 2 * bytes * i / (ranks > 1 ? ranks - 1 : 1);
    case BENCH_HEAVY:
        return i + 1 == ranks ? ranks * bytes - (ranks - 1) * (bytes / 16) : bytes / 16;
    case BENCH_RANDOM:
        return (i + 1) * 0x9e3779b97f4a7c15u % (2 * bytes + 1);
    case BENCH_HALF_ZERO:
        return i % 2 == 1 ? 2 * bytes : 0;
    default:
        return bytes;
    }
}

/* An all-to-all's part between two ranks is the same in both directions. */
static size_t between(const struct bench_point *point, int which, int from, int to)
{
    int ranks = point->job->ranks;
    int index = which >= ALLTOALL ? (from + to) % ranks : which <= SCATTERV ? to : from;
    return part_bytes(point, which, index);
}

static int create_parts(struct bench_parts *parts, const struct bench_point *point)
{
    int ranks = point->job->ranks;
    size_t each = (size_t)ranks * sizeof(int);
    *parts = (struct bench_parts){.which = bench_parts_which(point->collective)};
    parts->types = malloc((size_t)ranks * sizeof *parts->types);
    for (int side = 0; side < 2; side++) {
        parts->counts[side] = malloc(each);
        parts->places[side] = malloc(each);
    }
    if (!parts->types || !parts->counts[0] || !parts->counts[1] || !parts->places[0] ||
        !parts->places[1])
        return -1;
    for (int side = 0; side < 2; side++) {
        size_t at = 0;
        for (int i = 0; i < ranks; i++) {
            int rank = point->job->rank;
            size_t bytes = side == SEND ? between(point, parts->which, rank, i)
                                        : between(point, parts->which, i, rank);
            parts->types[i] = MPI_BYTE;
            parts->counts[side][i] = (int)bytes;
            parts->places[side][i] = (int)at;
            at += bytes;
        }
        parts->area = at > parts->area ? at : parts->area;
    }
    size_t most = (size_t)ranks * (2 * point->bytes + 1);
    parts->area = (parts->area > most ? parts->area : most) + LINE - 1;
    parts->area = parts->area / LINE * LINE;
    return parts->area > INT32_MAX ? -1 : 0;
}

static int create(struct bench_point *point, size_t *bytes)
{
    int failed = create_parts(&point->parts, point);
    *bytes = 2 * point->parts.area;
    return failed;
}

static void destroy(struct bench_point *point)
{
    struct bench_parts *parts = &point->parts;
    for (int side = 0; side < 2; side++) {
        free(parts->counts[side]);
        free(parts->places[side]);
    }
    free(parts->types);
}

/* Bytes at the start of each half that take part, where `root` is the root. */
static size_t used(const struct bench_point *point, int side, int root)
{
    const struct bench_parts *parts = &point->parts;
    int last = point->job->ranks - 1, which = parts->which, rank = point->job->rank;
    bool gathers = which == GATHER || which == GATHERV;
    bool whole = which >= ALLTOALL || (which >= ALLGATHER && side == RECEIVE) ||
                 (rank == root && side == (gathers ? RECEIVE : SEND) && which < ALLGATHER);
    if (whole)
        return (size_t)(parts->places[side][last] + parts->counts[side][last]);
    if (which <= GATHERV && side == (gathers ? RECEIVE : SEND))
        return 0;
    return (size_t)parts->counts[side][root];
}

static int call_parts(struct bench_point *point, const struct bench_calls *calls, int root)
{
    const struct bench_parts *parts = &point->parts;
    const int *const *counts = (const int *const *)parts->counts;
    const int *const *places = (const int *const *)parts->places;
    unsigned char *out = bench_buffers_slot(&point->buffers, point->call++);
    unsigned char *in = out + parts->area;
    void *function = calls->parts[parts->which];
    int bytes = (int)point->bytes, one_out = counts[SEND][root], one_in = counts[RECEIVE][root];
    MPI_Datatype t = MPI_BYTE;
    MPI_Comm world = MPI_COMM_WORLD;
    switch (parts->which) {
    case SCATTER:
    case GATHER:
        return ((rooted *)function)(out, bytes, t, in, bytes, t, root, world);
    case SCATTERV:
        return ((spread *)function)(out, counts[SEND], places[SEND], t, in, one_in, t, root, world);
    case GATHERV:
        return ((collected *)function)(out, one_out, t, in, counts[RECEIVE], places[RECEIVE], t,
                                       root, world);
    case ALLGATHER:
    case ALLTOALL:
        return ((shared *)function)(out, bytes, t, in, bytes, t, world);
    case ALLGATHERV:
        return ((shared_varying *)function)(out, one_out, t, in, counts[RECEIVE], places[RECEIVE],
                                            t, world);
    case ALLTOALLV:
        return ((exchanged *)function)(out, counts[SEND], places[SEND], t, in, counts[RECEIVE],
                                       places[RECEIVE], t, world);
    default:
        return ((exchanged_typed *)function)(out, counts[SEND], places[SEND], parts->types, in,
                                             counts[RECEIVE], places[RECEIVE], parts->types, world);
    }
}

/* As bench_buffers_renew: what is sent is written anew, what is received into is touched. */
static void renew(struct bench_point *point, int root)
{
    size_t ahead = point->call + point->buffers.ahead;
    unsigned char *out = bench_buffers_slot(&point->buffers, ahead), *in = out + point->parts.area;
    memset(out, (int)(point->call & 0xff), used(point, SEND, root));
    for (size_t i = 0; i < used(point, RECEIVE, root); i += LINE)
        *(volatile unsigned char *)(in + i) = (unsigned char)~point->call;
}

static unsigned char expected_byte(const struct bench_parts *parts, int from, int to, size_t call,
                                   size_t i)
{
    bool same_for_all = parts->which == ALLGATHER || parts->which == ALLGATHERV;
    size_t seed = (size_t)from * 8191 + (same_for_all ? 0 : (size_t)to) * 127 + call * 31;
    return (unsigned char)((seed + i) * 0x9e3779b97f4a7c15u >> 56);
}

static void fill_part(const struct bench_parts *parts, unsigned char *at, size_t bytes, int from,
                      int to, size_t call)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = expected_byte(parts, from, to, call, i);
}

static long wrong_part(const struct bench_parts *parts, const unsigned char *at, size_t bytes,
                       int from, int to, size_t call)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != expected_byte(parts, from, to, call, i))
            return 1;
    return 0;
}

static long check(struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_parts *parts = &point->parts;
    int root = bench_root(point), rank = point->job->rank, ranks = point->job->ranks;
    size_t call = point->call, bytes[2] = {used(point, SEND, root), used(point, RECEIVE, root)};
    unsigned char *out = bench_buffers_slot(&point->buffers, call), *in = out + parts->area;
    bool spreads = parts->which <= SCATTERV,
         gathers = parts->which == GATHER || parts->which == GATHERV;
    long wrong = 0;
    memset(in, 0xa5, parts->area);
    for (int i = 0; i < ranks && (spreads || parts->which >= ALLTOALL) && bytes[SEND] > 0; i++)
        fill_part(parts, out + parts->places[SEND][i], (size_t)parts->counts[SEND][i], rank, i,
                  call);
    if (!spreads && parts->which < ALLTOALL)
        fill_part(parts, out, bytes[SEND], rank, gathers ? root : 0, call);
    if (call_parts(point, calls, root) != MPI_SUCCESS)
        return 1;
    if (spreads)
        return wrong_part(parts, in, bytes[RECEIVE], root, rank, call);
    for (int i = 0; i < ranks && bytes[RECEIVE] > 0; i++)
        wrong += wrong_part(parts, in + parts->places[RECEIVE][i],
                            (size_t)parts->counts[RECEIVE][i], i, rank, call);
    return wrong != 0;
}

const struct bench_kind bench_parts_kind = {
    .create = create, .destroy = destroy, .renew = renew, .call = call_parts, .check = check};
