/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_JOIN_H
#define SB_MACHINE_SIM_JOIN_H

/* The checker and the exploration as the engine's watch and guide. */

#include "machine/sim/check.h"
#include "machine/sim/explore.h"

typedef struct sb_join sb_join_t;

/* `explore` NULL: the run is timed, and only checked. NULL with `problem` set on failure. */
sb_join_t *sb_join_new(uint32_t ranks, const sb_explore_options_t *explore, const char **problem);
void sb_join_free(sb_join_t *join);

/* For the engine's options; the guide is NULL if nothing is explored. */
const sb_sim_watch_t *sb_join_watch(const sb_join_t *join);
const sb_sim_guide_t *sb_join_guide(const sb_join_t *join);

/* Names of places for the reports: as sb_sim_watch_t's, with a context of its own. */
void sb_join_describe(sb_join_t *join,
                      void (*describe)(void *context, uint32_t block, uint64_t offset, char *text,
                                       size_t size),
                      void *context);

/* Begins the next run; false when there is none. A timed one may always begin. */
bool sb_join_begin(sb_join_t *join);

const sb_violation_t *sb_join_violation(const sb_join_t *join);

/* The run was ended because it took more steps than any run should: ranks that run in circles. */
bool sb_join_endless(const sb_join_t *join);

/* Scheduling points of this run so far. */
uint64_t sb_join_steps(const sb_join_t *join);

/* NULL if nothing is explored. */
const sb_explore_t *sb_join_explore(const sb_join_t *join);

#endif
