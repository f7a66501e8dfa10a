/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_TREE_H
#define SB_TEAM_TREE_H

#include "base/compiler.h"

/*
 * k-ary trees over the ranks of a team, for any root: ranks are counted from the root on, and node
 * v has the children k v + 1 ... k v + k. Arity 1 is a chain, arity size - 1 a flat tree.
 */
typedef struct sb_tree {
    uint32_t parent;   /* rank; of no meaning at the root */
    uint32_t children; /* how many */
    uint32_t first;    /* node number of the first child */
    uint32_t root;
    uint32_t size;
} sb_tree_t;

/* The place of `rank` in the tree of `size` ranks rooted at `root`. O(1). */
static inline sb_tree_t sb_tree(uint32_t rank, uint32_t root, uint32_t size, uint32_t arity)
{
    uint32_t node = rank >= root ? rank - root : rank + size - root;
    uint64_t first = (uint64_t)node * arity + 1;
    uint32_t up = node == 0 ? 0 : (node - 1) / arity;
    sb_tree_t tree = {.root = root, .size = size};

    tree.parent = (uint32_t)(((uint64_t)up + root) % size);
    if (first < size) {
        tree.first = (uint32_t)first;
        tree.children = (uint32_t)sb_min(arity, (size_t)(size - first));
    }
    return tree;
}

/* Rank of child i < children. */
static inline uint32_t sb_tree_child(const sb_tree_t *tree, uint32_t i)
{
    return (uint32_t)(((uint64_t)tree->first + i + tree->root) % tree->size);
}

/*
 * k-nomial trees over the ranks of a team, for any root: ranks are counted from the root on, and
 * nodes are numbers in base k. A node's parent has its lowest digit that is not 0 cleared; so its
 * span, the power of k where that digit stands, says all: the children differ from it in one digit
 * below. The spans of all nodes are one table for all roots.
 */
typedef struct sb_nomial {
    uint32_t parent; /* rank; of no meaning at the root */
    uint32_t node;
    uint32_t span; /* at the root: the smallest power of k that is not below size */
    uint32_t root;
    uint32_t size;
    uint32_t arity;
} sb_nomial_t;

/* Fills the table of `size` spans. `arity` is 2 or more. */
static inline void sb_nomial_spans(uint32_t *spans, uint32_t size, uint32_t arity)
{
    uint64_t span = 1;

    for (; span < size; span *= arity) {
        for (uint64_t node = 0; node < size; node += span)
            spans[node] = (uint32_t)span;
    }
    spans[0] = (uint32_t)span; /* fits: a node has at most 2^16 ranks */
}

/* The place of `rank` in the tree rooted at `root`. O(1). */
static inline sb_nomial_t sb_nomial(uint32_t rank, uint32_t root, uint32_t size, uint32_t arity,
                                    const uint32_t *spans)
{
    uint32_t node = rank >= root ? rank - root : rank + size - root;
    uint32_t span = spans[node];
    uint32_t up = node == 0 ? 0 : node - node / span % arity * span;

    return (sb_nomial_t){.parent = (uint32_t)(((uint64_t)up + root) % size),
                         .node = node,
                         .span = span,
                         .root = root,
                         .size = size,
                         .arity = arity};
}

/*
 * Writes the ranks of the children, those with the largest trees below them first, and returns how
 * many there are. O(1) each.
 */
static inline uint32_t sb_nomial_children(const sb_nomial_t *tree, uint32_t *children)
{
    uint32_t count = 0;

    for (uint32_t step = tree->span / tree->arity; step > 0; step /= tree->arity) {
        for (uint32_t digit = 1; digit < tree->arity; digit++) {
            uint64_t child = tree->node + (uint64_t)digit * step;
            if (child >= tree->size)
                break;
            children[count++] = (uint32_t)((child + tree->root) % tree->size);
        }
    }
    return count;
}

#endif
