/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a communicator gets a cluster. First all ranks tell each other where they are and whether
 * they are willing: most communicators that get none end here, after one small exchange. Then they
 * make a communicator of Sobor's own, say whether all have it, and hear from rank 0 by which
 * settings they go. The rest is sb_cluster_create.
 */
#include "mpi/nodes.h"

#include "base/config.h"
#include "cluster/network.h"
#include "team/hello.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What each rank says first. */
typedef struct hello {
    sb_greeting_t greeting;
    uint32_t objection; /* see sb_front_t */
    uint32_t full;      /* SOBOR_CLUSTERS */
    uint32_t rules;     /* of its tuning file */
} hello_t;

/* What rank 0 decides for all. */
typedef struct decree {
    sb_settings_t settings;
    sb_rules_t rules;
} decree_t;

/* One set-up. Its memory is had before anything is told. */
typedef struct setup {
    sb_comm_t *comm;
    const sb_front_t *front;
    hello_t *hello; /* of all ranks */
    uint64_t *name; /* of their nodes */
    decree_t *decree;
    sb_wire_t *wire;
} setup_t;

/* Communicators on several nodes that this process serves. */
static _Atomic uint64_t clusters;

static bool take_memory(setup_t *setup)
{
    size_t ranks = (size_t)setup->comm->size;

    setup->hello = calloc(ranks, sizeof *setup->hello);
    setup->name = calloc(ranks, sizeof *setup->name);
    setup->decree = calloc(1, sizeof *setup->decree);
    setup->wire = calloc(1, sizeof *setup->wire);
    if (setup->wire != NULL)
        setup->wire->comm = sb_host.comm_null;
    return setup->hello != NULL && setup->name != NULL && setup->decree != NULL &&
           setup->wire != NULL;
}

static void give_memory(setup_t *setup)
{
    free(setup->hello);
    free(setup->name);
    free(setup->decree);
    if (setup->wire != NULL)
        sb_wire_close(setup->wire);
    free(setup->wire);
}

static sb_status_t exchange(const setup_t *setup, const void *mine, void *all, size_t bytes)
{
    return setup->front->allgather(setup->front->context, mine, all, bytes);
}

static sb_status_t say_hello(setup_t *setup)
{
    const sb_rules_t *rules = setup->front->rules;
    sb_profile_t profile;

    sb_profile_self(&profile);
    hello_t mine = {
        .greeting = profile.greeting,
        .objection = setup->front->objection,
        /* Relaxed: a number that says how many there are. */
        .full =
            atomic_load_explicit(&clusters, memory_order_relaxed) >= sb_config()->clusters.number,
        .rules = rules == NULL ? 0 : rules->count,
    };
    setup->decree->settings = profile.settings;
    if (rules != NULL)
        setup->decree->rules = *rules;
    return exchange(setup, &mine, setup->hello, sizeof mine);
}

/* What one rank has against all of it, and all learn. */
static sb_why_host_t judge_rank(const setup_t *setup, int rank)
{
    const hello_t *hello = &setup->hello[rank];

    switch (sb_greetings_judge(&setup->hello[0].greeting, &hello->greeting)) {
    case SB_REFUSAL_FOREIGN:
        return SB_WHY_FOREIGN_RANKS;
    case SB_REFUSAL_DISABLED:
        return SB_WHY_DISABLED;
    default:
        return hello->objection != 0 ? SB_WHY_DEVICE_MEMORY : SB_WHY_NONE;
    }
}

/* Only what is against a cluster, and not against a team. */
static sb_why_host_t judge_nodes(const setup_t *setup, bool *together)
{
    size_t ranks = (size_t)setup->comm->size;
    bool full = false;
    sb_map_t map;

    for (size_t rank = 0; rank < ranks; rank++) {
        setup->name[rank] = setup->hello[rank].greeting.node;
        full = full || setup->hello[rank].full;
    }
    if (sb_map_make(&map, setup->name, NULL, (uint32_t)ranks) != SB_OK) {
        setup->comm->lost = true;
        return SB_WHY_SETUP_FAILED;
    }
    size_t nodes = map.nodes;
    sb_map_free(&map);
    *together = nodes == 1;
    if (*together)
        return SB_WHY_NONE;
    if (nodes == ranks)
        return SB_WHY_ONE_RANK_NODES;
    return full ? SB_WHY_CLUSTERS : SB_WHY_NONE;
}

static sb_why_host_t judge(const setup_t *setup, bool *together)
{
    for (int rank = 0; rank < setup->comm->size; rank++) {
        sb_why_host_t why = judge_rank(setup, rank);
        if (why != SB_WHY_NONE)
            return why;
    }
    return judge_nodes(setup, together);
}

/* Whether all ranks have a communicator of Sobor's own. */
static bool open_wire(const setup_t *setup)
{
    bool *told = (bool *)setup->hello, all = true;
    bool mine = sb_wire_open(setup->wire, setup->comm->comm);

    if (exchange(setup, &mine, told, sizeof mine) != SB_OK)
        return false;
    for (int rank = 0; rank < setup->comm->size; rank++)
        all = all && told[rank];
    return all;
}

/* Rank 0's tuning file is had by everybody, as its settings are. */
static bool hear_decree(const setup_t *setup, uint32_t rules)
{
    decree_t *decree = setup->decree;
    size_t bytes = rules * sizeof decree->rules.rule[0];
    MPI_Comm comm = setup->comm->comm;

    decree->rules.count = rules;
    return sb_host.Bcast(&decree->settings, (int)sizeof decree->settings, sb_host.byte, 0, comm) ==
               MPI_SUCCESS &&
           (rules == 0 ||
            sb_host.Bcast(decree->rules.rule, (int)bytes, sb_host.byte, 0, comm) == MPI_SUCCESS);
}

/* As all members do sooner or later. */
static void leave(sb_comm_t *comm)
{
    sb_cluster_destroy(comm->server.cluster);
    sb_wire_close(comm->wire);
    free(comm->wire);
    atomic_fetch_sub_explicit(&clusters, 1, memory_order_relaxed);
}

static sb_why_host_t make_cluster(setup_t *setup, uint64_t node)
{
    sb_comm_t *comm = setup->comm;
    sb_front_t front = *setup->front;
    sb_net_t net = sb_wire_net(setup->wire, comm->rank, comm->size);

    net.prices = sb_network_self();
    net.seen = sb_network_seen();
    front.settings = &setup->decree->settings;
    front.rules = setup->decree->rules.count > 0 ? &setup->decree->rules : NULL;
    sb_status_t status = sb_cluster_create(&comm->server.cluster, &front, &net, node);
    comm->lost = status == SB_ERR_MEMORY;
    if (status != SB_OK)
        return SB_WHY_SETUP_FAILED;
    sb_network_note(&comm->server.cluster->seen);
    if (comm->server.cluster->map.nodes == comm->server.cluster->map.ranks) {
        sb_cluster_destroy(comm->server.cluster);
        comm->server.cluster = NULL;
        return SB_WHY_NO_SHARED_MEMORY;
    }
    comm->wire = setup->wire;
    comm->leave_cluster = leave;
    setup->wire = NULL;
    atomic_fetch_add_explicit(&clusters, 1, memory_order_relaxed);
    return SB_WHY_NONE;
}

static sb_why_host_t set_up(setup_t *setup, bool *together)
{
    if (say_hello(setup) != SB_OK)
        return SB_WHY_SETUP_FAILED;
    uint64_t node = setup->hello[setup->comm->rank].greeting.node;
    uint32_t rules = setup->hello[0].rules;
    sb_why_host_t why = judge(setup, together);
    if (why != SB_WHY_NONE || *together)
        return why;
    return open_wire(setup) && hear_decree(setup, rules) ? make_cluster(setup, node)
                                                         : SB_WHY_SETUP_FAILED;
}

sb_why_host_t sb_nodes_set_up(sb_comm_t *comm, const sb_front_t *front, bool *together)
{
    setup_t setup = {.comm = comm, .front = front};
    sb_why_host_t why = SB_WHY_SETUP_FAILED;

    *together = false;
    if (take_memory(&setup))
        why = set_up(&setup, together);
    else
        comm->lost = true;
    give_memory(&setup);
    return why;
}
