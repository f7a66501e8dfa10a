/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast through the root's ring and rings near by: ranks that share a cache or a NUMA node form
 * small groups. The root's own group reads the root's ring. Each other group brings a fragment over
 * only once, and all its members do so together: member i copies the i-th part of it from the
 * root's ring to its own ring, at the same place, says so, and takes the other parts from the rings
 * of the other members. So what comes from far is read by all cores at once, and every byte that a
 * rank takes comes from near, but for its part. The news of a fragment goes down a tree, as in
 * `tree`. Cost: as `tree` for the first fragment, with one more copy of it and a line for each
 * member; then for each byte the slowest of the root's copy, a read from near, and 1/g of a read
 * from far, g members in a group. Memory: one ring a rank. Preconditions: the team's rings; without
 * places, ranks side by side form the groups. Source: ours; a leader that copies for its group is
 * in XHC (Katevenis, Ploumidis, Marazakis, 2022), parts that all copy and exchange are the scatter
 * and allgather of van de Geijn's broadcast within a group.
 *
 * Nobody asks whether a member's ring is free: before the root filled the fragment's place, it saw
 * that all ranks were done with what the rings held there before; and a member copies only after it
 * has had the root's news.
 */
#include "coll/bcast/bcast.h"
#include "coll/bcast/message.h"
#include "team/tree.h"

/* A fragment is divided: it has to be larger than where each rank reads all of it. */
#define FRAGMENTS_WANTED 4
/* Of what one member brings: less is not worth a flag that all look at. */
#define PART_LEAST ((size_t)2 << 10)
#define FRAGMENT_LEAST ((size_t)8 << 10)
#define FRAGMENT_MOST ((size_t)32 << 10)

static size_t fragment_of(size_t bytes)
{
    return sb_max(FRAGMENT_LEAST, sb_min(FRAGMENT_MOST, bytes / FRAGMENTS_WANTED));
}

/* This rank's group, and its place there. */
typedef struct near {
    const sb_group_t *group;
    uint32_t self;
} near_t;

/* The group that shares what comes from `root`; false: this rank reads the root's ring. */
static bool find_near(sb_team_t *team, uint32_t root, near_t *near)
{
    const sb_hierarchy_t *hierarchy = sb_team_parts(team);

    if (hierarchy == NULL || hierarchy->count == 0 || hierarchy->lowest > 0)
        return false;
    near->group = &hierarchy->group[0];
    for (uint32_t i = 0; i < near->group->size; i++) {
        if (near->group->members[i] == root)
            return false;
        if (near->group->members[i] == team->rank)
            near->self = i;
    }
    return true;
}

/* Brings this rank's part of the fragment near, then takes all parts, its own first. */
static sb_status_t take_shared(sb_team_t *team, const sb_receipt_t *receipt,
                               const sb_arrived_t *fragment, sb_status_t *data)
{
    const near_t *near = receipt->context;
    uint32_t size = near->group->size;
    size_t part = sb_max(sb_round_up((fragment->bytes + size - 1) / size, SB_LINE), PART_LEAST);
    uint64_t end = fragment->position + fragment->bytes;
    size_t mine = near->self * part;

    if (mine < fragment->bytes) {
        uint64_t at = fragment->position + mine;
        sb_copy(sb_ring_at(team, team->rank, at), sb_ring_at(team, receipt->root, at),
                sb_min(part, fragment->bytes - mine));
        sb_flag_publish(&team->self->relayed.flag, end);
    }
    for (uint32_t i = 0; i < size; i++) {
        uint32_t index = (near->self + i) % size;
        uint32_t member = near->group->members[index];
        size_t start = index * part;
        if (start >= fragment->bytes)
            continue;
        sb_status_t status =
            i == 0 ? SB_OK : sb_flag_wait(&team->lanes[member]->relayed.flag, end, &team->waiter);
        if (status != SB_OK)
            return status;
        if (*data == SB_OK)
            *data = sb_take(receipt->stream, fragment->offset + start,
                            sb_ring_at(team, member, fragment->position + start),
                            sb_min(part, fragment->bytes - start));
    }
    return SB_OK;
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    sb_tree_t tree =
        sb_tree(team->rank, root, team->size, sb_team_arity(team, SB_BCAST, stream->bytes));
    near_t near = {0};

    if (team->rank == root)
        return sb_ring_send(team, stream, fragment_of(stream->bytes));
    bool shares = find_near(team, root, &near);
    const sb_receipt_t receipt = {
        .root = root,
        .from = tree.parent,
        .relay = tree.children > 0,
        .stream = stream,
        .take = shares ? take_shared : sb_take_from_root,
        .context = &near,
    };
    return sb_ring_receive(team, &receipt);
}

/* The second copy, and the flags of the group. */
#define COST_SHARING 440.0
/*
 * What is saved of a byte that comes from near, not from another package, or from another group of
 * the same one. Of longer messages, the copies of a group leave too little of its caches.
 */
#define COST_SAVED_APART 0.06
#define COST_SAVED 0.004
#define COST_CROWDED 0.08
#define FITS_CACHES ((size_t)512 << 10)

static double cost(const sb_shape_t *shape, size_t bytes)
{
    uint32_t depth = sb_tree_depth(shape->ranks, shape->tree_arity);
    bool grouped = shape->stages > 1 && shape->ungrouped == NULL;
    double saved = !grouped ? 0 : shape->apart ? COST_SAVED_APART : COST_SAVED;
    double fits = (double)sb_min(bytes, FITS_CACHES);

    return SB_COST_RING + sb_cost_news(shape) + COST_SHARING +
           (shape->apart ? 0 : SB_COST_CROWD * shape->ranks) + 2 * SB_COST_BYTE * (double)bytes -
           saved * fits + COST_CROWDED * ((double)bytes - fits) +
           sb_cost_turns(shape, (depth + 1) * sb_cost_ring_turns(shape, bytes));
}

const sb_algorithm_t sb_bcast_numa_relay = {
    .name = "numa-relay",
    .collective = SB_BCAST,
    .doc = "Pipelined through the root's ring; ranks that share a cache or NUMA node each bring a "
           "part near for the others. The news goes down a tree, arity by SOBOR_TREE_ARITY.",
    .source = "ours, after XHC (Katevenis et al. 2022) and van de Geijn's scatter and allgather",
    .ring_above = 0,
    .cost = cost,
    .bcast = run,
};
