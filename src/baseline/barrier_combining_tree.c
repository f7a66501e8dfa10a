/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combining tree: ranks are leaves of a tree whose nodes are counters. A rank adds one to the node
 * above it; the last of a node's children to arrive goes on to the next node, the others spin on
 * the node's number. Whoever comes last at the top goes back down and releases the nodes it came
 * through; each rank released does so with its own. Cost: ceil(log_k p) additions up and as many
 * writes down; the path is that of the last to arrive. Memory: two lines a rank. A node is a
 * counter and a number, apart, so that no addition takes the number from those who wait for it; it
 * lies in the block of the first rank below its second child, which no other node does, near those
 * that use it. Source: Yew, Tzeng, Lawrie, 1987, in the form
 * of algorithm 8 of Mellor-Crummey and Scott, 1991, with monotone numbers in place of sense
 * reversal.
 */
#include "baseline/barriers.h"

/* Two children a node, as published. */
#define ARITY 2

/* A node whose children cover `span` ranks each, from rank `first` on. */
typedef struct node {
    uint32_t host; /* in whose block it is */
    uint32_t children;
} node_t;

static uint32_t arity_of(uint32_t wished)
{
    return wished < 2 ? ARITY : wished;
}

static node_t node_above(uint32_t rank, uint64_t span, uint32_t arity, uint32_t ranks)
{
    uint64_t first = rank - rank % (span * arity);
    uint64_t children = (ranks - first + span - 1) / span;

    return (node_t){(uint32_t)(first + span), (uint32_t)sb_min(children, arity)};
}

/* Whether the caller comes last of the node's children. */
static bool comes_last(sb_tree_node_t *shared, const node_t *node)
{
    return (sb_counter_add(&shared->counter, 1) + 1) % node->children == 0;
}

/*
 * Climbs as far as this rank comes last. Returns how many nodes it came through, and in `blocked`
 * where it has to wait, NULL if it came last at the top.
 */
static uint32_t climb(sb_team_t *team, uint32_t arity, uint32_t *path, sb_tree_node_t **blocked)
{
    uint32_t passed = 0;

    *blocked = NULL;
    for (uint64_t span = 1; span < team->size; span *= arity) {
        node_t node = node_above(team->rank, span, arity, team->size);
        if (node.children < 2) /* nobody to meet: the node is left out */
            continue;
        sb_tree_node_t *shared = &sb_barrier_block(team, node.host)->node;
        if (!comes_last(shared, &node)) {
            *blocked = shared;
            break;
        }
        path[passed++] = node.host;
    }
    return passed;
}

static sb_status_t run(sb_team_t *team)
{
    sb_status_t status = sb_barrier_blocks_prepare(team);
    uint32_t path[32]; /* a tree of 2^32 ranks and two children a node is no deeper */
    sb_tree_node_t *blocked;

    if (status != SB_OK)
        return status;
    uint64_t number = ++team->barriers;
    uint32_t passed = climb(team, arity_of(team->settings.barrier_arity), path, &blocked);
    if (blocked != NULL) {
        status = sb_flag_wait(&blocked->done.flag, number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    /* A node's number has another writer in each barrier: the node's counter orders them. */
    while (passed > 0)
        sb_flag_publish(&sb_barrier_block(team, path[--passed])->node.done.flag, number);
    sb_team_all_arrived(team);
    return SB_OK;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t arity = arity_of(shape->barrier_arity);
    double levels = 0;

    (void)bytes;
    for (uint64_t span = 1; span < shape->ranks; span *= arity)
        levels++;
    /* Up: the counter's line moves once for each child. Down: to the writer, then to the readers.
     */
    return levels * price->line * (0.5 * arity + 2.0) + sb_cost_turns(shape, 2.0 * levels);
}

const sb_algorithm_t sb_barrier_combining_tree = {
    .name = "combining-tree",
    .collective = SB_BARRIER,
    .doc = "A tree of counters: the last to arrive at a node goes up; fan-in by "
           "SOBOR_BARRIER_ARITY, 2 if not set.",
    .source = "Yew, Tzeng, Lawrie 1987",
    .on_request = true,
    .prepare = sb_barrier_blocks_prepare,
    .cost = cost,
    .barrier = run,
};
