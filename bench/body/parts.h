/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that move parts of data between ranks: how they are called, timed and checked. */
#ifndef SOBOR_BENCH_PARTS_H
#define SOBOR_BENCH_PARTS_H

#include "buffers.h"
#include "job.h"
#include "kinds.h"
#include "options.h"

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

/* `bytes` of the point: of a part, on average. */
extern const struct bench_kind bench_parts_kind;

#endif
