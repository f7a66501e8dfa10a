/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SIMULATE_REDUCTION_H
#define SB_TOOLS_SIMULATE_REDUCTION_H

#include "coll/coll.h"

/*
 * The data of reductions, for the simulator: made for a call, and checked. Elements are of 8 bytes
 * and combined by an operator that is not commutative, unless the algorithm needs one that is;
 * where the bytes are no multiple of 8 they are added one by one.
 */

typedef struct sb_reduction_case {
    const sb_algorithm_t *algorithm;
    uint32_t ranks;
    uint32_t root;
    uint32_t number; /* what is sent differs from call to call */
    size_t bytes;    /* of a contribution, as wished */
    bool uneven;     /* parts of a reduce_scatter */
    bool in_place;
} sb_reduction_case_t;

/* Bytes of a contribution: as wished, or so many that all parts are alike where they have to be. */
size_t sb_reduction_bytes(const sb_reduction_case_t *call);

/*
 * What the rank gives and takes; its contribution is written to `send`, where there is room for
 * sb_reduction_bytes, as in `receive`. `parts`: room for one number for each rank.
 */
sb_reduction_t sb_reduction_lay(const sb_reduction_case_t *call, uint32_t rank, char *send,
                                char *receive, size_t *parts);

/* Whether all was received. False: byte `place` of it is not as it should be. */
bool sb_reduction_check(const sb_reduction_case_t *call, uint32_t rank,
                        const sb_reduction_t *reduction, size_t *place);

#endif
