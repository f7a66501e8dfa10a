/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_MODEL_H
#define SB_TOOLS_MODEL_H

#include "tools/model_forms.h"
#include "tools/model_trees.h"
#include "tools/tool.h"

#include <jansson.h>
#include <stdbool.h>

/* sobor-model evaluates the cost models and answers in JSON; `sobor model` asks it. */

/* What is asked. Zero: not given. */
typedef struct sb_model_question {
    uint64_t bytes;
    uint64_t ring;
    uint64_t fragment;
    uint64_t slots;
    uint64_t sets;
    uint64_t ranks;
    uint64_t page;
    sb_model_prices_t prices;    /* standard where not given */
    bool priced;                 /* t and t_W were given or measured */
    const sb_model_tree_t *tree; /* NULL: the prices are taken as they are */
    bool choose;
    sb_model_way_t way;
    bool table;
    bool curves;
    bool measure;
} sb_model_question_t;

/* What the prices are on this machine, between `ranks` processes. */
typedef struct sb_model_measured {
    sb_model_prices_t prices;
    sb_model_prices_t tree[SB_MODEL_TREES]; /* down that tree of all ranks */
    uint32_t ranks;
    bool shared; /* they had to share processors: the waits hold the system's switches */
} sb_model_measured_t;

/* Measures. Ends the tool with a message if processes cannot be started. */
sb_model_measured_t sb_model_measure(uint32_t ranks);

#endif
