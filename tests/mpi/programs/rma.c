/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided traffic whose target sits in a collective of ours at the time. */
#include "support.h"

#include <stdlib.h>

enum { WORDS = 20000, ROUNDS = 10 };

static long *memory;
static MPI_Win window;

static void fences(void)
{
    int size = size_of(MPI_COMM_WORLD);
    int rank = rank_of(MPI_COMM_WORLD);
    long value = 100 + rank;
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window));
    CALL(MPI_Win_fence(0, window));
    CHECK(memory[0] == 100 + (rank + size - 1) % size, "fence: found %ld", memory[0]);
    checked_bcast(MPI_COMM_WORLD, 100, 0, 3);
    CALL(MPI_Win_fence(0, window));
}

/* All others put into and read from rank 0 under a lock, while rank 0 waits in a collective. */
static void passive(bool in_barrier, int round)
{
    int rank = rank_of(MPI_COMM_WORLD);
    long *copy = malloc(WORDS * sizeof *copy);
    for (int i = 0; i < WORDS; i++)
        copy[i] = round * 1000 + rank;
    if (rank != 0) {
        sleep_ms(2);
        CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        CALL(MPI_Put(copy, WORDS, MPI_LONG, 0, 0, WORDS, MPI_LONG, window));
        CALL(MPI_Win_unlock(0, window));
    }
    if (in_barrier)
        CALL(MPI_Barrier(MPI_COMM_WORLD));
    else
        checked_bcast(MPI_COMM_WORLD, 5000, size_of(MPI_COMM_WORLD) - 1, (uint64_t)round);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
    CALL(MPI_Get(copy, WORDS, MPI_LONG, 0, 0, WORDS, MPI_LONG, window));
    CALL(MPI_Win_unlock(0, window));
    for (int i = 0; i < WORDS && size_of(MPI_COMM_WORLD) > 1; i++)
        CHECK(copy[i] == copy[0] && copy[i] / 1000 == round, "word %d is %ld", i, copy[i]);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    free(copy);
}

static void work(void)
{
    fences();
    for (int round = 1; round <= ROUNDS; round++)
        passive(round % 2 == 0, round);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Aint bytes = WORDS * sizeof *memory;
    CALL(MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    work();
    CALL(MPI_Win_free(&window));
    memory = calloc(WORDS, sizeof *memory);
    CALL(MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    work();
    CALL(MPI_Win_free(&window));
    free(memory);
    return test_end();
}
