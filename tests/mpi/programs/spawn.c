/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes started by MPI_Comm_spawn, the inter-communicator to them, and all of them merged. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHILDREN = 2, ROUNDS = 10 };

static void between(MPI_Comm inter, bool parent)
{
    int value = parent ? 17 : 0;
    int root = 0;
    if (parent)
        root = rank_of(inter) == 0 ? MPI_ROOT : MPI_PROC_NULL;
    CALL(MPI_Bcast(&value, 1, MPI_INT, root, inter));
    CHECK(value == 17, "wrong value %d over the inter-communicator", value);
    CALL(MPI_Barrier(inter));
}

static void together(MPI_Comm inter, bool parent)
{
    MPI_Comm merged;
    MPI_Comm mixed;
    CALL(MPI_Intercomm_merge(inter, !parent, &merged));
    CALL(MPI_Comm_split(merged, 0, -rank_of(merged), &mixed));
    for (int i = 0; i < ROUNDS; i++) {
        checked_bcast(merged, 1 + (size_t)i * 3000, i % size_of(merged), (uint64_t)i);
        CALL(MPI_Barrier(merged));
        checked_bcast(mixed, 40, i % size_of(mixed), (uint64_t)i);
        checked_bcast(MPI_COMM_WORLD, 40, 0, (uint64_t)i);
        CALL(MPI_Barrier(mixed));
    }
    CALL(MPI_Comm_free(&mixed));
    CALL(MPI_Comm_free(&merged));
}

/* Whether the children have the preload too is told by their environment, on rank 0's line. */
static void tell_preload(MPI_Comm inter, bool parent)
{
    const char *preload = getenv("LD_PRELOAD");
    int mine = preload != NULL && strstr(preload, "sobor") != NULL;
    if (!parent && rank_of(inter) == 0)
        CALL(MPI_Send(&mine, 1, MPI_INT, 0, 3, inter));
    if (parent && rank_of(inter) == 0) {
        int theirs = 0;
        CALL(MPI_Recv(&theirs, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE));
        printf("preload parent=%d child=%d\n", mine, theirs);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm inter;
    CALL(MPI_Comm_get_parent(&inter));
    bool parent = inter == MPI_COMM_NULL;
    checked_bcast(MPI_COMM_WORLD, 100, 0, 1);
    if (parent)
        CALL(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                            &inter, MPI_ERRCODES_IGNORE));
    tell_preload(inter, parent);
    between(inter, parent);
    together(inter, parent);
    CALL(MPI_Comm_disconnect(&inter));
    if (!parent)
        return MPI_Finalize();
    return test_end();
}
