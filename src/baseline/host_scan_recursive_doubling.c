/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan of a flat host: in round k ranks whose numbers differ in digit k exchange the
 * combination of their group; who is behind adds it to what it returns. Cost: ceil(log2 p) (a + m
 * (b + 2 c)). Memory: two messages. Source: the recursive doubling of MPI libraries (MPICH).
 */
#include "baseline/host.h"

#include <stdlib.h>

typedef struct scan {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    char *group;    /* the combination of this rank's group */
    char *incoming; /* of the other */
    bool begun;     /* there is something in `receive` */
} scan_t;

/* What comes before this rank's group. */
static sb_status_t prepend(scan_t *scan)
{
    const sb_reduction_t *reduction = scan->reduction;

    if (scan->begun)
        return sb_host_fold(reduction->operation, reduction->receive, scan->incoming,
                            reduction->bytes, true);
    scan->begun = true;
    sb_copy(reduction->receive, scan->incoming, reduction->bytes);
    return SB_OK;
}

static sb_status_t round_of(scan_t *scan, uint32_t partner)
{
    const sb_reduction_t *reduction = scan->reduction;
    bool behind = partner < scan->cluster->rank;
    sb_status_t status = sb_host_exchange(scan->cluster, partner, scan->group, reduction->bytes,
                                          partner, scan->incoming, reduction->bytes);

    if (behind)
        status = sb_first(status, prepend(scan));
    return sb_first(status, sb_host_fold(reduction->operation, scan->group, scan->incoming,
                                         reduction->bytes, behind));
}

static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction, bool inclusive)
{
    uint32_t ranks = cluster->map.ranks;
    scan_t scan = {.cluster = cluster, .reduction = reduction, .begun = inclusive};
    sb_status_t status = SB_OK;

    scan.group = malloc(2 * reduction->bytes + 1);
    if (scan.group == NULL)
        return SB_ERR_MEMORY;
    scan.incoming = scan.group + reduction->bytes;
    sb_copy(scan.group, reduction->send, reduction->bytes);
    if (inclusive && reduction->send != reduction->receive)
        sb_copy(reduction->receive, reduction->send, reduction->bytes);
    for (uint32_t distance = 1; distance < ranks && status == SB_OK; distance *= 2) {
        if ((cluster->rank ^ distance) < ranks)
            status = round_of(&scan, cluster->rank ^ distance);
    }
    free(scan.group);
    return status;
}

static sb_status_t scan(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return run(cluster, reduction, true);
}

static sb_status_t exscan(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return run(cluster, reduction, false);
}

#define DESCRIBED                                                                                  \
    .name = "host-recursive-doubling", .flat = true,                                               \
    .doc = "Groups exchange their combinations; who is behind adds what comes before.",            \
    .source = "the recursive doubling of MPI libraries (MPICH)"

const sb_spanning_t sb_host_scan_recursive_doubling = {DESCRIBED, .collective = SB_SCAN,
                                                       .reduction = scan};
const sb_spanning_t sb_host_exscan_recursive_doubling = {DESCRIBED, .collective = SB_EXSCAN,
                                                         .reduction = exscan};
