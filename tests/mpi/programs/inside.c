/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls the Fortran binding of inside_mpi.c. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>

enum { CALLS = 100 };

int main(int argc, char **argv)
{
    void (*barrier)(const MPI_Fint *comm, MPI_Fint *error) = NULL;
    test_begin(&argc, &argv);
    MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD), error = -1;
    *(void **)&barrier = dlsym(RTLD_DEFAULT, "MPI_BARRIER");
    CHECK(barrier != NULL, "no binding");
    for (int i = 0; i < CALLS; i++) {
        barrier(&comm, &error);
        CALL(error);
    }
    return test_end();
}
