/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that move parts of data between ranks: how they are called, timed and checked. */
#ifndef SOBOR_BENCH_PARTS_H
#define SOBOR_BENCH_PARTS_H

#include "buffers.h"
#include "job.h"
#include "options.h"

struct bench_point;

/* One point's parts, in bytes. Every rank's slot holds what it sends, then what it receives. */
struct bench_parts {
    int which;      /* index into bench_job's parts */
    int *counts[2]; /* of the parts that this rank sends, and receives, as rank `root` or another */
    int *places[2];
    MPI_Datatype *types;
    size_t area; /* bytes of either half of a slot */
};

/* Collective. The index of a collective's name, or -1. */
int bench_parts_which(const char *collective);
bool bench_parts_vary(int which);

/* Takes the functions into both sides. Returns 0, or -1 after a line on stderr. */
int bench_parts_find(struct bench_job *job, void *libmpi);

/* Returns 0, or -1 when memory is short. `bytes`: of a part, on average. */
int bench_parts_create(struct bench_parts *parts, const struct bench_point *point);
void bench_parts_destroy(struct bench_parts *parts);

double bench_sample_parts(struct bench_point *point, const struct bench_calls *calls);
double bench_sample_parts_chain(struct bench_point *point, const struct bench_calls *calls);

/* One call with data that is then checked: 0 when every byte is right. */
long bench_parts_check(struct bench_point *point, const struct bench_calls *calls);

#endif
