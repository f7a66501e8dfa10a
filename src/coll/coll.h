/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_COLL_H
#define SB_COLL_COLL_H

#include "base/collectives.h"
#include "team/hierarchy.h"
#include "team/prices.h"

/* The collective operations and their algorithms, as data. */

/*
 * The user's bytes, as a stream. Contiguous data is given by its address; other data by functions
 * that hand out or take in any bytes of the packed stream. In order is the fastest.
 */
typedef struct sb_stream {
    char *base; /* NULL: use the functions */
    size_t bytes;
    sb_status_t (*read)(void *context, size_t offset, void *to, size_t bytes);
    sb_status_t (*write)(void *context, size_t offset, const void *from, size_t bytes);
    void *context;
} sb_stream_t;

/* Copies the stream's bytes at `offset` to where others read them. */
static inline sb_status_t sb_stream_read(const sb_stream_t *stream, size_t offset, void *to,
                                         size_t bytes)
{
    if (SB_UNLIKELY(stream->base == NULL))
        return stream->read(stream->context, offset, to, bytes);
    sb_copy_shared(to, stream->base + offset, bytes);
    return SB_OK;
}

static inline sb_status_t sb_stream_write(const sb_stream_t *stream, size_t offset,
                                          const void *from, size_t bytes)
{
    if (SB_UNLIKELY(stream->base == NULL))
        return stream->write(stream->context, offset, from, bytes);
    sb_copy(stream->base + offset, from, bytes);
    return SB_OK;
}

/* As sb_stream_write, of what another rank has just written. */
static inline sb_status_t sb_stream_write_far(const sb_stream_t *stream, size_t offset,
                                              const void *from, size_t bytes)
{
    if (SB_UNLIKELY(stream->base == NULL))
        return stream->write(stream->context, offset, from, bytes);
    sb_copy_far(stream->base + offset, from, bytes);
    return SB_OK;
}

/* Copies what of the `bytes` at `offset` of a message the stream has room for. */
static inline sb_status_t sb_take(const sb_stream_t *stream, size_t offset, const void *from,
                                  size_t bytes)
{
    if (SB_UNLIKELY(offset >= stream->bytes))
        return SB_OK;
    return sb_stream_write_far(stream, offset, from, sb_min(bytes, stream->bytes - offset));
}

/* As sb_stream_write; data in one piece goes past this core's caches. */
static inline sb_status_t sb_stream_write_non_temporal(const sb_stream_t *stream, size_t offset,
                                                       const void *from, size_t bytes)
{
    if (stream->base == NULL)
        return stream->write(stream->context, offset, from, bytes);
    sb_copy_streaming(stream->base + offset, from, bytes);
    return SB_OK;
}

/* As sb_stream_read; data in one piece goes past this core's caches. */
static inline sb_status_t sb_stream_read_non_temporal(const sb_stream_t *stream, size_t offset,
                                                      void *to, size_t bytes)
{
    if (stream->base == NULL)
        return stream->read(stream->context, offset, to, bytes);
    sb_copy_streaming(to, stream->base + offset, bytes);
    return SB_OK;
}

/* What these copy is reported by the line of the algorithm. */
#define sb_take(...) SB_SITED(sb_take(__VA_ARGS__))
#define sb_stream_read(...) SB_SITED(sb_stream_read(__VA_ARGS__))
#define sb_stream_read_non_temporal(...) SB_SITED(sb_stream_read_non_temporal(__VA_ARGS__))
#define sb_stream_write(...) SB_SITED(sb_stream_write(__VA_ARGS__))
#define sb_stream_write_far(...) SB_SITED(sb_stream_write_far(__VA_ARGS__))
#define sb_stream_write_non_temporal(...) SB_SITED(sb_stream_write_non_temporal(__VA_ARGS__))

/* What the choice of an algorithm may depend on: known alike to every member. */
typedef struct sb_shape {
    uint32_t ranks;
    bool oversubscribed;
    uint32_t processors; /* that the ranks may use together */
    uint32_t tree_arity;
    uint32_t barrier_arity; /* 0: each algorithm's own */
    size_t ring_bytes;      /* wished */
    size_t loads;           /* shortest message that may be read where it is; 0: none */
    /* The hierarchy of the ranks: from the lowest level up, members of the largest group. */
    uint32_t stages;
    uint32_t fan[SB_STAGES_MOST];
    const char *ungrouped; /* why there is no hierarchy, or NULL */
    const sb_prices_t *prices;
    sb_processor_t processor; /* see sb_shape_prices */
    bool apart;               /* in several units of the highest level, most often packages */
    const struct sb_over_nodes *over_nodes; /* NULL: they are on one node; else on several: */
    uint32_t nodes;
    const struct sb_net_prices *network;
    bool scattered; /* the ranks of some node are not one interval */
    bool inside;    /* of ranks on one node of several: the host has no part in what they do */
} sb_shape_t;

/* What serves ranks on several nodes, and what is expected of it and of the host, in ns. */
typedef struct sb_over_nodes {
    const struct sb_algorithm *(*find)(sb_collective_t collective);
    double (*cost)(const sb_shape_t *shape, sb_collective_t collective, size_t bytes);
    double (*host_cost)(const sb_shape_t *shape, sb_collective_t collective, size_t bytes);
    uint32_t parts_most; /* ranks among which parts are moved */
} sb_over_nodes_t;

/* Whether they are too many for the operation, which moves parts: then it is the host's. */
static inline bool sb_too_many_for_parts(const sb_shape_t *shape, sb_collective_t collective)
{
    return collective >= SB_SCATTER && collective < SB_REDUCE && shape->over_nodes != NULL &&
           shape->ranks > shape->over_nodes->parts_most;
}

/*
 * What a rank gives and takes in an operation that moves parts of data between ranks. `send` and
 * `receive` are one stream, or one for each rank in rank order:
 *
 *                 send                            receive
 *   scatter(v)    root: p, part i for rank i      1
 *   gather(v)     1                               root: p, part i of rank i
 *   allgather(v)  1                               p, part i of rank i
 *   alltoall(v,w) p, part i for rank i            p, part i of rank i
 *
 * Where one stream meets the other within a rank, the algorithm copies it, unless the receiving
 * stream is the same memory (MPI_IN_PLACE: `base` equal and not NULL, or `in_place`). NULL where a
 * rank has none.
 */
typedef struct sb_parts {
    uint32_t root;
    bool in_place; /* this rank's own part is where it belongs already */
    const sb_stream_t *send;
    const sb_stream_t *receive;
} sb_parts_t;

/*
 * What a rank gives and takes in a reduction. Contributions are plain memory, combined in rank
 * order from the left, unless the operator is commutative and the algorithm says that it reorders.
 *
 *                          receives
 *   reduce                 root: the combination of all
 *   allreduce              the combination of all
 *   reduce_scatter(_block) its part of the combination of all
 *   scan                   the combination of ranks 0 to its own
 *   exscan                 the combination of the ranks before its own; rank 0: nothing
 *
 * `send` and `receive` are the same memory (MPI_IN_PLACE), or do not overlap. In place, what a rank
 * receives of a reduce_scatter begins where its contribution began.
 */
#define SB_ELEMENT_MOST 64 /* bytes of an element; larger ones are for the host MPI */

typedef struct sb_reduction {
    uint32_t root;
    const sb_operator_t *operation;
    size_t bytes;        /* of one rank's contribution: whole elements, alike on all ranks */
    const size_t *parts; /* reduce_scatter: bytes of each rank's part, alike on all ranks */
    uint32_t first; /* whose part is at the beginning, those of ranks below it at the end; other
                       than 0 is heeded by what deals parts out alone (dealt.c) */
    const char *send;
    char *receive; /* NULL: this rank receives nothing */
} sb_reduction_t;

typedef sb_status_t sb_reduction_function_t(sb_team_t *team, const sb_reduction_t *reduction);
typedef sb_status_t sb_parts_function_t(sb_team_t *team, const sb_parts_t *parts);
typedef sb_status_t sb_barrier_function_t(sb_team_t *team);
typedef sb_status_t sb_bcast_function_t(sb_team_t *team, uint32_t root, const sb_stream_t *stream);

typedef struct sb_algorithm {
    /* What calls look at comes first, on one line. */
    _Alignas(SB_LINE) const char *name;
    sb_collective_t collective;
    bool on_request; /* never chosen but by name, */
    bool crowded;    /* or where ranks share processors */
    bool over_nodes; /* the name also says what the leaders of nodes do */
    bool swaps;      /* what goes to a rank may lie where as much comes from it, both plain */
    /* Collective: gets the team what the algorithm needs beside its control blocks; NULL: nothing.
     */
    sb_status_t (*prepare)(sb_team_t *team);
    size_t prepare_above; /* messages of more bytes need that; 0: all */
    sb_barrier_function_t *barrier;
    sb_bcast_function_t *bcast;
    sb_parts_function_t *parts;
    sb_reduction_function_t *reduction;

    const char *doc;
    const char *source; /* where it is from */
    unsigned levels;    /* not 0: works on groups of ranks by these levels, of SB_LEVEL_BIT */
    bool unlisted;      /* a variant that the documentation of another stands for */
    bool brackets; /* reduction: in rank order, but of partial results: not from left to right */
    bool reorders; /* reduction: not in rank order; for commutative operators only */
    /* Expected time in nanoseconds: from the shape and the bytes alone, so that all choose alike.
     */
    double (*cost)(const sb_shape_t *shape, size_t bytes);
    const char *former; /* older names, of it or of one that it stands for now, with commas */
} sb_algorithm_t;

_Static_assert(offsetof(sb_algorithm_t, doc) == SB_LINE, "what calls look at is one line");

#define SB_ALGORITHM(collective, name) extern const sb_algorithm_t sb_##collective##_##name;
#include "coll/algorithms.def"
#undef SB_ALGORITHM

static inline bool sb_algorithm_needs_name(const sb_algorithm_t *algorithm, const sb_shape_t *shape)
{
    return algorithm->on_request && !(algorithm->crowded && shape->oversubscribed);
}

/*
 * Gets the team what the algorithm needs for a message of `bytes`. Collective; all get the same
 * outcome: SB_OK, or SB_ERR_UNSUPPORTED: the algorithm cannot serve this team, then and for good.
 */
static inline sb_status_t sb_algorithm_prepare(const sb_algorithm_t *algorithm, sb_team_t *team,
                                               size_t bytes)
{
    bool needless = algorithm->prepare == NULL ||
                    (algorithm->prepare_above > 0 && bytes <= algorithm->prepare_above);

    return needless ? SB_OK : algorithm->prepare(team);
}

/* The first of two outcomes that is not SB_OK. */
static inline sb_status_t sb_first(sb_status_t first, sb_status_t second)
{
    return first == SB_OK ? second : first;
}

/* How often ranks that share processors are busy with their share of the work in turn. */
static inline double sb_cost_crowd(const sb_shape_t *shape)
{
    return sb_max(1, shape->ranks / shape->processors);
}

/*
 * What every algorithm has to pay when ranks outnumber processors: each rank must get a processor
 * `turns` times before the call is complete.
 */
static inline double sb_cost_turns(const sb_shape_t *shape, double turns)
{
    const sb_prices_t *price = shape->prices;
    return shape->oversubscribed ? turns * price->process_switch * shape->ranks / shape->processors
                                 : 0;
}

/* Ranks disagree so far on the bytes that they chose different ways: nothing can follow. So too
 * where a peer has written what cannot be. */
static inline sb_status_t sb_out_of_step(sb_team_t *team)
{
    team->failure = SB_ERR_TRUNCATE;
    return SB_ERR_TRUNCATE;
}

/*
 * Several ranks with a processor each. What steps cost them was simulated; two ranks, and those
 * that share processors, were measured.
 */
static inline bool sb_cost_calm(const sb_shape_t *shape)
{
    return shape->ranks > 2 && !shape->oversubscribed;
}

/* Smallest r with 2^r >= ranks. */
static inline uint32_t sb_rounds(uint32_t ranks)
{
    return ranks < 2 ? 0 : 32 - (uint32_t)__builtin_clz(ranks - 1);
}

/* Smallest d such that a tree of `arity` and depth d holds `ranks`. */
static inline uint32_t sb_tree_depth(uint32_t ranks, uint32_t arity)
{
    uint32_t depth = 0;

    for (uint64_t held = 1, row = 1; held < ranks; depth++) {
        row *= arity;
        held += row;
    }
    return depth;
}

#endif
