/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective once, with other numbers of bytes for each, and those that may be once more in
 * place: what a trace says of them is known.
 *
 * usage: sizes */
#include "support.h"

enum { RANKS_MOST = 8, ROOM = 64 };

static int out[RANKS_MOST * ROOM], in[RANKS_MOST * ROOM], rank, size;
static int counts[RANKS_MOST], places[RANKS_MOST], bytes[RANKS_MOST];
static MPI_Datatype types[RANKS_MOST];

/* Rank r has 4 elements more than the one before. */
static void deal(int first)
{
    for (int r = 0, place = 0; r < size; r++) {
        counts[r] = first + 4 * r;
        places[r] = place;
        bytes[r] = place * (int)sizeof(int);
        types[r] = MPI_INT;
        place += ROOM;
    }
}

static void rooted(MPI_Comm comm)
{
    bool is_root = rank == size - 1;
    int root = size - 1;

    CALL(MPI_Bcast(out, 1, MPI_INT, root, comm));
    CALL(MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, root, comm));
    CALL(MPI_Scatter(out, 2, MPI_INT, is_root ? MPI_IN_PLACE : in, 2, MPI_INT, root, comm));
    deal(3);
    CALL(MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, root, comm));
    CALL(MPI_Scatterv(out, counts, places, MPI_INT, is_root ? MPI_IN_PLACE : in, counts[rank],
                      MPI_INT, root, comm));
    CALL(MPI_Gather(out, 4, MPI_INT, in, 4, MPI_INT, root, comm));
    CALL(MPI_Gather(is_root ? MPI_IN_PLACE : out, 4, MPI_INT, in, 4, MPI_INT, root, comm));
    CALL(MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, root, comm));
    CALL(MPI_Gatherv(is_root ? MPI_IN_PLACE : out, counts[rank], MPI_INT, in, counts, places,
                     MPI_INT, root, comm));
    CALL(MPI_Reduce(out, in, 5, MPI_INT, MPI_SUM, root, comm));
}

static void rootless(MPI_Comm comm)
{
    CALL(MPI_Barrier(comm));
    CALL(MPI_Allgather(out, 6, MPI_INT, in, 6, MPI_INT, comm));
    CALL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 6, MPI_INT, comm));
    CALL(MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, comm));
    CALL(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, comm));
    CALL(MPI_Alltoall(out, 7, MPI_INT, in, 7, MPI_INT, comm));
    CALL(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 7, MPI_INT, comm));
    for (int r = 0; r < size; r++)
        counts[r] = 8;
    CALL(MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm));
    CALL(MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm));
    CALL(MPI_Allreduce(out, in, 9, MPI_INT, MPI_SUM, comm));
    CALL(MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm));
    CALL(MPI_Reduce_scatter_block(out, in, 10, MPI_INT, MPI_SUM, comm));
    CALL(MPI_Scan(out, in, 11, MPI_INT, MPI_SUM, comm));
    CALL(MPI_Exscan(out, in, 12, MPI_INT, MPI_SUM, comm));
}

int main(int argc, char **argv)
{
    MPI_Comm half;

    test_begin(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    CHECK(size <= RANKS_MOST, "too many ranks");
    rooted(MPI_COMM_WORLD);
    rootless(MPI_COMM_WORLD);
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    CALL(MPI_Comm_set_name(half, rank % 2 == 0 ? "even" : "odd"));
    CALL(MPI_Barrier(half));
    CALL(MPI_Comm_free(&half));
    return test_end();
}
