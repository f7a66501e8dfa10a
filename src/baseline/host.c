/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/host.h"

#include <stdlib.h>

static const sb_spanning_t *const hosts[] = {
#define SB_HOST(collective, name, text) &sb_host_##collective##_##name,
#include "baseline/hosts.def"
#undef SB_HOST
};

size_t sb_host_count(void)
{
    return SB_COUNT_OF(hosts);
}

const sb_spanning_t *sb_host_at(size_t index)
{
    return hosts[index];
}

/* --- messages ------------------------------------------------------------------------------ */

/* What is under way: a send, a receive, or both. */
typedef struct under_way {
    const sb_net_t *net;
    sb_net_request_t *request[2];
    sb_status_t status;
} under_way_t;

static bool is_done(void *context)
{
    under_way_t *under_way = context;
    const sb_net_t *net = under_way->net;
    bool all = true, done;

    for (unsigned i = 0; i < 2 && under_way->status == SB_OK; i++) {
        if (under_way->request[i] == NULL)
            continue;
        under_way->status = net->test(net->context, &under_way->request[i], &done, NULL);
        all = all && done;
    }
    return all || under_way->status != SB_OK;
}

static sb_status_t complete(const sb_cluster_t *cluster, under_way_t *under_way)
{
    sb_status_t status = SB_OK;

    if (under_way->status == SB_OK && !is_done(under_way))
        status = sb_wait_for(is_done, under_way, &cluster->waiter);
    return sb_first(status, under_way->status);
}

/* `least`: the shortest message that is sent at all. */
static sb_status_t exchange(sb_cluster_t *cluster, uint32_t to, const void *sent, size_t sent_bytes,
                            uint32_t from, void *received, size_t bytes, size_t least)
{
    const sb_net_t *net = &cluster->net;
    under_way_t under_way = {.net = net};

    if (bytes >= least)
        under_way.status =
            net->receive(net->context, from, 0, received, bytes, &under_way.request[0]);
    if (sent_bytes >= least && under_way.status == SB_OK)
        under_way.status =
            net->send(net->context, to, 0, sent, sent_bytes, false, &under_way.request[1]);
    return complete(cluster, &under_way);
}

sb_status_t sb_host_exchange(sb_cluster_t *cluster, uint32_t to, const void *sent,
                             size_t sent_bytes, uint32_t from, void *received, size_t bytes)
{
    return exchange(cluster, to, sent, sent_bytes, from, received, bytes, 1);
}

sb_status_t sb_host_send(sb_cluster_t *cluster, uint32_t to, const void *data, size_t bytes)
{
    return sb_host_exchange(cluster, to, data, bytes, to, NULL, 0);
}

sb_status_t sb_host_receive(sb_cluster_t *cluster, uint32_t from, void *data, size_t bytes)
{
    return sb_host_exchange(cluster, from, NULL, 0, from, data, bytes);
}

sb_status_t sb_host_tell(sb_cluster_t *cluster, uint32_t to, uint32_t from)
{
    char nothing[2] = {0};

    return exchange(cluster, to, &nothing[0], 0, from, &nothing[1], 0, 0);
}

sb_status_t sb_host_fold(const sb_operator_t *operation, char *into, const char *incoming,
                         size_t bytes, bool before)
{
    const void *const left[] = {incoming, into};
    const void *const right[] = {into, incoming};

    return bytes == 0 ? SB_OK : sb_combine(operation, into, before ? left : right, 2, bytes);
}

/* --- powers of two ------------------------------------------------------------------------- */

sb_host_cube_t sb_host_cube(const sb_cluster_t *cluster)
{
    uint32_t rank = cluster->rank;
    sb_host_cube_t cube = {.rounds = sb_rounds(cluster->map.ranks + 1) - 1};

    cube.pairs = cluster->map.ranks - (1u << cube.rounds);
    cube.paired = rank < 2 * cube.pairs;
    cube.idle = cube.paired && rank % 2 == 1;
    cube.place = cube.paired ? rank / 2 : rank - cube.pairs;
    return cube;
}

/* Combines the pair's contributions at its first rank. */
static sb_status_t pair_up(sb_cluster_t *cluster, const sb_host_cube_t *cube,
                           const sb_reduction_t *reduction, char *incoming)
{
    uint32_t other = cluster->rank ^ 1;

    if (!cube->paired)
        return SB_OK;
    if (cube->idle)
        return sb_host_send(cluster, other, reduction->receive, reduction->bytes);
    sb_status_t status = sb_host_receive(cluster, other, incoming, reduction->bytes);
    return sb_first(status, sb_host_fold(reduction->operation, reduction->receive, incoming,
                                         reduction->bytes, false));
}

/* Gives the result to the pair's second rank. */
static sb_status_t pair_down(sb_cluster_t *cluster, const sb_host_cube_t *cube,
                             const sb_reduction_t *reduction)
{
    uint32_t other = cluster->rank ^ 1;

    if (!cube->paired)
        return SB_OK;
    if (cube->idle)
        return sb_host_receive(cluster, other, reduction->receive, reduction->bytes);
    return sb_host_send(cluster, other, reduction->receive, reduction->bytes);
}

sb_status_t sb_host_allreduce_in_cube(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                                      sb_host_rounds_t *rounds)
{
    sb_host_cube_t cube = sb_host_cube(cluster);
    char *incoming = malloc(reduction->bytes + 1);

    if (incoming == NULL)
        return SB_ERR_MEMORY;
    if (reduction->send != reduction->receive)
        sb_copy(reduction->receive, reduction->send, reduction->bytes);
    sb_status_t status = pair_up(cluster, &cube, reduction, incoming);
    if (!cube.idle && status == SB_OK)
        status = rounds(cluster, reduction, &cube, incoming);
    free(incoming);
    return sb_first(status, pair_down(cluster, &cube, reduction));
}
