/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_DATATYPE_H
#define SB_MPI_DATATYPE_H

#include "data/layout.h"
#include "mpi/host.h"

/*
 * What a call needs to know of a datatype. Predefined types are found in a table by their handle;
 * derived ones are described once and carry the description as an attribute, which the host deletes
 * with the type and hands on to its duplicates.
 */
typedef struct sb_type {
    size_t size;      /* bytes of data in one element */
    ptrdiff_t extent; /* from one element to the next */
    bool contiguous;  /* elements are `size` bytes each, from the buffer's address on, in order */
    /* NULL: only the host can pack it. Held by the type: who needs it beyond the call holds it too.
     */
    sb_layout_t *layout;
} sb_type_t;

/* Learns the predefined types; once, before the first lookup. */
void sb_types_start(void);

/*
 * Describes the type. Returns false if the host should judge it: it is the null handle, is not
 * committed, or cannot be asked about.
 */
bool sb_type_describe(MPI_Datatype type, sb_type_t *description);

/* Makes a committed type of `count` elements of `type`, for any count. Returns the host's code. */
int sb_make_large_type(MPI_Count count, MPI_Datatype type, MPI_Datatype *large);

#endif
