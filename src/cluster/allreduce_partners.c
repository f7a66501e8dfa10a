/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes in two steps of messages, from all nodes to all: a segment is cut into as
 * many slices as there are nodes. Each node sends every other its share of that one's slice, and
 * gets those of its own; it combines them, and sends the result to every other. These messages are
 * dealt to the lanes of a node, which so have few each and have them at the same time. What has
 * come for the node's slice is with all its lanes: each combines what it got, hands it to the
 * others, and combines what all have, in the order of nodes. So each lane has the result for the
 * nodes that it has to do with. While messages of one segment are under way the node works on
 * others. Cost: 2 (a + (N - 1) / N m b), 2 k messages sent by a lane for its k nodes, and an
 * allgather of the lanes' slices on the node. Memory: the window: a slice for each lane and for
 * each of its nodes, and one. Order and bits: the shares of a lane's nodes are combined first, each
 * in the order of nodes; all lanes of a node compute the same. Source: ours; the exchange among all
 * at once is the direct algorithm, see Thakur, Rabenseifner, Gropp, "Optimization of collective
 * communication operations in MPICH", 2005; by all ranks of a node as in lanes.c.
 */
#include "cluster/allreduce_lanes.h"

/* What this rank has to do with a segment. */
typedef struct share {
    const sb_laned_t *laned;
    size_t segment;
    uint32_t self;       /* node */
    uint32_t first, end; /* the nodes that it has to do with; none if it is no lane */
    size_t bytes;        /* of the slice of this node */
    size_t room;         /* of one */
    char *part;          /* the slices of the nodes that it has to do with */
    char *given;         /* by the lanes: a room of each, */
    char *result;        /* and what they make together */
} share_t;

static share_t share_of(const sb_laned_t *laned, size_t segment)
{
    const sb_cluster_t *cluster = laned->cluster;
    const sb_partners_t *partners = &laned->partners;
    uint32_t lane = sb_partners_lane(partners, cluster->node, cluster->local);
    size_t bytes = sb_slice_bytes(laned, segment, cluster->node);
    share_t share = {.laned = laned,
                     .segment = segment,
                     .self = cluster->node,
                     .bytes = bytes,
                     .room = sb_round_up(bytes, SB_LINE),
                     .part = sb_laned_place(laned, segment),
                     .given = sb_cluster_segment(cluster, segment)};

    if (sb_is_lane(laned)) {
        share.first = lane * partners->each;
        share.end = (uint32_t)sb_min(share.first + partners->each, cluster->map.nodes);
    }
    share.result = share.given + partners->lanes * share.room;
    return share;
}

static size_t slice_bytes(const share_t *share, uint32_t node)
{
    return sb_slice_bytes(share->laned, share->segment, node);
}

/* Of a node that this rank has to do with. */
static char *slice_of(const share_t *share, uint32_t node)
{
    const sb_laned_t *laned = share->laned;

    return share->part + sb_slice_begins(laned, share->segment, node) -
           sb_slice_begins(laned, share->segment, share->first);
}

static bool has_own(const share_t *share)
{
    return share->self >= share->first && share->self < share->end;
}

/* Where what this rank gives to the other lanes is made. */
static char *sum_of(const share_t *share)
{
    return has_own(share) ? slice_of(share, share->self)
                          : share->given + share->laned->cluster->local * share->room;
}

/* The node of that number to send to. Nodes side by side begin with different ones. */
static uint32_t node_at(const share_t *share, uint32_t number)
{
    return share->first + (share->self + number) % (share->end - share->first);
}

/* To each node its slice; what comes of this one's is combined. */
static bool deal(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    if (number > 0)
        return false;
    share_t share = share_of(program->context, program->offset);
    bool begun = has_own(&share);
    char *sum = sum_of(&share);

    for (uint32_t node = share.first; node < share.end && share.bytes > 0; node++) {
        if (node == share.self)
            continue;
        if (begun)
            sb_step_fold(program, step, node, sum, share.bytes,
                         has_own(&share) && node < share.self ? SB_FOLD_LEFT : SB_FOLD_RIGHT);
        else
            sb_step_receive(step, node, sum, share.bytes);
        begun = true;
    }
    for (uint32_t i = 0; i < share.end - share.first; i++) {
        uint32_t node = node_at(&share, i);
        if (node != share.self && slice_bytes(&share, node) > 0)
            sb_step_send(step, node, slice_of(&share, node), slice_bytes(&share, node));
    }
    return true;
}

/* To each node the result of this one's slice; of theirs it comes. */
static bool spread(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    if (number > 0)
        return false;
    share_t share = share_of(program->context, program->offset);

    for (uint32_t node = share.first; node < share.end; node++) {
        if (node != share.self && slice_bytes(&share, node) > 0)
            sb_step_receive(step, node, slice_of(&share, node), slice_bytes(&share, node));
    }
    for (uint32_t i = 0; i < share.end - share.first && share.bytes > 0; i++) {
        uint32_t node = node_at(&share, i);
        if (node != share.self)
            sb_step_send(step, node, share.result, share.bytes);
    }
    return true;
}

static void begin(const share_t *share, sb_program_step_t *write_step)
{
    const sb_laned_t *laned = share->laned;
    sb_cluster_t *cluster = laned->cluster;

    if (!sb_is_lane(laned))
        return;
    sb_program_t *program = sb_program_of(cluster, share->segment, cluster->rank);
    program->partners = &laned->partners;
    program->write_step = write_step;
    program->context = (void *)(uintptr_t)laned;
    program->offset = share->segment;
    program->operation = laned->reduction->operation;
    program->scratch = share->result + share->room;
    sb_program_begin(cluster, program);
}

void sb_partners_begin(const sb_laned_t *laned, size_t segment)
{
    share_t share = share_of(laned, segment);

    begin(&share, deal);
}

/* What each lane has of the slice comes to all. */
static sb_status_t gather(const share_t *share)
{
    sb_cluster_t *cluster = share->laned->cluster;
    uint32_t lanes = share->laned->partners.lanes;
    sb_stream_t own = {.base = sum_of(share), .bytes = sb_is_lane(share->laned) ? share->bytes : 0};

    for (uint32_t i = 0; i < cluster->team->size; i++)
        cluster->streams[i] = (sb_stream_t){.base = share->given + i * share->room,
                                            .bytes = i < lanes ? share->bytes : 0};
    cluster->streams[cluster->local] = own;
    return sb_node_allgather(cluster, &own, cluster->streams);
}

/* In the order of nodes. */
static void combine(const share_t *share)
{
    sb_cluster_t *cluster = share->laned->cluster;
    const sb_partners_t *partners = &share->laned->partners;
    sb_fold_t fold;

    sb_fold_begin(&fold, share->laned->reduction->operation, share->result, share->bytes);
    for (uint32_t lane = 0; lane < partners->lanes; lane++)
        sb_fold_add(
            &fold,
            cluster->streams[sb_partners_rank(partners, share->self, lane * partners->each)].base);
    sb_data_ends(cluster, sb_fold_end(&fold));
}

sb_status_t sb_partners_combine(const sb_laned_t *laned, size_t segment)
{
    sb_cluster_t *cluster = laned->cluster;
    share_t share = share_of(laned, segment);
    sb_status_t status = sb_program_wait(cluster, segment);

    if (status == SB_OK && share.bytes > 0)
        status = gather(&share);
    if (status != SB_OK || !sb_is_lane(laned))
        return status;
    if (share.bytes > 0)
        combine(&share);
    begin(&share, spread);
    if (has_own(&share) && share.bytes > 0)
        sb_copy(slice_of(&share, share.self), share.result, share.bytes);
    return cluster->failure;
}
