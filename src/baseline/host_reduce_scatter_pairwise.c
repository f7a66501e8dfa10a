/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter of a flat host: in round k every rank sends the one k further that one's part of
 * its contribution, and combines what comes from the one k before. Cost: (p - 1) (a + m / p (b +
 * c)). Memory: a part. Precondition: a commutative operator. Source: the pairwise exchange of MPI
 * libraries (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

#include <stdlib.h>

/* Equal parts where none are given. */
static size_t part_of(const sb_cluster_t *cluster, const sb_reduction_t *reduction, uint32_t rank)
{
    return reduction->parts == NULL ? reduction->bytes / cluster->map.ranks
                                    : reduction->parts[rank];
}

static const char *part_at(const sb_cluster_t *cluster, const sb_reduction_t *reduction,
                           uint32_t rank)
{
    const char *at = reduction->send;

    for (uint32_t i = 0; i < rank; i++)
        at += part_of(cluster, reduction, i);
    return at;
}

static sb_status_t rounds(sb_cluster_t *cluster, const sb_reduction_t *reduction, char *incoming)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    size_t bytes = part_of(cluster, reduction, rank);
    sb_status_t status = SB_OK;

    for (uint32_t k = 1; k < ranks && status == SB_OK; k++) {
        uint32_t to = (rank + k) % ranks, from = (rank + ranks - k) % ranks;
        status = sb_host_exchange(cluster, to, part_at(cluster, reduction, to),
                                  part_of(cluster, reduction, to), from, incoming, bytes);
        status = sb_first(
            status, sb_host_fold(reduction->operation, reduction->receive, incoming, bytes, true));
    }
    return status;
}

/* In place the parts of others are still to be sent when the own is where they begin. */
static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    size_t bytes = part_of(cluster, reduction, cluster->rank);
    char *incoming = malloc(bytes + 1);

    if (incoming == NULL || reduction->send == reduction->receive) {
        free(incoming);
        return incoming == NULL ? SB_ERR_MEMORY : SB_ERR_UNSUPPORTED;
    }
    sb_copy(reduction->receive, part_at(cluster, reduction, cluster->rank), bytes);
    sb_status_t status = rounds(cluster, reduction, incoming);
    free(incoming);
    return status;
}

#define DESCRIBED                                                                                  \
    .name = "host-pairwise", .doc = "In round k every rank exchanges with those k away.",          \
    .flat = true,                                                                                  \
    .source = "the pairwise exchange of MPI libraries (Thakur, Rabenseifner, Gropp 2005)",         \
    .reduction = run

const sb_spanning_t sb_host_reduce_scatter_pairwise = {DESCRIBED, .collective = SB_REDUCE_SCATTER};
const sb_spanning_t sb_host_reduce_scatter_block_pairwise = {DESCRIBED,
                                                             .collective = SB_REDUCE_SCATTER_BLOCK};
