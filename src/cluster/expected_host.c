/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expected times of the flat algorithms that hosts have, of which they are taken to choose the best
 * one. A flat algorithm is rounds in which every rank sends: with ranks in blocks some of them stay
 * inside the nodes, with ranks dealt round the nodes mostly all leave; all ranks of a node share
 * its link. Inside a node they copy as much as the cluster does.
 */
#include "cluster/expected.h"

#include "cluster/cluster.h"
#include "cluster/cost.h"

#include <math.h>

/* Lines that a message inside a node is waited for, beside what its sender has to do. */
#define NEAR_LINES 4

typedef struct flat {
    const sb_shape_t *shape;
    double ranks;
    double nodes;
    double local;  /* ranks of a node */
    double rounds; /* that double a number of ranks to all, */
    double far;    /* of which so many leave the node, */
    double near;   /* and so many do not */
    double bytes;
    sb_schedule_t best;
} flat_t;

/* So many messages over the network and inside nodes, one after another, and bytes of a link. */
static void offer(flat_t *flat, const char *name, double far, double near, double bytes)
{
    const sb_net_prices_t *net = flat->shape->network;
    double inside = NEAR_LINES * flat->shape->prices->line + net->overhead;
    double cost = far * sb_cost_word(net) + near * inside + bytes * net->byte;

    if (flat->best.name == NULL || cost < flat->best.cost)
        flat->best = (sb_schedule_t){.name = name, .lanes = 1, .cost = cost};
}

/* Ranks of a node that send to another one at a time, where all go by the order of ranks. */
static double senders(const flat_t *flat)
{
    return flat->shape->scattered ? flat->local : 1;
}

static void offer_bcast(flat_t *flat)
{
    double m = flat->bytes;
    double tree = flat->shape->scattered ? flat->local : flat->far;

    offer(flat, "binomial", flat->far, flat->near, tree * m);
    offer(flat, "ring", flat->far + flat->nodes, flat->ranks, (1 + senders(flat)) * m);
    offer(flat, "chain", flat->nodes, flat->ranks,
          senders(flat) * m + (flat->nodes - 1) * fmin(m, SB_SEGMENT_BYTES));
}

/* Of all bytes in each round: of a scan too, and of a barrier, which has none. */
static void offer_doubling(flat_t *flat)
{
    offer(flat, "recursive-doubling", flat->far, flat->near, flat->far * flat->local * flat->bytes);
}

/* Halving and doubling with near partners first: in blocks what leaves the node is short by then.
 */
static void offer_allreduce(flat_t *flat)
{
    double bytes = senders(flat) * (1 - 1 / flat->nodes) * flat->bytes;

    offer_doubling(flat);
    offer(flat, "rabenseifner", 2 * flat->far, 2 * flat->near, 2 * bytes);
}

static void offer_reduce(flat_t *flat)
{
    offer_bcast(flat);
    offer_allreduce(flat);
}

static void offer_reduce_scatter(flat_t *flat)
{
    double bytes = senders(flat) * (1 - 1 / flat->nodes) * flat->bytes;

    offer(flat, "halving", flat->far, flat->near, bytes);
}

static void offer_rooted(flat_t *flat)
{
    double all = (flat->ranks - flat->local) * flat->bytes;

    offer(flat, "binomial", flat->far, flat->near, all);
}

/* A root that has a message with each rank: they overlap, but for its processor's part. */
static void offer_linear(flat_t *flat)
{
    double others = flat->ranks - flat->local;

    offer(flat, "linear", 1, flat->local, others * flat->bytes);
    flat->best.cost += 2 * flat->shape->network->overhead * (others - 1);
}

static void offer_allgather(flat_t *flat)
{
    double own = flat->local * flat->bytes, dealt = flat->shape->scattered;
    double doubling = dealt ? flat->nodes - 1 : flat->ranks - flat->local;

    offer(flat, "recursive-doubling", flat->far, flat->near, doubling * own);
    offer(flat, "bruck", flat->rounds, 0, (flat->ranks - 1) * own);
    offer(flat, "ring", flat->ranks - 1, 0, senders(flat) * (flat->ranks - 1) * flat->bytes);
}

static void offer_alltoall(flat_t *flat)
{
    double others = flat->ranks - flat->local, own = flat->local * flat->bytes;
    double waits = 2 * flat->shape->network->overhead / sb_cost_word(flat->shape->network);

    offer(flat, "pairwise", 1 + waits * (others - 1), flat->local, others * own);
    offer(flat, "bruck", flat->rounds, 0, flat->rounds * flat->ranks / 2 * own);
}

sb_schedule_t sb_host_expected(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    static void (*const offers[SB_COLLECTIVES])(flat_t *) = {
        [SB_BARRIER] = offer_doubling,
        [SB_BCAST] = offer_bcast,
        [SB_SCATTER] = offer_rooted,
        [SB_SCATTERV] = offer_linear,
        [SB_GATHER] = offer_rooted,
        [SB_GATHERV] = offer_linear,
        [SB_ALLGATHER] = offer_allgather,
        [SB_ALLGATHERV] = offer_allgather,
        [SB_ALLTOALL] = offer_alltoall,
        [SB_ALLTOALLV] = offer_alltoall,
        [SB_ALLTOALLW] = offer_alltoall,
        [SB_REDUCE] = offer_reduce,
        [SB_ALLREDUCE] = offer_allreduce,
        [SB_REDUCE_SCATTER] = offer_reduce_scatter,
        [SB_REDUCE_SCATTER_BLOCK] = offer_reduce_scatter,
        [SB_SCAN] = offer_doubling,
        [SB_EXSCAN] = offer_doubling,
    };
    flat_t flat = {.shape = shape,
                   .ranks = shape->ranks,
                   .nodes = shape->nodes,
                   .local = (double)shape->ranks / shape->nodes,
                   .rounds = sb_rounds(shape->ranks),
                   .far = sb_rounds(shape->nodes),
                   .near = sb_rounds(shape->ranks) - (double)sb_rounds(shape->nodes),
                   .bytes = (double)bytes};

    offers[collective](&flat);
    flat.best.cost += sb_copies_expected(shape, collective, bytes);
    return flat.best;
}
