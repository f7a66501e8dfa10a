/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_QUEUES_H
#define SB_BASELINE_QUEUES_H

#include "baseline/setring.h"
#include "coll/coll.h"
#include "coll/resources.h"

/*
 * The memory of the published Scatterv, Gatherv and Allgatherv. Each rank owns one block, on its
 * own NUMA node:
 *
 *     sets[w]            those of rank 0 are used
 *     ready[w p]         the root has written the counts, for each rank; those of rank 0 are used
 *     counts[w p]        bytes of each rank's part, by the root; those of rank 0 are used
 *     ctrl[s]            bytes ready in each slot, of rooted operations
 *     ctrlall[s p]       the same for each reader, of operations from all to all
 *     q[s]               the queue, slots of f bytes
 *
 * Slots are divided into w sets of s / w, see setring.h.
 *
 * What differs from the paper, and why it is the same algorithm: nothing is reset. Control words
 * and `ready` hold the number of the turn, which only grows, with the bytes beside it; each has one
 * writer at a time, and the next one has seen the set emptied by all. Counts are bytes, so a type
 * size is not needed.
 */

/* A control word's note: bytes in the slot, and whether more of the part follows. */
#define SB_QUEUE_MORE 0x80000000u
#define SB_QUEUE_BYTES 0x7fffffffu

/* Private to the rank, equal on all but for `counts`. */
typedef struct sb_queues {
    sb_resource_t resource;
    sb_setring_t ring; /* of w sets; its uses are the turns */
    uint32_t fragment; /* f */
    uint32_t stride;   /* f in whole lines */
    size_t ready;      /* where the parts of the block are */
    size_t counts;     /*   */
    size_t ctrl;       /*   */
    size_t ctrlall;    /*   */
    size_t slots;      /*   */
    uint64_t own[];    /* counts of the present call; or how far each part has come */
} sb_queues_t;

static inline sb_queues_t *sb_queues(const sb_team_t *team)
{
    return (sb_queues_t *)(void *)team->resource[SB_RESOURCE_QUEUES];
}

/*
 * Makes the team's queues at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_queues_prepare(sb_team_t *team);

/* Root: the bytes of all parts, to all, with the first set of a call. */
void sb_queue_publish_counts(sb_team_t *team, const sb_stream_t *parts);

/* Others: wait for the counts of all parts and read them. */
sb_status_t sb_queue_read_counts(sb_team_t *team);

/* Turns that a call takes, by the largest of the counts: at least the one that tells them. */
uint64_t sb_queue_turns(const sb_team_t *team);

/*
 * Waits for the control word of this turn, and takes what it says is in the slot: those bytes of
 * the part that follow the `*came` before. `more`: whether the part goes on.
 */
sb_status_t sb_queue_take(sb_team_t *team, sb_flag_t *ctrl, const char *slot,
                          const sb_stream_t *part, uint64_t *came, bool *more, sb_status_t *data);

static inline char *sb_queue_block(const sb_team_t *team, uint32_t rank)
{
    return sb_queues(team)->resource.bases[rank];
}

static inline sb_flag_t *sb_queue_ctrl(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    char *ctrl = sb_queue_block(team, rank) + sb_queues(team)->ctrl;

    return &((sb_wide_flag_t *)(void *)ctrl)[index].flag;
}

static inline sb_flag_t *sb_queue_ctrl_for(const sb_team_t *team, uint32_t rank, uint32_t index,
                                           uint32_t reader)
{
    char *ctrl = sb_queue_block(team, rank) + sb_queues(team)->ctrlall;

    return &((sb_wide_flag_t *)(void *)ctrl)[(size_t)index * team->size + reader].flag;
}

static inline char *sb_queue_slot(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    const sb_queues_t *queues = sb_queues(team);

    return sb_queue_block(team, rank) + queues->slots + (size_t)index * queues->stride;
}

#endif
