/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers of one broadcast point: one for hot, many in rotation for cold. */
#ifndef SOBOR_BENCH_BUFFERS_H
#define SOBOR_BENCH_BUFFERS_H

#include "job.h"
#include "options.h"

#include <stdint.h>

struct bench_buffers {
    unsigned char *pool;
    size_t offset; /* of the first slot, behind a page */
    size_t bytes;
    size_t stride;
    size_t slots;
    size_t ahead; /* how many calls before its use a slot is written */
};

/* Bytes that this node has to give; 0: it does not say. */
uint64_t bench_available_memory(void);

/* Collective. How many slots there are follows from each node's own ranks, caches and memory
 * (cold.h). Returns 0, or -1 on every rank when memory is short on one. */
int bench_buffers_create(struct bench_buffers *buffers, const struct bench_job *job, size_t bytes,
                         bool cold, const struct bench_options *options);

void bench_buffers_destroy(struct bench_buffers *buffers);

unsigned char *bench_buffers_slot(const struct bench_buffers *buffers, size_t call);

/* Before call number `call`: the root writes the data of the slot that is `ahead` calls away anew,
 * the others write into each of its lines. A hot slot is thus used straight after it is written; a
 * cold one was written half a round before, and has left the caches since. */
void bench_buffers_renew(const struct bench_buffers *buffers, size_t call, bool root);

/* A pattern over the whole slot from a seed, and the check of it: 0 when every byte is right. */
void bench_buffers_fill(const struct bench_buffers *buffers, size_t call, uint64_t seed);
int bench_buffers_verify(const struct bench_buffers *buffers, size_t call, uint64_t seed);

#endif
