/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BCAST_PIPELINE_H
#define SB_COLL_BCAST_PIPELINE_H

#include "coll/bcast/model.h"
#include "coll/resources.h"

/*
 * The memory of the NUMA-placed pipelined broadcast. Each rank owns one block, on its own NUMA
 * node:
 *
 *     sets[q]       who has opened a set, how many have left it; those of rank 0 are used
 *     controls[s]   news of each buffer for this rank, written by its parent in the tree
 *     buffers[s]    the ring, of f bytes each; a root's readers all read there
 *
 * Buffers are divided into q sets of s / q. Set uses of the team are counted alike by all members:
 * use u is of set u mod q, for the (u div q)th time.
 */

typedef struct sb_pipeline_set {
    sb_wide_flag_t opened;  /* use + 1, by the root of that use, but for a message's first set */
    sb_wide_counter_t left; /* any reader: one more is done with the set */
    sb_wide_flag_t emptied; /* how often all readers have left, by the last to leave */
} sb_pipeline_set_t;

/* A control's note: bytes in the buffer, and whether the message ends with them. */
#define SB_PIPELINE_LAST 0x80000000u
#define SB_PIPELINE_BYTES 0x7fffffffu

/* Private to the rank, equal on all but for the lists. */
typedef struct sb_pipeline {
    sb_resource_t resource;
    uint32_t sets;        /* q */
    uint32_t per_set;     /* s / q */
    uint32_t fragment;    /* f */
    uint32_t stride;      /* f in whole lines */
    uint64_t uses;        /* set uses of the team's messages so far */
    uint32_t *spans;      /* of the k-nomial tree */
    uint32_t spans_arity; /* the k of them; 0: not made yet */
    uint32_t *children;   /* room for those of one message */
    uint32_t lists[];     /* where both are */
} sb_pipeline_t;

static inline sb_pipeline_t *sb_pipeline(const sb_team_t *team)
{
    return (sb_pipeline_t *)(void *)team->resource[SB_RESOURCE_PIPELINE];
}

/*
 * Makes the team's pipeline at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_pipeline_prepare(sb_team_t *team);

/* What f, s and q a team of these settings is to have: what is given, the rest by the model. */
typedef struct sb_pipeline_form {
    uint32_t fragment;
    uint32_t sets;
    uint32_t slots; /* a multiple of sets */
    uint32_t least; /* without so many buffers there is no pipeline */
} sb_pipeline_form_t;

sb_pipeline_form_t sb_pipeline_form(const sb_settings_t *settings);

/*
 * Root: how much of a message of `bytes` to put into one buffer: f, or less where the message would
 * be too few fragments to overlap and f was not asked for.
 */
size_t sb_pipeline_fragment(const sb_team_t *team, size_t bytes);

/* Bytes of one rank's block of that form. */
size_t sb_pipeline_bytes(const sb_pipeline_form_t *form);

/* This rank's parent and children in the tree of notifications rooted at `root`, for `bytes`. */
typedef struct sb_pipeline_place {
    uint32_t parent; /* of no meaning at the root */
    uint32_t count;  /* of sb_pipeline(team)->children */
} sb_pipeline_place_t;

sb_pipeline_place_t sb_pipeline_place(const sb_team_t *team, uint32_t root, size_t bytes);

static inline sb_pipeline_set_t *sb_pipeline_set(const sb_team_t *team, uint64_t use)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);

    return (sb_pipeline_set_t *)(void *)pipeline->resource.segment.bases[0] + use % pipeline->sets;
}

/* Number of the buffer that is the set's `i`th. */
static inline uint32_t sb_pipeline_index(const sb_pipeline_t *pipeline, uint64_t use, uint32_t i)
{
    return (uint32_t)(use % pipeline->sets) * pipeline->per_set + i;
}

static inline sb_flag_t *sb_pipeline_control(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    char *controls =
        pipeline->resource.segment.bases[rank] + pipeline->sets * sizeof(sb_pipeline_set_t);

    return &((sb_wide_flag_t *)(void *)controls)[index].flag;
}

static inline char *sb_pipeline_buffer(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    size_t controls = (size_t)pipeline->sets * pipeline->per_set * sizeof(sb_wide_flag_t);

    return pipeline->resource.segment.bases[rank] + pipeline->sets * sizeof(sb_pipeline_set_t) +
           controls + (size_t)index * pipeline->stride;
}

#endif
