/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SIMULATE_H
#define SB_TOOLS_SIMULATE_H

#include "cluster/operations.h"
#include "machine/sim/engine.h"
#include "machine/sim/explore.h"
#include "select/select.h"
#include "tools/mapping.h"
#include "tools/simulate_parts.h"
#include "tools/tool.h"

#include <jansson.h>

/* sobor-simulate runs collectives on a simulated machine and answers in JSON. */

/* A machine as its file describes it. */
typedef struct sb_simulated {
    char *name;
    sb_topology_t *topology;
    sb_sim_machine_t model;
    sb_sim_core_t *cores;
    sb_place_t *core_places; /* of each core: its processors */
} sb_simulated_t;

/* How late ranks come. */
typedef enum sb_arrival_kind {
    SB_ARRIVE_TOGETHER,
    SB_ARRIVE_UNIFORM,
    SB_ARRIVE_NORMAL,
    SB_ARRIVE_EXPONENTIAL,
    SB_ARRIVE_STRAGGLER,
    SB_ARRIVE_TRACE,
} sb_arrival_kind_t;

typedef struct sb_arrival {
    const char *text;
    sb_arrival_kind_t kind;
    uint64_t width;  /* picoseconds */
    uint64_t *trace; /* rows of one delay a rank */
    size_t rows;
    size_t columns;
} sb_arrival_t;

#define SB_SIZES_MOST 64

/* What the options said, or what stands for them. */
typedef struct sb_simulate {
    sb_collective_t collective;
    const char *machine;
    const char *map_name;
    sb_mapping_t mapping; /* inside a node */
    bool dealt;           /* ranks go round the nodes */
    const char *algorithms;
    uint32_t ranks;
    uint32_t nodes;
    size_t sizes[SB_SIZES_MOST];
    size_t size_count;
    sb_counts_t counts;
    bool rotate;
    uint32_t root;
    uint32_t calls;
    uint32_t warmup;
    uint64_t enough; /* ns: an algorithm is left once its median will be more; 0: none is */
    uint64_t seed;
    sb_arrival_t arrival;
    bool noise;
    bool cold;
    bool barriers; /* one before each call */
    bool chained;  /* nothing between calls: the time from one end to the next counts */
    bool placement;
    sb_sim_segment_t segment;
    bool lines;
    const char *timeline;
    bool check; /* look for races, lost wake-ups and the like */
    bool timed; /* not explored: what is checked is the run by the clock */
    sb_explore_options_t explore;
} sb_simulate_t;

/* Reads a machine's file; ends the tool if it cannot be understood. */
void sb_simulated_read(sb_simulated_t *machine, const char *path);
void sb_simulated_free(sb_simulated_t *machine);

/* Reads "none", "uniform:500us", "trace:FILE" and so on; ends the tool if it is none of these. */
void sb_arrival_read(sb_arrival_t *arrival, const char *text);
/* How late the rank comes to the call, in picoseconds. */
uint64_t sb_arrival_delay(const sb_arrival_t *arrival, uint64_t seed, uint32_t rank, uint32_t call);

/*
 * Runs one algorithm with messages of so many bytes; returns an object of the answer. `spanning`:
 * what serves ranks on several nodes, where there are; of the algorithm then only the names count.
 */
json_t *sb_simulate_run(const sb_simulate_t *options, const sb_simulated_t *machine,
                        const sb_algorithm_t *algorithm, const sb_spanning_t *spanning,
                        size_t bytes);

/* The same over several nodes, of all algorithms that are asked for, into `results`. */
void sb_simulate_spanning(const sb_simulate_t *options, const sb_simulated_t *machine, size_t bytes,
                          json_t *results);

/* The node of each rank, its core, and its place there. */
void sb_simulate_place(const sb_simulate_t *options, const sb_simulated_t *machine,
                       sb_place_t *places, uint32_t *nodes, uint32_t *cores);

/* The same as sb_simulate_run for many schedules; the object says how many, and the violations. */
json_t *sb_simulate_explore(const sb_simulate_t *options, const sb_simulated_t *machine,
                            const sb_algorithm_t *algorithm, size_t bytes);

#endif
