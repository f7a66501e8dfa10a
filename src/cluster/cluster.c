/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ranks become a cluster, in three exchanges of what all then know alike: the names of their
 * nodes, which give a first map, and what rank 0 takes messages to cost; a team on each node, whose
 * hellos go over the network between its ranks alone; and whether it came to be. Where it did not,
 * the node falls apart into its ranks. Where rank 0 does not know what messages cost, it tries some
 * before the teams are made: meanwhile others wait without keeping it from its processor.
 */
#include "base/pages.h"
#include "cluster/arrival/arrival.h"
#include "cluster/lanes.h"
#include "cluster/pings.h"

#include "coll/vector/mesh.h"

#include <stdlib.h>
#include <string.h>

/* The exchange of a node's team: to its first rank and back. */
static sb_status_t allgather(void *context, const void *mine, void *all, size_t bytes)
{
    const sb_cluster_t *cluster = context;
    const sb_map_t *map = &cluster->map;
    uint32_t first = sb_map_rank(map, cluster->node, 0), size = sb_map_size(map, cluster->node);
    sb_status_t status = SB_OK;

    if (cluster->local != 0) {
        status = sb_tell(cluster, first, mine, bytes);
        return sb_first(status, sb_hear(cluster, first, all, size * bytes));
    }
    memcpy(all, mine, bytes);
    for (uint32_t i = 1; i < size && status == SB_OK; i++)
        status =
            sb_hear(cluster, sb_map_rank(map, cluster->node, i), (char *)all + i * bytes, bytes);
    for (uint32_t i = 1; i < size && status == SB_OK; i++)
        status = sb_tell(cluster, sb_map_rank(map, cluster->node, i), all, size * bytes);
    return status;
}

/* --- what a node's team is told of its front end ------------------------------------------- */

/* While a leader waits for its team, its messages go on. */
static bool progress(void *context)
{
    sb_cluster_t *cluster = context;

    sb_programs_turn(cluster);
    return cluster->front.progress != NULL && cluster->front.progress(cluster->front.context);
}

static sb_status_t check(void *context)
{
    const sb_cluster_t *cluster = context;

    return cluster->front.check == NULL ? SB_OK : cluster->front.check(cluster->front.context);
}

static sb_status_t make_team(sb_cluster_t *cluster)
{
    sb_front_t front = cluster->front;
    sb_refusal_t refusal;
    sb_reason_t reason;

    if (sb_map_size(&cluster->map, cluster->node) == 1)
        return SB_OK;
    front.context = cluster;
    front.allgather = allgather;
    front.progress = progress;
    front.check = check;
    front.profile = NULL;
    sb_status_t status =
        sb_team_create(&cluster->team, &front, cluster->local,
                       sb_map_size(&cluster->map, cluster->node), &refusal, &reason);
    if (cluster->team != NULL)
        cluster->team->of_cluster = true;
    /* For a host alone ranks stay awake, and on the simulated machine there is none. */
    if (cluster->team != NULL && cluster->front.progress == NULL)
        cluster->team->waiter.awake_ns = cluster->team->waiter_near.awake_ns = 0;
    return status == SB_ERR_UNSUPPORTED ? SB_OK : status;
}

/* --- set-up -------------------------------------------------------------------------------- */

/* How a rank waits for the network: a message takes longer than a line, and who shares its
 * processor, or may, gives it away at once. */
#define YIELD_AFTER_NS 20000

static void set_waiter(sb_cluster_t *cluster)
{
    const sb_team_t *team = cluster->team;

    cluster->waiter =
        team == NULL ? (sb_waiter_t){.check = check, .check_context = cluster} : team->waiter;
    cluster->waiter.yield = 1;
    cluster->waiter.yield_after_ns = team == NULL || team->oversubscribed ? 0 : YIELD_AFTER_NS;
}

static sb_status_t draw_map(sb_cluster_t *cluster, const uint64_t *name, const bool *alone)
{
    sb_map_free(&cluster->map);
    sb_status_t status = sb_map_make(&cluster->map, name, alone, cluster->net.ranks);
    if (status != SB_OK)
        return status;
    cluster->node = cluster->map.node_of[cluster->rank];
    cluster->local = cluster->map.local_of[cluster->rank];
    return SB_OK;
}

/* What a rank says of its node's team, and what messages took if it has seen that. */
enum { LONELY = 1, CROWDED = 2 };
typedef struct account {
    uint64_t team;
    sb_net_prices_t seen;
} account_t;

/* The nodes without a team fall apart. */
static sb_status_t draw_again(sb_cluster_t *cluster, const uint64_t *name, const account_t *said)
{
    for (uint32_t rank = 0; rank < cluster->net.ranks; rank++) {
        cluster->told[rank] = (said[rank].team & LONELY) != 0;
        cluster->crowded = cluster->crowded || (said[rank].team & CROWDED) != 0;
    }
    cluster->seen = said[0].seen;
    return draw_map(cluster, name, cluster->told);
}

static sb_status_t settle(sb_cluster_t *cluster, const uint64_t *name)
{
    const sb_team_t *team = cluster->team;
    account_t mine = {.team = team == NULL           ? LONELY
                              : team->oversubscribed ? CROWDED
                                                     : 0,
                      .seen = cluster->seen};
    account_t *said = calloc(cluster->net.ranks, sizeof *said);
    sb_status_t status = SB_ERR_MEMORY;

    if (said != NULL)
        status = cluster->front.allgather(cluster->front.context, &mine, said, sizeof mine);
    if (status == SB_OK)
        status = draw_again(cluster, name, said);
    free(said);
    set_waiter(cluster);
    if (cluster->team == NULL || status != SB_OK)
        return status;
    sb_shape_t shape = sb_team_shape(cluster->team);
    shape.inside = true;
    sb_plan_start(&cluster->plan, &shape, &cluster->team->settings);
    return status;
}

/* What each rank says of itself. */
typedef struct hello {
    uint64_t node;
    sb_net_prices_t prices;
    sb_net_prices_t seen;
} hello_t;

/*
 * Everybody goes by the prices of rank 0, or by the standard ones if it knows none. Where time may
 * decide it is also what rank 0 has seen for another communicator.
 */
static sb_status_t ask_all(sb_cluster_t *cluster, uint64_t node, uint64_t *name)
{
    uint32_t ranks = cluster->net.ranks;
    hello_t mine = {node, cluster->net.prices, cluster->net.seen},
            *all = calloc(ranks, sizeof *all);

    if (all == NULL)
        return SB_ERR_MEMORY;
    sb_status_t status = cluster->front.allgather(cluster->front.context, &mine, all, sizeof mine);
    for (uint32_t rank = 0; rank < ranks; rank++)
        name[rank] = all[rank].node;
    cluster->prices = all[0].prices.latency > 0 ? all[0].prices : sb_net_prices_standard;
    cluster->seen = all[0].prices.latency > 0 ? cluster->prices : all[0].seen;
    free(all);
    return status;
}

/* What messages take, if rank 0 does not know; who sends none hears of it later (settle). */
static sb_status_t try_network(sb_cluster_t *cluster)
{
    if (cluster->seen.latency > 0)
        return SB_OK;
    cluster->seen = cluster->prices;
    return cluster->settings.pings && cluster->map.nodes > 1 ? sb_ping(cluster, &cluster->seen)
                                                             : SB_OK;
}

static sb_status_t set_up(sb_cluster_t *cluster, uint64_t node)
{
    uint32_t ranks = cluster->net.ranks;
    uint64_t *name = calloc(ranks, sizeof *name);
    sb_status_t status = SB_ERR_MEMORY;

    cluster->told = calloc(ranks, sizeof *cluster->told);
    if (name != NULL && cluster->told != NULL && cluster->window != NULL)
        status = ask_all(cluster, node, name);
    if (status == SB_OK)
        status = draw_map(cluster, name, NULL);
    set_waiter(cluster);
    if (status == SB_OK)
        status = try_network(cluster);
    if (status == SB_OK)
        status = make_team(cluster);
    if (status == SB_OK)
        status = settle(cluster, name);
    free(name);
    return status;
}

const sb_named_allgather_t *sb_named_allgather;

bool sb_allgather_is_named(const sb_cluster_t *cluster, sb_collective_t collective)
{
    return sb_named_allgather != NULL &&
           strcmp(cluster->settings.algorithm[collective], sb_named_allgather->name) == 0;
}

static bool make_schedule(sb_cluster_t *cluster)
{
    bool named = sb_allgather_is_named(cluster, SB_ALLGATHER) ||
                 sb_allgather_is_named(cluster, SB_ALLGATHERV);

    if (named)
        cluster->schedule = sb_named_allgather->make(cluster->map.nodes, cluster->node);
    return !named || cluster->schedule != NULL;
}

static bool make_lists(sb_cluster_t *cluster)
{
    const sb_map_t *map = &cluster->map;
    size_t local = 2 * (size_t)sb_map_size(map, cluster->node);

    cluster->streams = calloc(local, sizeof *cluster->streams);
    cluster->rows = calloc(local, sizeof *cluster->rows);
    cluster->items = calloc(map->ranks + sb_max(map->nodes, sb_lane_items(map, cluster->rank)),
                            sizeof *cluster->items);
    cluster->sizes = calloc(map->ranks, sizeof *cluster->sizes);
    cluster->parts = calloc(local, sizeof *cluster->parts);
    return cluster->streams != NULL && cluster->rows != NULL && cluster->items != NULL &&
           cluster->sizes != NULL && cluster->parts != NULL && make_schedule(cluster);
}

sb_status_t sb_cluster_need_parts(sb_cluster_t *cluster)
{
    if (cluster->failure != SB_OK)
        return cluster->failure;
    if (cluster->parts_ready || cluster->parts_refused)
        return cluster->parts_ready ? SB_OK : SB_ERR_UNSUPPORTED;
    bool refused = cluster->team != NULL && sb_mesh_prepare(cluster->team) != SB_OK;
    refused = !make_lists(cluster) || refused;
    sb_status_t status =
        cluster->front.allgather(cluster->front.context, &refused, cluster->told, 1);
    /* Others may have heard all: they go on, and wait for this rank. */
    sb_cluster_fails(cluster, status);
    if (status != SB_OK)
        return status;
    for (uint32_t rank = 0; rank < cluster->map.ranks; rank++)
        cluster->parts_refused = cluster->parts_refused || cluster->told[rank];
    cluster->parts_ready = !cluster->parts_refused;
    return cluster->parts_ready ? SB_OK : SB_ERR_UNSUPPORTED;
}

sb_status_t sb_cluster_create(sb_cluster_t **cluster, const sb_front_t *front, const sb_net_t *net,
                              uint64_t node)
{
    sb_cluster_t *made = calloc(1, sizeof *made);

    *cluster = NULL;
    if (made == NULL)
        return SB_ERR_MEMORY;
    made->front = *front;
    if (front->settings != NULL)
        made->settings = *front->settings;
    else
        sb_settings_self(&made->settings);
    made->front.settings = &made->settings;
    made->net = *net;
    made->rank = net->rank;
    made->window = sb_pages_take(SB_WINDOW_BYTES);
    sb_status_t status = set_up(made, node);
    if (status == SB_OK)
        *cluster = made;
    else
        sb_cluster_destroy(made);
    return status;
}

void sb_cluster_destroy(sb_cluster_t *cluster)
{
    if (cluster->team != NULL) {
        sb_plan_end(&cluster->plan);
        sb_team_destroy(cluster->team);
    }
    sb_map_free(&cluster->map);
    if (!cluster->lingers)
        sb_pages_give(cluster->window, SB_WINDOW_BYTES);
    free(cluster->streams);
    free(cluster->rows);
    free(cluster->items);
    free(cluster->sizes);
    free(cluster->parts);
    free(cluster->schedule);
    free(cluster->told);
    sb_doorway_free(cluster);
    free(cluster);
}
