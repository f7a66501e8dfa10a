/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_FORK_JOB_H
#define SB_TESTS_FORK_JOB_H

#include "coll/coll.h"
#include "team/team.h"

/*
 * A job of forked processes without MPI: the core's functions run in it as they do below a back
 * end. Set-up exchanges go through a plain shared mapping.
 */

typedef struct job job_t;

/* What each rank has. */
typedef struct rank_context {
    job_t *job;
    uint32_t rank;
    uint32_t size;
    sb_front_t front; /* for sb_team_create */
} rank_context_t;

/*
 * Runs `body` in `size` forked processes, each with its rank; waits for all, for at most `seconds`.
 * Returns the number of ranks that did not return 0 (a signal counts as failure).
 */
int job_run(uint32_t size, unsigned seconds, int (*body)(rank_context_t *context, void *argument),
            void *argument);

/*
 * The same for each of `count` arguments of `bytes` each, at most `seconds` for each, in processes
 * that live through all: an emulator translates in each process anew what it runs there, which
 * takes longer than the calls. Ends where a rank fails. Fails too if a rank ends before it has had
 * all.
 */
int job_run_all(uint32_t size, unsigned seconds,
                int (*body)(rank_context_t *context, void *argument), void *arguments, size_t bytes,
                size_t count);

/*
 * The same as job_run on so many of the processors that this process may use, or on all where there
 * are fewer: for what depends on whether ranks share processors, which then does not depend on the
 * machine.
 */
int job_run_on(uint32_t processors, uint32_t size, unsigned seconds,
               int (*body)(rank_context_t *context, void *argument), void *argument);

/* Whether so many ranks have a processor each here. Where not, what is about such is left out. */
bool job_has_room(uint32_t ranks);
#define JOB_NO_ROOM "left out: no processor for each rank"

/* The pid of a rank, once all ranks run. */
int job_pid(const rank_context_t *context, uint32_t rank);

/* Waits for all ranks, outside the team. */
void job_synchronise(const rank_context_t *context);

/* Everybody gives `bytes` and receives those of all, in rank order. */
sb_status_t job_allgather(const rank_context_t *context, const void *mine, void *all, size_t bytes);

/* Memory for a user's data, by turns where malloc has it, on a line and on a page: how bytes are
 * copied may depend on that. Ranks begin at another turn each. To be freed by free(). */
void *job_memory(size_t bytes);

/* A message's bytes, at every `step`th place: of each its position shows, and the message's own
 * number. Written, and looked for: the first that is another one, or `bytes`. */
void job_fill(void *to, size_t step, size_t bytes, uint64_t number);
size_t job_mismatch(const void *at, size_t step, size_t bytes, uint64_t number);

/* A user's data at every `step`th place, 1 or 2: at every second one functions read and write it.
 */
sb_stream_t job_stream(void *data, size_t step, size_t bytes);

/* A broadcast, checked, with a guard behind its bytes. Returns how much is wrong. */
int job_bcast(sb_team_t *team, const sb_algorithm_t *algorithm, uint32_t root, size_t bytes);

/* One byte, the lengths just below, at and above each edge, and the last. Returns how many; `sizes`
 * has room for 2 + 3 * count. */
size_t job_sizes(const size_t *edges, size_t count, size_t last, size_t *sizes);

/* SOBOR_MEMORY for a team of so many ranks, but for hardly more: control blocks of ranks that share
 * processors are larger. */
const char *job_little_memory(uint32_t ranks);

/* The team of all ranks, or NULL (with a message). */
sb_team_t *job_team(rank_context_t *context);

#endif
