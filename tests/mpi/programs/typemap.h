/* SPDX-License-Identifier: BSD-3-Clause */
/* Random nested datatypes, built by every constructor, with the place of each of their bytes worked
 * out by the standard's definitions and kept apart from MPI. */
#ifndef SOBOR_TESTS_TYPEMAP_H
#define SOBOR_TESTS_TYPEMAP_H

#include "support.h"

struct typemap {
    MPI_Datatype type; /* committed; to be freed unless it is predefined */
    bool derived;
    MPI_Aint extent;
    MPI_Aint *at; /* of each packed byte */
    size_t bytes;
    char text[160]; /* constructors, the outermost first */
};

/* Constructors for large counts are drawn too, where the MPI has them. */
void typemap_draw(struct typemap *map, unsigned depth, uint64_t *random);
void typemap_free(struct typemap *map);

/* The memory that `count` elements span: first byte and the one behind the last. */
void typemap_span(const struct typemap *map, size_t count, MPI_Aint *low, MPI_Aint *high);

#endif
