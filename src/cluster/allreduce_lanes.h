/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ALLREDUCE_LANES_H
#define SB_CLUSTER_ALLREDUCE_LANES_H

#include "cluster/reduce.h"

/*
 * An Allreduce by the lanes of each node, or a Reduce_scatter of short parts. A segment is cut into
 * slices, of which each lane has some that lie side by side, its part: one, or with partners
 * (allreduce_partners.c) those that belong to the nodes that it has to do with.
 */
typedef struct sb_laned {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    sb_schedule_t way;
    sb_partners_t partners;
    uint32_t slices; /* of a segment */
    size_t segment;  /* bytes of one */
    size_t segments;
    bool scatters;     /* each rank gets its part of the result alone */
    bool non_temporal; /* the result goes past the caches */
    size_t landed;     /* bytes of it since programs were turned */
} sb_laned_t;

/* Whole lines are dealt out if there are so many for each slice. */
#define SB_LINES_FOR_EACH 2

static inline bool sb_has_partners(const sb_laned_t *laned)
{
    return laned->way.partners > 0;
}

static inline bool sb_is_lane(const sb_laned_t *laned)
{
    return laned->cluster->local < laned->way.lanes;
}

static inline size_t sb_laned_bytes(const sb_laned_t *laned, size_t segment)
{
    return sb_min(laned->segment, laned->reduction->bytes - segment * laned->segment);
}

/* Slices are of whole lines if there are many, so that parts lie side by side wherever they are
 * copied. */
static inline size_t sb_slice_begins(const sb_laned_t *laned, size_t segment, uint32_t slice)
{
    size_t element = laned->reduction->operation->element, bytes = sb_laned_bytes(laned, segment);
    bool lined = SB_LINE % element == 0 && bytes >= SB_LINES_FOR_EACH * SB_LINE * laned->slices;
    size_t grain = lined ? SB_LINE : element;
    /* Rounded up: the last slice has the rest besides, and is to fit too. */
    size_t grains = sb_divide_up(bytes / grain * slice, laned->slices);

    return slice < laned->slices ? grains * grain : bytes;
}

static inline size_t sb_slice_bytes(const sb_laned_t *laned, size_t segment, uint32_t slice)
{
    return sb_slice_begins(laned, segment, slice + 1) - sb_slice_begins(laned, segment, slice);
}

/* Where this rank's part lies while it is combined. */
static inline char *sb_laned_place(const sb_laned_t *laned, size_t segment)
{
    return sb_cluster_segment(laned->cluster, segment) + SB_SEGMENT_BYTES;
}

/* The node has dealt a segment out: the messages of this rank begin. */
void sb_partners_begin(const sb_laned_t *laned, size_t segment);

/* They are waited for, the slice of this node is combined, and those begin that spread it. Returns
 * the cluster's failure. */
sb_status_t sb_partners_combine(const sb_laned_t *laned, size_t segment);

#endif
