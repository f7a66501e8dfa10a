/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_NUMBERS_H
#define SB_MPI_NUMBERS_H

#include "mpi/host.h"

#include <string.h>

_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t),
               "large counts and displacements are read as 64 bits");

/* Counts or displacements: of int, or of 64 bits in the functions for large counts. */
typedef struct sb_numbers {
    const void *at;
    bool large;
} sb_numbers_t;

#define SB_SMALL(array) ((sb_numbers_t){(array), false})
#define SB_LARGE(array) ((sb_numbers_t){(array), true})

static inline int64_t sb_number(const sb_numbers_t *numbers, int i)
{
    int64_t value;

    if (!numbers->large)
        return ((const int *)numbers->at)[i];
    memcpy(&value, (const char *)numbers->at + (size_t)i * sizeof value, sizeof value);
    return value;
}

#endif
