/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that combine what all ranks give: how they are called, timed and checked. */
#ifndef SOBOR_BENCH_REDUCTIONS_H
#define SOBOR_BENCH_REDUCTIONS_H

#include "buffers.h"
#include "job.h"
#include "kinds.h"
#include "options.h"

/* One point: sums of double, of float or of bytes, whichever the size is a multiple of. Every
 * rank's slot holds what it gives, then what it receives. */
struct bench_reduction {
    int which; /* index into bench_job's reductions */
    MPI_Datatype type;
    size_t element;
    int elements; /* of what a rank gives */
    int *counts;  /* of reduce_scatter's parts */
    size_t area;  /* bytes of either half of a slot */
};

/* The index of a collective's name, or -1. */
int bench_reductions_which(const char *collective);

/* Takes the functions into both sides. Returns 0, or -1 after a line on stderr. */
int bench_reductions_find(struct bench_job *job, void *libmpi);

extern const struct bench_kind bench_reductions_kind;

#endif
