/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_BACKEND_H
#define SB_MPI_BACKEND_H

#include "trace/trace.h"

/* What the preloaded object finds in a back end by dlsym. */

/* Takes the host's functions from `libmpi`. Returns 0, or -1 if it is not of this back end's ABI.
 */
__attribute__((visibility("default"))) int sb_backend_start(void *libmpi);

/* The function that stands in for MPI_<name>, or NULL. */
__attribute__((visibility("default"))) void *sb_backend_function(const char *name);

/* Where MPI_<name> leads if a profiling tool behind the preloaded object has one, `tool`. */
__attribute__((visibility("default"))) void *sb_backend_around(const char *name, void *tool);

/* The algorithm of this process's last call, "host", or NULL before the first. */
__attribute__((visibility("default"))) const char *sb_backend_last_algorithm(void);

/* Collective calls that this process made and Sobor served, that went to the host, and the bytes of
 * those served; calls that are going on in other threads may be missing. */
__attribute__((visibility("default"))) void sb_backend_counters(uint64_t counters[3]);

/* As sb_node_of_world: ranks, processors, and 1 where they are shared. Returns 0, or -1. */
__attribute__((visibility("default"))) int sb_backend_node(uint32_t node[3]);

/* Takes who says what was called of the functions that are only counted. */
__attribute__((visibility("default"))) void sb_backend_count(sb_trace_counted_t *counted);

#endif
