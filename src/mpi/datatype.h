/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_DATATYPE_H
#define SB_MPI_DATATYPE_H

#include "mpi/predefined.h"

/* Learns the predefined types; once, before the first lookup. */
void sb_types_start(void);

/*
 * Describes the type. Returns false if the host should judge it: it is the null handle, is not
 * committed, or cannot be asked about.
 */
bool sb_type_describe(MPI_Datatype type, sb_type_t *description);

/* The same of a derived type that was described before; another is not looked at. */
bool sb_type_recall(MPI_Datatype type, sb_type_t *description);

/*
 * Whether such an element has a byte at the buffer's own address, so that a null pointer is wrong.
 * A type of absolute addresses has none: MPI_BOTTOM, with it, is no misuse.
 */
bool sb_type_begins_at_buffer(MPI_Datatype type, const sb_type_t *is);

/* Makes a committed type of `count` elements of `type`, for any count. Returns the host's code. */
int sb_make_large_type(MPI_Count count, MPI_Datatype type, MPI_Datatype *large);

#endif
