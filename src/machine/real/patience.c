/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/real/patience.h"

#include "base/file.h"
#include "machine/primitive.h"

#include <stdio.h>

/* Who waits gives the processor back within tenths of this. From here on somebody computes. */
#define LONG_NS UINT64_C(500000)

/* About a turn of a scheduler: what has not come within one is not expected to come soon. */
#define MOST_NS UINT64_C(4000000)

/* What was seen holds for so many times as long: then it may cost one such turn to look again. */
#define HOLDS 64

/* With so many times as many that can run as there are processors, others wait for each of them. */
#define CROWD 2

/* So often it is asked at most how many they are. */
#define ASK_NS UINT64_C(10000000)

/* Relaxed all: nothing but a patience follows from these, and threads may spoil each other's. */
static sb_word32_t processors;
static sb_word64_t lent;  /* how long others had the processor when that was long the last time, */
static sb_word64_t until; /* and how long that holds */
static sb_word64_t asked;
static sb_word32_t crowded; /* the answer */

void sb_patience_among(uint32_t among)
{
    if (among > sb_load32(&processors, SB_RELAXED))
        sb_store32(&processors, among, SB_RELAXED);
}

void sb_lend_processor(void)
{
    uint64_t given = sb_now_ns();

    sb_give_processor();
    uint64_t now = sb_now_ns(), took = now - given;
    if (took < LONG_NS)
        return;
    took = sb_min(took, MOST_NS);
    sb_store64(&lent, took, SB_RELAXED);
    sb_store64(&until, now + HOLDS * took, SB_RELAXED);
}

/* Threads of the system that run or could; where that is hidden, more than there can be. */
static uint32_t count_runnable(void)
{
    char line[128];
    uint32_t runnable;

    return sb_file_line(line, sizeof line, "/proc/loadavg") &&
                   sscanf(line, "%*s %*s %*s %u/", &runnable) == 1
               ? runnable
               : UINT32_MAX;
}

static bool is_crowded(uint64_t now)
{
    if (now - sb_load64(&asked, SB_RELAXED) >= ASK_NS) {
        sb_store64(&asked, now, SB_RELAXED);
        sb_store32(&crowded, count_runnable() / CROWD >= sb_load32(&processors, SB_RELAXED),
                   SB_RELAXED);
    }
    return sb_load32(&crowded, SB_RELAXED) != 0;
}

uint64_t sb_patience_ns(uint64_t usual)
{
    uint64_t now = sb_now_ns();

    if (now >= sb_load64(&until, SB_RELAXED) || is_crowded(now))
        return usual;
    return sb_max(usual, sb_load64(&lent, SB_RELAXED));
}
