/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_NUMBERS_H
#define SB_MPI_NUMBERS_H

#include "mpi/host.h"

#include <string.h>

/* No machine has more; sums of sizes and headers cannot overflow. */
#define SB_BYTES_MOST ((size_t)1 << 60)

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

/* The packed bytes of so many elements of `size`. False: the host has to judge the count. */
static inline bool sb_packed_bytes(int64_t count, size_t size, size_t *bytes)
{
    return count >= 0 && !__builtin_mul_overflow((size_t)count, size, bytes) &&
           *bytes <= SB_BYTES_MOST;
}

#endif
