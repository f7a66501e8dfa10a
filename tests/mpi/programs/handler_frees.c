/* SPDX-License-Identifier: BSD-3-Clause */
/* An error handler frees the communicator whose call has raised the error, after any number of
 * calls that go well. What is allocated in the handler, where the communicator's memory may have
 * been, stays as it was.
 *
 * usage: handler_frees CALLS */
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { SENT = 200, RECEIVED = 150, BLOCKS = 64, LEAST = 32, STEP = 16, SIZES = 24 };

static unsigned char *blocks[SIZES][BLOCKS];
static MPI_Comm at_hand;
static int freed;

static size_t bytes_of(int size)
{
    return LEAST + (size_t)size * STEP;
}

static void take_blocks(void)
{
    for (int size = 0; size < SIZES; size++) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[size][i] = malloc(bytes_of(size));
            CHECK(blocks[size][i] != NULL, "no memory");
            memset(blocks[size][i], size + 1, bytes_of(size));
        }
    }
}

static void check_blocks(void)
{
    for (int size = 0; size < SIZES; size++) {
        for (int i = 0; i < BLOCKS; i++) {
            for (size_t at = 0; at < bytes_of(size); at++)
                CHECK(blocks[size][i][at] == size + 1, "byte %zu of a block of %zu was written to",
                      at, bytes_of(size));
            free(blocks[size][i]);
        }
    }
}

static void free_it(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    CALL(MPI_Comm_free(&at_hand));
    take_blocks();
    freed++;
}

/* Rank 1 has less room than rank 0 sends. */
static void fail_after(int calls)
{
    unsigned char data[SENT] = {0};
    int rank = rank_of(MPI_COMM_WORLD);
    MPI_Errhandler own;

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &at_hand));
    CALL(MPI_Comm_create_errhandler(free_it, &own));
    CALL(MPI_Comm_set_errhandler(at_hand, own));
    CALL(MPI_Errhandler_free(&own));
    for (int i = 0; i < calls; i++)
        CALL(MPI_Bcast(data, SENT, MPI_BYTE, 0, at_hand));
    MPI_Bcast(data, rank == 0 ? SENT : RECEIVED, MPI_BYTE, 0, at_hand);
    if (rank == 0) {
        CALL(MPI_Comm_free(&at_hand));
        return;
    }
    CHECK(freed == calls + 1, "%d calls of the handler, not %d", freed, calls + 1);
    check_blocks();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < calls; i++)
        fail_after(i);
    return test_end();
}
