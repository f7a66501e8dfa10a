/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_REDUCTION_H
#define SB_COLL_REDUCTION_REDUCTION_H

#include "coll/coll.h"
#include "team/flow.h"

/*
 * The algorithms of the reductions; sb_reduction_t says what each rank gives and takes. Those of
 * Sobor combine from left to right in rank order, but for those that say otherwise. An operator
 * that fails does not stop the protocol: the outcome is told at the end.
 */

/* An algorithm whose function returns `call`, which has that function's `team` and `reduction`. */
#define SB_REDUCES(algorithm, call, ...)                                                           \
    static sb_status_t algorithm##_run(sb_team_t *team, const sb_reduction_t *reduction)           \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    const sb_algorithm_t algorithm = {.reduction = algorithm##_run, __VA_ARGS__}

/* What a rank is to receive: bytes [from, to) of the combination of the ranks below `sources`. */
typedef struct sb_wanted {
    uint32_t sources;
    size_t from;
    size_t to;
} sb_wanted_t;

typedef struct sb_range {
    size_t from;
    size_t to;
} sb_range_t;

/* Empty, with `to` below `from`, where they do not overlap. */
static inline sb_range_t sb_overlap(sb_range_t one, sb_range_t other)
{
    return (sb_range_t){sb_max(one.from, other.from), sb_min(one.to, other.to)};
}

static inline size_t sb_range_bytes(sb_range_t range)
{
    return range.from < range.to ? range.to - range.from : 0;
}

static inline sb_wanted_t sb_wanted_by_all(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return (sb_wanted_t){team->size, 0, reduction->bytes};
}

static inline sb_wanted_t sb_wanted_by_root(const sb_team_t *team, const sb_reduction_t *reduction)
{
    bool root = team->rank == reduction->root;

    return (sb_wanted_t){root ? team->size : 0, 0, root ? reduction->bytes : 0};
}

/* What a rank gets of a message that is dealt out; equal parts where none are given. */
static inline size_t sb_part_bytes(const sb_reduction_t *reduction, uint32_t ranks, uint32_t rank)
{
    return reduction->parts == NULL ? reduction->bytes / ranks : reduction->parts[rank];
}

/* And what ranks [first, end) get. */
static inline sb_range_t sb_parts_of(const sb_reduction_t *reduction, uint32_t ranks,
                                     uint32_t first, uint32_t end)
{
    size_t equal = reduction->bytes / ranks;
    sb_range_t range = {0, 0};

    if (reduction->parts == NULL)
        return (sb_range_t){equal * first, equal * end};
    for (uint32_t rank = 0; rank < end; rank++) {
        range.from += rank < first ? reduction->parts[rank] : 0;
        range.to += reduction->parts[rank];
    }
    return range;
}

/* This rank's part. An empty one, as where there are fewer elements than ranks, is of no rank's:
 * who wants nothing waits for nobody. */
static inline sb_wanted_t sb_wanted_part(const sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_range_t part = sb_parts_of(reduction, team->size, team->rank, team->rank + 1);

    return (sb_wanted_t){part.from < part.to ? team->size : 0, part.from, part.to};
}

/* The ranks up to this one, or before it. */
static inline sb_wanted_t sb_wanted_scan(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return (sb_wanted_t){team->rank + 1, 0, reduction->bytes};
}

static inline sb_wanted_t sb_wanted_exscan(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return (sb_wanted_t){team->rank, 0, team->rank > 0 ? reduction->bytes : 0};
}

/*
 * A result that is this rank's own contribution, as rank 0's of a scan: has it in place up to `to`,
 * or leaves that for later where it would be fewer than `piece` bytes. A long piece goes as copies
 * of its length were found to be fastest. Returns up to where it is there.
 */
static inline size_t sb_own_result(const sb_reduction_t *reduction, size_t done, size_t to,
                                   size_t piece)
{
    if (to < sb_min(done + piece, reduction->bytes))
        return done;
    if (reduction->send != reduction->receive)
        sb_copy(reduction->receive + done, reduction->send + done, to - done);
    return to;
}

/*
 * Waits until the sources have come so far. Where ranks share processors, how to wait follows from
 * how many are missing.
 */
static inline sb_status_t sb_sources_wait(const sb_team_t *team, const sb_peers_t *sources,
                                          uint64_t value)
{
    const sb_waiter_t *waiter = &team->waiter;

    if (team->oversubscribed)
        waiter = sb_team_waiter(team, sb_peers_missing(sources, value));
    return sb_peers_wait(sources, value, waiter, NULL);
}

/* Sources that are combined in one pass. */
#define SB_FOLD_MOST 64

/*
 * Contributions to bytes `to`, added from left to right. `to` may be one of the first SB_FOLD_MOST
 * of them, and none behind: those are read when it has been written to.
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

/* What is combined, and waited for, is reported by the line of the algorithm. */
#define sb_sources_wait(...) SB_SITED(sb_sources_wait(__VA_ARGS__))
#define sb_fold_add(...) SB_SITED_VOID(sb_fold_add(__VA_ARGS__))
#define sb_fold_end(...) SB_SITED(sb_fold_end(__VA_ARGS__))

/* A rank that gets a processor again finds less of its data near: as measured with 4, 8 and 16
 * ranks on two cores, a turn costs some times the switch alone. */
static inline double sb_fold_turns(const sb_shape_t *shape, double turns)
{
    const sb_prices_t *price = shape->prices;
    return price->turn * sb_cost_turns(shape, turns);
}

#endif
