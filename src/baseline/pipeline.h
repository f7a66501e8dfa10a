/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_PIPELINE_H
#define SB_BASELINE_PIPELINE_H

#include "baseline/model.h"
#include "baseline/setring.h"
#include "coll/bcast/message.h"
#include "coll/resources.h"

/*
 * The memory of the NUMA-placed pipelined broadcast. Each rank owns one block, on its own NUMA
 * node:
 *
 *     sets[q]       those of rank 0 are used
 *     controls[s]   news of each buffer for this rank, written by its parent in the tree
 *     buffers[s]    the ring, of f bytes each; a root's readers all read there
 *
 * Buffers are divided into q sets of s / q, see setring.h; the readers leave them. A message's
 * first set is not claimed by its flag, but by the message's announcement.
 */

/* A control's note: bytes in the buffer, and whether the message ends with them. */
#define SB_PIPELINE_LAST 0x80000000u
#define SB_PIPELINE_BYTES 0x7fffffffu

/* Private to the rank, equal on all but for the lists. */
typedef struct sb_pipeline {
    sb_resource_t resource;
    sb_setring_t ring;    /* of q sets */
    uint32_t fragment;    /* f */
    uint32_t stride;      /* f in whole lines */
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

static inline sb_flag_t *sb_pipeline_control(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    char *controls = pipeline->resource.bases[rank] + pipeline->ring.count * sizeof(sb_set_t);

    return &((sb_wide_flag_t *)(void *)controls)[index].flag;
}

static inline char *sb_pipeline_buffer(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    size_t controls =
        (size_t)pipeline->ring.count * pipeline->ring.per_set * sizeof(sb_wide_flag_t);

    return pipeline->resource.bases[rank] + pipeline->ring.count * sizeof(sb_set_t) + controls +
           (size_t)index * pipeline->stride;
}

#endif
