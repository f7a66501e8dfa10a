/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_CHOICE_H
#define SB_CLUSTER_CHOICE_H

#include "base/collectives.h"
#include "cluster/program.h"

/*
 * How a call goes over nodes: what the leaders' program is, and how the bytes are cut. It follows
 * from what all ranks know alike: how many nodes there are, the number of bytes, and what messages
 * cost on the network.
 */

/* Where nothing is known: of a network of today. */
extern const sb_net_prices_t sb_net_prices_standard;

/* Of a call. */
typedef struct sb_schedule {
    const char *name; /* of the program */
    sb_program_step_t *write_step;
    uint32_t halvings, split_digits, digits; /* of the program: sb_program_t */
    bool chain;                              /* a tree of one branch */
    uint32_t partners; /* nodes that a lane has to do with, if all send to all; or 0 */
    uint32_t lanes;    /* ranks of each node that have messages; 1: its leader */
    uint32_t parts;    /* that the program cuts a segment into, alike */
    size_t segment;    /* bytes of a segment */
    double cost;       /* ns between nodes, with those inside that nothing overlaps */
} sb_schedule_t;

/* A broadcast: `name` is "chain" or "binomial"; its program is the operation's own. */
sb_schedule_t sb_schedule_of_bcast(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes);
/* Bytes of a segment that goes down a chain. */
size_t sb_segment_of_chain(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes);
/* A reduction, and each part of a Reduce_scatter. */
sb_schedule_t sb_schedule_of_reduce(uint32_t nodes, const sb_net_prices_t *prices, size_t bytes);
/* `lanes`: at most so many; 0: one, since ranks share processors. */
sb_schedule_t sb_schedule_of_allreduce(uint32_t nodes, uint32_t lanes,
                                       const sb_net_prices_t *prices, size_t bytes,
                                       bool commutative);

/* A Reduce_scatter of so many parts, by a tree for each of them: what it takes, in ns. */
double sb_cost_of_part_trees(uint32_t nodes, const sb_net_prices_t *prices, uint32_t parts,
                             size_t bytes);
/* Whether it goes as this allreduce, by several ranks of each node, of which each keeps its part.
 * That sends each byte twice: where parts are long it does not. */
bool sb_lanes_suit_parts(const sb_schedule_t *way, uint32_t nodes, const sb_net_prices_t *prices,
                         uint32_t parts, size_t bytes);

#endif
