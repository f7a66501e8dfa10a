/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Bcast_c and MPI_Barrier in one program, with counts that an int holds and derived types. */
#define _GNU_SOURCE
#include "layout.h"

#include <dlfcn.h>

typedef int large_bcast(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);

/* A type that never was any, with a count that no int holds: the error is the communicator's. Where
 * there is no back end that count is one by itself. */
static void expect_error(large_bcast *bcast_c)
{
    MPI_Comm comm;
    int class = MPI_SUCCESS, value = 0;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI_Error_class(bcast_c(&value, (MPI_Count)1 << 31, (MPI_Datatype)0, 0, comm), &class);
    CHECK(class == MPI_ERR_TYPE || class == MPI_ERR_COUNT, "class %d", class);
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    large_bcast *bcast_c = NULL;
    *(void **)&bcast_c = dlsym(RTLD_DEFAULT, "MPI_Bcast_c");
    if (bcast_c == NULL)
        return test_skip("this MPI has no MPI_Bcast_c");
    elements_begin();
    for (int kind = 0; kind < LAYOUT_KINDS; kind++) {
        uint64_t random = (uint64_t)kind;
        int root = kind % size_of(MPI_COMM_WORLD);
        struct layout layout;
        layout_create(&layout, (enum layout_kind)kind, element_at(6), 1260, &random);
        layout_fill(&layout, random, rank_of(MPI_COMM_WORLD) == root);
        CALL(bcast_c(layout.buffer, layout.count, layout.type, root, MPI_COMM_WORLD));
        CHECK(layout_mismatch(&layout) == layout.memory_bytes, "%s: wrong data",
              layout_name((enum layout_kind)kind));
        CALL(MPI_Barrier(MPI_COMM_WORLD));
        layout_destroy(&layout);
    }
    CALL(bcast_c(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    expect_error(bcast_c);
    elements_end();
    return test_end();
}
