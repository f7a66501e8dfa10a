/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/arrival/arrival.h"
#include "data/fold.h"

/* All agree after so many calls, then after four times as many, and at last once in so many. */
#define AGREE_FIRST 16
#define AGREE_LAST 1024

static sb_waits_t *waits_of(const sb_cluster_t *cluster)
{
    return &cluster->doorway->waits;
}

/* An allreduce of what each has lost; where the map lets none be had, nobody has lost anything. */
static void agree(sb_cluster_t *cluster)
{
    sb_waits_t *waits = waits_of(cluster);
    int64_t all = 0;
    sb_reduction_t reduction = {.operation = sb_fold_operator(SB_SUM, SB_INT64),
                                .bytes = sizeof all,
                                .send = (const char *)&waits->lost,
                                .receive = (char *)&all};
    sb_cluster_allreduce(cluster, &reduction);
    waits->mean = (double)all / (double)waits->counted / cluster->map.ranks;
    waits->lost = 0;
    waits->counted = 0;
    waits->agree_at = waits->calls + sb_min(3 * waits->calls, AGREE_LAST);
}

static sb_status_t prepare(sb_cluster_t *cluster)
{
    sb_status_t status = sb_doorway_need(cluster);

    if (status != SB_OK || waits_of(cluster)->agree_at > 0)
        return status;
    waits_of(cluster)->agree_at = AGREE_FIRST;
    status = sb_hall_need(cluster);
    waits_of(cluster)->watched = status == SB_OK;
    return cluster->failure = status == SB_ERR_UNSUPPORTED ? SB_OK : status;
}

sb_status_t sb_waits_begin(sb_cluster_t *cluster, uint32_t root)
{
    sb_status_t status = cluster->failure == SB_OK ? prepare(cluster) : cluster->failure;

    if (status != SB_OK)
        return status;
    sb_waits_t *waits = waits_of(cluster);
    if (waits->calls == waits->agree_at)
        agree(cluster);
    waits->calls++;
    waits->counted++;
    waits->came = sb_now_ns();
    if (waits->watched && sb_leader_of(cluster, cluster->node, root) == cluster->rank)
        sb_hall_stamp(cluster, waits->calls, waits->came);
    return cluster->failure;
}

sb_status_t sb_waits_end(sb_cluster_t *cluster, uint32_t root)
{
    sb_waits_t *waits = waits_of(cluster);
    uint32_t leader = sb_leader_of(cluster, cluster->node, root);
    uint64_t time;

    if (!waits->watched || leader == cluster->rank)
        return cluster->failure;
    if (!sb_hall_time(cluster, cluster->map.local_of[leader], waits->calls, &time))
        time = sb_now_ns();
    if (time > waits->came)
        waits->lost += (int64_t)(time - waits->came);
    return cluster->failure;
}
