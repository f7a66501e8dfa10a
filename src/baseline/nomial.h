/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_NOMIAL_H
#define SB_BASELINE_NOMIAL_H

#include "base/compiler.h"

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
