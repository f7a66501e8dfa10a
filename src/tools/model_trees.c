/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/model_trees.h"

#include "baseline/nomial.h"
#include "team/tree.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

const sb_model_tree_t sb_model_trees[SB_MODEL_TREES] = {
    {"flat", 0, false},  {"chain", 1, false},   {"binary", 2, false},
    {"4-ary", 4, false}, {"binomial", 2, true}, {"4-nomial", 4, true},
};

const sb_model_tree_t *sb_model_tree_find(const char *name)
{
    for (size_t i = 0; i < SB_MODEL_TREES; i++) {
        if (strcmp(name, sb_model_trees[i].name) == 0)
            return &sb_model_trees[i];
    }
    return NULL;
}

uint32_t sb_model_tree_children(const sb_model_tree_t *tree, uint32_t rank, uint32_t ranks,
                                uint32_t *spans, uint32_t *children)
{
    if (tree->nomial) {
        sb_nomial_spans(spans, ranks, tree->arity);
        sb_nomial_t place = sb_nomial(rank, 0, ranks, tree->arity, spans);
        return sb_nomial_children(&place, children);
    }
    sb_tree_t place = sb_tree(rank, 0, ranks, tree->arity == 0 ? ranks : tree->arity);
    for (uint32_t i = 0; i < place.children; i++)
        children[i] = sb_tree_child(&place, i);
    return place.children;
}

uint32_t sb_model_tree_steps(const sb_model_tree_t *tree, uint32_t ranks)
{
    uint32_t *room = sb_tool_take(3 * (size_t)ranks, sizeof *room), last = 0;
    uint32_t *spans = room, *children = room + ranks, *told = room + 2 * (size_t)ranks;

    /* A parent's number is below those of its children. */
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t count = sb_model_tree_children(tree, rank, ranks, spans, children);
        for (uint32_t i = 0; i < count; i++)
            told[children[i]] = told[rank] + i + 1;
        last = (uint32_t)sb_max(last, told[rank]);
    }
    free(room);
    return last;
}

sb_model_prices_t sb_model_tree_prices(const sb_model_prices_t *two, uint32_t steps)
{
    sb_model_prices_t prices = *two;

    prices.notify = two->notify * steps;
    prices.open = two->open + two->notify * (steps - 1);
    return prices;
}
