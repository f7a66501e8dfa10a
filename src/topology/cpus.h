/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_CPUS_H
#define SB_TOPOLOGY_CPUS_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * Sets of processors as plain words, so that ranks can exchange them: bit i of word w stands for
 * processor 64 w + i in the system's numbering. Processors past the last bit are left out.
 */
#define SB_CPU_WORDS 16
#define SB_CPUS_MOST (64 * SB_CPU_WORDS)

static inline void sb_cpus_add(uint64_t *cpus, unsigned processor)
{
    if (processor < SB_CPUS_MOST)
        cpus[processor / 64] |= UINT64_C(1) << (processor % 64);
}

static inline bool sb_cpus_has(const uint64_t *cpus, unsigned processor)
{
    return processor < SB_CPUS_MOST && ((cpus[processor / 64] >> (processor % 64)) & 1) != 0;
}

static inline void sb_cpus_join(uint64_t *cpus, const uint64_t *others)
{
    for (size_t i = 0; i < SB_CPU_WORDS; i++)
        cpus[i] |= others[i];
}

static inline size_t sb_cpus_count(const uint64_t *cpus)
{
    size_t count = 0;

    /* Most words are empty, and to count the others is a call where not every processor can. */
    for (size_t i = 0; i < SB_CPU_WORDS; i++) {
        if (cpus[i] != 0)
            count += (size_t)__builtin_popcountll(cpus[i]);
    }
    return count;
}

static inline bool sb_cpus_empty(const uint64_t *cpus)
{
    for (size_t i = 0; i < SB_CPU_WORDS; i++) {
        if (cpus[i] != 0)
            return false;
    }
    return true;
}

/* True if every processor of `part` is in `whole`; an empty part is inside everything. */
static inline bool sb_cpus_inside(const uint64_t *part, const uint64_t *whole)
{
    for (size_t i = 0; i < SB_CPU_WORDS; i++) {
        if ((part[i] & ~whole[i]) != 0)
            return false;
    }
    return true;
}

static inline bool sb_cpus_equal(const uint64_t *a, const uint64_t *b)
{
    return sb_cpus_inside(a, b) && sb_cpus_inside(b, a);
}

#endif
