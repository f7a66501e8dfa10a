/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_BOARD_H
#define SB_SEGMENT_BOARD_H

#include "base/status.h"
#include "machine/machine.h"
#include "segment/gauge.h"
#include "segment/job.h"

/*
 * Who of the job runs with Sobor on this node: shared memory with a slot for each rank of
 * MPI_COMM_WORLD, found without a message by what the launcher told all ranks. A rank takes its
 * slot before it enters the host's MPI_Init. Whoever finds a slot empty after its own MPI_Init
 * closes it, for good: its rank is without Sobor, or on another node. So two ranks that are on one
 * board agree about every rank, and a rank that is on none knows that nobody counts on it.
 */

/* Room for what a process says of itself. */
#define SB_BOARD_TEXT 2048

/*
 * Takes this rank's slot. Returns false if the rank is on no board now. `gauged`: memory is
 * reserved for sb_board_gauge too.
 */
bool sb_board_join(const sb_job_t *job, bool gauged);

/*
 * What it costs to pass lines and bytes between ranks of this node, measured together with those
 * others that ask for it now; see segment/gauge.h. True: this rank measured, the others only hear
 * of it. What is 0 is not known. Returns within SB_GAUGE_NS.
 */
bool sb_board_gauge(sb_gauge_result_t *result);

/* Says `bytes` of `text` to the others, for good. 0: that this rank takes no part. To be called by
 * a rank that is on no board too, after MPI_Init. */
void sb_board_tell(const void *text, size_t bytes);

/*
 * What the rank says, once it has; NULL: it takes no part, or is not here, for good. `progress` is
 * called while this waits, as a waiter's; a rank between its two steps runs nothing but MPI_Init.
 */
const void *sb_board_told(uint32_t rank, bool (*progress)(void *context));

/*
 * Every rank of the job gives up to SB_BOARD_BOX bytes and receives those of all. Collective over
 * MPI_COMM_WORLD, all of which must be here.
 */
#define SB_BOARD_BOX 240
sb_status_t sb_board_exchange(const void *mine, void *all, size_t bytes,
                              bool (*progress)(void *context));

/*
 * Work that all ranks of the node share, once all of them are here: this rank has number *number of
 * *count. False: they are not. Who finds them missing does all of it.
 */
bool sb_board_share(uint32_t *number, uint32_t *count);

/* What this rank has found of its share, or of more, in bits; said once, in any case, after
 * MPI_Init. */
void sb_board_find(uint32_t found);

/* The bits that all ranks of the node have found, which are here. False: one of them has ended. */
bool sb_board_found(uint32_t *found, bool (*progress)(void *context));

/* SOBOR_SERVE_AFTER, as all on the board count by it: the first rank's. */
uint64_t sb_board_serve_after(void);

/* Ranks of this node as the launcher says; whether all of them are here. */
bool sb_board_is_full(void);

#endif
