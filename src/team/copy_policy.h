/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_COPY_POLICY_H
#define SB_TEAM_COPY_POLICY_H

#include "team/team.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * How the bytes of a call are moved, where there are several modes to do it in:
 *
 *   cached        ordinary stores leave the data in the writer's caches: a reader close by gets it
 *                 from there, fast; a reader on another package waits for every line to be fetched
 *                 out of a far cache, up to five times longer
 *   non-temporal  stores that pass the caches by: about the same everywhere
 *   wide          ordinary stores that go round in so much memory that its lines have left the
 *                 writer's and the reader's own caches before they are written again: those of a
 *                 small part have to be taken back from the reader's, one by one
 *   pulled        the receiver has the kernel copy from the sender's private memory, or reads it by
 *                 loads (SOBOR_HEAP)
 *
 * Which is better depends on where the ranks run, what else runs, and on the size, and may change
 * while a program runs. So the rank that decides keeps the time that calls took, by size and mode
 * and by whether the buffer was used before, and now and then tries another mode for two laps of
 * the memory that it goes through: one to bring it into the state that this mode leaves it in, one
 * to time. A trial that goes badly is broken off, and the next one comes later. The first trial of
 * a class of sizes comes soon: programs that send few large messages gain too. A policy's first
 * mode is safe everywhere and left only for a gain. Not so one that goes through memory which
 * nothing was in: to have its pages takes as long as many messages. It is not tried before all of
 * its class have taken a multiple of that: a program that sends few more has no loss. Likewise with
 * a mode that was slower with shorter messages, and what trying it may be expected to lose. Nothing
 * has to be agreed: who decides says in each message's plan what it does, and who reads it does
 * what it says. A policy never changes in which order a reduction combines.
 *
 * A class of sizes is in one of three stages:
 *
 *   stage       its messages go by   they lead to  when
 *   settled     the usual mode       first lap     another mode is due, and may lose so much
 *   first lap   the mode on trial    second lap    they were enough to go through its memory
 *                                    settled       several were far too long
 *   second lap  the mode on trial,   settled       they were enough to tell its time, or several
 *               whose time counts                  well above another mode's, or far too long
 *
 * Far too long makes a trial a bad one: the mode's next rest is twice as long. Any other end makes
 * its next rest as long as all others.
 *
 * What a call takes says little of loads: the sender's lines then are the reader's too, so a
 * program that writes there anew waits for them, after the call. Where data is in caches that may
 * be more than the call itself. So a mode by loads is no candidate by what calls take. When all
 * others are known, blocks of calls are compared, with what is between them (block_policy.h): calls
 * as they were without loads, and such by loads, which there may be two ways for.
 */

typedef enum sb_copy_mode {
    SB_COPY_ANY, /* as the transport does by itself */
    SB_COPY_CACHED,
    SB_COPY_NON_TEMPORAL,
    SB_COPY_WIDE,
    SB_COPY_PULLED,
    SB_COPY_WHOLE,  /* of reductions: pulled, and each rank combines everything itself */
    SB_COPY_HALVED, /* of two ranks' allreduce: each combines one half, and they swap the results */
} sb_copy_mode_t;

/* Classes of doubling sizes from this on; the last holds all that is larger. Smaller is cached. */
#define SB_COPY_LEAST ((size_t)4 << 10)
#define SB_COPY_CLASSES 12

/* That one begins above half of this. It has no end, so what its messages take is kept as of one of
 * so many bytes: a program that sends 8 MiB and 512 MiB by turns may time one mode with the shorter
 * ones alone, and another with the longer ones. */
#define SB_COPY_LAST (SB_COPY_LEAST << (SB_COPY_CLASSES - 1))
#define SB_COPY_BUFFERS 2

/* Memory that nothing was in is only gone through when it takes at most this part of the time of
 * all messages so far, and a mode that was slower with shorter ones is only tried when that loses
 * as little. */
#define SB_COPY_SHARE_OF_FIRST 32

/* Most modes of one policy. */
#define SB_COPY_MODES 5

typedef enum sb_copy_stage {
    SB_COPY_SETTLED,
    SB_COPY_FIRST_LAP,
    SB_COPY_SECOND_LAP,
} sb_copy_stage_t;

/* The trial that goes on. */
typedef struct sb_copy_trial {
    uint32_t left;   /* messages of the present lap */
    uint32_t second; /* and of its second lap */
    uint32_t bad;    /* samples, one after the other, that were far too long, */
    uint32_t longer; /* and well above another mode's time */
    bool fresh;      /* there is no sample of its second lap yet */
} sb_copy_trial_t;

/* One class of sizes. Modes by place in the policy; counted in messages that this rank decided. */
typedef struct sb_copy_class {
    uint64_t ns[SB_COPY_MODES]; /* of one message (sb_copy_kept), smoothed; 0: not known yet */
    uint64_t spent;             /* ns of all messages outside trials, about */
    uint32_t since;             /* the last trial, or since the beginning */
    uint32_t rest;   /* from one trial to the next, in lengths of them; 0: there was none */
    uint32_t length; /* messages of the last trial */
    uint32_t waited[SB_COPY_MODES]; /* from each mode's last trial to the last of all */
    uint16_t spoilt[SB_COPY_MODES]; /* its rest after bad trials, if there was none better since */
    bool proven[SB_COPY_MODES];     /* a trial of it is over: its time is not one of new memory */
    sb_copy_stage_t stage;
    sb_copy_trial_t trial;
    bool doubtful;                /* the last sample was well above another mode's time */
    uint8_t tried;                /* by this trial, or the last one */
    uint8_t usual;                /* outside trials */
    uint8_t present;              /* of the last message */
    uint8_t settling;             /* messages until this one's time counts */
    uint64_t loss[SB_COPY_MODES]; /* ns by which each mode's last trial was longer than without, */
    uint64_t lost;                /* and all trials */
} sb_copy_class_t;

/* Private to a rank. All zero at first, but for what says otherwise. */
typedef struct sb_copy_policy {
    sb_copy_mode_t mode[SB_COPY_MODES];     /* given: the safe one, the others, */
    size_t least[SB_COPY_MODES];            /* bytes of the shortest message that each is for, */
    uint64_t floor[SB_COPY_MODES];          /* ns that it takes at least, whatever the message, */
    size_t reach[SB_COPY_MODES];            /* the end of what each goes through of its memory, */
    size_t window;                          /* bytes of a window of it; 0: there is none, */
    uint8_t modes;                          /* and how many they are */
    uint8_t loads;                          /* given: the place of the first by loads, */
    uint8_t loaded;                         /* how many are, one after the other, */
    bool reads;                             /* whether this rank itself reads so, */
    struct sb_block_policy *blocks;         /* and what decides on them: two; or NULL */
    const size_t *touched;                  /* given: what pages there are of that, or NULL, */
    const size_t *window_touched;           /* and of the window, */
    const uint64_t *page_ns;                /* and what SB_PAGE more take */
    sb_copy_mode_t fixed;                   /* given: always this; SB_COPY_ANY: measured */
    sb_copy_class_t of[2][SB_COPY_CLASSES]; /* in other buffers than the last, in the same */
    const void *last[SB_COPY_CLASSES][SB_COPY_BUFFERS]; /* buffers of each class */
} sb_copy_policy_t;

/* How a message is to be moved, and what its time, if it is wanted, stands for. */
typedef struct sb_copy_choice {
    sb_copy_mode_t mode;
    size_t bytes;
    bool again; /* its buffer is one of the last of its class: much of it is in caches */
    bool loads; /* blocks of calls decide whether it goes by loads */
    bool timed;
    bool warming; /* memory is not yet as this mode leaves it: its time is what a trial cost */
} sb_copy_choice_t;

/* A policy of these two modes; `stores`: SB_STORES_*, of which one that is not auto fixes it. */
sb_copy_policy_t sb_copy_policy(sb_copy_mode_t safe, sb_copy_mode_t other, uint32_t stores);

/* One more that is tried, for messages of so many bytes and more, where they take more than so many
 * ns as they go now: what it costs whatever their length. */
static inline void sb_copy_policy_add(sb_copy_policy_t *policy, sb_copy_mode_t mode, size_t least,
                                      uint64_t floor)
{
    policy->least[policy->modes] = least;
    policy->floor[policy->modes] = floor;
    policy->mode[policy->modes++] = mode;
}

/* One more that is by loads if the buffer is shared, and if not as any other. `blocks`: of messages
 * in other buffers than the last, and in the same, all zero. A second one comes next, with the
 * same.
 */
static inline void sb_copy_policy_add_loads(sb_copy_policy_t *policy, sb_copy_mode_t mode,
                                            size_t least, uint64_t floor,
                                            struct sb_block_policy *blocks)
{
    if (policy->loaded++ == 0)
        policy->loads = policy->modes;
    policy->blocks = blocks;
    sb_copy_policy_add(policy, mode, least, floor);
}

static inline bool sb_copy_policy_is_loaded(const sb_copy_policy_t *policy, uint8_t place)
{
    return place >= policy->loads && place < policy->loads + policy->loaded;
}

/* Where stores of this mode go to: up to there in the resource. */
static inline void sb_copy_policy_reaches(sb_copy_policy_t *policy, sb_copy_mode_t mode,
                                          const sb_resource_t *resource, size_t end)
{
    policy->touched = &resource->touched;
    policy->page_ns = &resource->block.page_ns;
    for (uint8_t i = 0; i < policy->modes; i++) {
        if (policy->mode[i] == mode)
            policy->reach[i] = end;
    }
}

/* Whether to have so many bytes of new memory takes little of the time of all messages so far. */
bool sb_copy_may_touch(const sb_copy_policy_t *policy, size_t bytes);

static inline bool sb_copy_policy_has(const sb_copy_policy_t *policy, sb_copy_mode_t mode)
{
    bool has = false;

    for (uint8_t i = 0; i < policy->modes; i++)
        has = has || policy->mode[i] == mode;
    return has;
}

static inline size_t sb_copy_class(size_t bytes)
{
    size_t number = 0;

    while (number + 1 < SB_COPY_CLASSES && bytes > SB_COPY_LEAST << number)
        number++;
    return number;
}

/* What a message of so many bytes, which took so long, counts in its class. */
static inline uint64_t sb_copy_kept(size_t bytes, uint64_t ns)
{
    bool as_it_is = bytes <= SB_COPY_LAST / 2 || ns == 0;

    return as_it_is ? ns : sb_max(ns * (SB_COPY_LAST / SB_PAGE) / (bytes / SB_PAGE), 1);
}

/* And how long one takes by what its class has kept. */
static inline uint64_t sb_copy_expected(size_t bytes, uint64_t kept)
{
    return bytes <= SB_COPY_LAST / 2 ? kept : kept * (bytes / SB_PAGE) / (SB_COPY_LAST / SB_PAGE);
}

/*
 * A mode for each class of sizes in one flag, by which a rank shows what it wants of the others.
 * They look when they come, nobody waits for it, and no result depends on it.
 */
#define SB_COPY_SHOWN_BITS 3
static inline sb_copy_mode_t sb_copy_shown(const sb_flag_t *flag, size_t bytes)
{
    uint64_t shown = sb_flag_read(flag) >> SB_COPY_SHOWN_BITS * sb_copy_class(bytes);

    return (sb_copy_mode_t)(shown & ((1u << SB_COPY_SHOWN_BITS) - 1));
}

void sb_copy_show(sb_flag_t *flag, size_t bytes, sb_copy_mode_t mode);

/* Whether this is one of the last buffers of a class; it is from now on. */
bool sb_copy_used_before(const void *last[SB_COPY_BUFFERS], const void *buffer);

/*
 * How this rank should move its next message of `bytes` in `buffer`. `laps`: bytes that each mode
 * goes round in, in the policy's order.
 */
sb_copy_choice_t sb_copy_choose(sb_copy_policy_t *policy, size_t bytes, const void *buffer,
                                const size_t *laps);

/* A message that this rank or another decided about took so long. */
void sb_copy_record(sb_copy_policy_t *policy, const sb_copy_choice_t *choice, uint64_t ns);

/* A message that this rank decided about was by loads, or not: as it was given before that was
 * known. */
void sb_copy_went(sb_copy_policy_t *policy, const sb_copy_choice_t *choice, bool by_loads);

/* A message that this rank decided about goes through memory that had no pages: what its block of
 * calls takes says nothing of its way. */
void sb_copy_touches(sb_copy_policy_t *policy, const sb_copy_choice_t *choice);

/* Messages that are not by loads have come to have more memory than before. */
void sb_copy_renew(sb_copy_policy_t *policy);

/*
 * A message that this rank has sent and whose readers tell how long it took, each by a flag. Value:
 * the use of what the message went by, which only grows, and the time in nanoseconds below it.
 */
typedef struct sb_copy_timed {
    uint64_t use;
    uint64_t own; /* this rank's time, ns */
    sb_copy_choice_t choice;
    bool open; /* its readers have not all told yet */
} sb_copy_timed_t;

#define SB_COPY_TIME_BITS 24
#define SB_COPY_TIME_MOST (((uint64_t)1 << SB_COPY_TIME_BITS) - 1)

static inline uint64_t sb_copy_told(uint64_t use, uint64_t ns)
{
    return (use + 1) << SB_COPY_TIME_BITS | sb_min(ns, SB_COPY_TIME_MOST);
}

/*
 * Calls in which every rank sends to every other. Rank 0 decides; the others do from the next call
 * of the class on as its messages say. The time of a call is counted from when the last of those
 * had begun of whom rank 0 heard, so that ranks that come late do not count. Where ranks share
 * processors blocks of calls are compared instead (block_policy.h). Private to a rank.
 */
typedef struct sb_copy_call {
    sb_copy_policy_t policy;
    sb_copy_mode_t followed[SB_COPY_CLASSES]; /* what rank 0 does */
    sb_copy_choice_t choice;                  /* of the present call, of rank 0 */
    struct sb_block_policy *blocks;           /* decides in place of the other; or NULL */
    uint64_t started;                         /* by sb_now_ns */
} sb_copy_call_t;

/* Bytes that messages go round in, in most modes and in the wide one. */
typedef struct sb_copy_laps {
    size_t usual;
    size_t wide;
} sb_copy_laps_t;

/* How this rank moves its data in the present call: so many bytes to each other rank. */
sb_copy_mode_t sb_copy_begin(sb_copy_call_t *call, uint32_t rank, size_t bytes, const void *buffer,
                             sb_copy_laps_t lap);

/* What the plan of a message of the present call says of its sender, and when that began. */
void sb_copy_heard(sb_copy_call_t *call, uint32_t from, size_t bytes, sb_copy_mode_t mode,
                   uint64_t started);

/* The present call is over. */
void sb_copy_end(sb_copy_call_t *call);

/*
 * Bytes received in one call up to which they go to a rank's buffer through the caches; SIZE_MAX:
 * always. Ranks that share a third-level cache and together receive more than it holds push each
 * other's data out of it before anybody reads that; and they would first read from memory every
 * line that they overwrite. Only this rank's own buffer is concerned, so nothing has to be agreed.
 */
size_t sb_copy_cached_most(const sb_team_t *team);

/* What a rank reads and writes for each byte of an allreduce: its contribution and the copy of it,
 * its share of all others, the result, and where that goes to. */
#define SB_COPY_TOUCHED 5

/* Whether the result of one of so many bytes goes past the caches, by what that says: half of the
 * cache's share of a rank is what an operation that only receives may fill. */
static inline bool sb_copy_past_caches(size_t cached_most, size_t bytes)
{
    return bytes > cached_most / SB_COPY_TOUCHED * 2;
}

#endif
