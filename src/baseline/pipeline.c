/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/pipeline.h"

#include "base/config.h"
#include "baseline/nomial.h"
#include "team/tree.h"

/*
 * Buffers of a set, where their number is not given. A message begins with a set of its own: with
 * large sets short messages would use few buffers again and again, all in the caches of root and
 * readers, and each line would have to be taken away from the readers before it is written. With
 * small ones they go round the whole ring. Opening and leaving a set costs little: who leaves does
 * not wait, and there are many sets before the root has to.
 */
#define SET_STANDARD 4
/* Two sets let the root fill one while the readers empty the other. */
#define SETS_LEAST 2
/* So many fragments of a message overlap well enough; shorter ones than a page do not pay. */
#define FRAGMENTS_LEAST 8
#define FRAGMENT_MOST ((uint64_t)256 << 20)
#define SLOTS_MOST ((uint64_t)1 << 20)

/* A fragment that follows from the budget by the model; never so large that there are no sets. */
static uint64_t model_fragment(uint64_t budget, uint64_t sets)
{
    const sb_model_prices_t prices = SB_MODEL_PRICES;
    sb_model_ring_t ring =
        sb_model_ring(sb_model_best_fragment(&prices, budget, budget), budget, SB_PAGE);

    return sb_max(sb_min(ring.fragment, budget / sets), 1);
}

sb_pipeline_form_t sb_pipeline_form(const sb_settings_t *settings)
{
    uint64_t budget = settings->ring_bytes;
    uint64_t sets = sb_min(settings->bcast_sets, SLOTS_MOST);
    uint64_t slots = sb_min(settings->bcast_slots, SLOTS_MOST);
    uint64_t fragment = settings->fragment_bytes;

    if (fragment == 0)
        fragment = model_fragment(budget, sb_max(sets, SETS_LEAST));
    fragment = sb_min(fragment, FRAGMENT_MOST);
    if (slots == 0)
        slots = sb_max(sb_min(budget / fragment, SLOTS_MOST), sb_max(sets, SETS_LEAST));
    uint64_t least = sb_min(sets == 0 ? SETS_LEAST : sets, slots);
    if (sets == 0)
        sets = sb_max(slots / SET_STANDARD, SETS_LEAST);
    sets = sb_min(sets, slots);
    slots = slots / sets * sets;
    return (sb_pipeline_form_t){(uint32_t)fragment, (uint32_t)sets, (uint32_t)slots,
                                (uint32_t)least};
}

static size_t stride_of(const sb_pipeline_form_t *form)
{
    return sb_round_up(form->fragment, SB_LINE);
}

static size_t bytes_of(const sb_pipeline_form_t *form, uint64_t slots)
{
    return form->sets * sizeof(sb_set_t) + slots * (sizeof(sb_wide_flag_t) + stride_of(form));
}

size_t sb_pipeline_bytes(const sb_pipeline_form_t *form)
{
    return bytes_of(form, form->slots);
}

/* As many buffers as fit the blocks that all have got. */
static void adopt(sb_team_t *team, const sb_pipeline_form_t *form)
{
    sb_pipeline_t *pipeline = sb_pipeline(team);
    size_t room = pipeline->resource.bytes - form->sets * sizeof(sb_set_t);
    size_t slots = sb_min(form->slots, room / (sizeof(sb_wide_flag_t) + stride_of(form)));

    pipeline->ring.sets = (sb_set_t *)(void *)pipeline->resource.bases[0];
    pipeline->ring.count = (uint32_t)sb_min(form->sets, slots);
    pipeline->ring.per_set = (uint32_t)(slots / pipeline->ring.count);
    pipeline->ring.leavers = team->size - 1;
    pipeline->fragment = form->fragment;
    pipeline->stride = (uint32_t)stride_of(form);
    pipeline->spans = pipeline->lists;
    pipeline->children = pipeline->lists + team->size;
}

/* The settings with what rules say for messages of every size: the memory is made once. */
static sb_settings_t form_settings(const sb_team_t *team)
{
    sb_settings_t settings = team->settings;
    const sb_rules_t *rules = settings.rules;

    settings.ring_bytes = sb_rules_ring(rules, settings.ring_bytes);
    settings.fragment_bytes =
        sb_rules_value_of_all(rules, SB_BCAST, SB_TUNE_FRAGMENT, settings.fragment_bytes);
    settings.bcast_slots =
        (uint32_t)sb_rules_value_of_all(rules, SB_BCAST, SB_TUNE_SLOTS, settings.bcast_slots);
    settings.bcast_sets =
        (uint32_t)sb_rules_value_of_all(rules, SB_BCAST, SB_TUNE_SETS, settings.bcast_sets);
    return settings;
}

static sb_status_t make(sb_team_t *team)
{
    sb_settings_t settings = form_settings(team);
    sb_pipeline_form_t form = sb_pipeline_form(&settings);
    const sb_resource_size_t size = {
        .own = sizeof(sb_pipeline_t) + 2 * (size_t)team->size * sizeof(uint32_t),
        .bytes = sb_pipeline_bytes(&form),
        .least = bytes_of(&form, form.least),
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_PIPELINE, &size);

    if (status == SB_OK)
        adopt(team, &form);
    return status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_PIPELINE, make};

sb_status_t sb_pipeline_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

size_t sb_pipeline_fragment(const sb_team_t *team, size_t bytes)
{
    size_t whole = sb_pipeline(team)->fragment;
    uint64_t asked = sb_team_fragment(team, bytes);

    if (asked != 0)
        return sb_min(whole, asked);
    return sb_min(whole, sb_round_up(sb_max(bytes / FRAGMENTS_LEAST, 1), SB_PAGE));
}

/* The arity of the k-ary tree that stands for `tree`. */
static uint32_t arity_of(const sb_team_t *team, uint64_t tree, size_t bytes)
{
    switch (tree) {
    case SB_TREE_FLAT:
        return sb_max(team->size, 2) - 1;
    case SB_TREE_CHAIN:
        return 1;
    case SB_TREE_KARY:
        return sb_team_arity(team, SB_BCAST, bytes);
    default:
        return 2;
    }
}

static sb_pipeline_place_t nomial_place(const sb_team_t *team, uint32_t root, size_t bytes)
{
    sb_pipeline_t *pipeline = sb_pipeline(team);
    uint32_t arity = (uint32_t)sb_max(sb_team_arity(team, SB_BCAST, bytes), 2);

    if (SB_UNLIKELY(pipeline->spans_arity != arity))
        sb_nomial_spans(pipeline->spans, team->size, arity);
    pipeline->spans_arity = arity;
    sb_nomial_t tree = sb_nomial(team->rank, root, team->size, arity, pipeline->spans);
    return (sb_pipeline_place_t){tree.parent, sb_nomial_children(&tree, pipeline->children)};
}

sb_pipeline_place_t sb_pipeline_place(const sb_team_t *team, uint32_t root, size_t bytes)
{
    sb_pipeline_t *pipeline = sb_pipeline(team);
    uint64_t wanted = sb_rules_value(team->settings.rules, SB_BCAST, SB_TUNE_TREE, bytes,
                                     team->settings.bcast_tree);

    if (wanted == SB_TREE_KNOMIAL)
        return nomial_place(team, root, bytes);
    sb_tree_t tree = sb_tree(team->rank, root, team->size, arity_of(team, wanted, bytes));
    for (uint32_t i = 0; i < tree.children; i++)
        pipeline->children[i] = sb_tree_child(&tree, i);
    return (sb_pipeline_place_t){tree.parent, tree.children};
}
