/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"
#include "cluster/arrival/arrival.h"
#include "cluster/packed.h"
#include "data/fold.h"

/* All agree after so many calls, then after four times as many, and at last once in so many. */
#define AGREE_FIRST 4
#define AGREE_LAST 256

/* Waits have to be so many times what the order of arrival costs before it is taken, and before it
 * is left again: in between all stays as it is. */
#define SUFFERS 1.25
#define RECOVERS 0.5

static sb_waits_t *waits_of(const sb_cluster_t *cluster)
{
    return &cluster->doorway->waits;
}

double sb_order_extra(const sb_cluster_t *cluster)
{
    const sb_net_prices_t *prices = &cluster->seen;

    return 2 * prices->latency + (2.0 * cluster->map.nodes + 2) * prices->overhead;
}

/* Whether ranks that lose `mean` a call by waiting suffer, as they did or did not before. */
static bool do_suffer(bool suffered, double mean, double extra)
{
    return mean > (suffered ? RECOVERS : SUFFERS) * extra;
}

bool sb_waits_speak(const sb_cluster_t *cluster)
{
    return waits_of(cluster)->suffers && !cluster->crowded;
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
    double mean = (double)all / (double)waits->counted / cluster->map.ranks;
    waits->suffers = do_suffer(waits->suffers, mean, sb_order_extra(cluster));
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
    sb_cluster_fails(cluster, status == SB_ERR_UNSUPPORTED ? SB_OK : status);
    return cluster->failure;
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

static bool waits_decide(const sb_cluster_t *cluster)
{
    return cluster->settings.scatter_by == SB_SCATTER_AUTO && cluster->map.nodes > 1;
}

sb_status_t sb_heads_begin(sb_cluster_t *cluster, uint32_t root, bool *first)
{
    if (cluster->map.ranks > SB_PACKED_RANKS)
        return SB_ERR_UNSUPPORTED;
    sb_status_t status = sb_cluster_need_parts(cluster);

    *first = cluster->settings.scatter_by == SB_SCATTER_FIRST;
    if (status != SB_OK || !waits_decide(cluster))
        return status;
    status = sb_waits_begin(cluster, root);
    *first = status == SB_OK && sb_waits_speak(cluster);
    return status;
}

sb_status_t sb_heads_end(sb_cluster_t *cluster, uint32_t root)
{
    if (cluster->failure != SB_OK || !waits_decide(cluster))
        return cluster->failure;
    return sb_waits_end(cluster, root);
}

sb_status_t sb_heads_elect(sb_cluster_t *cluster, uint32_t root, uint32_t *leader)
{
    sb_status_t status = sb_doorway_need(cluster);

    if (status != SB_OK)
        return status;
    cluster->doorway->words = cluster->doorway->spoken = 0;
    sb_cluster_fails(cluster, sb_hall_enter(cluster, SB_SCATTERV, root, leader));
    return cluster->failure;
}
