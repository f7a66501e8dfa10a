/* SPDX-License-Identifier: BSD-3-Clause */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 32, ELEMENTS = 9 };

static struct element elements[ELEMENTS];

/* A layout while it is being drawn. Places are relative to the address given to MPI, in elements or
 * bytes as the maker likes, and may be negative. */
struct draft {
    const struct element *element;
    size_t n;
    MPI_Aint *at;
    uint64_t *random;
    MPI_Datatype type; /* MPI_DATATYPE_NULL: count elements of the element type itself */
    int count;
};

typedef void maker(struct draft *draft);

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    CHECK(memory != NULL, "no memory for %zu x %zu bytes", count, size);
    return memory;
}

static size_t divisor_of(size_t n, uint64_t *random)
{
    size_t divisor = 1 + random_below(random, n);
    while (n % divisor != 0)
        divisor--;
    return divisor;
}

static MPI_Aint size_in_bytes(const struct draft *draft)
{
    return (MPI_Aint)draft->element->bytes;
}

/* Elements first..first+length-1 lie one after the other from the given byte on. */
static void place_run(struct draft *draft, size_t first, size_t length, MPI_Aint byte)
{
    for (size_t i = 0; i < length; i++)
        draft->at[first + i] = byte + (MPI_Aint)i * size_in_bytes(draft);
}

static void make_plain(struct draft *draft)
{
    place_run(draft, 0, draft->n, 0);
    draft->count = (int)draft->n;
}

static void make_contiguous(struct draft *draft)
{
    place_run(draft, 0, draft->n, 0);
    CALL(MPI_Type_contiguous((int)draft->n, draft->element->type, &draft->type));
}

static void make_chunked(struct draft *draft)
{
    size_t chunk = divisor_of(draft->n, draft->random);
    place_run(draft, 0, draft->n, 0);
    CALL(MPI_Type_contiguous((int)chunk, draft->element->type, &draft->type));
    draft->count = (int)(draft->n / chunk);
}

static void place_strided(struct draft *draft, size_t length, MPI_Aint stride_bytes)
{
    for (size_t block = 0; block * length < draft->n; block++)
        place_run(draft, block * length, length, (MPI_Aint)block * stride_bytes);
}

static void make_vector(struct draft *draft)
{
    size_t length = divisor_of(draft->n, draft->random);
    size_t stride = length + random_below(draft->random, 5);
    place_strided(draft, length, (MPI_Aint)stride * size_in_bytes(draft));
    CALL(MPI_Type_vector((int)(draft->n / length), (int)length, (int)stride, draft->element->type,
                         &draft->type));
}

static void make_hvector_backwards(struct draft *draft)
{
    /* At least one element of gap: without it Open MPI 4.1 and 5.0 take the type for a contiguous
     * one and forget its order. */
    size_t length = divisor_of(draft->n, draft->random);
    MPI_Aint gap = 1 + (MPI_Aint)random_below(draft->random, 5);
    MPI_Aint stride = -((MPI_Aint)length + gap) * size_in_bytes(draft);
    place_strided(draft, length, stride);
    CALL(MPI_Type_create_hvector((int)(draft->n / length), (int)length, stride,
                                 draft->element->type, &draft->type));
}

/* Blocks of unequal lengths with gaps between them. */
struct blocks {
    int count;
    int *lengths;
    int *elements;   /* displacement in elements */
    MPI_Aint *bytes; /* the same in bytes */
};

static void blocks_allocate(struct blocks *blocks, size_t capacity)
{
    blocks->lengths = allocate(capacity, sizeof *blocks->lengths);
    blocks->elements = allocate(capacity, sizeof *blocks->elements);
    blocks->bytes = allocate(capacity, sizeof *blocks->bytes);
    blocks->count = 0;
}

static void blocks_free(struct blocks *blocks)
{
    free(blocks->lengths);
    free(blocks->elements);
    free(blocks->bytes);
}

static void swap_blocks(struct blocks *blocks, int a, int b)
{
    int length = blocks->lengths[a];
    int element = blocks->elements[a];
    blocks->lengths[a] = blocks->lengths[b];
    blocks->elements[a] = blocks->elements[b];
    blocks->lengths[b] = length;
    blocks->elements[b] = element;
}

static void draw_blocks(struct draft *draft, struct blocks *blocks, size_t longest, bool permute)
{
    blocks_allocate(blocks, draft->n);
    int place = (int)random_below(draft->random, 4);
    for (size_t left = draft->n; left > 0;) {
        size_t length = 1 + random_below(draft->random, left < longest ? left : longest);
        blocks->lengths[blocks->count] = (int)length;
        blocks->elements[blocks->count++] = place;
        place += (int)(length + random_below(draft->random, 4));
        left -= length;
    }
    for (int i = blocks->count - 1; permute && i > 0; i--)
        swap_blocks(blocks, i, (int)random_below(draft->random, (size_t)i + 1));
    size_t first = 0;
    for (int i = 0; i < blocks->count; i++) {
        blocks->bytes[i] = blocks->elements[i] * size_in_bytes(draft);
        place_run(draft, first, (size_t)blocks->lengths[i], blocks->bytes[i]);
        first += (size_t)blocks->lengths[i];
    }
}

static void make_indexed_any(struct draft *draft, bool permute)
{
    struct blocks blocks;
    draw_blocks(draft, &blocks, 40, permute);
    CALL(MPI_Type_indexed(blocks.count, blocks.lengths, blocks.elements, draft->element->type,
                          &draft->type));
    blocks_free(&blocks);
}

static void make_indexed(struct draft *draft)
{
    make_indexed_any(draft, false);
}

static void make_indexed_permuted(struct draft *draft)
{
    make_indexed_any(draft, true);
}

static void make_hindexed_permuted(struct draft *draft)
{
    struct blocks blocks;
    draw_blocks(draft, &blocks, 1 + draft->n / 3, true);
    CALL(MPI_Type_create_hindexed(blocks.count, blocks.lengths, blocks.bytes, draft->element->type,
                                  &draft->type));
    blocks_free(&blocks);
}

static void draw_equal_blocks(struct draft *draft, struct blocks *blocks, size_t length)
{
    blocks_allocate(blocks, draft->n);
    int place = (int)(draft->n + random_below(draft->random, 9));
    for (size_t first = 0; first < draft->n; first += length) {
        int i = blocks->count++;
        blocks->elements[i] = place;
        blocks->bytes[i] = place * size_in_bytes(draft);
        place_run(draft, first, length, blocks->bytes[i]);
        place -= (int)(length + random_below(draft->random, 3));
    }
}

static void make_indexed_block(struct draft *draft)
{
    struct blocks blocks;
    size_t length = divisor_of(draft->n, draft->random);
    draw_equal_blocks(draft, &blocks, length);
    CALL(MPI_Type_create_indexed_block(blocks.count, (int)length, blocks.elements,
                                       draft->element->type, &draft->type));
    blocks_free(&blocks);
}

static void make_hindexed_block(struct draft *draft)
{
    struct blocks blocks;
    size_t length = divisor_of(draft->n, draft->random);
    draw_equal_blocks(draft, &blocks, length);
    CALL(MPI_Type_create_hindexed_block(blocks.count, (int)length, blocks.bytes,
                                        draft->element->type, &draft->type));
    blocks_free(&blocks);
}

static void make_struct(struct draft *draft)
{
    struct blocks blocks;
    draw_blocks(draft, &blocks, 25, true);
    MPI_Datatype *types = allocate((size_t)blocks.count, sizeof *types);
    for (int i = 0; i < blocks.count; i++)
        types[i] = draft->element->type;
    CALL(MPI_Type_create_struct(blocks.count, blocks.lengths, blocks.bytes, types, &draft->type));
    free(types);
    blocks_free(&blocks);
}

/* A box a x b x c of a larger array; the last index runs fastest in C order. */
static void place_box(struct draft *draft, const int size[3], const int sub[3], const int start[3],
                      bool fortran)
{
    size_t k = 0;
    int inner = fortran ? 0 : 2;
    int outer = fortran ? 2 : 0;
    for (int i = 0; i < sub[outer]; i++)
        for (int j = 0; j < sub[1]; j++)
            for (int l = 0; l < sub[inner]; l++) {
                MPI_Aint row = (MPI_Aint)(start[outer] + i) * size[1] + start[1] + j;
                MPI_Aint place = row * size[inner] + start[inner] + l;
                draft->at[k++] = place * size_in_bytes(draft);
            }
}

static void make_subarray(struct draft *draft, bool fortran)
{
    size_t a = divisor_of(draft->n, draft->random);
    size_t b = divisor_of(draft->n / a, draft->random);
    int sub[3] = {(int)a, (int)b, (int)(draft->n / a / b)};
    int size[3];
    int start[3];
    for (int d = 0; d < 3; d++) {
        start[d] = (int)random_below(draft->random, 2);
        size[d] = sub[d] + start[d] + (int)random_below(draft->random, 2);
    }
    place_box(draft, size, sub, start, fortran);
    CALL(MPI_Type_create_subarray(3, size, sub, start, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                                  draft->element->type, &draft->type));
}

static void make_subarray_c(struct draft *draft)
{
    make_subarray(draft, false);
}

static void make_subarray_fortran(struct draft *draft)
{
    make_subarray(draft, true);
}

static void make_resized(struct draft *draft)
{
    size_t chunk = divisor_of(draft->n, draft->random);
    MPI_Aint bytes = size_in_bytes(draft);
    MPI_Aint extent = (MPI_Aint)(chunk + 1 + random_below(draft->random, 3)) * bytes;
    MPI_Datatype inner;
    CALL(MPI_Type_contiguous((int)chunk, draft->element->type, &inner));
    CALL(MPI_Type_create_resized(inner, -bytes, extent, &draft->type));
    CALL(MPI_Type_free(&inner));
    draft->count = (int)(draft->n / chunk);
    place_strided(draft, chunk, extent);
}

/* Columns of a dense matrix, one after the other: the extent is one element. */
static void make_transposed(struct draft *draft)
{
    size_t rows = divisor_of(draft->n, draft->random);
    size_t columns = draft->n / rows;
    MPI_Datatype column;
    CALL(MPI_Type_vector((int)rows, 1, (int)columns, draft->element->type, &column));
    CALL(MPI_Type_create_resized(column, 0, size_in_bytes(draft), &draft->type));
    CALL(MPI_Type_free(&column));
    draft->count = (int)columns;
    for (size_t i = 0; i < draft->n; i++)
        draft->at[i] = (MPI_Aint)(i % rows * columns + i / rows) * size_in_bytes(draft);
}

/* A vector whose elements are pairs of runs with a gap between them. */
static void make_nested(struct draft *draft)
{
    size_t chunk = divisor_of(draft->n, draft->random);
    MPI_Aint bytes = size_in_bytes(draft);
    int lengths[2] = {(int)(chunk / 2), (int)(chunk - chunk / 2)};
    int places[2] = {0, (int)(chunk / 2) + 2};
    MPI_Aint extent = (MPI_Aint)(chunk + 2) * bytes;
    MPI_Datatype inner;
    CALL(MPI_Type_indexed(2, lengths, places, draft->element->type, &inner));
    CALL(MPI_Type_create_hvector((int)(draft->n / chunk), 1, extent + bytes, inner, &draft->type));
    CALL(MPI_Type_free(&inner));
    for (size_t first = 0; first < draft->n; first += chunk) {
        MPI_Aint base = (MPI_Aint)(first / chunk) * (extent + bytes);
        place_run(draft, first, (size_t)lengths[0], base);
        place_run(draft, first + (size_t)lengths[0], (size_t)lengths[1], base + places[1] * bytes);
    }
}

static void make_darray(struct draft *draft)
{
    int processes = 1 + (int)random_below(draft->random, 3);
    int mine = (int)random_below(draft->random, (size_t)processes);
    int size = (int)draft->n * processes;
    int distribution = MPI_DISTRIBUTE_BLOCK;
    int argument = MPI_DISTRIBUTE_DFLT_DARG;
    CALL(MPI_Type_create_darray(processes, mine, 1, &size, &distribution, &argument, &processes,
                                MPI_ORDER_C, draft->element->type, &draft->type));
    place_run(draft, 0, draft->n, (MPI_Aint)mine * (MPI_Aint)draft->n * size_in_bytes(draft));
}

static void make_duplicate(struct draft *draft)
{
    make_vector(draft);
    MPI_Datatype original = draft->type;
    CALL(MPI_Type_commit(&original));
    CALL(MPI_Type_dup(original, &draft->type));
    CALL(MPI_Type_free(&original));
}

static void make_large_count(struct draft *draft)
{
#if MPI_VERSION >= 4
    size_t length = divisor_of(draft->n, draft->random);
    size_t stride = length + 1;
    place_strided(draft, length, (MPI_Aint)stride * size_in_bytes(draft));
    CALL(MPI_Type_vector_c((MPI_Count)(draft->n / length), (MPI_Count)length, (MPI_Count)stride,
                           draft->element->type, &draft->type));
#else
    make_vector(draft);
#endif
}

static const struct {
    const char *name;
    maker *make;
} KINDS[LAYOUT_KINDS] = {
    [LAYOUT_PLAIN] = {"plain", make_plain},
    [LAYOUT_CONTIGUOUS] = {"contiguous", make_contiguous},
    [LAYOUT_CHUNKED] = {"chunked", make_chunked},
    [LAYOUT_VECTOR] = {"vector", make_vector},
    [LAYOUT_HVECTOR_BACKWARDS] = {"hvector-backwards", make_hvector_backwards},
    [LAYOUT_INDEXED] = {"indexed", make_indexed},
    [LAYOUT_INDEXED_PERMUTED] = {"indexed-permuted", make_indexed_permuted},
    [LAYOUT_HINDEXED_PERMUTED] = {"hindexed-permuted", make_hindexed_permuted},
    [LAYOUT_INDEXED_BLOCK] = {"indexed-block", make_indexed_block},
    [LAYOUT_HINDEXED_BLOCK] = {"hindexed-block", make_hindexed_block},
    [LAYOUT_STRUCT] = {"struct", make_struct},
    [LAYOUT_SUBARRAY_C] = {"subarray-c", make_subarray_c},
    [LAYOUT_SUBARRAY_FORTRAN] = {"subarray-fortran", make_subarray_fortran},
    [LAYOUT_RESIZED] = {"resized", make_resized},
    [LAYOUT_TRANSPOSED] = {"transposed", make_transposed},
    [LAYOUT_NESTED] = {"nested", make_nested},
    [LAYOUT_DARRAY] = {"darray", make_darray},
    [LAYOUT_DUPLICATE] = {"duplicate", make_duplicate},
    /* The places of permuted blocks serve; the type itself waits for the addresses. */
    [LAYOUT_BOTTOM] = {"bottom", make_hindexed_permuted},
    [LAYOUT_LARGE_COUNT] = {"large-count", make_large_count},
};

const char *layout_name(enum layout_kind kind)
{
    return KINDS[kind].name;
}

static void take_memory(struct layout *layout)
{
    MPI_Aint low = 0;
    MPI_Aint high = 0;
    for (size_t i = 0; i < layout->elements; i++) {
        MPI_Aint end = layout->at[i] + (MPI_Aint)layout->element_bytes;
        low = layout->at[i] < low ? layout->at[i] : low;
        high = end > high ? end : high;
    }
    MPI_Aint shift = GUARD - low;
    layout->memory_bytes = (size_t)(high - low) + 2 * GUARD;
    layout->memory = allocate(layout->memory_bytes, 1);
    layout->expected = allocate(layout->memory_bytes, 1);
    layout->buffer = layout->memory + shift;
    for (size_t i = 0; i < layout->elements; i++)
        layout->at[i] += shift;
}

/* Every element by its own absolute address, in the order of the message. */
static void make_absolute(struct layout *layout, MPI_Datatype element)
{
    MPI_Aint *addresses = allocate(layout->elements, sizeof *addresses);
    for (size_t i = 0; i < layout->elements; i++)
        CALL(MPI_Get_address(layout->memory + layout->at[i], &addresses[i]));
    CALL(MPI_Type_free(&layout->type));
    CALL(MPI_Type_create_hindexed_block((int)layout->elements, 1, addresses, element,
                                        &layout->type));
    layout->buffer = MPI_BOTTOM;
    free(addresses);
}

void layout_create(struct layout *layout, enum layout_kind kind, const struct element *element,
                   size_t count, uint64_t *random)
{
    *layout = (struct layout){.elements = count, .element_bytes = element->bytes};
    layout->at = allocate(count, sizeof *layout->at);
    struct draft draft = {.element = element,
                          .n = count,
                          .at = layout->at,
                          .random = random,
                          .type = MPI_DATATYPE_NULL,
                          .count = 1};
    KINDS[kind].make(&draft);
    layout->own_type = draft.type != MPI_DATATYPE_NULL;
    layout->type = layout->own_type ? draft.type : element->type;
    layout->count = draft.count;
    take_memory(layout);
    if (kind == LAYOUT_BOTTOM)
        make_absolute(layout, element->type);
    if (layout->own_type)
        CALL(MPI_Type_commit(&layout->type));
}

void layout_destroy(struct layout *layout)
{
    if (layout->own_type)
        CALL(MPI_Type_free(&layout->type));
    free(layout->at);
    free(layout->memory);
    free(layout->expected);
}

/* Puts a pattern into the elements, as a message that is unpacked. */
static void unpack_pattern(const struct layout *layout, unsigned char *memory, uint64_t seed)
{
    size_t bytes = layout->element_bytes;
    unsigned char *packed = allocate(layout->elements, bytes);

    fill(packed, layout->elements * bytes, seed);
    for (size_t i = 0; i < layout->elements; i++)
        memcpy(memory + layout->at[i], packed + i * bytes, bytes);
    free(packed);
}

void layout_fill(struct layout *layout, uint64_t seed, bool sender)
{
    fill(layout->memory, layout->memory_bytes, seed + 77);
    memcpy(layout->expected, layout->memory, layout->memory_bytes);
    unpack_pattern(layout, layout->expected, seed);
    if (sender)
        memcpy(layout->memory, layout->expected, layout->memory_bytes);
    else
        unpack_pattern(layout, layout->memory, ~seed);
}

size_t layout_mismatch(const struct layout *layout)
{
    if (memcmp(layout->memory, layout->expected, layout->memory_bytes) == 0)
        return layout->memory_bytes;
    size_t i = 0;
    while (layout->memory[i] == layout->expected[i])
        i++;
    return i;
}

static MPI_Datatype packed_structure(void)
{
    int lengths[3] = {1, 1, 1};
    MPI_Aint places[3] = {0, 8, 12};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Datatype open;
    MPI_Datatype packed;
    CALL(MPI_Type_create_struct(3, lengths, places, types, &open));
    CALL(MPI_Type_create_resized(open, 0, 13, &packed));
    CALL(MPI_Type_commit(&packed));
    CALL(MPI_Type_free(&open));
    return packed;
}

void elements_begin(void)
{
    const struct element all[ELEMENTS] = {
        {MPI_BYTE, 1, "MPI_BYTE"},
        {MPI_CHAR, sizeof(char), "MPI_CHAR"},
        {MPI_SHORT, sizeof(short), "MPI_SHORT"},
        {MPI_INT, sizeof(int), "MPI_INT"},
        {MPI_LONG, sizeof(long), "MPI_LONG"},
        {MPI_FLOAT, sizeof(float), "MPI_FLOAT"},
        {MPI_DOUBLE, sizeof(double), "MPI_DOUBLE"},
        {MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double), "MPI_C_DOUBLE_COMPLEX"},
        {packed_structure(), 13, "packed structure"},
    };
    memcpy(elements, all, sizeof all);
}

void elements_end(void)
{
    CALL(MPI_Type_free(&elements[ELEMENTS - 1].type));
}

size_t elements_count(void)
{
    return ELEMENTS;
}

const struct element *element_at(size_t index)
{
    return &elements[index];
}
