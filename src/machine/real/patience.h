/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_REAL_PATIENCE_H
#define SB_MACHINE_REAL_PATIENCE_H

#include <stdint.h>

/*
 * How long a rank that has a processor of its own keeps it in a wait.
 *
 * It gives it away soon, so that others can run. But a program that computes there too has it for
 * a turn of the scheduler then, milliseconds, and what is waited for often comes in tenths of one.
 * So where others had it that long a moment ago, it is kept for as long: that costs at most twice
 * what the better of the two would, and a host that waits without end never gives it away at all.
 *
 * Where many processes wait for each other, all would wait the longer for it, and see of the others
 * that they keep it longer, and so on. How many can run tells the two apart: one program beside a
 * job is one more than its processors, and with twice as many each processor has others waiting.
 */

/* Some team of this process has so many processors: its job has at least as many. */
void sb_patience_among(uint32_t processors);

/* Gives the processor away, and notes how long others had it. */
void sb_lend_processor(void);

/* Nanoseconds that a wait keeps the processor from its beginning on: `usual`, or longer. */
uint64_t sb_patience_ns(uint64_t usual);

#endif
