/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees over nodes, for any root, towards the leaves (broadcast) or the root (reduction): nodes are
 * counted from the root's on. Binomial: the parent has the lowest digit that is not 0 cleared; a
 * chain: the parent is the one before. Cost, of S segments of g bytes over N nodes with latency a
 * and time b for a byte: binomial S ceil(log2 N) (a + g b), a chain (N - 2 + S) (a + g b);
 * choice_trees.c takes the lower one. Memory: a segment where bytes are combined. A reduction whose
 * operator is not commutative goes to node 0, in the order of nodes, and from there to the root's.
 * Source: folklore; the chain is the pipeline of van de Geijn, "Efficient global combine
 * operations", 1991.
 */
#include "cluster/program.h"
#include "coll/coll.h"

/* The node that is so many places behind the root. */
static uint32_t behind(uint32_t place, uint32_t root, uint32_t nodes)
{
    return (uint32_t)(((uint64_t)place + root) % nodes);
}

bool sb_net_chain_suits(uint32_t nodes, size_t segments)
{
    return nodes + segments - 2 < segments * sb_rounds(nodes);
}

static void grow_binomial(sb_net_tree_t *tree, uint32_t place, uint32_t root, uint32_t nodes)
{
    uint32_t lowest = place & (~place + 1);
    uint32_t round = place == 0 ? sb_rounds(nodes) : (uint32_t)__builtin_ctz(lowest);

    tree->parent = behind(place ^ lowest, root, nodes);
    while (round-- > 0) {
        uint64_t child = (uint64_t)place + ((uint64_t)1 << round);
        if (child < nodes)
            tree->child[tree->children++] = behind((uint32_t)child, root, nodes);
    }
}

sb_net_tree_t sb_net_tree(uint32_t nodes, uint32_t self, uint32_t root, bool chain)
{
    uint32_t place = (self + nodes - root) % nodes;
    sb_net_tree_t tree = {0};

    if (!chain) {
        grow_binomial(&tree, place, root, nodes);
        return tree;
    }
    tree.parent = behind(place + nodes - 1, root, nodes);
    if (place + 1 < nodes)
        tree.child[tree.children++] = behind(place + 1, root, nodes);
    return tree;
}

static uint32_t collector_of(const sb_program_t *program)
{
    return program->in_order ? 0 : program->root_node;
}

/* From where all was collected to the root. */
static void hand_over(const sb_program_t *program, sb_step_t *step)
{
    sb_step_pass(program, step, collector_of(program), program->root_node);
}

/* Round k: the nodes whose digit k is set, and none below, give to those without. */
bool sb_net_reduce_binomial(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint32_t nodes = program->nodes, root = collector_of(program);
    uint32_t place = (program->self + nodes - root) % nodes, rounds = sb_rounds(nodes);

    if (number == rounds)
        hand_over(program, step);
    if (number >= rounds)
        return number == rounds;
    uint64_t digit = (uint64_t)1 << number;
    if ((place & (digit - 1)) != 0)
        return true;
    if ((place & digit) != 0)
        sb_step_send(step, behind(place - (uint32_t)digit, root, nodes), program->bytes_at,
                     program->bytes);
    else if (place + digit < nodes)
        sb_step_fold(program, step, behind(place + (uint32_t)digit, root, nodes), program->bytes_at,
                     program->bytes, SB_FOLD_RIGHT);
    return true;
}

bool sb_net_reduce_chain(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint32_t nodes = program->nodes, root = collector_of(program);
    uint32_t place = (program->self + nodes - root) % nodes;

    if (number == 0 && place + 1 < nodes)
        sb_step_fold(program, step, behind(place + 1, root, nodes), program->bytes_at,
                     program->bytes, SB_FOLD_RIGHT);
    else if (number == 1 && place > 0)
        sb_step_send(step, behind(place - 1, root, nodes), program->bytes_at, program->bytes);
    else if (number == 2)
        hand_over(program, step);
    return number <= 2;
}
