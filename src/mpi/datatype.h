/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_DATATYPE_H
#define SB_MPI_DATATYPE_H

#include "data/fold.h"
#include "data/layout.h"
#include "mpi/host.h"

/* The groups of predefined types by which MPI says what an operation is defined on. */
typedef enum sb_type_group {
    SB_GROUP_NONE, /* not predefined */
    SB_GROUP_C_INTEGER,
    SB_GROUP_FORTRAN_INTEGER,
    SB_GROUP_MULTI_LANGUAGE,
    SB_GROUP_FLOATING,
    SB_GROUP_COMPLEX,
    SB_GROUP_LOGICAL,
    SB_GROUP_BYTE,
    SB_GROUP_PAIR,
    SB_GROUP_OTHER, /* no operation is defined on it */
} sb_type_group_t;

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
    sb_type_group_t group;
    sb_element_t element; /* of reductions, packed; SB_NO_ELEMENT: not one of ours */
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
