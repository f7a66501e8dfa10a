/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts and reductions go down and up a tree of nodes. The cost of a call is that of its first
 * segment, alone, and for each further one that of the slowest stage: the node's link, or a
 * processor. Numbers of bytes to try are powers of two.
 */
#include "cluster/cluster.h"
#include "cluster/cost.h"
#include "cluster/reduce.h"

#include <math.h>

const sb_net_prices_t sb_net_prices_standard = {
    .latency = 1500, .overhead = 500, .byte = 0.08, .eager = 8192};

/* The first segment takes `fill`; of further ones each link and processor has so many messages. */
static double pipelined(const sb_net_prices_t *prices, double fill, size_t segments, size_t bytes,
                        double sent, double handled)
{
    double each = fmax(sent * (double)bytes * prices->byte, handled * prices->overhead);

    return fill + (double)(segments - 1) * each;
}

static sb_schedule_t way_of_chain(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes,
                                  size_t most, sb_program_step_t *write_step)
{
    size_t segment = sb_min(most, sb_max(bytes, 1));
    double fill = (nodes - 1) * sb_cost_message(prices, segment);

    return (sb_schedule_t){
        .name = "chain",
        .write_step = write_step,
        .chain = true,
        .segment = most,
        .cost = pipelined(prices, fill, sb_divide_up(bytes, segment), segment, 1, 2)};
}

static double binomial_cost(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes,
                            size_t segment)
{
    double rounds = sb_rounds(nodes);

    return pipelined(prices, rounds * sb_cost_message(prices, segment),
                     sb_divide_up(bytes, segment), segment, rounds, rounds);
}

static sb_schedule_t way_of_tree(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes,
                                 sb_program_step_t *chain, sb_program_step_t *binomial)
{
    sb_schedule_t way = {0};

    for (size_t most = SB_SEGMENT_BYTES; most >= SB_SEGMENT_LEAST; most /= 2) {
        size_t segment = sb_min(most, sb_max(bytes, 1));
        sb_schedule_take(&way,
                         (sb_schedule_t){.name = "binomial",
                                         .write_step = binomial,
                                         .segment = most,
                                         .cost = binomial_cost(nodes, prices, bytes, segment)});
        sb_schedule_take(&way, way_of_chain(nodes, prices, bytes, most, chain));
    }
    way.parts = way.lanes = 1;
    return way;
}

size_t sb_segment_of_chain(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes)
{
    sb_schedule_t way = {0};

    for (size_t most = SB_SEGMENT_BYTES; most >= SB_SEGMENT_LEAST; most /= 2)
        sb_schedule_take(&way, way_of_chain(nodes, prices, bytes, most, NULL));
    return way.segment;
}

sb_schedule_t sb_schedule_of_bcast(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes)
{
    return way_of_tree(nodes, prices, bytes, NULL, NULL);
}

sb_schedule_t sb_schedule_of_reduce(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes)
{
    return way_of_tree(nodes, prices, bytes, sb_net_reduce_chain, sb_net_reduce_binomial);
}

/* Of trees that follow each other about so many are under way at once; for each part a node waits
 * for so many lines, and copies each byte so often. Simulated. */
#define TREES_AT_ONCE 5
#define PART_LINES 20
#define PART_COPIES 2

double sb_cost_of_part_trees(uint32_t nodes, const sb_net_prices_t *prices, uint32_t parts,
                             size_t bytes)
{
    const sb_prices_t *price = &sb_prices_standard;
    double each = (double)sb_min(sb_max(bytes / parts, 1), SB_SEGMENT_BYTES);
    bool chain = sb_net_chain_suits(nodes, sb_divide_up(bytes, SB_SEGMENT_BYTES));
    double way = (chain ? nodes - 1 : sb_rounds(nodes)) * sb_cost_message(prices, (size_t)each);
    double within = PART_LINES * price->line + PART_COPIES * price->byte * each;
    double link = (1 - 1.0 / nodes) * each * prices->byte;

    return (double)bytes / each * fmax(way / TREES_AT_ONCE, link + within) + way;
}

bool sb_lanes_suit_parts(const sb_schedule_t *way, uint32_t nodes, const sb_net_prices_t *prices,
                         uint32_t parts, size_t bytes)
{
    size_t mean = bytes / parts;

    if (way->lanes == 1 || mean > SB_LANED_SCATTERED)
        return false;
    return mean <= SB_SHORT_SCATTERED ||
           way->cost < sb_cost_of_part_trees(nodes, prices, parts, bytes);
}
