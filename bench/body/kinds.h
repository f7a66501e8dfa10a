/* SPDX-License-Identifier: BSD-3-Clause */
/* What each collective has that is its own. How it is timed is the same for all: see method.h. */
#ifndef SOBOR_BENCH_KINDS_H
#define SOBOR_BENCH_KINDS_H

#include "job.h"

#include <stddef.h>

struct bench_point;

struct bench_kind {
    bool sizeless; /* one point, whatever the sizes and variants, */
    size_t bytes;  /* of so many bytes */
    /* Returns 0, or -1 when memory is short; bytes: what a slot of the buffers has to hold. */
    int (*create)(struct bench_point *point, size_t *bytes);
    void (*destroy)(struct bench_point *point);
    /* Writes what the next call sends anew, and touches what it receives into. */
    void (*renew)(struct bench_point *point, int root);
    /* The next call. */
    int (*call)(struct bench_point *point, const struct bench_calls *calls, int root);
    /* One call with data that is then checked: 0 when all is right. NULL: nothing to check. */
    long (*check)(struct bench_point *point, const struct bench_calls *calls);
};

const struct bench_kind *bench_kind_of(const char *collective);

#endif
