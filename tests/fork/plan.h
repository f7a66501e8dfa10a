/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_FORK_PLAN_H
#define SB_TESTS_FORK_PLAN_H

#include "job.h"

/* Calls drawn from a seed, of each algorithm of a kind by itself and then of all that may be mixed.
 */

/* What a program of tests draws. */
typedef struct program {
    const char *name; /* for the words that run it again */
    unsigned seed;
    bool (*is_about)(const sb_algorithm_t *algorithm);
    bool (*mixes)(const sb_algorithm_t *algorithm);
    /* One call, but of no barrier: all ranks draw alike from `common`, each for itself from `own`.
     */
    int (*call)(rank_context_t *context, sb_team_t *team, const sb_algorithm_t *algorithm,
                uint64_t number, size_t most, uint64_t *common, uint64_t *own);
    int calls, mixed_calls;
    size_t most, mixed_most; /* bytes */
} program_t;

/* A rank's own state, to draw from. */
uint64_t program_own(const program_t *program, uint32_t rank);

/* Runs all for so many ranks, or those of the algorithms with the name `only`. Returns how much
 * failed. */
int program_run(const program_t *program, uint32_t ranks, const char *only);

#endif
