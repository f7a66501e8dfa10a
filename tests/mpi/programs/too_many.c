/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts that a host without large counts cannot be told, where no back end stands in for it: an
 * error on the communicator, which works on. */
#include "support.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef int large_bcast(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int large_gatherv(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                          const MPI_Aint *, MPI_Datatype, int, MPI_Comm);

static void *find(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    CHECK(function != NULL, "no %s", name);
    return function;
}

static int class_of(int error)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char **argv)
{
    const MPI_Count many = (MPI_Count)INT_MAX + 1;
    char byte = 1, *all;
    MPI_Comm comm;

    test_begin(&argc, &argv);
    large_bcast *bcast_c = (large_bcast *)find("MPI_Bcast_c");
    large_gatherv *gatherv_c = (large_gatherv *)find("MPI_Gatherv_c");
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(class_of(bcast_c(&byte, many, MPI_BYTE, 0, comm)) == MPI_ERR_COUNT, "broadcast");
    CALL(bcast_c(&byte, 1, MPI_BYTE, 0, comm));

    int size = size_of(comm);
    MPI_Count *counts = calloc((size_t)size, sizeof *counts);
    MPI_Aint *places = calloc((size_t)size, sizeof *places);
    all = calloc((size_t)size, 1);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = size - 1 - i;
    }
    places[0] = many;
    if (rank_of(comm) == 0)
        CHECK(class_of(gatherv_c(&byte, 1, MPI_BYTE, all, counts, places, MPI_BYTE, 0, comm)) ==
                  MPI_ERR_COUNT,
              "gather");
    /* At other ranks than the root arrays say nothing. */
    places[0] = size - 1;
    void *none = (void *)16;
    bool root = rank_of(comm) == 0;
    CALL(gatherv_c(&byte, 1, MPI_BYTE, root ? all : none, root ? counts : none,
                   root ? places : none, MPI_BYTE, 0, comm));
    for (int i = 0; root && i < size; i++)
        CHECK(all[i] == 1, "block %d", i);
    free(counts);
    free(places);
    free(all);
    CALL(MPI_Comm_free(&comm));
    return test_end();
}
