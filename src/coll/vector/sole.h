/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_SOLE_H
#define SB_COLL_VECTOR_SOLE_H

#include "team/copy_policy.h"

/*
 * How long messages to the only other rank go in calls that have a root, where nobody shares the
 * work (sole.c): staged, by stores of either kind, or SB_COPY_ANY: where they are.
 */
typedef struct sb_sole {
    bool measured; /* there is a choice */
    size_t window; /* bytes that most of them go round in */
    sb_copy_policy_t policy;
    sb_copy_timed_t timed;                 /* sent by this rank */
    uint64_t started;                      /* when it was, ns; 0: it is not of this call */
    uint64_t asked;                        /* when a message that this rank received was */
    uint64_t arrived;                      /* when this rank came to receive it */
    sb_copy_mode_t heard[SB_COPY_CLASSES]; /* of the last message received */
} sb_sole_t;

#endif
