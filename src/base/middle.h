/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_MIDDLE_H
#define SB_BASE_MIDDLE_H

#include <stddef.h>
#include <stdlib.h>

/* The value in the middle of a few; puts them in order. */
static inline double sb_middle_of(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
            double kept = values[j];
            values[j] = values[j - 1];
            values[j - 1] = kept;
        }
    }
    return values[count / 2];
}

static inline int sb_middle_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The same of as many as one likes. */
static inline double sb_middle_of_many(double *values, size_t count)
{
    qsort(values, count, sizeof *values, sb_middle_compare);
    return values[count / 2];
}

#endif
