/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_CLOCKS_H
#define SB_MPI_CLOCKS_H

#include "trace/trace.h"

/*
 * How far the clocks of several nodes are apart. The first rank of each node and rank 0 send
 * messages to and fro; of the fastest exchange the offset is known within half the time that it
 * took. On one node, which the launcher has to say, nobody asks, nor where ranks may be there that
 * do not record.
 */

/* Collective over MPI_COMM_WORLD if the job is on several nodes. They fill in the node and the
 * world, and the clock at the begin; and at the end. */
void sb_clocks_begin(sb_trace_header_t *header);
void sb_clocks_end(sb_trace_header_t *header);

#endif
