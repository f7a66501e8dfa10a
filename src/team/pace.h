/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_PACE_H
#define SB_TEAM_PACE_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * A choice between two ways of writing into a ring, made by what was measured in use.
 *
 * Ordinary stores leave the data in the writer's caches: a reader close by gets it from there,
 * fast; a reader on another package waits for every line to be fetched out of a far cache, up to
 * five times longer. Streaming stores go around the caches: about the same everywhere. Which is
 * better depends on where the ranks run, what else runs, and on the size, and may change while a
 * program runs. So every rank keeps the time that messages took, by size and way, and now and then
 * tries the other way for two laps of the ring: one to bring it into the state that this way leaves
 * it in, one to time. A trial that goes badly is broken off. Nothing has to be agreed: the writer
 * says in each message's plan what it does, and a reader does the same in both cases.
 *
 * A turn is what trials are counted in: a lap of the ring, or a message that is longer than that.
 */

typedef enum sb_way { SB_WAY_STREAMING, SB_WAY_CACHED, SB_WAYS } sb_way_t;

/* Classes of doubling sizes from 4 KiB on; the last holds all that is larger. */
#define SB_PACE_LEAST ((size_t)4 << 10)
#define SB_PACE_CLASSES 12

typedef struct sb_pace_class {
    uint64_t ns[SB_WAYS]; /* of one message, smoothed; 0: not known yet */
    uint32_t bad;         /* samples of this trial, one after the other, that were far too long */
    uint64_t abandoned;   /* number of the last trial that was broken off, from 1 */
} sb_pace_class_t;

/* Private to a rank. All zero at first. */
typedef struct sb_pace {
    sb_pace_class_t of[SB_PACE_CLASSES];
} sb_pace_t;

/* How a message of `bytes` should be written in this turn. */
sb_way_t sb_pace_choose(const sb_pace_t *pace, size_t bytes, uint64_t turn);

/* Whether message number `use` of the team should be timed. */
bool sb_pace_times(uint64_t use, uint64_t turn);

/* A message of this turn took so long. */
void sb_pace_record(sb_pace_t *pace, size_t bytes, sb_way_t way, uint64_t turn, uint64_t ns);

#endif
