/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_PACE_H
#define SB_TEAM_PACE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A choice between two ways of doing the same, made by what was measured in use. The first is safe
 * everywhere and left only for a gain. What follows speaks of writing into a ring.
 *
 * Ordinary stores leave the data in the writer's caches: a reader close by gets it from there,
 * fast; a reader on another package waits for every line to be fetched out of a far cache, up to
 * five times longer. Streaming stores go around the caches: about the same everywhere. Which is
 * better depends on where the ranks run, what else runs, and on the size, and may change while a
 * program runs. So every rank keeps the time that messages took, by size and way, and now and then
 * tries the other way for two laps of the ring: one to bring it into the state that this way leaves
 * it in, one to time. A trial that goes badly is broken off, and the next one comes later. The
 * first trial of a class of sizes comes soon: programs that send few large messages gain too.
 * Nothing has to be agreed: the writer says in each message's plan what it does, and a reader does
 * the same in both cases.
 */

typedef enum sb_way { SB_WAY_STREAMING, SB_WAY_CACHED, SB_WAYS } sb_way_t;

/* Classes of doubling sizes from 4 KiB on; the last holds all that is larger. */
#define SB_PACE_LEAST ((size_t)4 << 10)
#define SB_PACE_CLASSES 12

/* Counted in messages of the class that this rank has written. */
typedef struct sb_pace_class {
    uint64_t ns[SB_WAYS]; /* of one message, smoothed; 0: not known yet */
    uint32_t since;       /* the last trial, or since the beginning */
    uint32_t rest;        /* until the next trial, in lengths of that one; 0: there was none */
    uint32_t spoilt;      /* the rest after the last bad trial, if there was none better since */
    uint32_t warming;     /* left of a trial's first lap */
    uint32_t timing;      /* left of its second */
    uint32_t bad;         /* samples of this trial, one after the other, that were far too long */
    bool fresh;           /* this trial has no sample of its second lap yet */
    bool doubtful;        /* the last sample was well above the other way's time */
    sb_way_t tried;       /* by this trial */
} sb_pace_class_t;

/* Private to a rank. All zero at first. */
typedef struct sb_pace {
    sb_pace_class_t of[SB_PACE_CLASSES];
} sb_pace_t;

/* How a message is to be written, and what its time, if it is wanted, stands for. */
typedef struct sb_step {
    sb_way_t way;
    bool timed;
    bool warming; /* the ring is not yet as this way leaves it */
} sb_step_t;

/* The last buffers that messages of each class were in. Private to a rank. All zero at first. */
#define SB_PACE_BUFFERS 2

typedef struct sb_pace_seen {
    const void *buffer[SB_PACE_CLASSES][SB_PACE_BUFFERS];
} sb_pace_seen_t;

size_t sb_pace_class(size_t bytes);

/*
 * Whether the buffer is one of the last of its class. Then much of it is in caches, and what was
 * measured with other buffers may be wrong: callers keep a pace for either.
 */
bool sb_pace_again(sb_pace_seen_t *seen, size_t bytes, const void *buffer);

/*
 * How this rank should write its next message of `bytes`; `laps`: bytes of the ring that each way
 * goes round in.
 */
sb_step_t sb_pace_next(sb_pace_t *pace, size_t bytes, const size_t laps[SB_WAYS]);

/* A message, of this rank or another, took so long. */
void sb_pace_record(sb_pace_t *pace, size_t bytes, const sb_step_t *step, uint64_t ns);

#endif
