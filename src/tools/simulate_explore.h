/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SIMULATE_EXPLORE_H
#define SB_TOOLS_SIMULATE_EXPLORE_H

/*
 * Many schedules of a few calls: a team is made, calls its algorithms, checks what they did, and
 * ends. Every access is watched by the race checker.
 */

#include "machine/sim/explore.h"
#include "machine/sim/model.h"
#include "select/select.h"

/* A machine, and where the ranks are on it. */
typedef struct sb_exploration_ground {
    const sb_sim_machine_t *machine;
    const uint32_t *core;     /* of each rank */
    const sb_place_t *places; /* of each rank */
    const sb_topology_t *topology;
    const uint32_t *node; /* of each rank; NULL: 0 */
} sb_exploration_ground_t;

typedef struct sb_exploration {
    uint32_t ranks;
    const sb_exploration_ground_t *ground;   /* NULL: two packages of two NUMA nodes, */
    uint32_t cores;                          /* on so many cores; 0: one for each rank */
    const sb_algorithm_t *const *algorithms; /* the calls take them in turn, */
    size_t algorithm_count;
    const size_t *bytes; /* and the sizes, for those that move data */
    size_t byte_count;
    uint32_t calls;
    uint32_t first_root;
    uint32_t roots;      /* the calls take so many ranks as roots, in turn; 0: all; */
    uint64_t walk;       /* not 0: the walk of this number over all ranks */
    uint64_t start;      /* where the numbers of the team's calls begin */
    uint64_t ring_bytes; /* 0: as set by SOBOR_RING; so for the next two */
    uint64_t fragment_bytes;
    uint32_t tree_arity;
    bool grows;         /* memory for much is made when much comes */
    bool pulls;         /* parts are read out of their senders' memory, watched too */
    bool loads;         /* and by loads: ranks have heaps, */
    bool combine_whole; /* and each of two combines everything; */
    bool halves;        /* an allreduce of two goes in halves, however short; */
    bool streams; /* reductions copy in past the caches; half: of those of even numbers alone */
    uint32_t heap_room;           /* of so many blocks; 0: no end; */
    bool half;                    /* those of odd numbers have none; */
    bool forks;                   /* a thread of each forks, one in each call */
    uint64_t reaches;             /* so many such reads succeed; 0: all */
    bool sleepy;                  /* ranks that lose patience sleep at once */
    uint32_t teams;               /* one after the other; 0: one */
    bool whole;                   /* set-up and end of the team are explored, not only its calls */
    sb_explore_options_t explore; /* its ranks are those above */
} sb_exploration_t;

typedef struct sb_finding {
    uint64_t schedules; /* run */
    uint64_t steps;     /* scheduling points in all of them */
    bool complete;      /* exhaustive, and nothing is left */
    char *violation;    /* the first, in words; NULL: none */
    char *replay;       /* the text that replays it */
} sb_finding_t;

/* False, with `problem` set, if it could not be done at all. */
bool sb_exploration_run(const sb_exploration_t *exploration, sb_finding_t *finding,
                        const char **problem);
void sb_finding_free(sb_finding_t *finding);

#endif
