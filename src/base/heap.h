/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_HEAP_H
#define SB_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the preloaded object libsobor-heap.so offers the back end, which finds it by the name of
 * the one function that it exports for this.
 */

/* Why others no longer read a process's memory. */
typedef enum sb_heap_end {
    SB_HEAP_LASTS,   /* they do */
    SB_HEAP_FORK,    /* it has forked */
    SB_HEAP_MAPPING, /* the program has mapped something in a block's place, or unmapped that */
    SB_HEAP_ADVICE,  /* it has given back pages that must not be written */
} sb_heap_end_t;

/* What became of the heap of this process so far. */
typedef struct sb_heap_counts {
    uint64_t blocks; /* that were given out */
    uint64_t peak;   /* bytes in use at most */
    uint64_t loads;  /* copies out of other processes by loads */
    sb_heap_end_t end;
} sb_heap_counts_t;

typedef struct sb_heap {
    /*
     * Where these bytes of another process can be read; NULL: they cannot. `told`: their owner has
     * said that it shares them, after it wrote them; a fork since does not matter.
     */
    const char *(*reach)(int process, uint64_t address, size_t bytes, bool told);
    /* Whether others can read these bytes of this process so. */
    bool (*shares)(const void *base, size_t bytes);
    /* Likewise, without a fence: what was written before may be elsewhere. */
    bool (*may_share)(const void *base, size_t bytes);
    void (*count)(sb_heap_counts_t *counts);
    /* A number that no other process shares; NULL: there is no memory to share. */
    const uint64_t *(*number)(void);
} sb_heap_t;

/* NULL: this process has none. */
typedef const sb_heap_t *sb_heap_function_t(void);
#define SB_HEAP_FUNCTION "sobor_heap"

#endif
