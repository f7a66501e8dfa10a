/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in which a rank exchanges nothing and has a type or a buffer of no use for it, which MPICH
 * and its relatives let pass; the others have types of use for it, or the same too.
 *
 * usage: null_types alltoallw | alltoallw-zero | null | uncommitted | in-place
 *
 * With "alltoallw-zero" it is no type at all: what an array has that was not filled. The last three
 * are broadcasts of nothing: with which type, or buffer. */
#include "support.h"

#include <string.h>

enum { RANKS = 8, COUNT = 700, ROUNDS = 6, BROADCASTS = 150 };

static int out[RANKS * COUNT], in[RANKS * COUNT];

static void exchange(MPI_Comm comm, MPI_Datatype unused, int round)
{
    int counts[RANKS], places[RANKS], rank = rank_of(comm), size = size_of(comm);
    bool in_place = round % 3 == 2 && unused == MPI_DATATYPE_NULL; /* else hosts crash */
    MPI_Datatype types[RANKS];
    for (int i = 0; i < size; i++) {
        bool nothing = rank == size - 1 || i == size - 1;
        counts[i] = nothing ? 0 : COUNT;
        places[i] = i * COUNT * (int)sizeof(int);
        types[i] = nothing && (rank == size - 1 || round % 2) ? unused : MPI_INT;
        for (int k = 0; k < COUNT; k++)
            out[i * COUNT + k] = rank * 1000 + i * 100 + round;
    }
    memset(in, 0, sizeof in);
    if (in_place)
        memcpy(in, out, sizeof in);
    CALL(MPI_Alltoallw(in_place ? MPI_IN_PLACE : out, counts, places, types, in, counts, places,
                       types, comm));
    for (int i = 0; i < size; i++) {
        int expected = counts[i] > 0 ? i * 1000 + rank * 100 + round
                       : in_place    ? out[i * COUNT]
                                     : 0;
        CHECK(in[i * COUNT] == expected && in[i * COUNT + COUNT - 1] == expected,
              "round %d, from %d: %d", round, i, in[i * COUNT]);
    }
}

/* Ranks that do not count such a call are out of step with the others later: when a communicator is
 * first served, or has another way of its broadcasts tried. */
static void broadcast_nothing(MPI_Comm comm, const char *what)
{
    bool last = rank_of(comm) == size_of(comm) - 1;
    MPI_Datatype pair, type = MPI_INT;
    void *buffer = out;
    CALL(MPI_Type_contiguous(2, MPI_INT, &pair));
    if (last && strcmp(what, "null") == 0)
        type = MPI_DATATYPE_NULL;
    else if (last && strcmp(what, "uncommitted") == 0)
        type = pair;
    else if (last)
        buffer = MPI_IN_PLACE;
    for (int round = 0; round < BROADCASTS; round++) {
        CALL(MPI_Bcast(buffer, 0, type, 0, comm));
        if (round % 3 == 0)
            checked_bcast(comm, 64, round % size_of(comm), (uint64_t)round);
    }
    CALL(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "alltoallw";
    bool exchanges = strncmp(what, "alltoallw", 9) == 0;
    MPI_Datatype unused = what[exchanges ? 9 : 0] == '\0' ? MPI_DATATYPE_NULL : (MPI_Datatype)0;
    MPI_Comm copy;
    test_begin(&argc, &argv);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    for (int round = 0; round < ROUNDS && exchanges; round++) {
        exchange(MPI_COMM_WORLD, unused, round);
        exchange(copy, unused, round);
    }
    if (!exchanges) {
        broadcast_nothing(MPI_COMM_WORLD, what);
        broadcast_nothing(copy, what);
    }
    CALL(MPI_Comm_free(&copy));
    return test_end();
}
