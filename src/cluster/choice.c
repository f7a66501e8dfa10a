/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a call is that of its first segment, alone, and for each further one that of the
 * slowest stage: the node's link, or the leader's processor. A step of k messages of g bytes each
 * takes a latency, 2 k times what a message costs a processor, and k g times a byte. Numbers of
 * bytes to try are powers of two.
 */
#include "cluster/choice.h"

#include "cluster/cluster.h"

#include <math.h>

const sb_net_prices_t sb_net_prices_standard = {
    .latency = 1500, .overhead = 500, .byte = 0.08, .eager = 8192};

#define SEGMENT_LEAST ((size_t)1024)
#define WORTH 0.9

/* A message above the eager limit is announced, and asked for. */
static double handshake(const sb_net_prices_t *prices, size_t bytes)
{
    return bytes > prices->eager ? 2 * (prices->latency + prices->overhead) : 0;
}

static double step(const sb_net_prices_t *prices, double messages, size_t bytes)
{
    return prices->latency + handshake(prices, bytes) +
           messages * (2 * prices->overhead + (double)bytes * prices->byte);
}

/* The first segment takes `fill`; of further ones each link and processor has so many messages. */
static double pipelined(const sb_net_prices_t *prices, double fill, size_t segments, size_t bytes,
                        double sent, double handled)
{
    double each = fmax(sent * (double)bytes * prices->byte, handled * prices->overhead);

    return fill + (double)(segments - 1) * each;
}

static size_t segments_of(size_t bytes, size_t segment)
{
    return (bytes + segment - 1) / segment;
}

/* Candidates come with ever shorter segments: one has to save a tenth to be worth the messages. */
static void take_cheaper(sb_schedule_t *way, sb_schedule_t other)
{
    if (way->name == NULL || other.cost < WORTH * way->cost)
        *way = other;
}

/* --- trees --------------------------------------------------------------------------------- */

static double chain_cost(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes,
                         size_t segment)
{
    double fill = (nodes - 1) * step(prices, 1, segment);

    return pipelined(prices, fill, segments_of(bytes, segment), segment, 1, 2);
}

static double binomial_cost(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes,
                            size_t segment)
{
    double rounds = sb_rounds(nodes);

    return pipelined(prices, rounds * step(prices, 1, segment), segments_of(bytes, segment),
                     segment, rounds, rounds);
}

static sb_schedule_t way_of_tree(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes,
                                 sb_program_step_t *chain, sb_program_step_t *binomial)
{
    sb_schedule_t way = {0};

    for (size_t most = SB_SEGMENT_BYTES; most >= SEGMENT_LEAST; most /= 2) {
        size_t segment = sb_min(most, sb_max(bytes, 1));
        take_cheaper(&way, (sb_schedule_t){.name = "binomial",
                                           .write_step = binomial,
                                           .segment = most,
                                           .cost = binomial_cost(nodes, prices, bytes, segment)});
        take_cheaper(&way, (sb_schedule_t){.name = "chain",
                                           .write_step = chain,
                                           .chain = true,
                                           .segment = most,
                                           .cost = chain_cost(nodes, prices, bytes, segment)});
    }
    way.parts = way.lanes = 1;
    return way;
}

size_t sb_segment_of_chain(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes)
{
    size_t best = SB_SEGMENT_BYTES;
    double least = chain_cost(nodes, prices, bytes, sb_min(best, sb_max(bytes, 1)));

    for (size_t segment = best / 2; segment >= SEGMENT_LEAST; segment /= 2) {
        double cost = chain_cost(nodes, prices, bytes, sb_min(segment, sb_max(bytes, 1)));
        if (cost < WORTH * least) {
            least = cost;
            best = segment;
        }
    }
    return best;
}

sb_schedule_t sb_schedule_of_bcast(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes)
{
    return way_of_tree(nodes, prices, bytes, NULL, NULL);
}

sb_schedule_t sb_schedule_of_reduce(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes)
{
    return way_of_tree(nodes, prices, bytes, sb_net_reduce_chain, sb_net_reduce_binomial);
}

/* --- allreduce ----------------------------------------------------------------------------- */

/* Digits of a round: the others of a group all send at once, and what they send has to fit. */
#define DIGITS_MOST 3

/* A lane with less has nothing to do that is worth its messages. */
#define LANE_LEAST ((size_t)SB_LINE)

/* What a node does with a segment before and after the messages, on a processor of today: so many
 * lines that it waits for, and so many copies of each byte. A leader alone has to hand the bytes on
 * once more. */
#define INSIDE_LINES 40
#define INSIDE_COPIES 6
#define LEADER_COPIES 8

/* Of what the lanes of a node have in a segment, each copies and combines as much as it has of the
 * whole: the messages of one go on while the node works on the next, so long ones hide more. */
#define LANES_MOST ((size_t)128 << 10)

/* Where a ring's parts are so long, nothing is taken that sends more bytes than a ring does: the
 * network may have other work. */
#define PART_LONG ((size_t)4096)

typedef struct asked {
    uint32_t nodes;
    uint32_t lanes;
    uint32_t rounds; /* that halve the largest power of two among the nodes */
    const sb_net_prices_t *prices;
    size_t bytes;
} asked_t;

static size_t segment_most(const asked_t *asked)
{
    size_t most = SB_SEGMENT_BYTES * asked->lanes;

    return asked->lanes > 1 ? sb_min(most, LANES_MOST) : most;
}

/* A step in which the lanes of a node send so many bytes together. Each goes on when its own have
 * come, and the link has those of others meanwhile. */
static double step_of(const asked_t *asked, double messages, size_t bytes)
{
    double alone = step(asked->prices, messages, bytes / asked->lanes);

    return fmax(alone, messages * (double)bytes * asked->prices->byte);
}

/* Where N is no power of two some nodes give their bytes to a neighbour, and get the result. */
static double pair_cost(const asked_t *asked, size_t bytes)
{
    return 1u << asked->rounds == asked->nodes ? 0 : 2 * step_of(asked, 1, bytes);
}

static double inside(const asked_t *asked, size_t bytes)
{
    const sb_prices_t *price = &sb_prices_standard;
    double copies = asked->lanes > 1 ? INSIDE_COPIES : LEADER_COPIES;

    return INSIDE_LINES * price->line + copies * price->byte * (double)bytes;
}

/* `one`: of a segment alone, between nodes; `sent`, `handled`: times its bytes that a link has, and
 * messages that a processor has. */
static double course_cost(const asked_t *asked, double one, size_t segment, double sent,
                          double handled)
{
    size_t bytes = sb_min(segment, asked->bytes);
    double within = inside(asked, bytes);
    double each = fmax(within, fmax(sent * (double)bytes * asked->prices->byte,
                                    handled * asked->prices->overhead));

    return within + one + (double)(segments_of(asked->bytes, segment) - 1) * each;
}

static double doubling_cost(const asked_t *asked, size_t bytes, uint32_t digits)
{
    uint32_t rest = asked->rounds % digits;
    double cost = asked->rounds / digits * step_of(asked, (1u << digits) - 1, bytes);

    if (rest > 0)
        cost += step_of(asked, (1u << rest) - 1, bytes);
    return cost + pair_cost(asked, bytes);
}

static void try_doubling(sb_schedule_t *way, const asked_t *asked)
{
    size_t segment = segment_most(asked), bytes = sb_min(segment, asked->bytes);

    for (uint32_t digits = 1; digits <= DIGITS_MOST; digits++) {
        uint32_t others = (1u << digits) - 1;
        if (digits > 1 && others * bytes > segment)
            break;
        double one = doubling_cost(asked, bytes, digits);
        double cost = course_cost(asked, one, segment, asked->rounds, 2.0 * asked->rounds);
        take_cheaper(way, (sb_schedule_t){.name = "recursive-doubling",
                                          .write_step = sb_net_recursive_doubling,
                                          .digits = digits,
                                          .segment = segment,
                                          .cost = cost});
    }
}

static double halving_cost(const asked_t *asked, size_t bytes, uint32_t halvings)
{
    double cost = pair_cost(asked, bytes);

    for (uint32_t k = 0; k < halvings; k++)
        cost += 2 * step_of(asked, 1, bytes >> (k + 1));
    return cost + (asked->rounds - halvings) * step_of(asked, 1, bytes >> halvings);
}

static void try_halvings(sb_schedule_t *way, const asked_t *asked, uint32_t halvings)
{
    double part = 1.0 / (1u << halvings), doublings = asked->rounds - halvings;
    double sent = 2 * (1 - part) + doublings * part + (1u << asked->rounds < asked->nodes);
    double handled = 4.0 * halvings + 2 * doublings;

    for (size_t segment = segment_most(asked); segment >= 4 * SEGMENT_LEAST; segment /= 2) {
        double one = halving_cost(asked, sb_min(segment, asked->bytes), halvings);
        double cost = course_cost(asked, one, segment, sent, handled);
        take_cheaper(way, (sb_schedule_t){.name = "halving",
                                          .write_step = sb_net_halving,
                                          .halvings = halvings,
                                          .digits = 1,
                                          .segment = segment,
                                          .cost = cost});
    }
}

/* Where the last rounds would halve little, each costs two latencies: there doubling costs one. */
static void try_halving(sb_schedule_t *way, const asked_t *asked, bool fewest_bytes)
{
    for (uint32_t halvings = fewest_bytes ? asked->rounds : 1; halvings <= asked->rounds;
         halvings++)
        try_halvings(way, asked, halvings);
}

/* A leader's parts fit the window, so a segment may be longer; of lanes the segment has to. */
static void try_ring(sb_schedule_t *way, const asked_t *asked)
{
    double steps = 2 * ((double)asked->nodes - 1);
    size_t most = asked->lanes > 1 ? segment_most(asked) : SB_SEGMENT_BYTES * asked->nodes;

    for (size_t segment = most; segment >= asked->nodes * SEGMENT_LEAST; segment /= 2) {
        double one = steps * step_of(asked, 1, sb_min(segment, asked->bytes) / asked->nodes);
        double cost = course_cost(asked, one, segment, steps / asked->nodes, 2 * steps);
        take_cheaper(way, (sb_schedule_t){.name = "ring",
                                          .write_step = sb_net_ring,
                                          .parts = asked->nodes,
                                          .segment = segment,
                                          .cost = cost});
    }
}

sb_schedule_t sb_schedule_of_allreduce(uint32_t nodes, uint32_t lanes,
                                       const sb_net_prices_t *prices, size_t bytes,
                                       bool commutative)
{
    asked_t asked = {nodes, lanes, sb_rounds(nodes + 1) - 1, prices, bytes};
    sb_schedule_t way = {0};

    bool whole = 1u << asked.rounds == nodes, ring = nodes > 2 && commutative;
    bool is_long = ring && bytes >= nodes * PART_LONG;

    if (bytes / asked.lanes < LANE_LEAST)
        asked.lanes = 1;
    if (!is_long)
        try_doubling(&way, &asked);
    if (nodes > 2 && (whole || !is_long))
        try_halving(&way, &asked, is_long);
    if (ring)
        try_ring(&way, &asked);
    way.lanes = asked.lanes;
    way.digits = way.digits == 0 ? 1 : way.digits;
    way.parts = way.parts == 0 ? 1 : way.parts;
    return way;
}
