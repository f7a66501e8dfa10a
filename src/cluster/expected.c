/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expected times of the cluster's own operations. Those with a choice of schedules take its price;
 * the others have one way each, or two by the number of bytes. A node has one link, which carries
 * all bytes that leave it.
 */
#include "cluster/expected.h"

#include "cluster/cost.h"
#include "cluster/lanes.h"
#include "cluster/packed.h"
#include "cluster/program.h"
#include "cluster/reduce.h"

#include <math.h>

/* Lines that a node waits for beside the messages: so many, and for each doubling of its ranks. */
#define INSIDE_LINES 4
#define DOUBLING_LINES 6

/* Into shared memory, and out of it. */
#define COPIES 2
/* Of an allreduce also those that are combined, on the way up and on the way down. */
#define ALLREDUCE_COPIES 6

static double local_ranks(const sb_shape_t *shape)
{
    return (double)shape->ranks / shape->nodes;
}

double sb_copies_expected(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    double copies = COPIES * (double)bytes;

    if (collective == SB_ALLREDUCE)
        copies = ALLREDUCE_COPIES * (double)bytes;
    else if (collective >= SB_ALLGATHER && collective < SB_REDUCE)
        copies *= shape->ranks;
    else if (collective >= SB_SCATTER && collective < SB_REDUCE)
        copies *= local_ranks(shape);
    return copies * shape->prices->byte;
}

/* So many messages one after another, and so many bytes over a link. */
static sb_schedule_t messages(const sb_shape_t *shape, const char *name, double steps, double bytes)
{
    const sb_net_prices_t *net = shape->network;

    return (sb_schedule_t){.name = name,
                           .lanes = 1,
                           .segment = SB_SEGMENT_BYTES,
                           .cost = steps * sb_cost_word(net) + bytes * net->byte};
}

/* Each byte goes once over the links; of short parts all is combined everywhere. */
static sb_schedule_t reduce_scatter(const sb_shape_t *shape, size_t bytes)
{
    uint32_t nodes = shape->nodes, lanes = shape->oversubscribed ? 0 : shape->ranks / nodes;
    sb_schedule_t way = sb_schedule_of_allreduce(nodes, lanes, shape->network, bytes, true);

    if (sb_lanes_suit_parts(&way, nodes, shape->network, shape->ranks, bytes))
        return way;
    if (bytes <= SB_SHORT_SCATTERED * (size_t)shape->ranks)
        return sb_schedule_of_allreduce(nodes, shape->oversubscribed ? 0 : 1, shape->network, bytes,
                                        false);
    way = messages(shape, "trees", 0, 0);
    way.cost = sb_cost_of_part_trees(nodes, shape->network, shape->ranks, bytes);
    return way;
}

static sb_schedule_t allgather(const sb_shape_t *shape, size_t bytes)
{
    double local = local_ranks(shape);
    double all = (double)bytes * (shape->ranks - local);

    return sb_packed_ring_suits(shape->nodes, shape->ranks, bytes)
               ? messages(shape, "ring", shape->nodes - 1, all)
               : messages(shape, "bruck", sb_rounds(shape->nodes), all);
}

/* Of many segments a chain has a message more for each. */
static sb_schedule_t scan(const sb_shape_t *shape, size_t bytes)
{
    size_t segments = sb_divide_up(bytes, SB_SCAN_SEGMENT);
    double rounds = sb_rounds(shape->nodes), size = (double)bytes;

    if (segments < 2 || !sb_net_chain_suits(shape->nodes, segments))
        return messages(shape, "doubling", rounds, rounds * size);
    double before = shape->nodes - 2;
    return messages(shape, "chain", before + (double)segments, before * SB_SCAN_SEGMENT + size);
}

/* Short parts go by lanes, others straight: those messages overlap, but for a processor's part. */
static sb_schedule_t alltoall(const sb_shape_t *shape, size_t bytes)
{
    double local = local_ranks(shape), others = shape->ranks - local;
    double sent = local * others * (double)bytes;

    if (bytes <= SB_SHORT_EXCHANGED) {
        sb_schedule_t way = messages(shape, "lanes", ceil((shape->nodes - 1) / local), sent);
        way.lanes = (uint32_t)local;
        return way;
    }
    sb_schedule_t way = messages(shape, "direct", 1, sent);
    way.cost += 2 * shape->network->overhead * (others - 1);
    return way;
}

static sb_schedule_t between(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    const sb_net_prices_t *net = shape->network;
    uint32_t nodes = shape->nodes, smallest = shape->ranks / nodes, rounds = sb_rounds(nodes);
    double size = (double)bytes, others = shape->ranks - (double)smallest;

    switch (collective) {
    case SB_BARRIER:
        return messages(shape, "dissemination", rounds, 0);
    case SB_BCAST:
        return sb_schedule_of_bcast(nodes, net, bytes);
    case SB_REDUCE:
        return sb_schedule_of_reduce(nodes, net, bytes);
    case SB_ALLREDUCE:
        return sb_schedule_of_allreduce(nodes, shape->oversubscribed ? 0 : smallest, net, bytes,
                                        true);
    case SB_REDUCE_SCATTER:
    case SB_REDUCE_SCATTER_BLOCK:
        return reduce_scatter(shape, bytes);
    case SB_ALLGATHER:
    case SB_ALLGATHERV:
        return allgather(shape, bytes);
    case SB_ALLTOALL:
    case SB_ALLTOALLV:
    case SB_ALLTOALLW:
        return alltoall(shape, bytes);
    case SB_GATHERV:
    case SB_SCATTERV:
        return messages(shape, "letters", 1, others * size);
    case SB_SCAN:
    case SB_EXSCAN:
        return scan(shape, bytes);
    default:
        return messages(shape, "binomial", rounds, others * size);
    }
}

sb_schedule_t sb_schedule_expected(const sb_shape_t *shape, sb_collective_t collective,
                                   size_t bytes)
{
    sb_schedule_t way = between(shape, collective, bytes);
    double lines = INSIDE_LINES + DOUBLING_LINES * sb_rounds((uint32_t)local_ranks(shape));

    if (collective != SB_ALLREDUCE) /* whose schedule knows */
        way.cost += lines * shape->prices->line + sb_copies_expected(shape, collective, bytes);
    return way;
}
