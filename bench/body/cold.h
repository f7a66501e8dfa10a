/* SPDX-License-Identifier: BSD-3-Clause */
/* How many buffers are in rotation, so that none is in a cache any more when its turn comes. */
#ifndef SOBOR_BENCH_COLD_H
#define SOBOR_BENCH_COLD_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the ranks of one node have together. */
struct bench_node {
    uint64_t caches;    /* bytes of those behind the first, which any of them may use */
    uint64_t available; /* of memory */
    int ranks;
};

/* Bytes of all caches of level 2 and above that these processors have, each cache once; where the
 * kernel does not tell, what the C library says of one of the third level. `root`: before /sys. */
uint64_t bench_caches_of(const cpu_set_t *processors, const char *root);

/* Buffers of one rank, each of `stride` bytes; 0: so many do not fit into half of the free memory.
 * `range`: bytes that the node's ranks go through together; 0: four times the caches, at least
 * 256 MiB, and at most a quarter of the free memory. */
size_t bench_slots(size_t stride, bool cold, uint64_t range, const struct bench_node *node);

#endif
