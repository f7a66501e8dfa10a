/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_GAUGE_H
#define SB_SEGMENT_GAUGE_H

#include "machine/machine.h"

/*
 * What it costs to pass lines and bytes between processes, measured by those processes themselves,
 * where they run: in shared memory that begins as zeroes. The first to come measures; it asks some
 * of the others, one after the other, to pass lines to and fro with it and to write what it reads.
 * The others wait for its result, each for a limited time, and go without it if that is over.
 */

/* A process is here for so long at most, but for what the system does with its processor meanwhile:
 * nothing is begun so late that it could take longer. */
#define SB_GAUGE_NS ((uint64_t)20000000)

/* In ns; 0: not known. */
typedef struct sb_gauge_result {
    double line;      /* from the store of one process to the look of another */
    double next_line; /* one more of many lines, all looked at independently */
    double byte;      /* one more byte copied that another has written */
} sb_gauge_result_t;

typedef struct sb_gauge sb_gauge_t;

/* The memory that processes of numbers below `size` need. */
size_t sb_gauge_bytes(uint32_t size);

/*
 * Measures, or waits for who does. `is_here`: whether a process of that number can be expected to
 * do this too. Returns true if it was this process that measured.
 */
bool sb_gauge_take(sb_gauge_t *gauge, uint32_t rank, uint32_t size, bool (*is_here)(uint32_t rank),
                   sb_gauge_result_t *result);

#endif
