/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm under many schedules: a few calls at 2, 3, 5, 8 and 17 ranks, in scenarios that
 * soon come to where slots and rings are used again and numbers pass a power of two.
 *
 *   suite [--algorithm NAME] [--schedules N] [--seed N] [--ranks N] [--roots R] [--expect TEXT]
 *
 * `--schedules`: of each algorithm, at each number of ranks, but a tenth as many at 17 if the form
 * is not the long one; `--moving N`: at most N of those that move parts or reduce, and two fifths
 * of them if the form is not the long one. With --expect a violation must be found whose report
 * contains TEXT, and its replay must find the same.
 */
#include "../long_form.h"

#include "baseline/baseline.h"
#include "tools/simulate_explore.h"

#include "coll/barrier/barrier.h"
#include "coll/bcast/bcast.h"
#include "coll/reduction/reduction.h"
#include "coll/vector/vector.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_RANKS 8
#define NEAR_2_32 (((uint64_t)1 << 32) - 2)

/* One way to use algorithms. */
typedef struct scenario {
    const char *name;
    const sb_algorithm_t *algorithms[8]; /* the first is what it is about; in turn */
    size_t bytes[4];
    uint32_t calls;
    uint64_t start;
    uint64_t ring_bytes;
    uint32_t tree_arity;
    bool crowded; /* ranks share processors */
    bool sleepy;  /* ranks that lose patience sleep at once */
    bool grows;   /* rings begin as their near parts */
    bool pulls;   /* parts are pulled out of their senders' memory: of the algorithms that can */
    bool loads;   /* and by loads: ranks have heaps, */
    bool combine_whole; /* and each of two combines everything; */
    bool halves;        /* an allreduce of two goes in halves */
    bool streams;       /* reductions copy in past the caches, half: even numbers do */
    uint32_t heap_room; /* of so many blocks; 0: no end; */
    bool half;          /* those of odd numbers have none; */
    bool forks;         /* a thread of each forks, one in each call */
    uint64_t reaches;   /* so many of these copies succeed; 0: all */
    bool whole;         /* set-up and end too, of two teams */
    uint32_t weight;
    uint32_t most_ranks; /* 0: any */
    uint32_t roots;      /* 0: all */
    uint32_t first_root;
    uint64_t walk; /* not 0: roots of the walk of this number */
} scenario_t;

#define FLAT &sb_barrier_flat
#define DISSEMINATION &sb_barrier_dissemination
#define TREE &sb_barrier_tree
#define COUNTER &sb_barrier_counter
#define SLOTS &sb_bcast_slots
#define RING &sb_bcast_ring
#define NEWS &sb_bcast_tree
#define RELAY &sb_bcast_numa_relay
#define PARTS_RELAY &sb_allgatherv_numa_relay

/* Loads read parts until their owners fork, while arenas are full, or where odd ranks have none. */
#define LOADS_END(arity, ...)                                                                      \
    {.name = "forked",                                                                             \
     .bytes = {__VA_ARGS__},                                                                       \
     .calls = 4,                                                                                   \
     .ring_bytes = 1024,                                                                           \
     .tree_arity = (arity),                                                                        \
     .pulls = true,                                                                                \
     .loads = true,                                                                                \
     .forks = true,                                                                                \
     .weight = 2,                                                                                  \
     .most_ranks = 5},                                                                             \
        {.name = "forked, refused",                                                                \
         .bytes = {__VA_ARGS__},                                                                   \
         .calls = 4,                                                                               \
         .ring_bytes = 1024,                                                                       \
         .pulls = true,                                                                            \
         .loads = true,                                                                            \
         .forks = true,                                                                            \
         .reaches = 2,                                                                             \
         .weight = 1,                                                                              \
         .most_ranks = 5},                                                                         \
        {.name = "full",                                                                           \
         .bytes = {__VA_ARGS__},                                                                   \
         .calls = 4,                                                                               \
         .ring_bytes = 1024,                                                                       \
         .pulls = true,                                                                            \
         .loads = true,                                                                            \
         .heap_room = 2,                                                                           \
         .weight = 1,                                                                              \
         .most_ranks = 5},                                                                         \
    {                                                                                              \
        .name = "half", .bytes = {__VA_ARGS__}, .calls = 3, .ring_bytes = 1024, .pulls = true,     \
        .loads = true, .half = true, .forks = true, .weight = 1, .most_ranks = 5                   \
    }

/* Of every barrier; */
static const scenario_t of_barriers[] = {
    {.name = "wide", .calls = 3, .start = NEAR_2_32, .tree_arity = 4, .weight = 1},
    {.name = "crowded", .calls = 2, .tree_arity = 2, .crowded = true, .weight = 1},
    {.name = "asleep", .calls = 2, .tree_arity = 3, .sleepy = true, .weight = 1},
};

/* of every broadcast; */
static const scenario_t of_bcasts[] = {
    {.name = "sizes",
     .bytes = {300, 8, 49},
     .calls = 3,
     .start = 13,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .weight = 2},
    {.name = "rings",
     .bytes = {1500, 64},
     .calls = 3,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .tree_arity = 3,
     .crowded = true,
     .weight = 2},
    {.name = "growing",
     .bytes = {9000, 600, 5000},
     .calls = 7,
     .ring_bytes = (size_t)128 << 10,
     .tree_arity = 2,
     .grows = true,
     .weight = 1,
     .most_ranks = 5},
    {.name = "pulled",
     .bytes = {1500, 300},
     .calls = 3,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .pulls = true,
     .weight = 2,
     .most_ranks = 8},
    {.name = "refused",
     .bytes = {700, 1500},
     .calls = 4,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .pulls = true,
     .reaches = 2,
     .weight = 2,
     .most_ranks = 8},
    {.name = "loaded",
     .bytes = {1500, 300},
     .calls = 3,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .pulls = true,
     .loads = true,
     .weight = 1,
     .most_ranks = 5},
    LOADS_END(2, 1500, 300),
};

/* of every operation that moves parts; */
static const scenario_t of_parts[] = {
    {.name = "sizes",
     .bytes = {300, 8, 49, 1},
     .calls = 4,
     .ring_bytes = 1024,
     .weight = 2,
     .most_ranks = 8},
    {.name = "areas",
     .bytes = {1500, 600},
     .calls = 2,
     .ring_bytes = 1024,
     .crowded = true,
     .weight = 2},
    {.name = "again",
     .bytes = {5, 49},
     .calls = 11,
     .ring_bytes = 48 << 10,
     .crowded = true,
     .weight = 1,
     .most_ranks = 3},
    {.name = "annexes",
     .bytes = {700, 250, 1500},
     .calls = 11,
     .ring_bytes = 24 << 10,
     .weight = 1,
     .most_ranks = 3},
    {.name = "round",
     .bytes = {8200, 8220},
     .calls = 2,
     .ring_bytes = (size_t)192 << 10,
     .crowded = true,
     .weight = 1,
     .most_ranks = 3},
    {.name = "asleep",
     .bytes = {700, 20},
     .calls = 2,
     .ring_bytes = 1024,
     .sleepy = true,
     .weight = 1,
     .most_ranks = 5},
    {.name = "pulled",
     .bytes = {300, 700, 49},
     .calls = 3,
     .ring_bytes = 1024,
     .pulls = true,
     .weight = 2,
     .most_ranks = 8},
    {.name = "refused",
     .bytes = {700, 300},
     .calls = 4,
     .ring_bytes = 1024,
     .pulls = true,
     .reaches = 2,
     .weight = 2,
     .most_ranks = 8},
    {.name = "loaded",
     .bytes = {300, 700, 49},
     .calls = 3,
     .ring_bytes = 1024,
     .pulls = true,
     .loads = true,
     .weight = 1,
     .most_ranks = 5},
    LOADS_END(0, 300, 700, 49),
};

/* of every reduction; */
static const scenario_t of_reductions[] = {
    {.name = "sizes",
     .bytes = {304, 8, 49, 1},
     .calls = 4,
     .start = 13,
     .ring_bytes = 1024,
     .weight = 2,
     .most_ranks = 8},
    {.name = "again",
     .bytes = {1600, 7, 5000},
     .calls = 3,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .crowded = true,
     .weight = 2,
     .most_ranks = 8},
    {.name = "rounds",
     .bytes = {1600, 7, 5000},
     .calls = 3,
     .ring_bytes = 1024,
     .weight = 1,
     .most_ranks = 3},
    {.name = "slots", .bytes = {8}, .calls = 40, .start = 3, .weight = 1, .most_ranks = 3},
    {.name = "asleep",
     .bytes = {720, 20},
     .calls = 2,
     .ring_bytes = 1024,
     .sleepy = true,
     .weight = 1,
     .most_ranks = 5},
    {.name = "many", .bytes = {24, 600}, .calls = 2, .ring_bytes = 1024, .weight = 1},
    {.name = "loaded",
     .bytes = {4800, 7, 6000},
     .calls = 3,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .pulls = true,
     .loads = true,
     .weight = 2,
     .most_ranks = 5},
    {.name = "whole",
     .bytes = {4800, 7, 6000},
     .calls = 4,
     .ring_bytes = 1024,
     .pulls = true,
     .loads = true,
     .combine_whole = true,
     .forks = true,
     .weight = 2,
     .most_ranks = 2},
    {.name = "streamed",
     .bytes = {4800, 7, 6000},
     .calls = 4,
     .ring_bytes = 1024,
     .streams = true,
     .weight = 2,
     .most_ranks = 3},
    {.name = "streamed at once",
     .bytes = {4800, 7, 6000},
     .calls = 4,
     .ring_bytes = 128 << 10,
     .streams = true,
     .weight = 2,
     .most_ranks = 2},
    {.name = "half streamed",
     .bytes = {4800, 7, 6000},
     .calls = 4,
     .ring_bytes = 1024,
     .streams = true,
     .half = true,
     .weight = 1,
     .most_ranks = 2},
    LOADS_END(0, 4800, 7, 6000),
};

/* and of some in particular. */
static const scenario_t particular[] = {
    {.name = "short",
     .algorithms = {SLOTS},
     .bytes = {13, 240, 49},
     .calls = 3,
     .start = 14,
     .weight = 3},
    {.name = "pieces",
     .algorithms = {SLOTS},
     .bytes = {1000, 8},
     .calls = 2,
     .start = NEAR_2_32,
     .crowded = true,
     .weight = 2},
    {.name = "all slots", .algorithms = {SLOTS}, .bytes = {240 * 18, 5}, .calls = 2, .weight = 1},
    {.name = "fragments",
     .algorithms = {RING},
     .bytes = {1500, 9},
     .calls = 2,
     .start = 1024 - 128,
     .ring_bytes = 1024,
     .weight = 1},
    {.name = "rings",
     .algorithms = {RING},
     .bytes = {700, 64, 3},
     .calls = 3,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .crowded = true,
     .weight = 1},
    {.name = "parts",
     .algorithms = {RELAY},
     .bytes = {5000, 300},
     .calls = 2,
     .start = 16384 - 128,
     .ring_bytes = 32768,
     .tree_arity = 2,
     .weight = 2},
    {.name = "halves",
     .algorithms = {&sb_allreduce_rings},
     .bytes = {1600, 16, 5000, 999},
     .calls = 6,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .halves = true,
     .weight = 2,
     .most_ranks = 2},
    {.name = "halves between",
     .algorithms = {&sb_allreduce_rings, &sb_reduce_rings, &sb_scan_rings},
     .bytes = {5000, 304},
     .calls = 8,
     .ring_bytes = 4096,
     .halves = true,
     .weight = 2,
     .most_ranks = 2},
    {.name = "ways",
     .algorithms = {&sb_allreduce_rings},
     .bytes = {32 << 10},
     .calls = 24,
     .weight = 1,
     .most_ranks = 2},
    {.name = "ways",
     .algorithms = {&sb_allreduce_reduce_scatter_allgather, &sb_reduce_rings},
     .bytes = {32 << 10},
     .calls = 120,
     .pulls = true,
     .loads = true,
     .weight = 1,
     .most_ranks = 2},
    {.name = "ways",
     .algorithms = {&sb_reduce_scatter_block_reduce_scatter_allgather, &sb_reduce_scatter_rings,
                    &sb_reduce_rings},
     .bytes = {64 << 10},
     .calls = 54,
     .pulls = true,
     .loads = true,
     .weight = 1,
     .most_ranks = 2},
    {.name = "filling",
     .algorithms = {&sb_reduce_scatter_reduce_scatter_allgather},
     .bytes = {64 << 10},
     .calls = 24,
     .pulls = true,
     .loads = true,
     .heap_room = 18,
     .weight = 1,
     .most_ranks = 2},
    {.name = "phases",
     .algorithms = {&sb_reduce_scatter_block_rings},
     .bytes = {64 << 10, 96 << 10},
     .calls = 8,
     .weight = 1,
     .most_ranks = 2},
    {.name = "halves",
     .algorithms = {&sb_reduce_scatter_block_rings, &sb_allreduce_rings, &sb_reduce_rings},
     .bytes = {1600, 16, 5000, 999},
     .calls = 12,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .halves = true,
     .weight = 2,
     .most_ranks = 2},
    {.name = "filling",
     .algorithms = {&sb_allreduce_reduce_scatter_allgather},
     .bytes = {32 << 10},
     .calls = 64,
     .pulls = true,
     .loads = true,
     .heap_room = 96,
     .weight = 1,
     .most_ranks = 2},
    {.name = "batches",
     .algorithms = {&sb_reduce_k_ary_tree},
     .bytes = {4000, 20, 17000},
     .calls = 6,
     .weight = 1,
     .most_ranks = 8},
    {.name = "batches",
     .algorithms = {&sb_reduce_scatter_k_ary_tree},
     .bytes = {20, 17000},
     .calls = 4,
     .weight = 1,
     .most_ranks = 8},
    {.name = "lent",
     .algorithms = {&sb_reduce_rings},
     .bytes = {1600, 7, 9000},
     .calls = 4,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .pulls = true,
     .weight = 2,
     .most_ranks = 8},
    {.name = "not lent",
     .algorithms = {&sb_reduce_rings},
     .bytes = {9000, 700},
     .calls = 4,
     .ring_bytes = 1024,
     .pulls = true,
     .reaches = 2,
     .weight = 2,
     .most_ranks = 8},
    {.name = "rows",
     .algorithms = {&sb_alltoallv_direct},
     .bytes = {600, 8, 5000, 48},
     .calls = 12,
     .ring_bytes = 48 << 10,
     .crowded = true,
     .weight = 2,
     .most_ranks = 4},
    {.name = "rows past caches",
     .algorithms = {&sb_alltoallv_direct},
     .bytes = {1500},
     .calls = 14,
     .ring_bytes = 48 << 10,
     .crowded = true,
     .weight = 1,
     .most_ranks = 3},
    {.name = "lagging",
     .algorithms = {PARTS_RELAY},
     .bytes = {8, 1600},
     .calls = 2,
     .ring_bytes = 1024,
     .crowded = true,
     .weight = 1,
     .most_ranks = 8},
    {.name = "binary",
     .algorithms = {NEWS},
     .bytes = {13, 240, 48},
     .calls = 3,
     .start = 14,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .weight = 4},
    {.name = "wide",
     .algorithms = {NEWS},
     .bytes = {1300, 100},
     .calls = 2,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .tree_arity = 4,
     .crowded = true,
     .weight = 3},
    {.name = "chain",
     .algorithms = {NEWS},
     .bytes = {5, 600},
     .calls = 2,
     .start = 15,
     .ring_bytes = 1024,
     .tree_arity = 1,
     .weight = 2},
    {.name = "two roots",
     .algorithms = {NEWS},
     .bytes = {8},
     .calls = 22,
     .start = 3,
     .ring_bytes = 1024,
     .tree_arity = 3,
     .roots = 2,
     .weight = 1,
     .most_ranks = 8},
    {.name = "slots of all",
     .algorithms = {NEWS, &sb_reduce_slots, &sb_scan_k_ary_tree, SLOTS, &sb_reduce_k_ary_tree,
                    &sb_allreduce_slots, &sb_reduce_scatter_k_ary_tree, &sb_exscan_slots},
     .bytes = {8, 300, 48},
     .calls = 24,
     .start = NEAR_2_32,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .weight = 2,
     .most_ranks = 5},
    {.name = "flows of all",
     .algorithms = {&sb_gatherv_direct, &sb_scatterv_direct, &sb_alltoallv_direct,
                    &sb_allgatherv_direct, &sb_gather_direct, &sb_scatter_direct},
     .bytes = {700, 20, 300, 1500},
     .calls = 14,
     .ring_bytes = 4096,
     .weight = 2,
     .most_ranks = 3},
    {.name = "flows of all, pulled",
     .algorithms = {&sb_scatterv_direct, &sb_gatherv_direct, &sb_alltoallv_direct,
                    &sb_allgatherv_direct, &sb_gather_direct, &sb_scatter_direct},
     .bytes = {700, 20, 300, 1500},
     .calls = 14,
     .ring_bytes = 4096,
     .pulls = true,
     .reaches = 9,
     .weight = 2,
     .most_ranks = 3},
    {.name = "workspace of all",
     .algorithms = {&sb_reduce_rings, &sb_allreduce_rings, &sb_scan_rings, &sb_reduce_scatter_rings,
                    &sb_allreduce_reduce_scatter_allgather, &sb_reduce_scatter_dealt,
                    &sb_reduce_k_ary_tree, &sb_exscan_rings},
     .bytes = {1600, 16, 5000},
     .calls = 16,
     .ring_bytes = 4096,
     .pulls = true,
     .reaches = 5,
     .weight = 2,
     .most_ranks = 3},
    {.name = "all",
     .algorithms = {NEWS, FLAT, SLOTS, DISSEMINATION, RING, TREE, COUNTER,
                    &sb_bcast_numa_pipelined},
     .bytes = {300, 20, 260},
     .calls = 8,
     .start = 13,
     .ring_bytes = 1024,
     .tree_arity = 2,
     .whole = true,
     .weight = 1,
     .most_ranks = 5},
};

typedef struct settings {
    const char *algorithm; /* as COLLECTIVE/NAME; NULL: all */
    const char *expect;
    const char *scenario; /* NULL: all */
    const char *replay;   /* one schedule of one scenario */
    const char *roots;    /* as a report has them; NULL: all ways */
    uint64_t schedules;
    uint64_t moving; /* at most so many where parts are moved, which takes longer; 0: no limit */
    uint64_t seed;
    uint32_t ranks; /* 0: all */
    bool exhaustive;
    uint32_t part; /* of the algorithms, dealt out to so many parts */
    uint32_t parts;
} settings_t;

/* Schedules are dealt out to these. */
static const struct {
    sb_explore_mode_t mode;
    bool relaxed;
    uint32_t weight;
} modes[] = {
    {SB_EXPLORE_RANDOM, true, 2},
    {SB_EXPLORE_PCT, true, 1},
    {SB_EXPLORE_RANDOM, false, 1},
};

static size_t count_algorithms(const scenario_t *scenario)
{
    size_t count = 0;

    while (count < SB_COUNT_OF(scenario->algorithms) && scenario->algorithms[count] != NULL)
        count++;
    return count;
}

static size_t count_bytes(const scenario_t *scenario)
{
    size_t count = 0;

    while (count < SB_COUNT_OF(scenario->bytes) && scenario->bytes[count] != 0)
        count++;
    return count;
}

static sb_exploration_t exploration_of(const scenario_t *scenario, uint32_t ranks,
                                       const sb_explore_options_t *explore)
{
    return (sb_exploration_t){
        .ranks = ranks,
        .cores = scenario->crowded ? (ranks + 1) / 2 : 0,
        .algorithms = scenario->algorithms,
        .algorithm_count = count_algorithms(scenario),
        .bytes = scenario->bytes,
        .byte_count = count_bytes(scenario),
        .calls = scenario->calls,
        .first_root = scenario->first_root,
        .roots = scenario->roots,
        .walk = scenario->walk,
        .start = scenario->start,
        .ring_bytes = scenario->ring_bytes,
        .fragment_bytes = scenario->ring_bytes / 4,
        .tree_arity = scenario->tree_arity,
        .grows = scenario->grows,
        .pulls = scenario->pulls,
        .reaches = scenario->reaches,
        .loads = scenario->loads,
        .combine_whole = scenario->combine_whole,
        .halves = scenario->halves,
        .streams = scenario->streams,
        .heap_room = scenario->heap_room,
        .half = scenario->half,
        .forks = scenario->forks,
        .sleepy = scenario->sleepy,
        .teams = scenario->whole ? 2 : 1,
        .whole = scenario->whole,
        .explore = *explore,
    };
}

static bool run(const scenario_t *scenario, uint32_t ranks, const sb_explore_options_t *explore,
                sb_finding_t *finding)
{
    const char *problem;
    sb_exploration_t exploration = exploration_of(scenario, ranks, explore);

    if (sb_exploration_run(&exploration, finding, &problem))
        return true;
    fprintf(stderr, "suite: %s\n", problem);
    exit(2);
}

/* The text of a schedule must lead to the same report. */
static bool replays(const scenario_t *scenario, uint32_t ranks, const sb_finding_t *finding)
{
    sb_explore_options_t explore = {.mode = SB_EXPLORE_REPLAY, .replay = finding->replay};
    sb_finding_t again;

    run(scenario, ranks, &explore, &again);
    bool same = again.violation != NULL && strcmp(again.violation, finding->violation) == 0;
    if (!same)
        fprintf(stderr, "the replay %s finds: %s\n", finding->replay,
                again.violation == NULL ? "nothing" : again.violation);
    sb_finding_free(&again);
    return same;
}

typedef enum outcome { CLEAN, FOUND, WRONG } outcome_t;

/* Words of which one must be there, with "|" between. */
static bool is_expected(const char *expect, const char *text)
{
    for (;;) {
        size_t length = strcspn(expect, "|");
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)length, expect);
        if (strstr(text, word) != NULL)
            return true;
        if (expect[length] == '\0')
            return false;
        expect += length + 1;
    }
}

static void describe_roots(const scenario_t *scenario, char *text, size_t size)
{
    if (scenario->walk != 0)
        snprintf(text, size, "walk:%" PRIu64, scenario->walk);
    else if (scenario->roots == 1)
        snprintf(text, size, "%" PRIu32, scenario->first_root);
    else
        snprintf(text, size, "turn");
}

static outcome_t judge(const settings_t *settings, const scenario_t *scenario, uint32_t ranks,
                       const sb_finding_t *finding)
{
    char roots[32];

    if (finding->violation == NULL)
        return CLEAN;
    const sb_algorithm_t *algorithm = scenario->algorithms[0];
    describe_roots(scenario, roots, sizeof roots);
    printf("%s, %s, %" PRIu32 " ranks, schedule %" PRIu64 ":\n%s  replay: sim_suite --algorithm "
           "%s/%s --scenario \"%s\" --roots %s --ranks %" PRIu32 " --replay %s\n",
           algorithm->name, scenario->name, ranks, finding->schedules, finding->violation,
           sb_collective_name(algorithm->collective), algorithm->name, scenario->name, roots, ranks,
           finding->replay);
    if (!replays(scenario, ranks, finding) || settings->expect == NULL)
        return WRONG;
    if (is_expected(settings->expect, finding->violation))
        return FOUND;
    printf("expected a report with: %s\n", settings->expect);
    return WRONG;
}

/* The scenarios of one algorithm at a number of ranks. */
typedef struct plan {
    scenario_t scenarios[20];
    size_t count;
    uint32_t weight; /* of all */
} plan_t;

static bool can_pull(const sb_algorithm_t *algorithm)
{
    return strcmp(algorithm->name, "direct") == 0 || algorithm == RING || algorithm == NEWS ||
           algorithm == &sb_reduce_rings ||
           strcmp(algorithm->name, "reduce-scatter-allgather") == 0;
}

static void add_scenario(plan_t *plan, const scenario_t *scenario, uint32_t ranks)
{
    bool able = !scenario->pulls || can_pull(scenario->algorithms[0]);

    if (!able || (scenario->most_ranks != 0 && ranks > scenario->most_ranks))
        return;
    plan->scenarios[plan->count++] = *scenario;
    plan->weight += scenario->weight;
}

static plan_t plan_of(const sb_algorithm_t *algorithm, uint32_t ranks)
{
    bool barrier = algorithm->collective == SB_BARRIER;
    const scenario_t *general = barrier                        ? of_barriers
                                : algorithm->parts != NULL     ? of_parts
                                : algorithm->reduction != NULL ? of_reductions
                                                               : of_bcasts;
    size_t count = barrier                        ? SB_COUNT_OF(of_barriers)
                   : algorithm->parts != NULL     ? SB_COUNT_OF(of_parts)
                   : algorithm->reduction != NULL ? SB_COUNT_OF(of_reductions)
                                                  : SB_COUNT_OF(of_bcasts);
    plan_t plan = {.count = 0};

    for (size_t i = 0; i < count; i++) {
        scenario_t scenario = general[i];
        scenario.algorithms[0] = algorithm;
        add_scenario(&plan, &scenario, ranks);
    }
    for (size_t i = 0; i < SB_COUNT_OF(particular); i++) {
        if (particular[i].algorithms[0] == algorithm)
            add_scenario(&plan, &particular[i], ranks);
    }
    return plan;
}

static outcome_t replay(const settings_t *settings, const scenario_t *scenario, uint32_t ranks)
{
    sb_explore_options_t explore = {.mode = SB_EXPLORE_REPLAY, .replay = settings->replay};
    sb_finding_t finding;

    run(scenario, ranks, &explore, &finding);
    outcome_t outcome = judge(settings, scenario, ranks, &finding);
    sb_finding_free(&finding);
    return outcome;
}

/* So many schedules of the scenario, in all modes. */
static outcome_t run_roots(const settings_t *settings, const scenario_t *scenario, uint32_t ranks,
                           uint64_t schedules, uint64_t seed)
{
    outcome_t outcome = CLEAN;
    char roots[32];

    describe_roots(scenario, roots, sizeof roots);
    if (settings->roots != NULL && strcmp(settings->roots, roots) != 0)
        return CLEAN;
    if (settings->replay != NULL)
        return replay(settings, scenario, ranks);
    for (size_t i = 0; i < SB_COUNT_OF(modes) && outcome == CLEAN; i++) {
        if (scenario->roots == 1 && scenario->first_root % SB_COUNT_OF(modes) != i)
            continue; /* each root in one of them */
        sb_explore_options_t explore = {.mode = modes[i].mode,
                                        .seed = seed + i,
                                        .schedules = (schedules * modes[i].weight + 3) / 4,
                                        .relaxed = modes[i].relaxed};
        sb_finding_t finding;
        run(scenario, ranks, &explore, &finding);
        outcome = judge(settings, scenario, ranks, &finding);
        sb_finding_free(&finding);
    }
    return outcome;
}

static bool is_rooted(const scenario_t *scenario)
{
    switch (scenario->algorithms[0]->collective) {
    case SB_BCAST:
    case SB_SCATTER:
    case SB_SCATTERV:
    case SB_GATHER:
    case SB_GATHERV:
    case SB_REDUCE:
        return true;
    default:
        return false;
    }
}

/*
 * Half of the schedules with all ranks as roots in turn, a quarter with each rank as the only root,
 * a quarter with a walk: in a row of one root nobody waits for another's data, so that the root's
 * own credit alone keeps it from running ahead.
 */
static outcome_t run_scenario(const settings_t *settings, const scenario_t *scenario,
                              uint32_t ranks, uint64_t schedules, uint64_t seed)
{
    bool rooted = is_rooted(scenario);
    scenario_t one = *scenario, walk = *scenario;

    if (settings->scenario != NULL && strcmp(settings->scenario, scenario->name) != 0)
        return CLEAN;
    outcome_t outcome =
        run_roots(settings, scenario, ranks, rooted ? schedules / 2 : schedules, seed);
    one.roots = 1;
    for (; rooted && one.first_root < ranks && outcome == CLEAN; one.first_root++)
        outcome = run_roots(settings, &one, ranks, schedules / 4 / ranks + 1, seed);
    walk.walk = seed;
    if (rooted && outcome == CLEAN)
        outcome = run_roots(settings, &walk, ranks, schedules / 4 + 1, seed);
    return outcome;
}

/*
 * Most ranks take two thirds of the time if they get as many schedules as others, and show little
 * that fewer do not: planted faults are found among 8. So they get a tenth, but in the long form: a
 * sixth of the time.
 */
static uint64_t schedules_at(const settings_t *settings, bool moves, uint32_t ranks,
                             uint64_t schedules)
{
    bool few = settings->expect == NULL && !is_long_form();
    uint64_t most = few ? settings->moving * 2 / 5 : settings->moving;

    if (moves && most > 0 && schedules > most)
        schedules = most;
    bool thinned = few && ranks > FEW_RANKS;
    return thinned ? (schedules + 9) / 10 : schedules;
}

/* The schedules of an algorithm are dealt out to its scenarios by weight. */
static outcome_t run_algorithm(const settings_t *settings, const sb_algorithm_t *algorithm,
                               uint32_t ranks, uint64_t schedules, uint64_t seed)
{
    plan_t plan = plan_of(algorithm, ranks);
    outcome_t outcome = CLEAN;

    bool moves = algorithm->parts != NULL || algorithm->reduction != NULL;
    schedules = schedules_at(settings, moves, ranks, schedules);
    for (size_t i = 0; i < plan.count && outcome == CLEAN; i++) {
        const scenario_t *scenario = &plan.scenarios[i];
        uint64_t mine = (schedules * scenario->weight + plan.weight - 1) / plan.weight;
        outcome = run_scenario(settings, scenario, ranks, mine, seed);
    }
    return outcome;
}

static bool is_wanted(const settings_t *settings, size_t index)
{
    char name[64];
    const sb_algorithm_t *algorithm = sb_algorithm_at(index);

    snprintf(name, sizeof name, "%s/%s", sb_collective_name(algorithm->collective),
             algorithm->name);
    if (settings->algorithm != NULL)
        return strcmp(settings->algorithm, name) == 0;
    return !algorithm->unlisted && index % settings->parts == settings->part;
}

static outcome_t run_all(const settings_t *settings, uint64_t schedules, uint64_t seed)
{
    static const uint32_t sizes[] = {2, 3, 5, 8, 17};
    outcome_t outcome = CLEAN;

    for (size_t s = 0; s < SB_COUNT_OF(sizes); s++) {
        for (size_t i = 0; i < sb_algorithm_count() && outcome == CLEAN; i++) {
            if (is_wanted(settings, i) && (settings->ranks == 0 || settings->ranks == sizes[s]))
                outcome = run_algorithm(settings, sb_algorithm_at(i), sizes[s], schedules, seed);
        }
    }
    return outcome;
}

/* Every interleaving of one or two calls; of three ranks as many as the limit allows. */
static outcome_t exhaust(const settings_t *settings, const sb_algorithm_t *algorithm,
                         uint32_t ranks, bool relaxed, bool sleepy)
{
    scenario_t scenario = {.name = sleepy ? "all asleep" : "all awake",
                           .algorithms = {algorithm},
                           .bytes = {9},
                           .calls = ranks == 2 && !sleepy ? 2 : 1,
                           .start = 15,
                           .ring_bytes = 1024,
                           .tree_arity = 1,
                           .sleepy = sleepy};
    sb_explore_options_t explore = {
        .mode = SB_EXPLORE_EXHAUSTIVE, .schedules = settings->schedules, .relaxed = relaxed};
    sb_finding_t finding;

    if ((settings->ranks != 0 && settings->ranks != ranks) ||
        (settings->scenario != NULL && strcmp(settings->scenario, scenario.name) != 0))
        return CLEAN;
    if (settings->replay != NULL)
        return replay(settings, &scenario, ranks);
    run(&scenario, ranks, &explore, &finding);
    outcome_t outcome = judge(settings, &scenario, ranks, &finding);
    printf("%s %s, %" PRIu32 " ranks%s, %s: %" PRIu64 " schedules%s\n",
           sb_collective_name(algorithm->collective), algorithm->name, ranks,
           relaxed ? ", relaxed" : "", scenario.name, finding.schedules,
           finding.complete ? ", complete" : "");
    sb_finding_free(&finding);
    return outcome;
}

static outcome_t run_exhaustive(const settings_t *settings)
{
    outcome_t outcome = CLEAN;

    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        for (unsigned bits = 0; bits < 8 && outcome == CLEAN && is_wanted(settings, i); bits++)
            outcome = exhaust(settings, sb_algorithm_at(i), 2 + (bits & 1), (bits & 2) != 0,
                              (bits & 4) != 0);
    }
    return outcome;
}

/* A fault is looked for in all corners at first, then longer and longer. */
static outcome_t search(const settings_t *settings)
{
    outcome_t outcome = CLEAN;

    for (uint64_t schedules = 100; outcome == CLEAN && schedules <= settings->schedules;
         schedules *= 4)
        outcome = run_all(settings, schedules, settings->seed + schedules);
    if (outcome == CLEAN)
        printf("nothing was found; expected a report with: %s\n", settings->expect);
    return outcome;
}

static bool read_option(settings_t *settings, const char *name, const char *value)
{
    if (strcmp(name, "--algorithm") == 0)
        settings->algorithm = value;
    else if (strcmp(name, "--expect") == 0)
        settings->expect = value;
    else if (strcmp(name, "--scenario") == 0)
        settings->scenario = value;
    else if (strcmp(name, "--replay") == 0)
        settings->replay = value;
    else if (strcmp(name, "--roots") == 0)
        settings->roots = value;
    else if (strcmp(name, "--exhaustive") == 0)
        settings->exhaustive = strcmp(value, "yes") == 0;
    else if (strcmp(name, "--part") == 0)
        return sscanf(value, "%" SCNu32 "/%" SCNu32, &settings->part, &settings->parts) == 2 &&
               settings->part < settings->parts;
    else if (strcmp(name, "--schedules") == 0)
        settings->schedules = strtoull(value, NULL, 10);
    else if (strcmp(name, "--moving") == 0)
        settings->moving = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seed") == 0)
        settings->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--ranks") == 0)
        settings->ranks = (uint32_t)strtoul(value, NULL, 10);
    else
        return false;
    return true;
}

/* Fewer of them where time counts and nothing is known to be wrong. */
static uint64_t usual_schedules(const settings_t *settings)
{
    bool few = !is_long_form() && settings->expect == NULL;

    if (settings->exhaustive)
        return few ? 400 : 1500;
    return few ? 500 : 10000;
}

/* Schedules take the same memory and free it, thousands of times: it does not go back to the system
 * each time, which took a fifth of this program's. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 64 << 20);
}

int main(int argc, char **argv)
{
    settings_t settings = {.seed = 1, .parts = 1};

    keep_memory();
    sb_baselines_add();
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && read_option(&settings, argv[i], argv[i + 1]))
            continue;
        fprintf(stderr, "suite: unknown option %s, or no value\n", argv[i]);
        return 2;
    }
    if (settings.schedules == 0)
        settings.schedules = usual_schedules(&settings);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (settings.exhaustive ||
        (settings.scenario != NULL && strncmp(settings.scenario, "all a", 5) == 0))
        return run_exhaustive(&settings) == CLEAN ? 0 : 1;
    if (settings.expect != NULL)
        return search(&settings) == FOUND ? 0 : 1;
    return run_all(&settings, settings.schedules, settings.seed) == CLEAN ? 0 : 1;
}
