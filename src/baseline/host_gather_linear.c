/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gatherv and Scatterv of a flat host: the root receives from each rank, or sends to it, one after
 * another. Cost: (p - 1) messages and all bytes at the root. Memory: none. Source: the linear
 * algorithms of MPI libraries.
 */
#include "baseline/host.h"

/* The root's own part. */
static sb_status_t keep(const sb_parts_t *parts, const sb_stream_t *from, const sb_stream_t *to)
{
    if (!parts->in_place && from->bytes > 0)
        sb_copy(to->base, from->base, from->bytes);
    return SB_OK;
}

static sb_status_t gather(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    sb_status_t status = SB_OK;

    if (cluster->rank != parts->root)
        return sb_host_send(cluster, parts->root, parts->send->base, parts->send->bytes);
    for (uint32_t i = 0; i < cluster->map.ranks && status == SB_OK; i++) {
        const sb_stream_t *part = &parts->receive[i];
        status = i == cluster->rank ? keep(parts, parts->send, part)
                                    : sb_host_receive(cluster, i, part->base, part->bytes);
    }
    return status;
}

static sb_status_t scatter(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    sb_status_t status = SB_OK;

    if (cluster->rank != parts->root)
        return sb_host_receive(cluster, parts->root, parts->receive->base, parts->receive->bytes);
    for (uint32_t i = 0; i < cluster->map.ranks && status == SB_OK; i++) {
        const sb_stream_t *part = &parts->send[i];
        status = i == cluster->rank ? keep(parts, part, parts->receive)
                                    : sb_host_send(cluster, i, part->base, part->bytes);
    }
    return status;
}

#define DESCRIBED                                                                                  \
    .name = "host-linear", .doc = "One message between the root and each rank, in turn.",          \
    .flat = true, .source = "the linear algorithms of MPI libraries"

const sb_spanning_t sb_host_gatherv_linear = {DESCRIBED, .collective = SB_GATHERV, .parts = gather};
const sb_spanning_t sb_host_scatterv_linear = {DESCRIBED, .collective = SB_SCATTERV,
                                               .parts = scatter};
