/* SPDX-License-Identifier: BSD-3-Clause */
/* A made-up MPI library of a family of its own: its handles are 64-bit numbers, and no constant is
 * any other's. It has all functions that a back end takes, and fails where one of them is called
 * that the program has not called. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM ((intptr_t)0x123456789abc0001)
#define TYPE ((intptr_t)0x123456789abc0002)

static int called(const char *name, const intptr_t *argument)
{
    static const char *const usual[] = {"Init", "Bcast", "Barrier", "Finalize"};

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (strcmp(name, usual[i]) != 0)
            continue;
        printf("called %s\n", name);
        if (i == 1 && (argument[2] != TYPE || argument[4] != COMM))
            printf("FAIL other arguments of %s\n", name);
        return 0;
    }
    printf("FAIL called %s\n", name);
    exit(1);
}

#define SB_HOST(name)                                                                              \
    int PMPI_##name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e);                   \
    int PMPI_##name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e)                    \
    {                                                                                              \
        return called(#name, (intptr_t[]){a, b, c, d, e});                                         \
    }                                                                                              \
    int MPI_##name(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t)                               \
        __attribute__((weak, alias("PMPI_" #name)));
#define SB_COLLECTIVE(kind, enumerator, name, ...) SB_HOST(name)
#define SB_HOST_OBJECT(type, name, handle)
#include "mpi/host.def"
