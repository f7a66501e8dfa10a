/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_CLUSTER_CALLS_H
#define SB_TESTS_CLUSTER_CALLS_H

#include "cluster/cluster.h"

/*
 * What the tests of clusters have in common, on the simulated machine and over processes: maps and
 * calls, drawn from a seed alike on all ranks, and the check of what comes of them.
 */

#define RANKS_MOST 16
#define NODES_MOST 6
#define NODE_MOST 3
#define CALLS_MOST 32

/* Who is where. */
typedef struct ground {
    uint32_t ranks;
    uint32_t nodes;
    uint32_t node[RANKS_MOST]; /* of each rank */
    bool barren[NODES_MOST];   /* the node gives no shared memory: a rank there objects to a team */
} ground_t;

/* Blocks, dealt out, or anyhow; sizes alike or not. */
void draw_ground(ground_t *ground, uint64_t seed);
/* So many nodes, each of one to NODE_MOST ranks. */
void draw_nodes(ground_t *ground, uint64_t seed, uint32_t nodes);
void print_ground(const ground_t *ground);

/* What all ranks write to, each in its own place; shared among processes. */
typedef struct board {
    uint64_t entered[RANKS_MOST];          /* barriers */
    uint64_t hash[RANKS_MOST][CALLS_MOST]; /* of the bits that a floating-point sum gave */
} board_t;

typedef struct plan {
    uint64_t seed;
    uint32_t calls;
    size_t most;   /* bytes of a call */
    uint32_t only; /* bit c: operations of collective c; 0: any */
    bool strict;   /* the cluster combines from left to right: float sums are compared to the bit */
    bool exchanges; /* an allgather goes by them */
    bool named;     /* what deals a reduction out inside the nodes */
    board_t *board;
    void (*settled)(void); /* called after each call; NULL: nothing */
} plan_t;

/*
 * Makes the calls; false: something is wrong, and `problem` says what. The cluster has `ranks`.
 */
bool make_calls(sb_cluster_t *cluster, const plan_t *plan, char *problem, size_t room);

/* Whether all ranks got the same bits from every sum. False: `call` is the first that differs. */
bool same_bits(const board_t *board, uint32_t ranks, uint32_t *call);

/* The map is what the ground says. */
bool check_map(const sb_cluster_t *cluster, const ground_t *ground);

#endif
