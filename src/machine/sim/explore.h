/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_EXPLORE_H
#define SB_MACHINE_SIM_EXPLORE_H

/*
 * Which interleavings are run. A run is a sequence of choices: at each scheduling point, which rank
 * executes its pending access; in between, which of several values a load sees, or whether a wait
 * gives up. The same choices give the same run.
 *
 *   random      each choice anew, from the seed and the number of the schedule; some schedules let
 *               ranks run on for a while, so that one gets far ahead of another
 *   pct         each rank has a priority, the highest runs; at d points drawn beforehand the rank
 *               that runs falls below all others (Burckhardt, Kothari, Musuvathi, Nagarakatti,
 *               "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).
 *               A fault that needs d ordered steps is found with a probability that is known.
 *   exhaustive  all interleavings that differ, by dynamic partial-order reduction (reduce.h); each
 *               rank sees an old value or loses patience at most twice in a run. For few ranks and
 *               short runs.
 *   replay      one run again, from its text
 *
 * Only accesses to atomic words are scheduling points: where plain accesses are ordered by them the
 * place of a switch between makes no difference, and where they are not the checker says so in any
 * interleaving.
 */

#include "machine/sim/hooks.h"

typedef enum sb_explore_mode {
    SB_EXPLORE_RANDOM,
    SB_EXPLORE_PCT,
    SB_EXPLORE_EXHAUSTIVE,
    SB_EXPLORE_REPLAY,
} sb_explore_mode_t;

typedef struct sb_explore_options {
    sb_explore_mode_t mode;
    uint32_t ranks;
    uint64_t seed;
    uint64_t schedules; /* at most */
    bool relaxed;       /* loads may see old values */
    const char *replay; /* for SB_EXPLORE_REPLAY: the rest but `ranks` follows from it */
} sb_explore_options_t;

typedef struct sb_explore sb_explore_t;

/* The most ranks that can be explored exhaustively. */
#define SB_EXHAUSTIVE_RANKS 8

/*
 * NULL, with `problem` set to a line that says why, if the options make no sense.
 */
sb_explore_t *sb_explore_new(const sb_explore_options_t *options, const char **problem);
void sb_explore_free(sb_explore_t *explore);

/* Begins the next run; false when there is none. */
bool sb_explore_begin(sb_explore_t *explore);

/* The rank to run next, of all; SB_SIM_NOBODY if no rank is enabled. */
uint32_t sb_explore_next(sb_explore_t *explore, const sb_sim_pending_t *pending);

/* What is chosen between scheduling points. 0 is what happens as a rule. */
typedef enum sb_choice_kind {
    SB_CHOICE_VALUE,    /* which value a load sees, the newest first */
    SB_CHOICE_PATIENCE, /* 1: a spin's looks are used up */
    SB_CHOICE_KINDS,
} sb_choice_kind_t;

/* One of `count` possibilities, for the rank that was chosen last. */
uint32_t sb_explore_choose(sb_explore_t *explore, sb_choice_kind_t kind, uint32_t count);

/* The same for SB_CHOICE_VALUE, as an sb_choose_value_t. */
uint32_t sb_explore_value(void *explore, uint32_t count);

/* Runs so far, the one that has begun included. */
uint64_t sb_explore_count(const sb_explore_t *explore);

/* Whether loads may see old values, by the options or by the replay text. */
bool sb_explore_relaxed(const sb_explore_t *explore);

/* Whether an exhaustive exploration has come to its end. */
bool sb_explore_complete(const sb_explore_t *explore);

/*
 * The text that replays the present run; to be freed. NULL if memory is exhausted.
 */
char *sb_explore_text(const sb_explore_t *explore);

#endif
