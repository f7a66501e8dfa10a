/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_BLOCK_POLICY_H
#define SB_TEAM_BLOCK_POLICY_H

#include "base/config.h"
#include "machine/machine.h"
#include "team/block_gaps.h"
#include "team/block_sizes.h"
#include "team/copy_policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which of some ways calls take where the time of one call says little, by what was measured. Where
 * ranks share processors they run in turns, so one call finds that those who ran before have done
 * it all, and the next one waits for all of them. Where others read a rank's own memory by loads it
 * waits for those lines when it writes there again, after the call. So blocks of calls are
 * compared, each from the beginning of a call to that of the same rank's call so many later. What
 * the rank does between its calls is in it, and with that whatever the others do on its processor
 * meanwhile.
 *
 * The usual way is timed all the while, in short blocks. Now and then there is a comparison with
 * another one, of several with each in its turn. It begins with a glance: one short block of the
 * other way, which is broken off as soon as it cannot end well. One that is half as slow again is
 * given up; one that takes two thirds of the time, or of a class's first comparison eight ninths,
 * is taken, if another short block of the usual way agrees. Only ways that are nearer to each other
 * are compared by long blocks, by turns, in pairs: the other one is taken if it was faster by a
 * sixteenth in two pairs, of three at most; so one block in which something else ran decides
 * nothing. Of the four parts of a long block the longest does not count: a program that does
 * something else now and then does it in one of them. The rest after a comparison is so long that
 * the slower way takes a small part of all time. It ends when the usual way takes half as long
 * again as it did, or two thirds of that: ranks have come to run elsewhere. The less that such
 * comparisons change, the longer is it from one to the next.
 *
 * Of a program that goes through other buffers each time blocks say little of ways that are nearer
 * still: each finds caches as the usual way has left them, a whole round ago. Then the other way is
 * in use until the next comparison, and from then on that which took less time while it was. And
 * they say nothing of one that reads other ranks' memory while its pages are being mapped: such
 * blocks do not count, up to a number of calls.
 *
 * Blocks of a program whose ranks meet after each call do not show that who decides waits in one
 * way for those who read, and in the other is done before them: then it could do something else,
 * and in an unbroken row of calls does the next one. So where it says what calls take it alone,
 * that counts once more, and way 0 needs no more than to be as fast to be taken again.
 *
 * Where who decides also says when its calls end it is known what comes between some of them and
 * not between others: see block_gaps.h. Nor do blocks of messages of other lengths decide:
 * block_sizes.h.
 *
 * The first comparison comes soon: most programs that measure make a hundred calls of a size.
 * Private to the rank that decides; it tells the others.
 */

/* What the calls at hand are for. */
typedef enum sb_block_stage {
    SB_BLOCK_WATCH, /* the usual way, between comparisons */
    SB_BLOCK_GLANCE,
    SB_BLOCK_CONFIRM, /* the usual way, after a glance that the other one has won */
    SB_BLOCK_PAIRS,
} sb_block_stage_t;

/* Most ways of one choice. */
#define SB_BLOCK_WAYS 3

/* One class of sizes (sb_copy_class), counted in calls that this rank decided. All zero at first.
 */
typedef struct sb_block_class {
    uint64_t entered;  /* the present stage, by sb_now_ns */
    uint64_t earliest; /* time of the first comparison */
    uint64_t began;    /* of what is measured in the present block, */
    uint64_t part;     /* and of its present part */
    uint64_t longest;  /* of its parts; ns */
    uint64_t recent;   /* of the last short block of the usual way; ns */
    uint64_t glanced;  /* of that of the other way */
    uint64_t known;    /* of one of the usual way when the last comparison ended; 0: the next */
    uint64_t ns[2];    /* of the present pair: of the usual way, of the other */
    uint64_t sum[2];   /* of all pairs of the comparison */
    /* Of a short block of each way in use, smoothed; 0: unknown. */
    uint64_t steady[SB_BLOCK_WAYS];
    uint64_t own[SB_BLOCK_WAYS]; /* of a call (sb_copy_kept), what it takes this rank, smoothed; 0:
                                    not said */
    uint64_t faults;             /* before the present block of the other way */
    sb_block_gaps_t gaps;
    sb_block_sizes_t sizes;
    uint32_t since;     /* the last comparison */
    uint32_t rest;      /* from then to the next one, */
    uint32_t rest_even; /* that it is at least, */
    uint32_t alarm;     /* or if the usual way takes longer or shorter */
    uint16_t mapping;   /* calls in blocks that pages were mapped in */
    uint16_t call;      /* of the present block, */
    uint8_t settling;   /* of which so many are not measured */
    uint8_t block;      /* of the pairs */
    uint8_t won;        /* of them by the other way, */
    uint8_t lost;       /* and by the usual one */
    uint8_t kept;       /* comparisons that a way lost for what it took in use */
    uint8_t odd;        /* short blocks, one after the other, that took longer or shorter */
    uint8_t behind;     /* calls of the present stage in which others were */
    bool alarmed;       /* for that the present comparison is */
    bool fresh;         /* see sb_block_ways_t */
    bool begun;         /* there were calls, */
    bool compared;      /* and a comparison */
    uint8_t usual;      /* way, from 0 on */
    uint8_t other;      /* that of this comparison, or the next */
    uint8_t ways;       /* so many there are */
    uint8_t stage;      /* sb_block_stage_t */
} sb_block_class_t;

typedef struct sb_block_policy {
    sb_block_class_t of[SB_COPY_CLASSES];
    sb_block_class_t *open; /* of the present call, until it is said that it has ended */
} sb_block_policy_t;

/* What a choice is between. */
typedef struct sb_block_ways {
    uint8_t count; /* 2 to SB_BLOCK_WAYS */
    uint8_t first; /* with which a class begins of which nothing is known */
    uint8_t rival; /* which is compared with that first; 0: the next */
    uint64_t wait; /* ns before it is compared with others: they have something to make first */
    bool fresh;    /* in other buffers each time, of which this rank reads the other ranks' */
    bool evened;   /* calls end here before they are over: see block_gaps.h */
} sb_block_ways_t;

/*
 * The way of this rank's next call of so many bytes, which begins now. Way 0 is that of short
 * messages, so a class begins with another one where that was found to be the fastest for shorter
 * ones. A class is always between as many ways.
 */
uint8_t sb_block_choose(sb_block_policy_t *policy, size_t bytes, sb_block_ways_t ways,
                        uint64_t clock);

/* Whether the next choice for so many bytes, where nobody says when calls end, needs the clock: to
 * read it takes as long as some lines of a short message. Without it the choice takes any. */
bool sb_block_looks(const sb_block_policy_t *policy, size_t bytes);

/* What calls go by that are not by loads has become another: all is compared anew, soon. */
void sb_block_renew(sb_block_policy_t *policy);

/* The call that was last chosen for, which is open, has ended. Said of all calls, or of none. */
void sb_block_ended(sb_block_policy_t *policy, uint64_t clock);

static inline void sb_block_end_open(sb_block_policy_t *policy)
{
    if (policy->open != NULL)
        sb_block_ended(policy, sb_now_ns());
}

/* A call of so many bytes by that way has taken this rank so long. Said of either way now and then,
 * or never. */
static inline void sb_block_took(sb_block_policy_t *policy, size_t bytes, uint8_t way, uint64_t ns)
{
    uint64_t *own = &policy->of[sb_copy_class(bytes)].own[way], kept = sb_copy_kept(bytes, ns);

    *own = *own == 0 ? kept : *own - *own / 8 + sb_min(kept, 2 * *own) / 8;
}

/* What so many calls of the last block by a way count beside their time: what they take this rank,
 * if it says. */
static inline uint64_t sb_block_weight(const sb_block_class_t *class, uint8_t way, uint32_t calls)
{
    bool said = class->own[class->usual] > 0 && class->own[class->other] > 0;

    return said ? sb_copy_expected(class->sizes.mean, calls * class->own[way]) : 0;
}

/* A call of so many bytes goes otherwise, for something that is not to be compared: what is being
 * measured is given up. */
void sb_block_interrupt(sb_block_policy_t *policy, size_t bytes);

/* The last call of so many bytes, which is over, went otherwise than chosen, since others had run
 * ahead, or through memory that had no pages: what is measured begins anew with the next one. */
void sb_block_lag(sb_block_policy_t *policy, size_t bytes, uint64_t now);

/* Whether the last choice for so many bytes was part of a comparison. */
static inline bool sb_block_compares(const sb_block_policy_t *policy, size_t bytes)
{
    return policy->of[sb_copy_class(bytes)].stage != SB_BLOCK_WATCH;
}

#endif
