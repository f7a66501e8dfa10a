/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_TOPOLOGY_H
#define SB_TOPOLOGY_TOPOLOGY_H

#include "base/compiler.h"
#include "base/status.h"
#include "topology/cpus.h"
#include "topology/processor.h"

#include <stdbool.h>

#include <sched.h>

/*
 * The machine as the team sees it: its levels, and where this process may run. Read once per
 * process, on first use.
 */

/* What several cores share. */
typedef enum sb_level_kind {
    SB_LEVEL_L2,
    SB_LEVEL_L3,
    SB_LEVEL_NUMA,
    SB_LEVEL_PACKAGE,
    SB_LEVEL_TOP, /* not of the machine: the group that joins the leaders of the highest level */
} sb_level_kind_t;

#define SB_LEVELS_MOST SB_LEVEL_TOP

typedef struct sb_unit {
    uint64_t cpus[SB_CPU_WORDS];
    size_t cores;
} sb_unit_t;

typedef struct sb_level {
    sb_level_kind_t kind;
    size_t cores_per_unit; /* of the largest unit */
    size_t count;
    sb_unit_t *units;
} sb_level_t;

typedef struct sb_numa_node {
    uint64_t cpus[SB_CPU_WORDS]; /* none: memory alone; several nodes may have the same ones */
    unsigned os_index;           /* what the system calls it */
} sb_numa_node_t;

/* What there is of each kind; processors that a control group forbids count, except in the last. */
typedef struct sb_topology_counts {
    size_t packages;
    size_t numa_nodes;
    size_t cores;
    size_t pus; /* processors: several in a core with SMT */
    size_t allowed_pus;
} sb_topology_counts_t;

/* A machine. Plain data: whoever reads another one has no more to do with hwloc either. */
typedef struct sb_topology {
    sb_topology_counts_t counts;
    bool here;       /* it is the one that this process runs on */
    char model[128]; /* the processors', as the machine names it or numbers it; or empty */
    sb_processor_t processor;
    uint64_t memory;                  /* bytes in all; 0: not known */
    size_t cache[SB_LEVEL_L3 + 1];    /* bytes of one of that level; 0: none, or not known */
    uint64_t cpus[SB_CPU_WORDS];      /* every processor */
    uint64_t allowed[SB_CPU_WORDS];   /* those that a control group allows */
    sb_numa_node_t *nodes;            /* by logical index */
    sb_level_t level[SB_LEVELS_MOST]; /* each kind by itself, whether it is active or not */
    sb_level_t cores;                 /* or processors, where the machine shows no cores */
} sb_topology_t;

/* Where one process may run. Plain data: ranks exchange it. */
typedef struct sb_place {
    /* Bit i of word w: processor 64 w + i; those past 1023 are left out. Empty: unknown. */
    uint64_t cpus[SB_CPU_WORDS];
    int32_t numa_node;     /* logical index of the NUMA node that holds all of `cpus`, or -1 */
    uint32_t quota_cpus;   /* processors' worth of time the control group grants; 0: no limit */
    uint32_t local_ranks;  /* ranks of the job on this node, as the launcher says; 0: not said */
    uint32_t allowed_cpus; /* processors open to the control group, bound or not; 0: unknown */
} sb_place_t;

/*
 * The topology of this machine, or NULL if it could not be read (logged once).
 */
const sb_topology_t *sb_topology_self(void);

/* Of a machine that was read (topology/read.h); NULL does nothing. */
void sb_topology_close(sb_topology_t *topology);

/* The counts; without a topology, what the system says. */
void sb_topology_count(const sb_topology_t *topology, sb_topology_counts_t *counts);

/* Where this process may run, as it was when this was asked for the first time. */
void sb_place_self(sb_place_t *place);

/*
 * The same, with files read below `root` ("" or, in tests, a folder that stands for /) and on the
 * machine `topology`, which may be NULL.
 */
void sb_place_read(sb_place_t *place, const char *root, const sb_topology_t *topology);

/* Logical index of the smallest NUMA node that holds all of `cpus`, or -1. 0 without a topology. */
int sb_topology_node_of(const sb_topology_t *topology, const uint64_t *cpus);

/*
 * Whether `ranks` processes at `places` have to share processors: more of them than processors in
 * the union of their sets, or in the quota, or, within one of the sets, than the processors of that
 * set. The ranks of the job on this node count too: more of them than the quota, or than the
 * control group's processors (of which a small team bound to cores sees only its own).
 * Follows from `places` alone, so that every member comes to the same answer.
 */
bool sb_places_oversubscribed(const sb_place_t *places, size_t ranks);

/* Processors that the processes at `places` may use together, at least 1. */
size_t sb_places_processors(const sb_place_t *places, size_t ranks);

/*
 * Asks the system to put the pages of [address, address + bytes) on `numa_node` (logical index; -1:
 * no wish). Only advice: placement is verified by sb_topology_pages. Returns SB_ERR_SYSTEM if
 * refused.
 */
sb_status_t sb_topology_prefer(void *address, size_t bytes, int numa_node);

/*
 * Counts the resident pages of [address, address + bytes) per NUMA node, by move_pages in query
 * mode. counts[i] is for logical node i < nodes; pages on other nodes or not resident count in
 * *elsewhere.
 */
sb_status_t sb_topology_pages(const void *address, size_t bytes, size_t *counts, size_t nodes,
                              size_t *elsewhere);

/* Number of NUMA nodes of the machine, at least 1. */
size_t sb_topology_numa_nodes(void);

/* Bytes of memory of the machine divided by its cores. */
uint64_t sb_topology_memory_per_core(void);

/* Bytes of one cache of that level; 0: there is none, or not said. Also without a topology. */
size_t sb_topology_cache(const sb_topology_t *topology, sb_level_kind_t kind);

#endif
