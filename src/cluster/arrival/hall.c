/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who leads a node in a call: the first to come. The ranks of a node share a queue of requests. An
 * election finds the request of its number; who is the first to count itself there makes it, and
 * with it becomes the leader. Who comes later finds it made and writes nothing. Requests say of
 * which operation they are. Cost: an atomic addition of the first ranks, a line read by the others.
 * Memory: a block of two pages a rank. Source: the queue of collective requests of MPIActor, by
 * whose critical section an addition takes the place.
 *
 * A place of the queue comes back after REQUESTS elections. Its counter is cleared half a turn
 * ahead, by the leader of that election, when all ranks have passed the one that used it last. A
 * leader that is so far ahead of a rank of its node waits for it.
 */
#include "cluster/arrival/arrival.h"
#include "coll/resources.h"

#define REQUESTS 16
#define AHEAD (REQUESTS / 2)

/* The note of `made`: the leader's number in its node, and the operation. */
#define KIND_BITS 8

typedef struct request {
    sb_wide_flag_t made;       /* election + 1 */
    sb_wide_counter_t claimed; /* by so many */
} request_t;

/* When a rank came to a call. */
typedef struct stamp {
    sb_word64_t call;
    sb_word64_t time;
} stamp_t;

/* The block of each rank; requests are in that of the first. */
typedef struct block {
    sb_wide_flag_t passed; /* elections */
    _Alignas(SB_FLAG_STRIDE) stamp_t stamp[REQUESTS];
    request_t request[REQUESTS];
} block_t;

static block_t *block_of(const sb_team_t *team, uint32_t local)
{
    return (block_t *)(void *)team->resource[SB_RESOURCE_HALL]->bases[local];
}

static request_t *request_of(const sb_team_t *team, uint64_t election)
{
    return &block_of(team, 0)->request[election % REQUESTS];
}

static sb_status_t prepare(sb_team_t *team)
{
    const sb_resource_size_t size = {.own = sizeof(sb_resource_t),
                                     .bytes = sb_round_up(sizeof(block_t), SB_PAGE),
                                     .least = sb_round_up(sizeof(block_t), SB_PAGE),
                                     .willing = true};

    return sb_resource_make(team, SB_RESOURCE_HALL, &size);
}

static const sb_resource_kind_t kind = {SB_RESOURCE_HALL, prepare};

/* Waits until all have passed the election that used the place before. */
static sb_status_t wait_for_all(sb_cluster_t *cluster, uint64_t election)
{
    sb_team_t *team = cluster->team;
    uint64_t needed = election < AHEAD ? 0 : election - AHEAD + 1;
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; i < team->size && cluster->doorway->passed < needed; i++) {
        if (i != team->rank)
            status = sb_first(status,
                              sb_flag_wait(&block_of(team, i)->passed.flag, needed, &team->waiter));
    }
    cluster->doorway->passed = sb_max(cluster->doorway->passed, needed);
    return status;
}

/* Makes the request of the election: this rank leads. */
static sb_status_t make(sb_cluster_t *cluster, uint64_t election, sb_collective_t collective)
{
    sb_team_t *team = cluster->team;
    sb_flag_t *made = &request_of(team, election)->made.flag;
    sb_status_t status = wait_for_all(cluster, election);

    if (status != SB_OK)
        return status;
    /* Relaxed: whoever counts there has seen `made` of this election, or of a later one. */
    sb_store64(&request_of(team, election + AHEAD)->claimed.counter.value, 0, SB_RELAXED);
    sb_flag_set_note(made, team->rank << KIND_BITS | collective);
    sb_flag_publish(made, election + 1);
    return SB_OK;
}

/* Whether this rank is to make the request: the root is, on its node. */
static bool leads(const sb_cluster_t *cluster, uint64_t election, uint32_t root)
{
    request_t *request = request_of(cluster->team, election);

    if (cluster->map.node_of[root] == cluster->node)
        return cluster->rank == root;
    return sb_flag_read(&request->made.flag) <= election &&
           sb_counter_add(&request->claimed.counter, 1) == 0;
}

static sb_status_t elect(sb_cluster_t *cluster, sb_collective_t collective, uint32_t root,
                         uint32_t *leader)
{
    sb_team_t *team = cluster->team;
    uint64_t election = cluster->doorway->elections++;
    sb_flag_t *made = &request_of(team, election)->made.flag;
    sb_status_t status = leads(cluster, election, root)
                             ? make(cluster, election, collective)
                             : sb_flag_wait(made, election + 1, &team->waiter);

    if (status != SB_OK)
        return status;
    uint32_t note = sb_flag_note(made);
    *leader = sb_map_rank(&cluster->map, cluster->node, note >> KIND_BITS);
    sb_flag_publish(&block_of(team, team->rank)->passed.flag, election + 1);
    return (note & ((1u << KIND_BITS) - 1)) == collective ? SB_OK : SB_ERR_TRUNCATE;
}

sb_status_t sb_hall_need(sb_cluster_t *cluster)
{
    return cluster->team == NULL ? SB_ERR_UNSUPPORTED : sb_resource_need(cluster->team, &kind);
}

void sb_hall_stamp(const sb_cluster_t *cluster, uint64_t call, uint64_t time)
{
    stamp_t *stamp = &block_of(cluster->team, cluster->local)->stamp[call % REQUESTS];

    /* Relaxed: who reads it late gets the time of a later call, which is only counted. */
    sb_store64(&stamp->time, time, SB_RELAXED);
    /* Release: pairs with the load in sb_hall_time. */
    sb_store64(&stamp->call, call, SB_RELEASE);
}

bool sb_hall_time(const sb_cluster_t *cluster, uint32_t local, uint64_t call, uint64_t *time)
{
    const stamp_t *stamp = &block_of(cluster->team, local)->stamp[call % REQUESTS];

    /* Acquire: pairs with the store in sb_hall_stamp. */
    if (sb_load64(&stamp->call, SB_ACQUIRE) < call)
        return false;
    *time = sb_load64(&stamp->time, SB_RELAXED);
    return true;
}

sb_status_t sb_hall_enter(sb_cluster_t *cluster, sb_collective_t collective, uint32_t root,
                          uint32_t *leader)
{
    *leader = sb_leader_of(cluster, cluster->node, root);
    sb_status_t status = sb_hall_need(cluster);
    if (status == SB_OK)
        status = elect(cluster, collective, root, leader);
    return status == SB_ERR_UNSUPPORTED ? SB_OK : status;
}
