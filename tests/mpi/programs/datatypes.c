/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts of every predefined type, of pair types, of each kind of layout, of one signature in
 * different layouts on different ranks, and of types and counts that hold nothing.
 *
 * usage: datatypes [uneven]
 * With "uneven" some ranks give no elements and others some elements without bytes. That is legal,
 * but of the hosts only MPICH 4.0 serves it: in the others a rank without elements leaves at once,
 * while a rank with empty elements takes part. */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 100, GUARD = 64 };

static struct {
    MPI_Datatype type;
    const char *name;
} predefined[64];
static size_t predefined_count;

static void add(MPI_Datatype type, const char *name)
{
    if (type == MPI_DATATYPE_NULL)
        return;
    predefined[predefined_count].type = type;
    predefined[predefined_count++].name = name;
}

#define ADD(type) add(type, #type)

static void add_c_types(void)
{
    ADD(MPI_CHAR), ADD(MPI_SHORT), ADD(MPI_INT), ADD(MPI_LONG), ADD(MPI_LONG_LONG_INT);
    ADD(MPI_LONG_LONG), ADD(MPI_SIGNED_CHAR), ADD(MPI_UNSIGNED_CHAR), ADD(MPI_UNSIGNED_SHORT);
    ADD(MPI_UNSIGNED), ADD(MPI_UNSIGNED_LONG), ADD(MPI_UNSIGNED_LONG_LONG), ADD(MPI_FLOAT);
    ADD(MPI_DOUBLE), ADD(MPI_LONG_DOUBLE), ADD(MPI_WCHAR), ADD(MPI_C_BOOL), ADD(MPI_INT8_T);
    ADD(MPI_INT16_T), ADD(MPI_INT32_T), ADD(MPI_INT64_T), ADD(MPI_UINT8_T), ADD(MPI_UINT16_T);
    ADD(MPI_UINT32_T), ADD(MPI_UINT64_T), ADD(MPI_AINT), ADD(MPI_COUNT), ADD(MPI_OFFSET);
    ADD(MPI_C_COMPLEX), ADD(MPI_C_FLOAT_COMPLEX), ADD(MPI_C_DOUBLE_COMPLEX), ADD(MPI_BYTE);
    ADD(MPI_C_LONG_DOUBLE_COMPLEX), ADD(MPI_PACKED), ADD(MPI_2INT), ADD(MPI_CXX_BOOL);
    ADD(MPI_CXX_DOUBLE_COMPLEX);
}

static void add_fortran_types(void)
{
    ADD(MPI_CHARACTER), ADD(MPI_LOGICAL), ADD(MPI_INTEGER), ADD(MPI_REAL);
    ADD(MPI_DOUBLE_PRECISION), ADD(MPI_COMPLEX), ADD(MPI_DOUBLE_COMPLEX), ADD(MPI_2INTEGER);
    ADD(MPI_2REAL), ADD(MPI_2DOUBLE_PRECISION), ADD(MPI_INTEGER8), ADD(MPI_REAL8);
}

/* 0 for a Fortran type of an MPI without Fortran. */
static size_t usable_bytes(MPI_Datatype type)
{
    int size = 0;
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bool known = MPI_Type_size(type, &size) == MPI_SUCCESS &&
                 MPI_Type_get_extent(type, &low, &extent) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return known && size > 0 && extent == size ? (size_t)size : 0;
}

static void one_predefined(MPI_Datatype type, const char *name, int root)
{
    size_t bytes = usable_bytes(type) * COPIES;
    unsigned char *buffer = malloc(bytes + GUARD);
    bool sender = rank_of(MPI_COMM_WORLD) == root;
    fill(buffer, bytes, sender ? 3 : 4);
    fill(buffer + bytes, GUARD, 5);
    if (bytes > 0)
        CALL(MPI_Bcast(buffer, COPIES, type, root, MPI_COMM_WORLD));
    CHECK(bytes == 0 || mismatch(buffer, bytes, 3) == bytes, "%s: wrong data", name);
    CHECK(mismatch(buffer + bytes, GUARD, 5) == GUARD, "%s: changed what lies behind", name);
    free(buffer);
}

static void predefined_types(void)
{
    add_c_types();
    add_fortran_types();
    int size = size_of(MPI_COMM_WORLD);
    for (size_t i = 0; i < predefined_count; i++)
        one_predefined(predefined[i].type, predefined[i].name, (int)i % size);
}

/* Pair types have holes; their two values are compared, whatever happens to the holes. */
#define PAIR(kind, value, mpi_type)                                                                \
    static void pair_##kind(int root)                                                              \
    {                                                                                              \
        struct {                                                                                   \
            value a;                                                                               \
            int b;                                                                                 \
        } pairs[COPIES];                                                                           \
        bool sender = rank_of(MPI_COMM_WORLD) == root;                                             \
        memset(pairs, 0, sizeof pairs);                                                            \
        for (int i = 0; sender && i < COPIES; i++) {                                               \
            pairs[i].a = (value)(i + root);                                                        \
            pairs[i].b = 3 * i + root;                                                             \
        }                                                                                          \
        CALL(MPI_Bcast(pairs, COPIES, mpi_type, root, MPI_COMM_WORLD));                            \
        for (int i = 0; i < COPIES; i++)                                                           \
            CHECK(pairs[i].a == (value)(i + root) && pairs[i].b == 3 * i + root,                   \
                  #mpi_type ": wrong pair %d", i);                                                 \
    }

PAIR(float, float, MPI_FLOAT_INT)
PAIR(double, double, MPI_DOUBLE_INT)
PAIR(long, long, MPI_LONG_INT)
PAIR(short, short, MPI_SHORT_INT)
PAIR(long_double, long double, MPI_LONG_DOUBLE_INT)

static void pair_types(void)
{
    for (int root = 0; root < size_of(MPI_COMM_WORLD); root++) {
        pair_float(root);
        pair_double(root);
        pair_long(root);
        pair_short(root);
        pair_long_double(root);
    }
}

static void one_layout(enum layout_kind kind, const struct element *element, size_t elements,
                       int root, uint64_t seed)
{
    struct layout layout;
    uint64_t random = mix(seed, (uint64_t)rank_of(MPI_COMM_WORLD));
    layout_create(&layout, kind, element, elements, &random);
    layout_fill(&layout, seed, rank_of(MPI_COMM_WORLD) == root);
    CALL(MPI_Bcast(layout.buffer, layout.count, layout.type, root, MPI_COMM_WORLD));
    size_t wrong = layout_mismatch(&layout);
    CHECK(wrong == layout.memory_bytes, "layout %s of %zu x %s from root %d: byte %zu of %zu",
          layout_name(kind), elements, element->name, root, wrong, layout.memory_bytes);
    layout_destroy(&layout);
}

static void derived_types(void)
{
    static const size_t ELEMENTS[] = {1, 6, 60, 2520, 30240};
    int size = size_of(MPI_COMM_WORLD);
    for (int kind = 0; kind < LAYOUT_KINDS; kind++)
        for (size_t e = 0; e < elements_count(); e++)
            for (size_t n = 0; n < sizeof ELEMENTS / sizeof *ELEMENTS; n++)
                one_layout((enum layout_kind)kind, element_at(e), ELEMENTS[n],
                           (kind + (int)n) % size, mix((uint64_t)kind, e * 100 + n));
}

/* Rank r uses the kind first+r: one signature in many layouts. */
static void mixed_types(void)
{
    int rank = rank_of(MPI_COMM_WORLD);
    for (int first = 0; first < LAYOUT_KINDS; first++)
        for (size_t e = 0; e < elements_count(); e++)
            one_layout((enum layout_kind)((first + rank) % LAYOUT_KINDS), element_at(e), 120,
                       first % size_of(MPI_COMM_WORLD), mix((uint64_t)first, e));
}

static void nothing(bool uneven)
{
    MPI_Datatype empty;
    CALL(MPI_Type_contiguous(0, MPI_INT, &empty));
    CALL(MPI_Type_commit(&empty));
    bool odd = uneven && rank_of(MPI_COMM_WORLD) % 2 == 1;
    for (int root = 0; root < size_of(MPI_COMM_WORLD); root++) {
        CALL(MPI_Bcast(NULL, odd ? 0 : 7, odd ? MPI_INT : empty, root, MPI_COMM_WORLD));
        CALL(MPI_Bcast(NULL, 0, MPI_DOUBLE, root, MPI_COMM_WORLD));
        checked_bcast(MPI_COMM_WORLD, 16, root, (uint64_t)root);
    }
    CALL(MPI_Type_free(&empty));
}

/* The handle of a freed type may be used again at once for another type. */
static void reused_handles(void)
{
    const struct element *integer = element_at(3);
    for (int i = 0; i < 200; i++)
        one_layout(i % 2 ? LAYOUT_VECTOR : LAYOUT_INDEXED_PERMUTED, integer, 12 + (size_t)i, 0,
                   (uint64_t)i);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    elements_begin();
    predefined_types();
    pair_types();
    derived_types();
    mixed_types();
    nothing(argc > 1 && strcmp(argv[1], "uneven") == 0);
    reused_handles();
    elements_end();
    return test_end();
}
