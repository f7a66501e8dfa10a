/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce of a flat host in a ring: the message is cut into p parts; in p - 1 rounds every rank
 * gives its right neighbour a part that it has combined with its own, in p - 1 more the finished
 * parts go round. Cost: 2 (p - 1) (a + m / p b). Memory: a part. Precondition: a commutative
 * operator. Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009.
 */
#include "baseline/host.h"
#include "coll/reduction/reduction.h"

#include <stdlib.h>

static sb_range_t part_of(const sb_cluster_t *cluster, const sb_reduction_t *reduction,
                          uint32_t part)
{
    size_t element = reduction->operation->element, count = reduction->bytes / element;
    uint32_t ranks = cluster->map.ranks;

    part %= ranks;
    return (sb_range_t){count * part / ranks * element, count * (part + 1) / ranks * element};
}

/* In the first half of the rounds what comes is combined. */
static sb_status_t round_of(sb_cluster_t *cluster, const sb_reduction_t *reduction, uint32_t round,
                            char *incoming)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    bool combines = round < ranks - 1;
    uint32_t given = rank + 2 * ranks - 1 - round + combines;
    sb_range_t sent = part_of(cluster, reduction, given + !combines);
    sb_range_t taken = part_of(cluster, reduction, given - combines);
    char *place = reduction->receive + taken.from;
    sb_status_t status = sb_host_exchange(
        cluster, (rank + 1) % ranks, reduction->receive + sent.from, sb_range_bytes(sent),
        (rank + ranks - 1) % ranks, combines ? incoming : place, sb_range_bytes(taken));

    if (!combines)
        return status;
    return sb_first(
        status, sb_host_fold(reduction->operation, place, incoming, sb_range_bytes(taken), true));
}

static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    uint32_t rounds = 2 * (cluster->map.ranks - 1);
    char *incoming = malloc(reduction->bytes + 1);
    sb_status_t status = incoming == NULL ? SB_ERR_MEMORY : SB_OK;

    if (status == SB_OK && reduction->send != reduction->receive)
        sb_copy(reduction->receive, reduction->send, reduction->bytes);
    for (uint32_t round = 0; round < rounds && status == SB_OK; round++)
        status = round_of(cluster, reduction, round, incoming);
    free(incoming);
    return status;
}

const sb_spanning_t sb_host_allreduce_ring = {
    .name = "host-ring",
    .flat = true,
    .collective = SB_ALLREDUCE,
    .doc = "Parts travel from each rank to its right neighbour and are combined on the way, then "
           "travel once more.",
    .source = "Patarasuk, Yuan 2009",
    .reduction = run,
};
