/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SIMULATE_PARTS_H
#define SB_TOOLS_SIMULATE_PARTS_H

#include "coll/coll.h"

/* The data of the operations that move parts, for the simulator: made for a call, and checked. */

/* How sizes differ from part to part, in the operations that have counts. The mean is about one. */
#define SB_EACH_COUNTS(X)                                                                          \
    X(EQUAL, equal)   /* all alike */                                                              \
    X(LINEAR, linear) /* from nothing to twice the mean */                                         \
    X(HEAVY, heavy)   /* one part is half of all */                                                \
    X(RANDOM, random) /* anything up to twice the mean */                                          \
    X(HALF, half)     /* every second part is empty */

typedef enum sb_counts {
#define SB_ENUMERATOR(enumerator, name) SB_COUNTS_##enumerator,
    SB_EACH_COUNTS(SB_ENUMERATOR)
#undef SB_ENUMERATOR
} sb_counts_t;

/* Reads the name of one. */
bool sb_counts_parse(const char *text, sb_counts_t *counts);
const char *sb_counts_name(sb_counts_t counts);

typedef struct sb_vector_case {
    sb_collective_t collective;
    uint32_t ranks;
    uint32_t root;
    uint32_t number; /* what is sent differs from call to call */
    size_t bytes;    /* of a part, in the mean */
    sb_counts_t counts;
} sb_vector_case_t;

/* Memory that a rank may need for what it sends, and as much for what it receives. */
size_t sb_parts_room(const sb_vector_case_t *call);

/*
 * Lays out what the rank sends and receives in `sent` and `received`, in `streams` of room for
 * 2 ranks, and fills it; nothing of `received` is as it will be.
 */
sb_parts_t sb_parts_lay(const sb_vector_case_t *call, uint32_t rank, char *sent, char *received,
                        sb_stream_t *streams);

/* Whether all was received. False: byte `place` of the part from `from` is not as it was sent. */
bool sb_parts_check(const sb_vector_case_t *call, uint32_t rank, const sb_parts_t *parts,
                    uint32_t *from, size_t *place);

#endif
