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
 * A member that has not come yet holds nobody up: for its parts the others go to the root's ring,
 * where they stay until all have read them.
 *
 * Nobody asks whether a member's ring is free: before the root filled the fragment's place, it saw
 * that all ranks were done with what the rings held there before; and a member copies only after it
 * has had the root's news.
 */
#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"

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

/* None where the root is of this rank's group: all of it read the root's ring. */
void sb_find_sharers(sb_team_t *team, sb_arriving_t *arriving)
{
    const sb_hierarchy_t *hierarchy = sb_team_subgroups(team);

    if (hierarchy == NULL || hierarchy->count == 0 || hierarchy->lowest > 0)
        return;
    const sb_group_t *group = &hierarchy->group[0];
    arriving->group = group;
    for (uint32_t i = 0; i < group->size; i++) {
        if (group->members[i] == arriving->news->root)
            arriving->group = NULL;
        if (group->members[i] == team->rank)
            arriving->self = i;
    }
}

/* Brings this rank's part of the fragment near, for its group. */
static void bring_part(const sb_team_t *team, const sb_arriving_t *arriving, size_t start,
                       size_t bytes)
{
    sb_copy_shared(sb_arriving_at(arriving, team->rank, start),
                   sb_arriving_at(arriving, arriving->news->root, start), bytes);
    sb_flag_publish(&sb_ring_head(arriving->rings, team->rank)->relayed.flag,
                    arriving->cursor.position + arriving->bytes);
}

/* Where the member's part of the fragment is: near, or at the root if the member is late. */
static const char *part_at(const sb_team_t *team, sb_arriving_t *arriving, uint32_t member,
                           size_t start)
{
    sb_flag_t *relayed = &sb_ring_head(arriving->rings, member)->relayed.flag;
    uint64_t end = arriving->cursor.position + arriving->bytes;
    bool come = arriving->hasty ? sb_flag_read(relayed) >= end
                                : sb_flag_wait_some(relayed, end, &team->waiter, sb_patience(team));

    arriving->hasty = arriving->hasty || !come;
    return sb_arriving_at(arriving, come ? member : arriving->news->root, start);
}

/* Brings this rank's part, then takes all parts from the group, its own first. */
void sb_take_shared(sb_team_t *team, sb_arriving_t *arriving)
{
    uint32_t size = arriving->group->size;
    size_t each = sb_round_up(sb_divide_up(arriving->bytes, size), SB_LINE);
    size_t part = sb_max(each, PART_LEAST), own = arriving->self * part;

    if (own < arriving->bytes)
        bring_part(team, arriving, own, sb_min(part, arriving->bytes - own));
    for (uint32_t i = 0; i < size; i++) {
        uint32_t index = (arriving->self + i) % size, member = arriving->group->members[index];
        size_t start = index * part;
        if (start >= arriving->bytes)
            continue;
        const char *at = i == 0 ? sb_arriving_at(arriving, member, start)
                                : part_at(team, arriving, member, start);
        sb_take_part(arriving, start, at, sb_min(part, arriving->bytes - start));
    }
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    if (team->rank != root)
        return sb_rings_follow(team, root, false, stream);
    return sb_rings_send(team, stream, fragment_of(stream->bytes), SB_SPREAD_SHARED);
}

/* Of longer messages, the copies of a group leave too little of its caches. */
#define FITS_CACHES ((size_t)512 << 10)
#define FIRST_COPIED ((size_t)4 << 10)
/* So few bytes are some loads as any others, which are under way together. */
#define FEW_BYTES ((size_t)4 * SB_LINE)

static uint32_t largest_group(const sb_shape_t *shape)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < shape->stages; i++)
        most = sb_max(most, shape->fan[i]);
    return most;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t depth = sb_tree_depth(shape->ranks, shape->tree_arity);
    bool grouped = shape->stages > 1 && shape->ungrouped == NULL;
    /* Where ranks share a cache all is near by anyway. */
    double saved = !grouped              ? -price->relay_again
                   : shape->apart        ? price->relay_saved_apart
                   : sb_cost_calm(shape) ? price->relay_saved
                                         : 0;
    double fits = (double)sb_min(bytes, FITS_CACHES);
    /* The first bytes come a copy later, which is not felt where a large group shares it. */
    double first = grouped && !shape->apart && FIRST_COPIED > shape->fan[0] * FEW_BYTES
                       ? price->relay_first * (double)sb_min(bytes, FIRST_COPIED) / FIRST_COPIED
                       : 0;
    /* Of one rank's lines: the leaders read the root's, a group its leader's. */
    uint32_t readers = grouped ? largest_group(shape) : sb_min(shape->ranks, SB_SUBGROUP_MOST);

    return sb_cost_ring(shape) + sb_cost_news(shape) + price->relay + first +
           (shape->apart ? 0 : price->crowd * readers) + 2 * price->byte * (double)bytes -
           saved * fits + price->relay_crowded * ((double)bytes - fits) +
           sb_cost_turns(shape, (depth + 1) * sb_cost_ring_turns(shape, bytes));
}

const sb_algorithm_t sb_bcast_numa_relay = {
    .name = "numa-relay",
    .collective = SB_BCAST,
    .doc = "Pipelined through the root's ring; ranks that share a cache or NUMA node each bring a "
           "part near for the others. The news goes down a tree, arity by SOBOR_TREE_ARITY.",
    .source = "Sobor, after XHC (Katevenis et al. 2022) and van de Geijn's scatter and allgather",
    .prepare = sb_rings_prepare,
    .cost = cost,
    .bcast = run,
};
