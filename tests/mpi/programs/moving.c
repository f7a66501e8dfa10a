/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "moving.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int rooted(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);
typedef int rooted_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                     MPI_Comm);
typedef int spread(const void *, const int *, const int *, MPI_Datatype, void *, int, MPI_Datatype,
                   int, MPI_Comm);
typedef int spread_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int collected(const void *, int, MPI_Datatype, void *, const int *, const int *,
                      MPI_Datatype, int, MPI_Comm);
typedef int collected_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                        const MPI_Aint *, MPI_Datatype, int, MPI_Comm);
typedef int shared(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
typedef int shared_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                     MPI_Comm);
typedef int shared_varying(const void *, int, MPI_Datatype, void *, const int *, const int *,
                           MPI_Datatype, MPI_Comm);
typedef int shared_varying_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                             const MPI_Aint *, MPI_Datatype, MPI_Comm);
typedef int exchanged(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                      const int *, MPI_Datatype, MPI_Comm);
typedef int exchanged_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                        const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
typedef int exchanged_typed(const void *, const int *, const int *, const MPI_Datatype *, void *,
                            const int *, const int *, const MPI_Datatype *, MPI_Comm);
typedef int exchanged_typed_c(const void *, const MPI_Count *, const MPI_Aint *,
                              const MPI_Datatype *, void *, const MPI_Count *, const MPI_Aint *,
                              const MPI_Datatype *, MPI_Comm);

static const char *const NAMES[MOVING] = {
    "Scatter",    "Scatterv", "Gather",    "Gatherv",   "Allgather",
    "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
};

static void *functions[ENTRIES][MOVING];
static bool has_large;

const char *moving_name(enum moving which)
{
    return NAMES[which];
}

bool moving_has_large(void)
{
    return has_large;
}

bool moving_has_root(enum moving which)
{
    return which <= GATHERV;
}

bool moving_varies(enum moving which)
{
    return which % 2 == 1 || which == ALLTOALLW;
}

void moving_begin(void)
{
    has_large = true;
    for (int which = 0; which < MOVING; which++) {
        char name[32];
        snprintf(name, sizeof name, "PMPI_%s", NAMES[which]);
        functions[HOST][which] = host_function(name);
        functions[PROGRAM][which] = dlsym(RTLD_DEFAULT, name + 1);
        snprintf(name, sizeof name, "MPI_%s_c", NAMES[which]);
        functions[PROGRAM_LARGE][which] = dlsym(RTLD_DEFAULT, name);
        has_large = has_large && functions[PROGRAM_LARGE][which] != NULL;
        CHECK(functions[PROGRAM][which] != NULL, "no MPI_%s", NAMES[which]);
    }
}

/* Counts and displacements for the functions of large counts; NULL stays NULL. */
struct large {
    MPI_Count *counts;
    MPI_Aint *places;
};

static struct large enlarge(const struct side *side, int size, bool significant)
{
    struct large large = {NULL, NULL};
    if (!significant)
        return large;
    large.counts = malloc((size_t)size * sizeof *large.counts);
    large.places = malloc((size_t)size * sizeof *large.places);
    for (int i = 0; i < size; i++) {
        large.counts[i] = side->counts[i];
        large.places[i] = side->places[i];
    }
    return large;
}

static void dismiss(struct large *large)
{
    free(large->counts);
    free(large->places);
}

static int call_small(enum moving which, void *function, const struct side *send,
                      const struct side *receive, int root, MPI_Comm comm)
{
    switch (which) {
    case SCATTER:
    case GATHER:
        return ((rooted *)function)(send->buffer, send->count, send->type, receive->buffer,
                                    receive->count, receive->type, root, comm);
    case SCATTERV:
        return ((spread *)function)(send->buffer, send->counts, send->places, send->type,
                                    receive->buffer, receive->count, receive->type, root, comm);
    case GATHERV:
        return ((collected *)function)(send->buffer, send->count, send->type, receive->buffer,
                                       receive->counts, receive->places, receive->type, root, comm);
    case ALLGATHER:
    case ALLTOALL:
        return ((shared *)function)(send->buffer, send->count, send->type, receive->buffer,
                                    receive->count, receive->type, comm);
    case ALLGATHERV:
        return ((shared_varying *)function)(send->buffer, send->count, send->type, receive->buffer,
                                            receive->counts, receive->places, receive->type, comm);
    case ALLTOALLV:
        return ((exchanged *)function)(send->buffer, send->counts, send->places, send->type,
                                       receive->buffer, receive->counts, receive->places,
                                       receive->type, comm);
    default:
        return ((exchanged_typed *)function)(send->buffer, send->counts, send->places, send->types,
                                             receive->buffer, receive->counts, receive->places,
                                             receive->types, comm);
    }
}

static int call_large(enum moving which, void *function, const struct side *send,
                      const struct side *receive, int root, MPI_Comm comm,
                      const struct large send_large, const struct large receive_large)
{
    switch (which) {
    case SCATTER:
    case GATHER:
        return ((rooted_c *)function)(send->buffer, send->count, send->type, receive->buffer,
                                      receive->count, receive->type, root, comm);
    case SCATTERV:
        return ((spread_c *)function)(send->buffer, send_large.counts, send_large.places,
                                      send->type, receive->buffer, receive->count, receive->type,
                                      root, comm);
    case GATHERV:
        return ((collected_c *)function)(send->buffer, send->count, send->type, receive->buffer,
                                         receive_large.counts, receive_large.places, receive->type,
                                         root, comm);
    case ALLGATHER:
    case ALLTOALL:
        return ((shared_c *)function)(send->buffer, send->count, send->type, receive->buffer,
                                      receive->count, receive->type, comm);
    case ALLGATHERV:
        return ((shared_varying_c *)function)(send->buffer, send->count, send->type,
                                              receive->buffer, receive_large.counts,
                                              receive_large.places, receive->type, comm);
    case ALLTOALLV:
        return ((exchanged_c *)function)(send->buffer, send_large.counts, send_large.places,
                                         send->type, receive->buffer, receive_large.counts,
                                         receive_large.places, receive->type, comm);
    default:
        return ((exchanged_typed_c *)function)(send->buffer, send_large.counts, send_large.places,
                                               send->types, receive->buffer, receive_large.counts,
                                               receive_large.places, receive->types, comm);
    }
}

int moving_call(enum moving which, enum entry entry, const struct side *send,
                const struct side *receive, int root, MPI_Comm comm)
{
    if (entry != PROGRAM_LARGE || !has_large)
        return call_small(which, functions[entry == HOST ? HOST : PROGRAM][which], send, receive,
                          root, comm);
    bool here = !moving_has_root(which) || rank_of(comm) == root;
    bool sends = moving_varies(which) && which != GATHERV && which != ALLGATHERV;
    bool receives = moving_varies(which) && which != SCATTERV;
    struct large out = enlarge(
        send, size_of(comm), here && sends && (which == SCATTERV || send->buffer != MPI_IN_PLACE));
    struct large in = enlarge(receive, size_of(comm), here && receives);
    int status =
        call_large(which, functions[PROGRAM_LARGE][which], send, receive, root, comm, out, in);
    dismiss(&out);
    dismiss(&in);
    return status;
}
