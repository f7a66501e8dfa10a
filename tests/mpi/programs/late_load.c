/* SPDX-License-Identifier: BSD-3-Clause */
/* No MPI at the start: libmpi is loaded long after main has begun, with local scope as a plug-in
 * would, and must work as ever.
 *
 * usage: late_load LIBMPI ompi|mpich */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "FAIL no %s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

/* MPI_COMM_WORLD is an address in one family and a number in the other. */
static int barrier_on_world(const char *family)
{
    int (*by_pointer)(void *) = NULL;
    int (*by_number)(int) = NULL;
    *(void **)&by_pointer = symbol("MPI_Barrier");
    *(void **)&by_number = symbol("MPI_Barrier");
    if (strcmp(family, "ompi") == 0)
        return by_pointer(symbol("ompi_mpi_comm_world"));
    return by_number(0x44000000);
}

int main(int argc, char **argv)
{
    int (*init)(int *, char ***) = NULL;
    int (*finalize)(void) = NULL;
    if (argc != 3)
        return 2;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "FAIL %s\n", dlerror());
        return 1;
    }
    *(void **)&init = symbol("MPI_Init");
    *(void **)&finalize = symbol("MPI_Finalize");
    if (init(&argc, &argv) != 0 || barrier_on_world(argv[2]) != 0 || finalize() != 0)
        return 1;
    printf("PASS late_load\n");
    return 0;
}
