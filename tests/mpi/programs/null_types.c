/* SPDX-License-Identifier: BSD-3-Clause */
/* An alltoallw in which the last rank exchanges nothing and has the null type for all, which MPICH
 * and its relatives let pass; the others have types of their own for it, or the null type too. */
#include "support.h"

#include <string.h>

enum { RANKS = 8, COUNT = 700, ROUNDS = 6 };

static int out[RANKS * COUNT], in[RANKS * COUNT];

static void exchange(MPI_Comm comm, int round)
{
    int counts[RANKS], places[RANKS], rank = rank_of(comm), size = size_of(comm);
    bool in_place = round % 3 == 2;
    MPI_Datatype types[RANKS];
    for (int i = 0; i < size; i++) {
        bool nothing = rank == size - 1 || i == size - 1;
        counts[i] = nothing ? 0 : COUNT;
        places[i] = i * COUNT * (int)sizeof(int);
        types[i] = nothing && (rank == size - 1 || round % 2) ? MPI_DATATYPE_NULL : MPI_INT;
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

int main(int argc, char **argv)
{
    MPI_Comm copy;
    test_begin(&argc, &argv);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    for (int round = 0; round < ROUNDS; round++) {
        exchange(MPI_COMM_WORLD, round);
        exchange(copy, round);
    }
    CALL(MPI_Comm_free(&copy));
    return test_end();
}
