/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_ENGINE_H
#define SB_MACHINE_SIM_ENGINE_H

/*
 * The simulated machine at work: every rank is a fibre of this process. In a timed run the rank
 * that is earliest takes the next step, and each step moves its clock. In a guided run `guide` says
 * who takes the next step, and there are no times. One simulation at a time.
 */

#include "base/status.h"
#include "machine/sim/hooks.h"
#include "machine/sim/model.h"

/* Whether shared memory is one segment, in which ranks have their parts one after another. */
typedef enum sb_sim_segment {
    SB_SIM_SEGMENT_OF_EACH,
    SB_SIM_SEGMENT_ONE,   /* each page is placed by who touches it first: its owner */
    SB_SIM_SEGMENT_AHEAD, /* and so are the pages that the system reads ahead, whoever owns them */
} sb_sim_segment_t;

typedef struct sb_sim_options {
    const sb_sim_machine_t *machine;
    uint32_t ranks;
    const uint32_t *node; /* of each rank: the machine it runs on; NULL: 0 */
    const uint32_t *core; /* of each rank: its core there */
    uint64_t seed;        /* of noise, and of who is first among ranks of one time */
    bool noise;
    bool placed; /* shared memory is where its owner wants it; false: all on NUMA node 0 */
    sb_sim_segment_t segment; /* if not of each owner: placed by who touches a page first */
    bool records;             /* keep what each rank did, for a timeline */
    const sb_sim_watch_t *watch;
    const sb_sim_guide_t *guide;
    uint64_t reaches;  /* into others' memory that succeed in the guided part; 0: all */
    bool loads;        /* users' memory is read by loads: all, but where a rank has opened a heap */
    uint64_t limit_ns; /* ends a run whose ranks wait in vain for so long; 0: ten seconds */
} sb_sim_options_t;

typedef enum sb_sim_end {
    SB_SIM_COMPLETE, /* every rank has ended */
    SB_SIM_STUCK,    /* nobody can take a step, or nobody gets on */
    SB_SIM_STOPPED,  /* by the guide, because the watch found something, or by sb_sim_stop */
    SB_SIM_LATE,     /* lost wake-up: only a time limit could wake a sleeper whose flag is there */
} sb_sim_end_t;

typedef void sb_sim_body_t(void *argument, uint32_t rank);

/* Prepares a simulation; NULL, with errno, if memory is exhausted. The options are copied. */
typedef struct sb_sim sb_sim_t;
sb_sim_t *sb_sim_new(const sb_sim_options_t *options);
void sb_sim_free(sb_sim_t *sim);

/*
 * Runs `body` on every rank, from an empty memory. May be called again; `guide` and `seed` of the
 * options stay, and the same calls give the same run.
 */
sb_sim_end_t sb_sim_run(sb_sim_t *sim, sb_sim_body_t *body, void *argument);

/*
 * From here on, of a rank's body. The guide gets its first choice when all ranks have called
 * sb_sim_guided(true); before, and after sb_sim_guided(false), ranks run by time. Collective.
 */
void sb_sim_guided(bool on);

/* The running rank, and the node that it is on. */
uint32_t sb_sim_rank(void);
uint32_t sb_sim_node(void);

/* Its own clock in picoseconds. */
uint64_t sb_sim_clock(void);

/* It does something of its own for so long. */
void sb_sim_compute(uint64_t picoseconds);

/* All ranks of `node` (SB_SIM_ALL: of all nodes) meet by other means; they go on at one time. */
#define SB_SIM_ALL UINT32_MAX
void sb_sim_meet(uint32_t node);

/* Every rank of `node` gives `bytes` and gets those of all, in rank order. */
void sb_sim_allgather(uint32_t node, const void *mine, void *all, size_t bytes);

/* Ends the run from within, with a message for sb_sim_problem. */
_Noreturn void sb_sim_stop(const char *format, ...) SB_PRINTF(1, 2);

/* Why a run did not complete; for SB_SIM_STUCK and SB_SIM_LATE who waits for what. */
const char *sb_sim_problem(const sb_sim_t *sim);

/*
 * Memory. Shared blocks are zeroed and aligned to pages; a user's buffer is private to its rank, on
 * its NUMA node. `numa_node` of a shared block: its pages' place; -1: where they are first touched.
 */
typedef struct sb_sim_memory {
    uint32_t block;
    char *address;
} sb_sim_memory_t;

sb_sim_memory_t sb_sim_take(uint64_t bytes, int numa_node);
void sb_sim_give(uint32_t block);
sb_sim_memory_t sb_sim_buffer(uint64_t bytes);
void sb_sim_buffer_free(uint32_t block);
/* What of the buffer was in caches is there no longer. */
void sb_sim_buffer_cool(uint32_t block);
/* Where the block's memory is, for those that know its number. */
char *sb_sim_address(uint32_t block);

/*
 * A heap of the running rank, with room for so many blocks (0: the rank has none; UINT32_MAX: no
 * end), and memory out of it, or, where it has none left or has been parted, beside it. A thread
 * that forks parts the heap of its process: others read no more of it by loads.
 */
void sb_sim_heap_open(uint32_t room);
sb_sim_memory_t sb_sim_heap_take(uint64_t bytes);
void sb_sim_heap_part(uint32_t owner);

/* Block and offset of an address; false if it is no simulated memory. */
bool sb_sim_locate(const void *address, uint32_t *block, uint64_t *offset);

/* The NUMA node of the page at an address of simulated memory; -1 if it has none yet. */
int sb_sim_numa_of(const void *address);

/* Lines moved so far, by distance; `memory`: from memory. */
typedef struct sb_sim_lines {
    uint64_t moved[SB_DISTANCES];
    uint64_t memory;
} sb_sim_lines_t;

void sb_sim_lines(sb_sim_lines_t *lines);

/* What a rank did. */
typedef enum sb_sim_activity {
    SB_SIM_COPIES,
    SB_SIM_WAITS,
    SB_SIM_NOTIFIES,
    SB_SIM_HOST, /* outside of the collective */
} sb_sim_activity_t;

typedef struct sb_sim_record {
    uint32_t rank;
    sb_sim_activity_t activity;
    uint64_t begin; /* picoseconds */
    uint64_t end;
} sb_sim_record_t;

/* The records so far, in the order in which they ended. Valid until the next step. */
const sb_sim_record_t *sb_sim_records(size_t *count);
void sb_sim_records_clear(void);

#endif
