/* SPDX-License-Identifier: BSD-3-Clause */
/* Random memory layouts for a given sequence of elements, each with the MPI datatype that describes
 * it and, kept apart from MPI, the place of every element. What a broadcast must leave behind is
 * worked out from these places alone. */
#ifndef SOBOR_TESTS_LAYOUT_H
#define SOBOR_TESTS_LAYOUT_H

#include "support.h"

enum layout_kind {
    LAYOUT_PLAIN,
    LAYOUT_CONTIGUOUS,
    LAYOUT_CHUNKED,
    LAYOUT_VECTOR,
    LAYOUT_HVECTOR_BACKWARDS,
    LAYOUT_INDEXED,
    LAYOUT_INDEXED_PERMUTED,
    LAYOUT_HINDEXED_PERMUTED,
    LAYOUT_INDEXED_BLOCK,
    LAYOUT_HINDEXED_BLOCK,
    LAYOUT_STRUCT,
    LAYOUT_SUBARRAY_C,
    LAYOUT_SUBARRAY_FORTRAN,
    LAYOUT_RESIZED,
    LAYOUT_TRANSPOSED,
    LAYOUT_NESTED,
    LAYOUT_DARRAY,
    LAYOUT_DUPLICATE,
    LAYOUT_BOTTOM,
    LAYOUT_LARGE_COUNT, /* built by a _c constructor where the MPI has them */
    LAYOUT_KINDS
};

/* What the elements are: a type without holes, and its bytes. */
struct element {
    MPI_Datatype type;
    size_t bytes;
    const char *name;
};

struct layout {
    MPI_Datatype type;
    int count;
    void *buffer; /* to be given to MPI; MPI_BOTTOM for absolute addresses */
    size_t elements;
    size_t element_bytes;
    MPI_Aint *at; /* place of each element from the start of the memory */
    unsigned char *memory;
    unsigned char *expected;
    size_t memory_bytes;
    bool own_type;
};

const char *layout_name(enum layout_kind kind);

void layout_create(struct layout *layout, enum layout_kind kind, const struct element *element,
                   size_t elements, uint64_t *random);
void layout_destroy(struct layout *layout);

/* Fills gaps and elements; the elements hold the message only with `sender`. */
void layout_fill(struct layout *layout, uint64_t seed, bool sender);

/* The first byte that differs from what must be there, or memory_bytes. */
size_t layout_mismatch(const struct layout *layout);

/* Predefined types without holes, and one packed structure (created by elements_begin). */
void elements_begin(void);
void elements_end(void);
size_t elements_count(void);
const struct element *element_at(size_t index);

#endif
