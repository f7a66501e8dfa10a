/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to time a collective. docs/bench.md says what each tells and what it hides. */
#ifndef SOBOR_BENCH_METHOD_H
#define SOBOR_BENCH_METHOD_H

#include "measure.h"

struct bench_method {
    const char *name;      /* NULL: none that could be chosen */
    bench_sampler *sample; /* one sample on this rank */
    int repeat;            /* calls in one sample, */
    bool each_root;        /* of every root, */
    int repeat_most;       /* or not 0: up to so many, each side for itself */
    bool synchronised;     /* a barrier, whose is said by --sync, comes before each call */
    bool unbroken;         /* a sample is a row of calls between two barriers */
    bool rank_means;       /* what counts is each rank's mean over a block */
    bool timed;            /* calls begin at agreed times */
};

/* The names that may be asked for, in the order of the table; NULL ends them. */
extern const char *const bench_method_names[];

/* How a method of this name times the point, or NULL where it has no such way. */
const struct bench_method *bench_method_of(const char *name, const struct bench_point *point);

/* That of the price of interposition, which no barrier and no method changes. */
extern const struct bench_method bench_method_passthrough;

#endif
