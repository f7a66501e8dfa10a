/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types are taken apart with MPI_Type_get_envelope and MPI_Type_get_contents. Hosts with large
 * counts are asked by the functions for those: they know types of both kinds, while the others
 * reject the large kind. The two kinds give the same numbers in nearly the same order, so they are
 * read into one array.
 */
#include "mpi/contents.h"

#include <stdlib.h>

/* ---- what the host says ---- */

/* What a type was built from. */
typedef struct source {
    int combiner;
    bool large; /* by a constructor with large counts */
    MPI_Count integers, addresses, counts;
    size_t numbers; /* of these three together */
    size_t types;   /* named types, which may not be asked for more, have none */
    MPI_Count *number;
    MPI_Datatype *type;
} source_t;

static bool knows_large(void)
{
    return sb_host.Type_get_envelope_c != NULL && sb_host.Type_get_contents_c != NULL;
}

static bool read_envelope(MPI_Datatype type, source_t *source)
{
    MPI_Count types = 0;
    int integers = 0, addresses = 0, few = 0, error;

    *source = (source_t){0};
    if (knows_large()) {
        error = sb_host.Type_get_envelope_c(type, &source->integers, &source->addresses,
                                            &source->counts, &types, &source->combiner);
    } else {
        error = sb_host.Type_get_envelope(type, &integers, &addresses, &few, &source->combiner);
        source->integers = integers;
        source->addresses = addresses;
        types = few;
    }
    source->large = source->counts > 0;
    source->numbers = (size_t)(source->integers + source->addresses + source->counts);
    source->types = (size_t)types;
    return error == MPI_SUCCESS;
}

static bool read_contents(MPI_Datatype type, const source_t *source, int *integer,
                          MPI_Aint *address)
{
    MPI_Count integers = source->integers, addresses = source->addresses, *number = source->number;
    int error;

    if (integer == NULL || address == NULL || number == NULL || source->type == NULL)
        return false;
    if (knows_large())
        error = sb_host.Type_get_contents_c(type, integers, addresses, source->counts,
                                            (MPI_Count)source->types, integer, address,
                                            number + integers + addresses, source->type);
    else
        error = sb_host.Type_get_contents(type, (int)integers, (int)addresses, (int)source->types,
                                          integer, address, source->type);
    for (MPI_Count i = 0; i < integers; i++)
        number[i] = integer[i];
    for (MPI_Count i = 0; i < addresses; i++)
        number[integers + i] = address[i];
    return error == MPI_SUCCESS;
}

/* With the envelope read; to be released in any case. False: the host does not say, or lack of
 * memory. */
static bool read_source(MPI_Datatype type, source_t *source)
{
    if (source->types == 0)
        return true;
    source->number = calloc(source->numbers + 1, sizeof *source->number);
    source->type = calloc(source->types, sizeof(MPI_Datatype));
    int *integer = calloc((size_t)source->integers + 1, sizeof *integer);
    MPI_Aint *address = calloc((size_t)source->addresses + 1, sizeof *address);
    bool done = read_contents(type, source, integer, address);
    free(integer);
    free(address);
    return done;
}

static bool is_permanent(const source_t *source)
{
    return source->combiner == MPI_COMBINER_NAMED || source->combiner == MPI_COMBINER_F90_REAL ||
           source->combiner == MPI_COMBINER_F90_COMPLEX ||
           source->combiner == MPI_COMBINER_F90_INTEGER;
}

bool sb_type_is_permanent(MPI_Datatype type)
{
    source_t source;

    return read_envelope(type, &source) && is_permanent(&source);
}

/* Whether a constructor is known to have made the type: others must not be freed. */
static bool is_constructed(MPI_Datatype type)
{
    source_t source;

    if (!read_envelope(type, &source))
        return false;
    switch (source.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
    case MPI_COMBINER_RESIZED:
        return true;
    default:
        return false;
    }
}

/* Reading contents hands out derived types as new handles. */
static void release_source(source_t *source, bool read)
{
    for (size_t i = 0; read && i < source->types; i++) {
        if (sb_predefined_find(source->type[i]) == NULL && is_constructed(source->type[i]))
            sb_host.Type_free(&source->type[i]);
    }
    free(source->number);
    free(source->type);
}

/* ---- as a layout ---- */

/* A type of types of types ... deeper than this is left to the host. */
#define NESTING_MOST 200

/* A type inside another. */
typedef struct inner {
    MPI_Datatype type;
    sb_layout_t *layout;
    ptrdiff_t extent;
} inner_t;

static sb_layout_t *describe(MPI_Datatype type, unsigned nesting);

static bool open_inner(inner_t *inner, MPI_Datatype type, unsigned nesting)
{
    MPI_Aint lower, extent;

    *inner = (inner_t){.type = type};
    if (sb_host.Type_get_extent(type, &lower, &extent) != MPI_SUCCESS)
        return false;
    inner->extent = extent;
    inner->layout = describe(type, nesting + 1);
    return inner->layout != NULL;
}

/* `number * unit`; what cannot be expressed fails in the builder. */
static ptrdiff_t scaled(MPI_Count number, ptrdiff_t unit)
{
    ptrdiff_t result;

    return __builtin_mul_overflow((ptrdiff_t)number, unit, &result) ? PTRDIFF_MAX : result;
}

/* `count` blocks of `length` elements, `stride` bytes apart. */
static sb_layout_t *vector_of(const inner_t *inner, MPI_Count count, MPI_Count length,
                              ptrdiff_t stride)
{
    if (count < 0 || length < 0)
        return NULL;
    sb_layout_t *block = sb_layout_repeat(0, (size_t)length, inner->extent, inner->layout);
    if (block == NULL)
        return NULL;
    sb_layout_t *result = sb_layout_repeat(0, (size_t)count, stride, block);
    sb_layout_release(block);
    return result;
}

/* Blocks at places counted in `unit` bytes, of one length if they are `equal`. */
static sb_layout_t *describe_blocks(const source_t *source, const inner_t *inner, bool equal,
                                    ptrdiff_t unit)
{
    size_t count = (size_t)source->number[0], lengths = equal ? 1 : count;
    const MPI_Count *length = source->number + 1, *place = length + lengths;
    sb_builder_t builder;

    if (source->numbers != 1 + lengths + count)
        return NULL;
    sb_builder_start(&builder);
    for (size_t i = 0; i < count; i++)
        sb_builder_add(&builder, scaled(place[i], unit), (size_t)length[equal ? 0 : i],
                       inner->extent, inner->layout);
    return sb_builder_end(&builder);
}

static sb_layout_t *describe_struct(const source_t *source, unsigned nesting)
{
    const MPI_Count *number = source->number;
    size_t count = source->types;
    inner_t inner = {0};
    sb_builder_t builder;
    bool known = true;

    if (source->numbers != 1 + 2 * count)
        return NULL;
    sb_builder_start(&builder);
    for (size_t i = 0; known && i < count; i++) {
        /* Neighbours of one type are described once. */
        if (inner.layout == NULL || inner.type != source->type[i]) {
            sb_layout_release(inner.layout);
            known = open_inner(&inner, source->type[i], nesting);
        }
        if (known)
            sb_builder_add(&builder, (ptrdiff_t)number[1 + count + i], (size_t)number[1 + i],
                           inner.extent, inner.layout);
    }
    sb_layout_release(inner.layout);
    sb_layout_t *layout = sb_builder_end(&builder);
    if (known)
        return layout;
    sb_layout_release(layout);
    return NULL;
}

/* One dimension of an array: which of its indices are taken. */
typedef struct axis {
    MPI_Count size;
    MPI_Count first;  /* index */
    MPI_Count block;  /* consecutive indices */
    MPI_Count blocks; /* whole blocks */
    MPI_Count step;   /* indices from one block to the next */
    MPI_Count rest;   /* indices of a block that the array's end cuts off */
} axis_t;

/* Adds one dimension around what is there. `step`: bytes from one index to the next. */
static sb_layout_t *wrap_axis(sb_layout_t *layout, const axis_t *axis, ptrdiff_t step)
{
    sb_builder_t builder;
    ptrdiff_t first = scaled(axis->first, step), stride = scaled(axis->step, step);
    sb_layout_t *block = sb_layout_repeat(0, (size_t)axis->block, step, layout);

    if (block == NULL)
        return NULL;
    sb_builder_start(&builder);
    sb_builder_add(&builder, first, (size_t)axis->blocks, stride, block);
    if (axis->rest > 0)
        sb_builder_add(&builder, first + scaled(axis->blocks * axis->step, step),
                       (size_t)axis->rest, step, layout);
    sb_layout_release(block);
    return sb_builder_end(&builder);
}

/* An array's part, from the dimension that varies fastest to the slowest. */
static sb_layout_t *wrap_axes(const inner_t *inner, const axis_t *axes, size_t count, bool fortran)
{
    sb_layout_t *layout = sb_layout_hold(inner->layout);
    ptrdiff_t step = inner->extent;

    for (size_t i = 0; layout != NULL && i < count; i++) {
        const axis_t *axis = &axes[fortran ? i : count - 1 - i];
        sb_layout_t *wider = wrap_axis(layout, axis, step);
        sb_layout_release(layout);
        layout = wider;
        step = scaled(axis->size, step);
    }
    return layout;
}

static sb_layout_t *describe_subarray(const source_t *source, const inner_t *inner)
{
    size_t count = (size_t)source->number[0];
    axis_t *axes = source->numbers == 2 + 3 * count ? calloc(count + 1, sizeof *axes) : NULL;

    if (axes == NULL)
        return NULL;
    const MPI_Count *sizes = source->number + (source->large ? 2 : 1);
    MPI_Count order = source->number[source->large ? 1 : 1 + 3 * count];
    for (size_t i = 0; i < count; i++)
        axes[i] = (axis_t){.size = sizes[i],
                           .first = sizes[2 * count + i],
                           .block = sizes[count + i],
                           .blocks = 1};
    sb_layout_t *layout = wrap_axes(inner, axes, count, order == MPI_ORDER_FORTRAN);
    free(axes);
    return layout;
}

/* What process `place` of `processes` has of a dimension. */
static axis_t distribute(MPI_Count size, MPI_Count how, MPI_Count argument, MPI_Count processes,
                         MPI_Count place)
{
    axis_t axis = {.size = size, .block = size, .blocks = 1};

    if (how == MPI_DISTRIBUTE_NONE)
        return axis;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        argument = how == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    axis.first = place * argument;
    axis.step = processes * argument;
    axis.block = argument;
    MPI_Count left = size > axis.first ? size - axis.first : 0;
    axis.blocks = left / axis.step;
    left -= axis.blocks * axis.step;
    if (left >= argument)
        axis.blocks++;
    else
        axis.rest = left;
    return axis;
}

static sb_layout_t *describe_darray(const source_t *source, const inner_t *inner)
{
    const MPI_Count *number = source->number;
    MPI_Count processes = number[0], rank = number[1];
    size_t count = (size_t)number[2];
    axis_t *axes = source->numbers == 4 + 4 * count ? calloc(count + 1, sizeof *axes) : NULL;

    if (axes == NULL)
        return NULL;
    const MPI_Count *sizes = number + (source->large ? 4 + 3 * count : 3);
    const MPI_Count *how = number + (source->large ? 3 : 3 + count);
    const MPI_Count *arguments = how + count, *grid = how + 2 * count;
    MPI_Count order = grid[count];
    /* Processes are numbered with the last dimension fastest, whatever the order of the array. */
    for (size_t i = 0; i < count; i++) {
        processes /= grid[i];
        axes[i] = distribute(sizes[i], how[i], arguments[i], grid[i], rank / processes);
        rank %= processes;
    }
    sb_layout_t *layout = wrap_axes(inner, axes, count, order == MPI_ORDER_FORTRAN);
    free(axes);
    return layout;
}

/* A type with one inner type. */
static sb_layout_t *describe_single(const source_t *source, const inner_t *inner)
{
    const MPI_Count *number = source->number;

    switch (source->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return sb_layout_hold(inner->layout);
    case MPI_COMBINER_CONTIGUOUS:
        return vector_of(inner, 1, number[0], 0);
    case MPI_COMBINER_VECTOR:
        return vector_of(inner, number[0], number[1], scaled(number[2], inner->extent));
    case MPI_COMBINER_HVECTOR:
        return vector_of(inner, number[0], number[1], (ptrdiff_t)number[2]);
    case MPI_COMBINER_INDEXED:
        return describe_blocks(source, inner, false, inner->extent);
    case MPI_COMBINER_HINDEXED:
        return describe_blocks(source, inner, false, 1);
    case MPI_COMBINER_INDEXED_BLOCK:
        return describe_blocks(source, inner, true, inner->extent);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return describe_blocks(source, inner, true, 1);
    case MPI_COMBINER_SUBARRAY:
        return describe_subarray(source, inner);
    case MPI_COMBINER_DARRAY:
        return describe_darray(source, inner);
    default:
        return NULL;
    }
}

static sb_layout_t *describe_source(const source_t *source, unsigned nesting)
{
    inner_t inner = {0};
    sb_layout_t *layout = NULL;

    if (source->combiner == MPI_COMBINER_STRUCT)
        return describe_struct(source, nesting);
    if (source->types == 1 && open_inner(&inner, source->type[0], nesting))
        layout = describe_single(source, &inner);
    sb_layout_release(inner.layout);
    return layout;
}

static sb_layout_t *describe(MPI_Datatype type, unsigned nesting)
{
    const sb_type_t *known = sb_predefined_find(type);
    source_t source;

    if (known == NULL && !read_envelope(type, &source))
        return NULL;
    if (known == NULL && is_permanent(&source))
        known = sb_predefined_add(type);
    if (known != NULL)
        return known->layout == NULL ? NULL : sb_layout_hold(known->layout);
    if (nesting > NESTING_MOST)
        return NULL;
    bool read = read_source(type, &source);
    sb_layout_t *layout = read ? describe_source(&source, nesting) : NULL;
    release_source(&source, read);
    return layout;
}

/* Whether the host sees the same size, and a span of memory that holds ours: some hosts count the
 * places of empty blocks in. */
static bool fits(const sb_layout_t *layout, MPI_Datatype type)
{
    MPI_Count size;
    MPI_Aint lower, extent;

    if (sb_host.Type_size_x(type, &size) != MPI_SUCCESS || size != (MPI_Count)layout->bytes ||
        sb_host.Type_get_true_extent(type, &lower, &extent) != MPI_SUCCESS)
        return false;
    return size == 0 || (lower <= layout->low && extent >= layout->high - lower);
}

sb_layout_t *sb_contents_layout(MPI_Datatype type)
{
    sb_layout_t *layout = describe(type, 0);

    if (layout == NULL || fits(layout, type))
        return layout;
    sb_layout_release(layout);
    return NULL;
}
