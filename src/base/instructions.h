/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_INSTRUCTIONS_H
#define SB_BASE_INSTRUCTIONS_H

#include <stdbool.h>

/* The sets of instructions that loops are compiled for. */
typedef enum sb_instructions {
    SB_BASELINE, /* SSE2, or what the processor's family always has (NEON) */
    SB_AVX2,
    SB_AVX512,
    SB_INSTRUCTIONS,
} sb_instructions_t;

/* Whether this processor and this build have the set. */
static inline bool sb_instructions_known(sb_instructions_t set)
{
#if defined(__x86_64__)
    if (set == SB_AVX2)
        return __builtin_cpu_supports("avx2");
    if (set == SB_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return set == SB_BASELINE;
}

/* The widest set that is there. */
static inline sb_instructions_t sb_instructions_best(void)
{
    sb_instructions_t set = SB_INSTRUCTIONS - 1;

    while (!sb_instructions_known(set))
        set--;
    return set;
}

#endif
