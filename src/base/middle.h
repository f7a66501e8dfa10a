/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_MIDDLE_H
#define SB_BASE_MIDDLE_H

#include <stddef.h>

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

#endif
