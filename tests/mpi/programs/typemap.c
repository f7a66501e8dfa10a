/* SPDX-License-Identifier: BSD-3-Clause */
#include "typemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MOST = 40, DIMENSIONS_MOST = 3, BYTES_MOST = 1 << 14 };

static void add(struct typemap *map, MPI_Aint offset, const struct typemap *inner)
{
    map->at = realloc(map->at, (map->bytes + inner->bytes + 1) * sizeof *map->at);
    for (size_t i = 0; i < inner->bytes; i++)
        map->at[map->bytes++] = offset + inner->at[i];
}

static void add_block(struct typemap *map, MPI_Aint offset, MPI_Count length,
                      const struct typemap *inner)
{
    for (MPI_Count i = 0; i < length; i++)
        add(map, offset + (MPI_Aint)i * inner->extent, inner);
}

/* Open MPI 5.0 packs 16-byte elements wrongly at strides that are no multiple of 16. */
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define WIDEST MPI_DOUBLE, 8
#else
#define WIDEST MPI_C_DOUBLE_COMPLEX, 16
#endif

static void draw_leaf(struct typemap *map, uint64_t *random)
{
    struct leaf {
        MPI_Datatype type;
        int bytes;
        const char *name;
    } leaves[] = {
        {MPI_BYTE, 1, "byte"},
        {MPI_SHORT, 2, "short"},
        {MPI_INT, 4, "int"},
        {MPI_DOUBLE, 8, "double"},
        {WIDEST, "widest"},
        {MPI_2INT, 8, "2int"},
        {MPI_DOUBLE_INT, 12, "double-int"},
        {MPI_SHORT_INT, 6, "short-int"},
    };
    const struct leaf *leaf = &leaves[random_below(random, sizeof leaves / sizeof *leaves)];
    MPI_Aint low;
    map->type = leaf->type;
    map->at = calloc((size_t)leaf->bytes, sizeof *map->at);
    map->bytes = (size_t)leaf->bytes;
    /* The int of a short-int lies behind two bytes of gap. */
    for (int i = 0; i < leaf->bytes; i++)
        map->at[i] = i + (leaf->type == MPI_SHORT_INT && i >= 2 ? 2 : 0);
    CALL(MPI_Type_get_extent(leaf->type, &low, &map->extent));
    snprintf(map->text, sizeof map->text, "%s", leaf->name);
}

/* A constructor: builds map->type from `inner` and fills map->at. */
typedef void constructor(struct typemap *map, const struct typemap *inner, uint64_t *random);

static MPI_Count draw_count(uint64_t *random)
{
    return (MPI_Count)(random_below(random, 4) == 0 ? random_below(random, BLOCKS_MOST)
                                                    : 1 + random_below(random, 4));
}

#if MPI_VERSION >= 4
static bool draw_large(uint64_t *random)
{
    return random_below(random, 2) == 0;
}
#endif

struct blocks {
    int count;
    int length[BLOCKS_MOST];
    int element[BLOCKS_MOST]; /* displacement in elements */
    MPI_Aint byte[BLOCKS_MOST];
    MPI_Count wide_length[BLOCKS_MOST];
    MPI_Count wide_element[BLOCKS_MOST];
    MPI_Count wide_byte[BLOCKS_MOST];
};

/* Blocks that do not meet, in any order, some empty. Displacements in bytes need not be multiples
 * of the element's extent. */
static void draw_blocks(struct blocks *blocks, MPI_Aint extent, bool equal, uint64_t *random)
{
    MPI_Aint place = (MPI_Aint)random_below(random, 4) - 2, shift = 0;
    int same = (int)random_below(random, 4);
    blocks->count = (int)draw_count(random);
    for (int i = 0; i < blocks->count; i++) {
        int length = equal ? same : (int)random_below(random, 4);
        blocks->length[i] = length;
        blocks->element[i] = (int)place;
        blocks->byte[i] = place * extent + shift;
        place += length + (MPI_Aint)random_below(random, 3);
        shift += (MPI_Aint)random_below(random, 2) * 3;
    }
    for (int i = blocks->count - 1; i > 0 && same > 1; i--) {
        int j = (int)random_below(random, (size_t)i + 1);
        struct blocks old = *blocks;
        blocks->length[i] = old.length[j], blocks->length[j] = old.length[i];
        blocks->element[i] = old.element[j], blocks->element[j] = old.element[i];
        blocks->byte[i] = old.byte[j], blocks->byte[j] = old.byte[i];
    }
    for (int i = 0; i < blocks->count; i++) {
        blocks->wide_length[i] = blocks->length[i];
        blocks->wide_element[i] = blocks->element[i];
        blocks->wide_byte[i] = blocks->byte[i];
    }
}

static void make_contiguous(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    MPI_Count count = draw_count(random);
    add_block(map, 0, count, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_contiguous_c(count, inner->type, &map->type));
        return;
    }
#endif
    CALL(MPI_Type_contiguous((int)count, inner->type, &map->type));
}

static void make_vector(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    MPI_Count count = draw_count(random), length = 1 + (MPI_Count)random_below(random, 3);
    MPI_Count stride = length + (MPI_Count)random_below(random, 3);
    /* Open MPI takes a dense vector for a contiguous one, even if it leads backwards. */
    stride = random_below(random, 4) == 0 ? -stride - 1 : stride;
    for (MPI_Count i = 0; i < count; i++)
        add_block(map, (MPI_Aint)(i * stride) * inner->extent, length, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_vector_c(count, length, stride, inner->type, &map->type));
        return;
    }
#endif
    CALL(MPI_Type_vector((int)count, (int)length, (int)stride, inner->type, &map->type));
}

static void make_hvector(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    MPI_Count count = draw_count(random), length = 1 + (MPI_Count)random_below(random, 3);
    MPI_Count stride = length * (MPI_Count)inner->extent + (MPI_Count)random_below(random, 9);
    for (MPI_Count i = 0; i < count; i++)
        add_block(map, (MPI_Aint)(i * stride), length, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_hvector_c(count, length, stride, inner->type, &map->type));
        return;
    }
#endif
    CALL(MPI_Type_create_hvector((int)count, (int)length, (MPI_Aint)stride, inner->type,
                                 &map->type));
}

static void make_indexed(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct blocks blocks;
    draw_blocks(&blocks, inner->extent, false, random);
    for (int i = 0; i < blocks.count; i++)
        add_block(map, blocks.element[i] * inner->extent, blocks.length[i], inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_indexed_c(blocks.count, blocks.wide_length, blocks.wide_element, inner->type,
                                &map->type));
        return;
    }
#endif
    CALL(MPI_Type_indexed(blocks.count, blocks.length, blocks.element, inner->type, &map->type));
}

static void make_hindexed(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct blocks blocks;
    draw_blocks(&blocks, inner->extent, false, random);
    for (int i = 0; i < blocks.count; i++)
        add_block(map, blocks.byte[i], blocks.length[i], inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_hindexed_c(blocks.count, blocks.wide_length, blocks.wide_byte,
                                        inner->type, &map->type));
        return;
    }
#endif
    CALL(MPI_Type_create_hindexed(blocks.count, blocks.length, blocks.byte, inner->type,
                                  &map->type));
}

static void make_indexed_block(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct blocks blocks;
    draw_blocks(&blocks, inner->extent, true, random);
    int length = blocks.count > 0 ? blocks.length[0] : 2;
    for (int i = 0; i < blocks.count; i++)
        add_block(map, blocks.element[i] * inner->extent, length, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_indexed_block_c(blocks.count, length, blocks.wide_element, inner->type,
                                             &map->type));
        return;
    }
#endif
    CALL(MPI_Type_create_indexed_block(blocks.count, length, blocks.element, inner->type,
                                       &map->type));
}

static void make_hindexed_block(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct blocks blocks;
    draw_blocks(&blocks, inner->extent, true, random);
    int length = blocks.count > 0 ? blocks.length[0] : 2;
    for (int i = 0; i < blocks.count; i++)
        add_block(map, blocks.byte[i], length, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_hindexed_block_c(blocks.count, length, blocks.wide_byte, inner->type,
                                              &map->type));
        return;
    }
#endif
    CALL(
        MPI_Type_create_hindexed_block(blocks.count, length, blocks.byte, inner->type, &map->type));
}

/* Members of the inner type and of integers in turn. */
static void make_struct(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct blocks blocks;
    MPI_Datatype types[BLOCKS_MOST];
    MPI_Aint number_at[4] = {0, 1, 2, 3};
    struct typemap number = {.type = MPI_INT, .extent = 4, .at = number_at, .bytes = 4};
    MPI_Aint widest = inner->extent > 4 ? inner->extent : 4;
    draw_blocks(&blocks, widest, false, random);
    for (int i = 0; i < blocks.count; i++) {
        const struct typemap *member = random_below(random, 3) == 0 ? &number : inner;
        types[i] = member->type;
        add_block(map, blocks.byte[i], blocks.length[i], member);
    }
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_struct_c(blocks.count, blocks.wide_length, blocks.wide_byte, types,
                                      &map->type));
        return;
    }
#endif
    CALL(MPI_Type_create_struct(blocks.count, blocks.length, blocks.byte, types, &map->type));
}

static void make_resized(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    MPI_Aint low = (MPI_Aint)random_below(random, 20) - 10;
    MPI_Aint extent = inner->extent + (MPI_Aint)random_below(random, 20);
    add(map, 0, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_resized_c(inner->type, low, extent, &map->type));
        return;
    }
#endif
    CALL(MPI_Type_create_resized(inner->type, low, extent, &map->type));
}

static void make_dup(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    (void)random;
    add(map, 0, inner);
    CALL(MPI_Type_dup(inner->type, &map->type));
}

/* An array, and for each dimension which of its indices belong to the type. */
struct array {
    int dimensions;
    int size[DIMENSIONS_MOST];
    bool taken[DIMENSIONS_MOST][64];
    bool fortran;
};

static MPI_Aint product_below(const struct array *array, int dimension)
{
    MPI_Aint product = 1;
    for (int d = 0; d < array->dimensions; d++)
        if (array->fortran ? d < dimension : d > dimension)
            product *= array->size[d];
    return product;
}

/* All elements in the order of memory; those whose every index is taken belong to the type. */
static void add_array(struct typemap *map, const struct array *array, const struct typemap *inner)
{
    MPI_Aint all = 1;
    for (int d = 0; d < array->dimensions; d++)
        all *= array->size[d];
    for (MPI_Aint place = 0; place < all; place++) {
        bool taken = true;
        for (int d = 0; d < array->dimensions; d++)
            taken = taken && array->taken[d][place / product_below(array, d) % array->size[d]];
        if (taken)
            add(map, place * inner->extent, inner);
    }
}

static void make_subarray(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct array array = {.dimensions = 1 + (int)random_below(random, DIMENSIONS_MOST),
                          .fortran = random_below(random, 2) == 0};
    int part[DIMENSIONS_MOST], first[DIMENSIONS_MOST];
    MPI_Count wide[3][DIMENSIONS_MOST];
    for (int d = 0; d < array.dimensions; d++) {
        array.size[d] = 1 + (int)random_below(random, 6);
        part[d] = 1 + (int)random_below(random, (size_t)array.size[d]);
        first[d] = (int)random_below(random, (size_t)(array.size[d] - part[d]) + 1);
        for (int i = 0; i < part[d]; i++)
            array.taken[d][first[d] + i] = true;
        wide[0][d] = array.size[d], wide[1][d] = part[d], wide[2][d] = first[d];
    }
    int order = array.fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    add_array(map, &array, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_subarray_c(array.dimensions, wide[0], wide[1], wide[2], order,
                                        inner->type, &map->type));
        return;
    }
#endif
    (void)wide;
    CALL(MPI_Type_create_subarray(array.dimensions, array.size, part, first, order, inner->type,
                                  &map->type));
}

/* Who has an index, by the standard's definition of the distributions. */
static int owner_of(int index, int size, int how, int argument, int processes)
{
    if (how == MPI_DISTRIBUTE_NONE)
        return 0;
    if (how == MPI_DISTRIBUTE_BLOCK && argument == MPI_DISTRIBUTE_DFLT_DARG)
        return index / ((size + processes - 1) / processes);
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        argument = 1;
    return index / argument % processes;
}

static void make_darray(struct typemap *map, const struct typemap *inner, uint64_t *random)
{
    struct array array = {.dimensions = 1 + (int)random_below(random, DIMENSIONS_MOST),
                          .fortran = random_below(random, 2) == 0};
    int how[DIMENSIONS_MOST], argument[DIMENSIONS_MOST], grid[DIMENSIONS_MOST], all = 1;
    MPI_Count wide[DIMENSIONS_MOST];
    for (int d = 0; d < array.dimensions; d++) {
        int kind = (int)random_below(random, 3);
        array.size[d] = 1 + (int)random_below(random, 7);
        grid[d] = kind == 0 ? 1 : 1 + (int)random_below(random, 3);
        how[d] = kind == 0   ? MPI_DISTRIBUTE_NONE
                 : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                             : MPI_DISTRIBUTE_CYCLIC;
        argument[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (kind != 0 && random_below(random, 2) == 0)
            argument[d] = (array.size[d] + grid[d] - 1) / grid[d] + (int)random_below(random, 2);
        if (kind == 2 && random_below(random, 2) == 0)
            argument[d] = 1 + (int)random_below(random, 3);
        all *= grid[d];
        wide[d] = array.size[d];
    }
    int rank = (int)random_below(random, (size_t)all), left = rank, below = all;
    for (int d = 0; d < array.dimensions; d++) {
        below /= grid[d];
        for (int i = 0; i < array.size[d]; i++)
            array.taken[d][i] =
                owner_of(i, array.size[d], how[d], argument[d], grid[d]) == left / below;
        left %= below;
    }
    int order = array.fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    add_array(map, &array, inner);
#if MPI_VERSION >= 4
    if (draw_large(random)) {
        CALL(MPI_Type_create_darray_c(all, rank, array.dimensions, wide, how, argument, grid, order,
                                      inner->type, &map->type));
        return;
    }
#endif
    (void)wide;
    CALL(MPI_Type_create_darray(all, rank, array.dimensions, array.size, how, argument, grid, order,
                                inner->type, &map->type));
}

static const struct {
    const char *name;
    constructor *make;
} CONSTRUCTORS[] = {
    {"contiguous", make_contiguous},
    {"dup", make_dup},
    {"vector", make_vector},
    {"hvector", make_hvector},
    {"indexed", make_indexed},
    {"hindexed", make_hindexed},
    {"indexed-block", make_indexed_block},
    {"hindexed-block", make_hindexed_block},
    {"struct", make_struct},
    {"subarray", make_subarray},
    {"darray", make_darray},
    {"resized", make_resized},
};

void typemap_draw(struct typemap *map, unsigned depth, uint64_t *random)
{
    struct typemap inner;
    MPI_Aint low;
    *map = (struct typemap){0};
    if (depth == 0) {
        draw_leaf(map, random);
        return;
    }
    /* Types of types of nothing end some MPIs' pack with a signal. */
    for (;;) {
        typemap_draw(&inner, depth - 1, random);
        if (inner.bytes > 0 && inner.bytes <= BYTES_MOST)
            break;
        typemap_free(&inner);
    }
    size_t which = random_below(random, sizeof CONSTRUCTORS / sizeof *CONSTRUCTORS);
    map->at = calloc(1, sizeof *map->at);
    CONSTRUCTORS[which].make(map, &inner, random);
    map->derived = true;
    snprintf(map->text, sizeof map->text, "%s of %.120s", CONSTRUCTORS[which].name, inner.text);
    typemap_free(&inner);
    CALL(MPI_Type_commit(&map->type));
    CALL(MPI_Type_get_extent(map->type, &low, &map->extent));
}

void typemap_free(struct typemap *map)
{
    if (map->derived)
        CALL(MPI_Type_free(&map->type));
    free(map->at);
}

void typemap_span(const struct typemap *map, size_t count, MPI_Aint *low, MPI_Aint *high)
{
    *low = 0;
    *high = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < map->bytes; i++) {
            MPI_Aint place = (MPI_Aint)k * map->extent + map->at[i];
            *low = place < *low ? place : *low;
            *high = place >= *high ? place + 1 : *high;
        }
    }
}
