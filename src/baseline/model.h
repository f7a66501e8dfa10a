/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_MODEL_H
#define SB_BASELINE_MODEL_H

#include "base/compiler.h"

#include <math.h>
#include <stdint.h>

/*
 * The cost model of the NUMA-placed pipelined broadcast (Kurnosov, Tokmasheva 2020). Pure functions
 * of numbers: times in nanoseconds, sizes in bytes. A message of m bytes goes through a ring of s
 * buffers of f bytes, b = f s, divided into q sets.
 */

/* What the steps cost, in nanoseconds. */
typedef struct sb_model_prices {
    double byte;    /* t: reading or writing one byte */
    double notify;  /* t_W: waiting for a notification */
    double open;    /* t_WO: waiting for a set to be opened */
    double release; /* t_A: one reader's atomic subtraction */
} sb_model_prices_t;

/*
 * The prices of the paper's example, t = 1 ns: a core that copies while all the others do. They
 * stand where nothing was measured.
 */
#define SB_MODEL_PRICES ((sb_model_prices_t){1.0, 50.0, 100.0, 10.0})

typedef struct sb_model_ring {
    uint64_t fragment; /* f */
    uint64_t slots;    /* s: buffers of one rank */
} sb_model_ring_t;

/* How many rounds of `size` bytes m bytes take; an empty message takes one all the same. */
static inline double sb_model_rounds(uint64_t bytes, double size)
{
    return bytes == 0 ? 1 : ceil((double)bytes / size);
}

/* Whole pages that hold `bytes`, at least one. */
static inline uint64_t sb_model_pages(double bytes, uint64_t page)
{
    uint64_t pages = (uint64_t)ceil(bytes / (double)page);

    return (pages > 0 ? pages : 1) * page;
}

/*
 * T(m, s, q), a ring of b = `ring` bytes in q sets: q ceil(m/b) (t_WO + t_A) + f t + ceil(m/f) t_W
 * + m t. The root fills the next set while the last fragment of the one before is copied out.
 */
double sb_model_sets(const sb_model_prices_t *prices, uint64_t bytes, double fragment, double ring,
                     uint64_t sets);

/*
 * f* = sqrt((m / ceil(m/b)) t_W / t): the fragment for which T(m, s) of a ring of b bytes is least.
 * Not rounded; at most b and at least 1. s* is b / f*.
 */
double sb_model_best_fragment(const sb_model_prices_t *prices, uint64_t bytes, uint64_t ring);

/*
 * A ring of `budget` bytes whose fragment is `best` in whole pages: at least one buffer of at least
 * one byte. A budget of less than a page is one buffer.
 */
sb_model_ring_t sb_model_ring(double best, uint64_t budget, uint64_t page);

#endif
