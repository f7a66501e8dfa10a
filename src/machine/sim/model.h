/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_MODEL_H
#define SB_MACHINE_SIM_MODEL_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * A machine as numbers: how its cores stand to each other, and what each step costs. Times are
 * picoseconds in integers, so that a simulation gives the same numbers wherever it runs.
 */

/* Loads, and stores, that a core may have under way. */
#define SB_OVERLAP_MOST 16

/* How far two cores are from each other: the closest unit that holds both. */
typedef enum sb_distance {
    SB_NEAR_CORE,    /* the same core */
    SB_NEAR_L2,      /* a second-level cache */
    SB_NEAR_L3,      /* a third-level cache */
    SB_NEAR_NUMA,    /* a NUMA node */
    SB_NEAR_PACKAGE, /* a package */
    SB_NEAR_MACHINE,
    SB_DISTANCES,
} sb_distance_t;

/* The unit of each kind that a core is in. SB_NEAR_CORE: its own number; SB_NEAR_MACHINE: 0. */
typedef struct sb_sim_core {
    uint32_t unit[SB_DISTANCES];
    uint32_t threads; /* processors of it; 0 stands for 1 */
} sb_sim_core_t;

/* Bandwidths are given as picoseconds for 1 KiB. 0: without limit. */
typedef struct sb_sim_network {
    uint64_t latency;       /* of a message of no bytes */
    uint64_t kib;           /* each KiB more, on a link */
    uint64_t injection_kib; /* all that one node sends, or receives */
    uint64_t overhead;      /* of the processor, for each message sent or received */
    uint64_t eager;         /* so many bytes leave whether or not the receiver is there */
    bool star;              /* one pair of nodes at a time; otherwise pairs do not meet */
} sb_sim_network_t;

typedef struct sb_sim_machine {
    uint32_t nodes; /* machines of this kind, joined by the network */
    uint32_t cores; /* of one node */
    uint32_t numa_nodes;
    uint32_t packages;
    const sb_sim_core_t *core;

    /* A line that is owned by, or has its nearest copy at, a core at that distance;
     * SB_NEAR_CORE: it is in the core's own cache. */
    uint64_t read[SB_DISTANCES];
    /* A line that only memory has; SB_NEAR_NUMA, SB_NEAR_PACKAGE, SB_NEAR_MACHINE. */
    uint64_t memory[SB_DISTANCES];
    /* To write a line of which others have copies, the farthest at that distance. */
    uint64_t invalidate[SB_DISTANCES];
    uint64_t invalidate_per_sharer;      /* for each copy but one */
    uint64_t line_service[SB_DISTANCES]; /* for so long a request occupies its line */
    uint64_t share_service;  /* or its third-level cache, for a core of it; 0: the line */
    uint64_t home_service;   /* and its node's home agent, which serves all its flags */
    uint64_t link_service;   /* and its package's link, if it leaves the package */
    uint64_t store;          /* the core's own time for a store */
    uint64_t atomic_extra;   /* an addition, on a line that the core owns */
    uint64_t read_gap;       /* between two lines that a core asks for */
    uint64_t atomic_crowded; /* more for one that waits for several others */
    uint32_t read_overlap;   /* lines that a core fetches at the same time */
    uint32_t write_overlap;  /* lines that it takes for its stores at the same time */

    /* One core copies from a cache or memory at that distance; SB_NEAR_CORE: its own cache. */
    uint64_t copy_kib[SB_DISTANCES];
    uint64_t copy_start;  /* more for one of many lines that are not all in the core's own cache */
    uint64_t combine_kib; /* it computes; bytes of all sources together */
    uint64_t controller_kib;   /* memory of one NUMA node */
    uint64_t link_package_kib; /* from one NUMA node to another of the same package */
    uint64_t link_machine_kib; /* from one package to another */
    uint64_t l2_bytes;
    uint64_t l3_bytes;
    uint64_t page_bytes;
    uint32_t readahead_pages; /* pages that a first touch places together */

    uint64_t context_switch;
    uint64_t yield;      /* a system call that gives the processor to nobody */
    uint64_t slice;      /* a rank that others wait for is taken off its processor after that */
    uint64_t futex_wait; /* to go to sleep */
    uint64_t futex_wake; /* from the wake-up to the sleeper's next step */
    uint64_t pause;
    uint64_t clock_read;
    uint64_t call;        /* what a call costs before the algorithm begins: see simulate_run.c */
    uint64_t message;     /* what a library of messages does for one at either end; see pairs.h */
    uint64_t noise_every; /* mean time between two stalls of a core; 0: none */
    uint64_t noise_length;

    sb_sim_network_t network;
} sb_sim_machine_t;

#endif
