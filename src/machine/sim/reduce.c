/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/reduce.h"

#include <stdlib.h>
#include <string.h>

#define RANKS SB_EXHAUSTIVE_RANKS

/* For each rank, the number of its last step that happened before; 0: none. */
typedef struct order {
    uint32_t step[RANKS];
} order_t;

/* What was chosen at one point of the run, and what is still to be tried there. Sets of ranks are
 * bits. */
typedef struct node {
    bool is_choice; /* not a scheduling point: one of `count` */
    uint32_t count;
    uint32_t chosen;
    uint32_t enabled;
    uint32_t backtrack; /* to be tried */
    uint32_t done;      /* tried */
    uint32_t sleep;     /* need not be tried */
    uint32_t step;      /* number of the step that follows, from 1 */
    order_t order;      /* what happened before that step, and the step */
    sb_sim_pending_t pending[RANKS];
} node_t;

/* A word in this run. */
typedef struct object {
    uint32_t block;
    uint64_t offset;
    order_t writes;
    order_t reads;
} object_t;

struct sb_reduce {
    uint32_t ranks;
    node_t *nodes;
    uint32_t depth; /* nodes in use */
    uint32_t capacity;
    uint32_t at;     /* nodes of this run so far */
    uint32_t old;    /* nodes that this run began with: of the last a new possibility is tried */
    bool started;    /* there was a run */
    bool needless;   /* the rest of the run repeats what was seen */
    uint32_t parent; /* the last scheduling point of this run; meaningful once steps > 0 */
    uint32_t steps;
    uint32_t current;
    order_t rank[RANKS];
    order_t fence;
    order_t all; /* of everything so far: what a fence comes after */
    object_t *objects;
    uint32_t object_count;
    uint32_t object_capacity;
};

static void *grown(void *memory, size_t bytes)
{
    void *more = realloc(memory, bytes);

    /* A test tool has nothing to fall back to. */
    if (more == NULL)
        abort();
    return more;
}

sb_reduce_t *sb_reduce_new(uint32_t ranks)
{
    sb_reduce_t *reduce = calloc(1, sizeof *reduce);

    if (reduce != NULL)
        reduce->ranks = ranks;
    return reduce;
}

void sb_reduce_free(sb_reduce_t *reduce)
{
    if (reduce == NULL)
        return;
    free(reduce->nodes);
    free(reduce->objects);
    free(reduce);
}

static bool depend(const sb_sim_pending_t *a, const sb_sim_pending_t *b)
{
    if (a->step <= SB_SIM_STARTS || b->step <= SB_SIM_STARTS)
        return false;
    if (a->step == SB_SIM_FENCES || b->step == SB_SIM_FENCES)
        return true;
    return a->block == b->block && a->offset == b->offset &&
           (a->step == SB_SIM_WRITES || b->step == SB_SIM_WRITES);
}

static void join(order_t *to, const order_t *from)
{
    for (uint32_t i = 0; i < RANKS; i++)
        to->step[i] = to->step[i] < from->step[i] ? from->step[i] : to->step[i];
}

static object_t *object_at(sb_reduce_t *reduce, const sb_sim_pending_t *pending)
{
    for (uint32_t i = 0; i < reduce->object_count; i++) {
        object_t *object = &reduce->objects[i];
        if (object->block == pending->block && object->offset == pending->offset)
            return object;
    }
    if (reduce->object_count == reduce->object_capacity) {
        reduce->object_capacity = reduce->object_capacity * 2 + 32;
        reduce->objects = grown(reduce->objects, reduce->object_capacity * sizeof *reduce->objects);
    }
    object_t *made = &reduce->objects[reduce->object_count++];
    *made = (object_t){.block = pending->block, .offset = pending->offset};
    return made;
}

/* What happens before the next step of the rank. */
static order_t past(sb_reduce_t *reduce, uint32_t rank, const sb_sim_pending_t *pending)
{
    order_t order = reduce->rank[rank];

    if (pending->step <= SB_SIM_STARTS)
        return order;
    if (pending->step == SB_SIM_FENCES) {
        join(&order, &reduce->all);
        return order;
    }
    const object_t *object = object_at(reduce, pending);
    join(&order, &reduce->fence);
    join(&order, &object->writes);
    if (pending->step == SB_SIM_WRITES)
        join(&order, &object->reads);
    return order;
}

static order_t execute(sb_reduce_t *reduce, uint32_t rank, const sb_sim_pending_t *pending)
{
    order_t order = past(reduce, rank, pending);

    order.step[rank] = ++reduce->steps;
    reduce->rank[rank] = order;
    reduce->current = rank;
    if (pending->step > SB_SIM_STARTS)
        join(&reduce->all, &order);
    if (pending->step == SB_SIM_FENCES)
        reduce->fence = order;
    else if (pending->step == SB_SIM_WRITES)
        object_at(reduce, pending)->writes = order;
    else if (pending->step == SB_SIM_READS)
        join(&object_at(reduce, pending)->reads, &order);
    return order;
}

/* Whether step `earlier`, which is executed at a node, happened before something with this past. */
static bool is_in(const node_t *earlier, const order_t *past)
{
    return past->step[earlier->chosen] >= earlier->step;
}

/*
 * The ranks that can take the first step of a run that goes on from before node `first` with all
 * that came later but does not depend on what was executed there, and then with the step of `rank`
 * whose past is `past`.
 */
static uint32_t initials(const sb_reduce_t *reduce, uint32_t first, uint32_t rank,
                         const order_t *past)
{
    const node_t *reversed = &reduce->nodes[first];
    uint32_t seen = 0, set = 0;
    order_t taken = {0}; /* of each rank, the first step of the run that goes on */

    for (uint32_t i = first + 1; i <= reduce->at; i++) {
        const node_t *node = i < reduce->at ? &reduce->nodes[i] : NULL;
        if (node != NULL && (node->is_choice || is_in(reversed, &node->order)))
            continue;
        uint32_t who = node == NULL ? rank : node->chosen;
        const order_t *order = node == NULL ? past : &node->order;
        bool free_to_start = (seen & (1u << who)) == 0;
        for (uint32_t other = 0; free_to_start && other < reduce->ranks; other++)
            free_to_start = !(seen & (1u << other)) || order->step[other] < taken.step[other];
        set |= free_to_start ? 1u << who : 0;
        if (node != NULL && !(seen & (1u << who)))
            taken.step[who] = node->step;
        seen |= 1u << who;
    }
    return set;
}

/*
 * Finds the steps that the step of `rank` depends on directly, and that it could come before; sees
 * to it that there is a run where it does (Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic
 * partial order reduction", 2014: source sets).
 */
static void find_races(sb_reduce_t *reduce, uint32_t rank, const sb_sim_pending_t *pending)
{
    order_t known = reduce->rank[rank], after = past(reduce, rank, pending);

    for (uint32_t i = reduce->at; i-- > 0;) {
        node_t *node = &reduce->nodes[i];
        if (node->is_choice || is_in(node, &known) ||
            !depend(&node->pending[node->chosen], pending))
            continue;
        join(&known, &node->order);
        uint32_t first = initials(reduce, i, rank, &after) & node->enabled;
        if (first == 0 || (first & (node->backtrack | node->sleep)) != 0)
            continue;
        node->backtrack |= first & (1u << rank) ? 1u << rank : first & -first;
    }
}

static node_t *new_node(sb_reduce_t *reduce)
{
    if (reduce->depth == reduce->capacity) {
        reduce->capacity = reduce->capacity * 2 + 256;
        reduce->nodes = grown(reduce->nodes, reduce->capacity * sizeof *reduce->nodes);
    }
    reduce->nodes[reduce->depth] = (node_t){0};
    return &reduce->nodes[reduce->depth++];
}

/* The ranks that were tried before, and whose steps nothing has met since. */
static uint32_t sleepers(const sb_reduce_t *reduce)
{
    uint32_t set = 0;

    if (reduce->steps == 0)
        return 0;
    const node_t *parent = &reduce->nodes[reduce->parent];
    uint32_t before = (parent->sleep | parent->done) & ~(1u << parent->chosen);
    for (uint32_t rank = 0; rank < reduce->ranks; rank++) {
        if ((before & (1u << rank)) &&
            !depend(&parent->pending[rank], &parent->pending[parent->chosen]))
            set |= 1u << rank;
    }
    return set;
}

static uint32_t lowest(uint32_t set)
{
    return (uint32_t)__builtin_ctz(set);
}

static uint32_t enabled_set(const sb_reduce_t *reduce, const sb_sim_pending_t *pending)
{
    uint32_t set = 0;

    for (uint32_t rank = 0; rank < reduce->ranks; rank++)
        set |= pending[rank].enabled ? 1u << rank : 0;
    return set;
}

/* The rank that ran last goes on if it may: fewest switches first. */
static uint32_t pick(const sb_reduce_t *reduce, uint32_t set)
{
    return set & (1u << reduce->current) ? reduce->current : lowest(set);
}

/* A scheduling point that no run has seen. */
static void open_node(sb_reduce_t *reduce, const sb_sim_pending_t *pending, uint32_t enabled)
{
    uint32_t sleep = sleepers(reduce);

    reduce->needless = (enabled & ~sleep) == 0;
    if (reduce->needless)
        return;
    node_t *node = new_node(reduce);
    node->enabled = enabled;
    node->sleep = sleep;
    node->step = reduce->steps + 1;
    node->chosen = pick(reduce, enabled & ~sleep);
    node->backtrack = 1u << node->chosen;
    memcpy(node->pending, pending, reduce->ranks * sizeof *pending);
}

/* A run that ends with ranks that wait: what could have let them go on? */
static void look_at_waiting(sb_reduce_t *reduce, const sb_sim_pending_t *pending)
{
    for (uint32_t rank = 0; rank < reduce->ranks; rank++) {
        if (!reduce->needless && pending[rank].step > SB_SIM_STARTS)
            find_races(reduce, rank, &pending[rank]);
    }
}

uint32_t sb_reduce_next(sb_reduce_t *reduce, const sb_sim_pending_t *pending)
{
    uint32_t enabled = enabled_set(reduce, pending);

    if (enabled == 0) {
        look_at_waiting(reduce, pending);
        return SB_SIM_NOBODY;
    }
    if (!reduce->needless && reduce->at == reduce->depth)
        open_node(reduce, pending, enabled);
    if (reduce->needless) {
        reduce->current = pick(reduce, enabled);
        return reduce->current;
    }
    node_t *node = &reduce->nodes[reduce->at];
    uint32_t chosen = node->chosen;
    if (reduce->at + 1 >= reduce->old)
        find_races(reduce, chosen, &pending[chosen]);
    node->order = execute(reduce, chosen, &pending[chosen]);
    reduce->parent = reduce->at++;
    return chosen;
}

uint32_t sb_reduce_choose(sb_reduce_t *reduce, uint32_t count)
{
    if (reduce->needless)
        return 0;
    if (reduce->at == reduce->depth) {
        node_t *node = new_node(reduce);
        node->is_choice = true;
        node->count = count;
    }
    return reduce->nodes[reduce->at++].chosen;
}

/* Sets the node to its next possibility; false if there is none. */
static bool turn(node_t *node)
{
    if (node->is_choice)
        return ++node->chosen < node->count;
    node->done |= 1u << node->chosen;
    uint32_t left = node->backtrack & ~node->done & ~node->sleep;
    if (left == 0)
        return false;
    node->chosen = lowest(left);
    return true;
}

bool sb_reduce_begin(sb_reduce_t *reduce)
{
    while (reduce->started && reduce->depth > 0 && !turn(&reduce->nodes[reduce->depth - 1]))
        reduce->depth--;
    if (reduce->started && reduce->depth == 0)
        return false;
    reduce->started = true;
    reduce->old = reduce->depth;
    reduce->needless = false;
    reduce->at = reduce->steps = reduce->current = reduce->parent = 0;
    reduce->object_count = 0;
    memset(reduce->rank, 0, sizeof reduce->rank);
    reduce->fence = reduce->all = (order_t){0};
    return true;
}
