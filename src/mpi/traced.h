/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_TRACED_H
#define SB_MPI_TRACED_H

/*
 * Recording calls (trace/trace.h). Where that is wanted the collectives have a second function,
 * which reads the clock before and after it calls the first: where it is not, nothing is different.
 */

/* The function that stands in for MPI_<name> and records, or NULL: recording is not wanted, or it
 * is no collective. */
void *sb_traced_function(const char *name);

#endif
