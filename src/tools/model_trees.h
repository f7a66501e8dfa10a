/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_MODEL_TREES_H
#define SB_TOOLS_MODEL_TREES_H

#include "baseline/model.h"

#include <stdbool.h>

/*
 * How notifications go down the published trees, rooted at rank 0. A rank tells its children one
 * after another, each telling takes one step, and who has been told begins to tell at once.
 */

typedef struct sb_model_tree {
    const char *name;
    uint32_t arity; /* 0: all ranks */
    bool nomial;
} sb_model_tree_t;

#define SB_MODEL_TREES 6

extern const sb_model_tree_t sb_model_trees[SB_MODEL_TREES];

/* NULL: there is none of that name. */
const sb_model_tree_t *sb_model_tree_find(const char *name);

#define SB_MODEL_TREE_RANKS_MOST 65536

/*
 * The children of a rank among `ranks`, in the order in which they are told. `spans` has room for
 * all ranks. Returns how many there are.
 */
uint32_t sb_model_tree_children(const sb_model_tree_t *tree, uint32_t rank, uint32_t ranks,
                                uint32_t *spans, uint32_t *children);

/* Steps until the last of the ranks has been told: p - 1 in a chain, ceil(log2 p) in a binomial
 * tree. */
uint32_t sb_model_tree_steps(const sb_model_tree_t *tree, uint32_t ranks);

/*
 * The prices of a tree of so many ranks, of those between two processes: t_W is paid for each step;
 * a set can be opened again when the last rank has been told and has left, so t_WO has the steps
 * but one besides.
 */
sb_model_prices_t sb_model_tree_prices(const sb_model_prices_t *two, uint32_t steps);

#endif
