/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_PREDEFINED_H
#define SB_MPI_PREDEFINED_H

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

/* How many types.def names. */
enum {
#define SB_TYPE(name, group, first, last) +1
    SB_TYPES = 0
#include "mpi/types.def"
#undef SB_TYPE
};

/*
 * What a call needs to know of a datatype. Predefined types are found in a table by their handle;
 * derived ones are described once and carry the description as an attribute, which the host deletes
 * with the type and hands on to its duplicates.
 */
typedef struct sb_type {
    size_t size;      /* bytes of data in one element */
    ptrdiff_t extent; /* from one element to the next */
    bool contiguous;  /* elements are `size` bytes each, from the buffer's address on, in order */
    bool permanent;   /* so is its layout; */
    /* NULL: only the host can pack it. Held by the type, which may end while a call has it: who
     * needs it then or longer holds it too. */
    sb_layout_t *layout;
    sb_type_group_t group;
    sb_element_t element; /* of reductions, packed; SB_NO_ELEMENT: not one of ours */
    uint8_t number;       /* among those that types.def names, from 1 on; 0: it is not there */
} sb_type_t;

/* Types that live as long as the process: the predefined ones, and those that the host makes from
 * a precision or range in Fortran. Found by handle, by any thread. */

/* Learns the types that the header names. Once, before anything else here. */
void sb_predefined_start(void);

/* NULL: not known, or not of this kind. */
const sb_type_t *sb_predefined_find(MPI_Datatype type);

/* Learns one more that nobody else is learning at this time. NULL: the host does not say enough. */
const sb_type_t *sb_predefined_add(MPI_Datatype type);

#endif
