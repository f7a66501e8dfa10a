/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_CLUSTER_H
#define SB_CLUSTER_CLUSTER_H

#include "cluster/choice.h"
#include "cluster/map.h"
#include "cluster/program.h"
#include "cluster/row.h"
#include "select/select.h"

/*
 * A cluster is the ranks of one communicator on several nodes: a team on each node that has two
 * ranks or more, and a network between them. One rank of each node, its leader, speaks for the node
 * in a call: the root on its own node, elsewhere the lowest. What is done inside a node are calls
 * of the team's own algorithms; what is done between nodes are programs of messages (program.h),
 * which go on while the leader waits for its team.
 *
 * All ranks have to agree on the number of bytes of a call, as MPI demands of programs. Nothing
 * else that only one rank knows decides how a call runs.
 */

/* Messages between nodes are cut into segments of at most so many bytes. */
#define SB_SEGMENT_BYTES ((size_t)32 << 10)

/* Segments of one call that may be under way at once. */
#define SB_WINDOW 8

/* Two of each: sb_cluster_segment. */
#define SB_WINDOW_BYTES (2 * SB_WINDOW * SB_SEGMENT_BYTES)

/* Segments between what a node does before the leaders' messages and what it does after them. */
#define SB_BEHIND 3

_Static_assert(SB_BEHIND < SB_WINDOW, "a program is over before its place is needed again");

/* A schedule that was looked for: that takes microseconds, and calls are much alike. */
typedef struct sb_kept_way {
    size_t bytes; /* 0: none */
    uint32_t lanes;
    bool commutative;
    sb_schedule_t way;
} sb_kept_way_t;

#define SB_KEPT_WAYS 8

typedef struct sb_cluster {
    uint32_t rank;  /* of the communicator */
    uint32_t node;  /* this rank's, */
    uint32_t local; /* and its number there */
    sb_map_t map;
    sb_net_t net;
    sb_team_t *team;                 /* of the node; NULL: this rank is alone on it */
    sb_plan_table_t plan;            /* which algorithms do what is done inside the node */
    sb_front_t front;                /* the communicator's */
    sb_settings_t settings;          /* of the communicator's rank 0 */
    sb_waiter_t waiter;              /* for the network */
    sb_net_prices_t prices;          /* rank 0's */
    sb_net_prices_t seen;            /* or what messages took at set-up: where bits do not follow */
    bool crowded;                    /* on some node ranks outnumber processors */
    uint64_t calls;                  /* counted alike by all */
    sb_status_t failure;             /* not SB_OK: nothing follows, */
    bool lingers;                    /* and the network may still be at memory of the cluster's */
    sb_status_t data;                /* what came of this rank's data in the present call */
    sb_program_t program[SB_WINDOW]; /* of segment i: i mod SB_WINDOW */
    void (*refill)(void *context);   /* begins further programs of the present call; or NULL */
    void *refill_context;
    sb_stream_t *streams; /* two for each rank of the node, */
    sb_row_t *rows;       /* and as many; with those that follow once parts are ready */
    sb_item_t *items;     /* of rows: one for each rank and node, and what a lane needs */
    uint32_t *sizes;      /* one for each rank */
    size_t *parts;        /* one for each rank of the node, and as many for a phase's use */
    void *schedule;       /* of leaders in an Allgather that was asked for by name; or NULL */
    bool *told;           /* by each rank, when all agree on something */
    sb_kept_way_t ways[SB_KEPT_WAYS]; /* of allreduces, by their bits */
    bool parts_ready;                 /* all teams have what moving parts needs */
    bool parts_refused;
    char *window;               /* two segments for each program: sb_cluster_segment */
    struct sb_doorway *doorway; /* what broadcasts by order of arrival keep; NULL: none was yet */
    const uint32_t *heads; /* of each node, who speaks for it in the present call; NULL: as ever */
} sb_cluster_t;

/*
 * Makes the cluster of the ranks that share `front` and `net`. `node` names the node that this rank
 * believes to be on. Collective over all of them. Ranks of one name that get no team are each taken
 * for a node of their own, as everybody learns. SB_ERR_BOOTSTRAP, SB_ERR_TRUNCATE: an exchange over
 * the front end or the network failed. SB_ERR_MEMORY (this rank alone): private memory is
 * exhausted; as with sb_team_create the others are left waiting.
 */
sb_status_t sb_cluster_create(sb_cluster_t **cluster, const sb_front_t *front, const sb_net_t *net,
                              uint64_t node);

/* Leaves the cluster; as sb_team_destroy. */
void sb_cluster_destroy(sb_cluster_t *cluster);

/*
 * The operations: as MPI defines them, over the ranks of the communicator. Each returns SB_OK, an
 * error of this rank's own data after which others may follow (SB_ERR_DATA), or an error after
 * which nothing can (`failure` is set). SB_ERR_UNSUPPORTED, by agreement of all ranks: the map does
 * not allow it, and the host has to serve the call.
 */
sb_status_t sb_cluster_barrier(sb_cluster_t *cluster);
sb_status_t sb_cluster_bcast(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream);
/* The broadcast whose leaders are known beforehand. */
sb_status_t sb_cluster_bcast_fixed(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream);
sb_status_t sb_cluster_reduce(sb_cluster_t *cluster, const sb_reduction_t *reduction);
sb_status_t sb_cluster_allreduce(sb_cluster_t *cluster, const sb_reduction_t *reduction);
/* Reduce_scatter and Reduce_scatter_block. */
sb_status_t sb_cluster_reduce_scatter(sb_cluster_t *cluster, const sb_reduction_t *reduction);
/* Of maps on which the ranks of each node are one interval. */
sb_status_t sb_cluster_scan(sb_cluster_t *cluster, const sb_reduction_t *reduction);
sb_status_t sb_cluster_exscan(sb_cluster_t *cluster, const sb_reduction_t *reduction);
/*
 * What moves parts. SB_ERR_UNSUPPORTED also where a node lacks memory for it, for good. Gather,
 * Scatter and Alltoall are of parts that are all alike. In Gatherv and Scatterv the root knows all
 * sizes and every rank its own; in Alltoallv each rank those of its own parts. What an Alltoall
 * sends lies elsewhere than what it receives.
 */
sb_status_t sb_cluster_gather(sb_cluster_t *cluster, const sb_parts_t *parts);
sb_status_t sb_cluster_gatherv(sb_cluster_t *cluster, const sb_parts_t *parts);
sb_status_t sb_cluster_scatter(sb_cluster_t *cluster, const sb_parts_t *parts);
sb_status_t sb_cluster_scatterv(sb_cluster_t *cluster, const sb_parts_t *parts);
sb_status_t sb_cluster_allgather(sb_cluster_t *cluster, const sb_parts_t *parts);
sb_status_t sb_cluster_allgatherv(sb_cluster_t *cluster, const sb_parts_t *parts);
sb_status_t sb_cluster_alltoall(sb_cluster_t *cluster, const sb_parts_t *parts);
/* Alltoallv and Alltoallw. */
sb_status_t sb_cluster_alltoallv(sb_cluster_t *cluster, const sb_parts_t *parts);

/* --- for the files of this folder ---------------------------------------------------------- */

/* The rank that speaks for a node, where `root` speaks for its own. */
static inline uint32_t sb_leader_of(const sb_cluster_t *cluster, uint32_t node, uint32_t root)
{
    const sb_map_t *map = &cluster->map;

    if (map->node_of[root] == node)
        return root;
    return cluster->heads != NULL ? cluster->heads[node] : sb_map_rank(map, node, 0);
}

/* Notes what came of this rank's data. */
static inline void sb_data_ends(sb_cluster_t *cluster, sb_status_t status)
{
    cluster->data = sb_first(cluster->data, status);
}

/*
 * Nothing can follow: somebody is out of step, or the network failed. What is under way is
 * withdrawn at once, as its memory is the caller's: whoever finds the failure returns.
 */
static inline void sb_cluster_fails(sb_cluster_t *cluster, sb_status_t status)
{
    if (SB_LIKELY(status == SB_OK || cluster->failure != SB_OK))
        return;
    cluster->failure = status;
    cluster->lingers = !cluster->net.drop(cluster->net.context);
}

/* Messages of a call, by the network's functions; none after a failure: that leaves no request. */
static inline void sb_message_sends(sb_cluster_t *cluster, uint32_t to, uint32_t tag,
                                    const void *data, size_t bytes, bool met,
                                    sb_net_request_t **request)
{
    const sb_net_t *net = &cluster->net;

    if (cluster->failure == SB_OK)
        sb_cluster_fails(cluster, net->send(net->context, to, tag, data, bytes, met, request));
}

static inline void sb_message_comes(sb_cluster_t *cluster, uint32_t from, uint32_t tag, void *data,
                                    size_t room, sb_net_request_t **request)
{
    const sb_net_t *net = &cluster->net;

    if (cluster->failure == SB_OK)
        sb_cluster_fails(cluster, net->receive(net->context, from, tag, data, room, request));
}

/* Whether it is done. */
static inline bool sb_message_tested(sb_cluster_t *cluster, sb_net_request_t **request,
                                     sb_net_news_t *news)
{
    const sb_net_t *net = &cluster->net;
    bool done = false;

    if (cluster->failure == SB_OK)
        sb_cluster_fails(cluster, net->test(net->context, request, &done, news));
    return done && cluster->failure == SB_OK;
}

/* The next call begins: the same on all ranks. Returns the cluster's failure. */
static inline sb_status_t sb_call_begins(sb_cluster_t *cluster)
{
    cluster->calls++;
    cluster->data = SB_OK;
    return cluster->failure;
}

/* What is to be returned when no program is open any more: a failure, or what came of the data. */
static inline sb_status_t sb_call_ends(sb_cluster_t *cluster)
{
    cluster->refill = NULL;
    sb_programs_hurry(cluster, false);
    return sb_first(cluster->failure, cluster->data);
}

/* What a rank does with a segment of a call. Returns the cluster's failure. */
typedef sb_status_t sb_segment_step_t(const void *context, size_t segment);

/*
 * A call segment by segment: each is begun, and ended SB_BEHIND later, so that the node works while
 * the messages of its leader are under way. `end`: NULL: there is nothing left to do. Ends the
 * call, and returns as sb_call_ends.
 */
sb_status_t sb_segments_run(sb_cluster_t *cluster, size_t segments, sb_segment_step_t *begin,
                            sb_segment_step_t *end, const void *context);

/* Two segments of memory for the program's own use. */
static inline char *sb_cluster_segment(const sb_cluster_t *cluster, size_t segment)
{
    return cluster->window + segment % SB_WINDOW * 2 * SB_SEGMENT_BYTES;
}

/*
 * A phase inside the node, of whatever algorithm suits the team; at once where the rank is alone.
 * `leader`: its rank in the communicator.
 */
sb_status_t sb_node_bcast(sb_cluster_t *cluster, uint32_t leader, const sb_stream_t *stream);
/* `to`: the leader's room for the combination; elsewhere it is not looked at. */
sb_status_t sb_node_reduce(sb_cluster_t *cluster, uint32_t leader, const sb_operator_t *operation,
                           const char *send, char *to, size_t bytes);
/* The same, of calls in a row whose leaders change. */
sb_status_t sb_node_reduce_in_turn(sb_cluster_t *cluster, uint32_t leader,
                                   const sb_operator_t *operation, const char *send, char *to,
                                   size_t bytes);
/* A Scan, or an Exscan; `to`: NULL at the first rank of the communicator, of an Exscan. */
sb_status_t sb_node_scan(sb_cluster_t *cluster, sb_collective_t collective,
                         const sb_operator_t *operation, const char *send, char *to, size_t bytes);
/* Deals the combination out, as `parts` of the cluster says; `to`: room for this rank's. */
sb_status_t sb_node_reduce_scatter(sb_cluster_t *cluster, const sb_operator_t *operation,
                                   const char *send, char *to, size_t bytes);
/* The same, where the part of `first` is at the beginning, and those of ranks below it are at the
 * end; `to` is apart from `send`. */
sb_status_t sb_node_reduce_turned(sb_cluster_t *cluster, const sb_operator_t *operation,
                                  const char *send, char *to, size_t bytes, uint32_t first);
/* Whether what all ranks of the node receive of a call of so many bytes goes past the caches. */
bool sb_node_past_caches(const sb_cluster_t *cluster, size_t bytes);
/* `to`: for each rank of the node what it gives; this rank's own may be what is sent. */
sb_status_t sb_node_allgather(sb_cluster_t *cluster, const sb_stream_t *send,
                              const sb_stream_t *to);
/* `to`: at the leader, for each rank of its node what it gives; `in_place`: its own is there. */
sb_status_t sb_node_gather(sb_cluster_t *cluster, uint32_t leader, const sb_stream_t *send,
                           const sb_stream_t *to, bool in_place);

/* `from`: at the leader, for each rank of its node what it gets; the leader has its own already. */
sb_status_t sb_node_scatter(sb_cluster_t *cluster, uint32_t leader, const sb_stream_t *from,
                            const sb_stream_t *receive);

/* For each rank of the node what it is sent, and what it sends. */
sb_status_t sb_node_alltoall(sb_cluster_t *cluster, const sb_stream_t *send,
                             const sb_stream_t *receive);

/* What leaders do in an Allgather that nothing but a name takes: programs with a schedule as their
 * context, which is made once and freed by free(). NULL: there is none here. Set before there are
 * clusters. */
typedef struct sb_named_allgather {
    const char *name;
    sb_program_step_t *write_step;
    void *(*make)(uint32_t nodes, uint32_t self); /* NULL: private memory is exhausted */
} sb_named_allgather_t;
extern const sb_named_allgather_t *sb_named_allgather;
/* Whether that was asked for of this operation. */
bool sb_allgather_is_named(const sb_cluster_t *cluster, sb_collective_t collective);

/*
 * Gets all ranks what moving parts needs, at the first call. Collective over the communicator.
 * SB_ERR_UNSUPPORTED, alike on all: they cannot have it. Else returns the cluster's failure.
 */
sb_status_t sb_cluster_need_parts(sb_cluster_t *cluster);

#endif
