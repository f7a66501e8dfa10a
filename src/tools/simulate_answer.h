/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SIMULATE_ANSWER_H
#define SB_TOOLS_SIMULATE_ANSWER_H

#include "machine/sim/net.h"
#include "tools/simulate.h"

/* When the ranks came to a call and left it; picoseconds. */
typedef struct sb_timed_call {
    uint64_t last_entry;
    uint64_t last_exit;
    uint64_t longest; /* of one rank */
} sb_timed_call_t;

/* What is noted while an algorithm runs. */
typedef struct sb_timed_run {
    sb_timed_call_t *calls; /* also those before what counts */
    uint32_t made;          /* so many: fewer than asked for, where that was enough */
    uint64_t *spent;        /* by each rank, in calls that count */
    sb_sim_lines_t before;
    sb_sim_lines_t after;
    sb_sim_messages_t sent_before;
    sb_sim_messages_t sent_after;
} sb_timed_run_t;

/* Whether, after so many calls, it is plain that the median will be more than --enough. */
bool sb_simulate_enough(const sb_simulate_t *options, const sb_timed_run_t *timed, uint32_t made);

/* What was run, as the first members of an object of the answer. */
json_t *sb_simulate_describe(const sb_simulate_t *options, const sb_simulated_t *machine,
                             const sb_algorithm_t *algorithm, size_t bytes);

/* And how long it took, and what moved. */
void sb_simulate_add_timed(json_t *result, const sb_simulate_t *options,
                           const sb_timed_run_t *timed);

/* Writes what each rank did in the calls that count into the file of --timeline. */
void sb_simulate_timeline(const sb_simulate_t *options, const json_t *result);

#endif
