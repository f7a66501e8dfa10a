/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking collectives among the host's non-blocking ones, other collectives and messages, in the
 * same order on every rank. */
#include "support.h"

#include <string.h>

enum { ROUNDS = 60, BYTES = 3000, TAG = 5 };

static unsigned char late[BYTES];
static unsigned char ring[2][BYTES];

/* An Ibcast is under way while barriers and broadcasts go on over the same communicator. */
static void beside_ibcast(MPI_Comm comm, int round, uint64_t *tick)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int root = round % size_of(comm);
    uint64_t seed = (uint64_t)round;
    fill(late, BYTES, rank_of(comm) == root ? seed : ~seed);
    CALL(MPI_Ibcast(late, BYTES, MPI_BYTE, root, comm, &requests[0]));
    CALL(MPI_Ibarrier(comm, &requests[1]));
    checked_bcast(comm, 8, (root + 1) % size_of(comm), mix(seed, 1));
    checked_barrier(comm, ++*tick);
    checked_bcast(comm, 20000, root, mix(seed, 2));
    CALL(MPI_Waitall(2, requests, statuses));
    CHECK(mismatch(late, BYTES, seed) == BYTES, "round %d: the Ibcast brought wrong data", round);
}

/* Messages round the ring are under way over the same communicator. */
static void beside_messages(MPI_Comm comm, int round, uint64_t *tick)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int size = size_of(comm);
    int rank = rank_of(comm);
    int from = (rank + size - 1) % size;
    fill(ring[0], BYTES, mix((uint64_t)rank, (uint64_t)round));
    CALL(MPI_Irecv(ring[1], BYTES, MPI_BYTE, from, TAG, comm, &requests[0]));
    checked_barrier(comm, ++*tick);
    CALL(MPI_Isend(ring[0], BYTES, MPI_BYTE, (rank + 1) % size, TAG, comm, &requests[1]));
    checked_bcast(comm, 700, round % size, (uint64_t)round);
    CALL(MPI_Waitall(2, requests, statuses));
    CHECK(mismatch(ring[1], BYTES, mix((uint64_t)from, (uint64_t)round)) == BYTES,
          "round %d: the message brought wrong data", round);
}

static void beside_reductions(MPI_Comm comm, int round)
{
    int sum = 0;
    int mine = rank_of(comm) + round;
    int size = size_of(comm);
    checked_bcast(comm, 64, round % size, (uint64_t)round);
    CALL(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2 + size * round, "wrong sum %d", sum);
    CALL(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    uint64_t tick = 0;
    test_begin(&argc, &argv);
    watch_begin();
    for (int round = 0; round < ROUNDS; round++) {
        beside_ibcast(MPI_COMM_WORLD, round, &tick);
        beside_messages(MPI_COMM_WORLD, round, &tick);
        beside_reductions(MPI_COMM_WORLD, round);
    }
    watch_end();
    return test_end();
}
