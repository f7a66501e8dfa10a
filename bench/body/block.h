/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of one block, and what is kept of them. */
#ifndef SOBOR_BENCH_BLOCK_H
#define SOBOR_BENCH_BLOCK_H

#include "measure.h"

enum { BENCH_BLOCK_MOST = 4096, BENCH_BLOCK_ROWS = 4 };

struct bench_block {
    double *own[BENCH_BLOCK_ROWS]; /* this rank's: times, starts, ends, late or not */
    double *all[BENCH_BLOCK_ROWS]; /* on rank 0: longest time, last start, last end, any late */
    double *first;                 /* on rank 0: first start */
    double mean;                   /* on rank 0, of the ranks' means, */
    double most;                   /* and the largest of them */
    int count;                     /* that count; the late ones are left out, on rank 0 */
    int late_count;
};

/* What is kept of all blocks of a side. */
struct bench_record {
    struct bench_samples figures;
    struct bench_samples most;
    struct bench_samples skews;
    struct bench_samples spans;
    long late;
};

/* Returns 0, or -1 when memory is short. */
int bench_block_create(struct bench_block *block);
void bench_block_destroy(struct bench_block *block);

/* Sample number i of this rank, of so many calls. */
void bench_block_put(struct bench_block *block, int i, struct bench_stint stint, int calls);

/* How long a call of sample number i took on this rank, in seconds. */
double bench_block_own(const struct bench_block *block, int i);

/* Collective. Brings together what the method of the point needs of all ranks. */
void bench_block_combine(struct bench_block *block, const struct bench_point *point, int count);

/* Keeps it, and gives the block's median. Returns 0, or -1 when memory is short. */
int bench_block_record(struct bench_block *block, const struct bench_point *point,
                       struct bench_record *record, double *median);
void bench_record_destroy(struct bench_record *record);

#endif
