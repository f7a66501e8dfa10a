/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_WINDOWS_H
#define SB_MPI_WINDOWS_H

#include "mpi/host.h"

/*
 * The windows of this process, of whatever communicator: as long as there is one, others may send
 * it one-sided requests at any time, which many hosts answer only while the process is in their
 * progress. So a rank that waits does not sleep then. The functions that make windows are stood in
 * for to count them, and an attribute of each tells of its end.
 */
extern atomic_uint_fast32_t sb_windows;

/* Counts a window from now on until it ends. Not one whose end would not be told, nor one that this
 * process has for itself, by its communicator. */
void sb_windows_count(MPI_Win window, MPI_Comm comm);

static inline bool sb_has_windows(void)
{
    /* Relaxed: nothing but how a rank waits follows from it. */
    return atomic_load_explicit(&sb_windows, memory_order_relaxed) != 0;
}

#endif
