/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_REDUCTION_H
#define SB_COLL_REDUCTION_REDUCTION_H

#include "coll/coll.h"

/*
 * The algorithms of the reductions; sb_reduction_t says what each rank gives and takes. Those of
 * Sobor combine from left to right in rank order, but for those that say otherwise. An operator
 * that fails does not stop the protocol: the outcome is told at the end.
 */
extern const sb_algorithm_t sb_allreduce_slots;
extern const sb_algorithm_t sb_allreduce_blocks;
extern const sb_algorithm_t sb_allreduce_rings;
extern const sb_algorithm_t sb_allreduce_slices;
extern const sb_algorithm_t sb_reduce_slots;
extern const sb_algorithm_t sb_reduce_blocks;
extern const sb_algorithm_t sb_reduce_rings;
extern const sb_algorithm_t sb_reduce_slices;
extern const sb_algorithm_t sb_reduce_scatter_slots;
extern const sb_algorithm_t sb_reduce_scatter_block_slots;
extern const sb_algorithm_t sb_reduce_scatter_blocks;
extern const sb_algorithm_t sb_reduce_scatter_block_blocks;
extern const sb_algorithm_t sb_reduce_scatter_rings;
extern const sb_algorithm_t sb_reduce_scatter_slices;
extern const sb_algorithm_t sb_reduce_scatter_block_rings;
extern const sb_algorithm_t sb_reduce_scatter_block_slices;
extern const sb_algorithm_t sb_scan_slots;
extern const sb_algorithm_t sb_exscan_slots;
extern const sb_algorithm_t sb_scan_blocks;
extern const sb_algorithm_t sb_scan_rings;
extern const sb_algorithm_t sb_scan_slices;
extern const sb_algorithm_t sb_exscan_blocks;
extern const sb_algorithm_t sb_exscan_rings;
extern const sb_algorithm_t sb_exscan_slices;

/* What a rank is to receive: bytes [from, to) of the combination of the ranks below `sources`. */
typedef struct sb_wanted {
    uint32_t sources;
    size_t from;
    size_t to;
} sb_wanted_t;

static inline sb_wanted_t sb_wanted_by_all(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return (sb_wanted_t){team->size, 0, reduction->bytes};
}

static inline sb_wanted_t sb_wanted_by_root(const sb_team_t *team, const sb_reduction_t *reduction)
{
    bool root = team->rank == reduction->root;

    return (sb_wanted_t){root ? team->size : 0, 0, root ? reduction->bytes : 0};
}

/* This rank's part; equal parts where none are given. */
static inline sb_wanted_t sb_wanted_part(const sb_team_t *team, const sb_reduction_t *reduction)
{
    size_t equal = reduction->bytes / team->size;
    sb_wanted_t wanted = {.sources = team->size, .from = equal * team->rank};

    if (reduction->parts == NULL) {
        wanted.to = wanted.from + equal;
        return wanted;
    }
    wanted.from = 0;
    for (uint32_t i = 0; i < team->rank; i++)
        wanted.from += reduction->parts[i];
    wanted.to = wanted.from + reduction->parts[team->rank];
    return wanted;
}

/* Sources that are combined in one pass. */
#define SB_FOLD_MOST 64

/*
 * Contributions to bytes `to`, added from left to right. `to` may be the first of them, and none
 * but the first.
 */
typedef struct sb_fold {
    const sb_operator_t *operation;
    char *to;
    size_t bytes;
    sb_status_t data;
    bool begun; /* `to` holds the combination of those before */
    uint32_t count;
    const void *from[SB_FOLD_MOST];
} sb_fold_t;

/* The list of sources stays as it is: clearing it takes longer than a small message. */
static inline void sb_fold_begin(sb_fold_t *fold, const sb_operator_t *operation, void *to,
                                 size_t bytes)
{
    fold->operation = operation;
    fold->to = to;
    fold->bytes = bytes;
    fold->data = SB_OK;
    fold->begun = false;
    fold->count = 0;
}

static inline void sb_fold_pass(sb_fold_t *fold)
{
    sb_status_t status =
        sb_combine(fold->operation, fold->to, fold->from, fold->count, fold->bytes);

    fold->data = sb_first(fold->data, status);
    fold->begun = true;
    fold->from[0] = fold->to;
    fold->count = 1;
}

static inline void sb_fold_add(sb_fold_t *fold, const void *from)
{
    if (SB_UNLIKELY(fold->count == SB_FOLD_MOST))
        sb_fold_pass(fold);
    fold->from[fold->count++] = from;
}

static inline sb_status_t sb_fold_end(sb_fold_t *fold)
{
    if (fold->count > 1 || !fold->begun)
        sb_fold_pass(fold);
    return fold->data;
}

/* What is combined is reported by the line of the algorithm. */
#define sb_fold_add(...) SB_SITED_VOID(sb_fold_add(__VA_ARGS__))
#define sb_fold_end(...) SB_SITED(sb_fold_end(__VA_ARGS__))

/* How often ranks that share processors are busy with their share of the work in turn. */
static inline double sb_cost_crowd(const sb_shape_t *shape)
{
    return sb_max(1, shape->ranks / shape->processors);
}

/* A rank that gets a processor again finds less of its data near: as measured with 4, 8 and 16
 * ranks on two cores, a turn costs some times the switch alone. */
static inline double sb_fold_turns(const sb_shape_t *shape, double turns)
{
    const sb_prices_t *price = shape->prices;
    return price->turn * sb_cost_turns(shape, turns);
}

#endif
