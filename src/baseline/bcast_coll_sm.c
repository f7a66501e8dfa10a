/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast of Open MPI's coll/sm, for comparison: segments of 8 KiB, 8 of each rank in two sets,
 * and a tree of four children a rank. The root claims a set when all have left it, copies a
 * fragment into its own segment and writes its size into the control word of each child. A rank
 * with children copies the fragment from its parent's segment into its own, tells its children, and
 * then copies it out; one without copies out of its parent's. So each fragment is copied once more
 * on each level of the tree but the last, where numa-pipelined hands on the news alone. Cost: for
 * each fragment a copy, and ceil(log4 p) copies before the last rank has the first one; for each
 * set p - 1 atomic additions. Memory: 66 KiB and 768 bytes a rank. Preconditions: that memory.
 * Source: Open MPI, coll/sm (Graham, Shipman, 2008), with its standard parameters.
 *
 * What differs, and why it is the same algorithm: nothing is reset, and a message's first set is
 * opened by its announcement, see baseline/bcast_numa_pipelined.c.
 */
#include "baseline/announced.h"
#include "coll/coll.h"
#include "coll/resources.h"
#include "team/tree.h"

#define FRAGMENT ((size_t)8 << 10)
#define SEGMENTS 8
#define SETS 2
#define CHILDREN 4

/* A control word's note: bytes in the segment, and whether the message ends with them. */
#define LAST 0x80000000u
#define BYTES 0x7fffffffu

/* The memory of one rank; the sets of rank 0 are used. */
typedef struct segments {
    sb_set_t set[SETS];
    sb_wide_flag_t control[SEGMENTS];
    char segment[SEGMENTS][FRAGMENT];
} segments_t;

/* Private to the rank, equal on all. */
typedef struct shared {
    sb_resource_t resource;
    sb_setring_t ring;
} shared_t;

static shared_t *shared_of(const sb_team_t *team)
{
    return (shared_t *)(void *)team->resource[SB_RESOURCE_COLL_SM];
}

static segments_t *of_rank(const sb_team_t *team, uint32_t rank)
{
    return (segments_t *)(void *)shared_of(team)->resource.bases[rank];
}

static sb_status_t make(sb_team_t *team)
{
    const sb_resource_size_t size = {.own = sizeof(shared_t),
                                     .bytes = sb_round_up(sizeof(segments_t), SB_PAGE),
                                     .least = sb_round_up(sizeof(segments_t), SB_PAGE),
                                     .willing = true};
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_COLL_SM, &size);

    if (status == SB_OK)
        shared_of(team)->ring = (sb_setring_t){
            .sets = of_rank(team, 0)->set,
            .count = SETS,
            .per_set = SEGMENTS / SETS,
            .leavers = team->size - 1,
        };
    return status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_COLL_SM, make};

static sb_status_t prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

static void notify(sb_team_t *team, const sb_tree_t *tree, uint32_t index, uint32_t note)
{
    for (uint32_t i = 0; i < tree->children; i++) {
        sb_flag_t *control = &of_rank(team, sb_tree_child(tree, i))->control[index].flag;
        sb_flag_set_note(control, note);
        sb_flag_publish(control, shared_of(team)->ring.uses + 1);
    }
}

static sb_status_t send(sb_team_t *team, const sb_stream_t *stream)
{
    sb_tree_t tree = sb_tree(team->rank, team->rank, team->size, CHILDREN);
    sb_setring_t *ring = &shared_of(team)->ring;
    sb_status_t data = SB_OK;
    bool last = false;

    for (size_t offset = 0; !last;) {
        sb_status_t status =
            sb_announce_set(team, ring, offset == 0, SB_ANNOUNCED_COLL_SM, stream->bytes);
        if (status != SB_OK)
            return status;
        for (uint32_t i = 0; i < ring->per_set && !last; i++) {
            uint32_t index = sb_setring_buffer(ring, i);
            size_t bytes = sb_min(FRAGMENT, stream->bytes - offset);
            data = sb_first(data, sb_stream_read(stream, offset,
                                                 of_rank(team, team->rank)->segment[index], bytes));
            offset += bytes;
            last = offset == stream->bytes;
            notify(team, &tree, index, (uint32_t)bytes | (last ? LAST : 0));
        }
        ring->uses++;
    }
    sb_slot_finish(team, 1);
    return data;
}

/* What a reader has of its message so far. */
typedef struct progress {
    size_t offset;
    bool last;
    sb_status_t data;
} progress_t;

static sb_status_t take(sb_team_t *team, const sb_tree_t *tree, uint32_t index,
                        const sb_stream_t *stream, progress_t *progress)
{
    segments_t *mine = of_rank(team, team->rank);
    sb_flag_t *control = &mine->control[index].flag;
    sb_status_t status = sb_flag_wait(control, shared_of(team)->ring.uses + 1, &team->waiter);

    if (status != SB_OK)
        return status;
    uint32_t note = sb_flag_note(control);
    size_t bytes = sb_min(note & BYTES, FRAGMENT); /* a peer's word goes no farther */
    const char *from = of_rank(team, tree->parent)->segment[index];
    if (tree->children > 0) {
        sb_copy_shared(mine->segment[index], from, bytes);
        notify(team, tree, index, note);
        from = mine->segment[index];
    }
    progress->data = sb_first(progress->data, sb_take(stream, progress->offset, from, bytes));
    progress->offset += bytes;
    progress->last = (note & LAST) != 0;
    return SB_OK;
}

/* The message's first set is open. */
static sb_status_t receive(sb_team_t *team, const sb_news_t *news)
{
    sb_tree_t tree = sb_tree(team->rank, news->root, team->size, CHILDREN);
    sb_setring_t *ring = &shared_of(team)->ring;
    progress_t progress = {0};
    sb_status_t status = SB_OK;

    for (bool first = true; !progress.last; first = false) {
        if (!first)
            status = sb_setring_enter(team, ring);
        for (uint32_t i = 0; status == SB_OK && i < ring->per_set && !progress.last; i++)
            status = take(team, &tree, sb_setring_buffer(ring, i), news->stream, &progress);
        if (status != SB_OK)
            return status;
        sb_setring_leave(ring);
    }
    sb_slot_finish(team, 1);
    return sb_received_all(progress.data, progress.offset, news->stream);
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    if (team->size == 1) /* nobody would ever empty a set */
        return SB_OK;
    return team->rank == root ? send(team, stream) : sb_bcast_receive(team, root, NULL, stream);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double levels = sb_tree_depth(shape->ranks, CHILDREN);
    double fragments = 1 + (double)bytes / FRAGMENT;

    return (fragments + levels) * 2 * price->line + 3 * price->byte * (double)bytes +
           levels * price->byte * (double)sb_min(bytes, FRAGMENT) +
           sb_cost_turns(shape, fragments / (SEGMENTS / SETS));
}

const sb_algorithm_t sb_bcast_coll_sm = {
    .name = "coll-sm",
    .collective = SB_BCAST,
    .doc = "Segments of 8 KiB in two sets; inner ranks of a tree of four children copy on into "
           "their own. For comparison.",
    .source = "Open MPI, coll/sm (Graham, Shipman 2008)",
    .on_request = true,
    .prepare = prepare,
    .cost = cost,
    .bcast = run,
};

const sb_bcast_memory_t sb_announced_coll_sm = {prepare, SB_RESOURCE_COLL_SM, receive};
