/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and Allgatherv between all ranks by exchanges of all that the partner lacks
 * (baseline/exchanges.h), each packed into one message. Cost: log2 p a + (p - 1) / p m b for
 * m bytes of all where p is a power of two, else more. Memory: the bytes of all parts. Source: see
 * baseline/exchanges.c.
 */
#include "baseline/exchanges.h"
#include "baseline/host.h"

#include <stdlib.h>

/* The parts that move in a stage, at `room` one behind the other. Returns their bytes. */
static size_t pass(const sb_bagds_t *bagds, uint32_t stage, bool comes, const sb_stream_t *part,
                   char *room)
{
    size_t passed = 0;

    for (uint32_t i = 0; i < bagds->members; i++) {
        if (!sb_bagds_moves(bagds, stage, i, comes) || part[i].bytes == 0)
            continue;
        if (room != NULL)
            sb_copy(comes ? part[i].base : room + passed, comes ? room + passed : part[i].base,
                    part[i].bytes);
        passed += part[i].bytes;
    }
    return passed;
}

static sb_status_t run_stage(sb_cluster_t *cluster, const sb_bagds_t *bagds, uint32_t stage,
                             const sb_stream_t *part, char *room)
{
    uint32_t partner = sb_bagds_partner(bagds, stage);

    if (partner == bagds->members)
        return SB_OK;
    size_t sent = pass(bagds, stage, false, part, room);
    size_t taken = pass(bagds, stage, true, part, NULL);
    sb_status_t status =
        sb_host_exchange(cluster, partner, room, sent, partner, room + sent, taken);
    if (status == SB_OK)
        pass(bagds, stage, true, part, room + sent);
    return status;
}

static sb_status_t run(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    uint32_t rank = cluster->rank;
    sb_bagds_t *bagds = sb_bagds_new(cluster->map.ranks, rank);
    const sb_stream_t *part = parts->receive;
    size_t bytes = 1;

    for (uint32_t i = 0; i < cluster->map.ranks; i++)
        bytes += part[i].bytes;
    char *room = malloc(bytes);
    sb_status_t status = bagds == NULL || room == NULL ? SB_ERR_MEMORY : SB_OK;
    if (!parts->in_place && parts->send->bytes > 0)
        sb_copy(part[rank].base, parts->send->base, parts->send->bytes);
    for (uint32_t stage = 0; status == SB_OK && stage < bagds->stages; stage++)
        status = run_stage(cluster, bagds, stage, part, room);
    free(room);
    free(bagds);
    return status;
}

#define DESCRIBED                                                                                  \
    .name = "host-bagds", .doc = "Pairs of ranks exchange all that the partner lacks.",            \
    .source = "Feldman, Nazarova 2016, the block algorithm of global data distribution",           \
    .parts = run

const sb_spanning_t sb_host_allgather_bagds = {DESCRIBED, .flat = true, .collective = SB_ALLGATHER};
const sb_spanning_t sb_host_allgatherv_bagds = {DESCRIBED, .flat = true,
                                                .collective = SB_ALLGATHERV};
