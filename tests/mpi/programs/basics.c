/* SPDX-License-Identifier: BSD-3-Clause */
/* Every root, sizes around every border, over several communicators; barriers that must wait.
 *
 * usage: basics [largest bytes] */
#include "support.h"

#include <stdlib.h>

static const size_t SIZES[] = {0,   1,    7,    8,     40,    48,     49,     100,     240,
                               241, 1000, 4096, 65536, 65537, 300000, 524288, 1048583, 5242880};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES, ROUNDS = 2, BARRIERS = 20 };

static uint64_t tick;

static void broadcasts(MPI_Comm comm, size_t largest)
{
    for (size_t s = 0; s < SIZE_COUNT && SIZES[s] <= largest; s++)
        for (int root = 0; root < size_of(comm); root++)
            for (int round = 0; round < ROUNDS; round++)
                checked_bcast(comm, SIZES[s], root, mix(s, (uint64_t)(root * ROUNDS + round)));
}

/* A different rank is late each time. */
static void barriers(MPI_Comm comm)
{
    for (int i = 0; i < BARRIERS; i++) {
        if (i % (2 * size_of(comm)) == rank_of(comm))
            sleep_ms(1);
        checked_barrier(comm, ++tick);
    }
}

static void everything(MPI_Comm comm, size_t largest)
{
    barriers(comm);
    broadcasts(comm, largest);
    barriers(comm);
}

/* Barriers and broadcasts in one unbroken row, the root going round. */
static void mixture(MPI_Comm comm)
{
    for (int i = 0; i < 200; i++) {
        checked_bcast(comm, SIZES[i % 12], i % size_of(comm), (uint64_t)i);
        if (i % 3 == 0)
            checked_barrier(comm, ++tick);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    size_t largest = argc > 1 ? strtoul(argv[1], NULL, 10) : SIZES[SIZE_COUNT - 1];
    watch_begin();
    MPI_Comm reversed;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &reversed));
    everything(MPI_COMM_WORLD, largest);
    everything(reversed, largest < 70000 ? largest : 70000);
    everything(MPI_COMM_SELF, 1000);
    mixture(MPI_COMM_WORLD);
    CALL(MPI_Comm_free(&reversed));
    watch_end();
    return test_end();
}
