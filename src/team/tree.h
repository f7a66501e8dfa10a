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

#endif
