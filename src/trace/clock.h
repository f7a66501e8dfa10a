/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TRACE_CLOCK_H
#define SB_TRACE_CLOCK_H

#include "base/compiler.h"
#include "machine/machine.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The clock that calls are recorded by. It is read twice a call, and is most of what recording
 * costs: so it is the processor's counter, where the kernel itself keeps time by it, that is, has
 * found that it goes on evenly and alike on all cores; elsewhere CLOCK_MONOTONIC. Its ticks become
 * nanoseconds of CLOCK_MONOTONIC when the file is written, by two looks at both clocks.
 */
extern bool sb_trace_counts_ticks;

/* At the beginning of a call: what was before it may still be under way. */
static inline uint64_t sb_trace_entered(void)
{
#if defined(__x86_64__)
    if (SB_LIKELY(sb_trace_counts_ticks))
        return __builtin_ia32_rdtsc();
#endif
    return sb_now_ns();
}

/* At its end: all its loads are over. */
static inline uint64_t sb_trace_left(void)
{
#if defined(__x86_64__)
    if (SB_LIKELY(sb_trace_counts_ticks)) {
        __builtin_ia32_lfence();
        return __builtin_ia32_rdtsc();
    }
#endif
    return sb_now_ns();
}

/* Chooses the clock, and looks at both for the first time. */
void sb_trace_clock_begin(void);

/* The second look: from then on ticks can be told in nanoseconds. Signal handlers may call it. */
void sb_trace_clock_end(void);

/* The time, and the length, that so many ticks are. */
uint64_t sb_trace_time_ns(uint64_t ticks);
uint64_t sb_trace_length_ns(uint64_t ticks);

#endif
