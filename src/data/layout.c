/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/layout.h"

#include "base/compiler.h"

#include <stdlib.h>
#include <string.h>

/* Up to so many runs are kept as a list: a loop of fewer steps costs more than it saves. */
#define LIST_RUNS 16

sb_layout_t *sb_layout_hold(sb_layout_t *layout)
{
    /* Relaxed: whoever holds it may pass it on. */
    atomic_fetch_add_explicit(&layout->holders, 1, memory_order_relaxed);
    return layout;
}

void sb_layout_release(sb_layout_t *layout)
{
    /* Acquire and release: pair with each other, so that the last one sees all reading done. */
    if (layout == NULL || atomic_fetch_sub_explicit(&layout->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; !sb_layout_is_list(layout) && i < layout->n; i++)
        sb_layout_release(layout->parts[i].inner);
    sb_sorted_free(layout->sorted);
    free(layout->offsets);
    free(layout);
}

/* A layout with room for its items, without anything in it. */
static sb_layout_t *allocate(size_t items, size_t item_bytes)
{
    sb_layout_t *layout = calloc(1, sizeof *layout);

    if (layout == NULL)
        return NULL;
    atomic_init(&layout->holders, 1);
    layout->memory = items * item_bytes;
    layout->offsets = calloc(sb_max(items, 1), item_bytes);
    if (layout->offsets != NULL)
        return layout;
    free(layout);
    return NULL;
}

sb_layout_t *sb_layout_bytes(size_t bytes)
{
    sb_layout_t *layout = allocate(1, sizeof *layout->offsets);

    if (layout == NULL || bytes == 0)
        return layout;
    layout->n = 1;
    layout->length = layout->bytes = bytes;
    layout->high = (ptrdiff_t)bytes;
    return layout;
}

void sb_builder_start(sb_builder_t *builder)
{
    memset(builder, 0, sizeof *builder);
}

/* Makes room for one more item. Returns false if memory or the bound is used up. */
static bool reserve(void **items, size_t count, size_t *room, size_t item_bytes, size_t most)
{
    if (count < *room)
        return true;
    if (count >= most)
        return false;
    size_t larger = sb_max(2 * *room, LIST_RUNS);
    void *moved = realloc(*items, larger * item_bytes);
    if (moved == NULL)
        return false;
    *items = moved;
    *room = larger;
    return true;
}

static void close_runs(sb_builder_t *builder);

/* Whether the open list's positions have room for so many bytes more. */
static bool holds(const sb_builder_t *builder, size_t length)
{
    size_t behind = builder->runs[builder->run_count - 1].position + builder->last_length;

    return length <= UINT32_MAX && behind <= UINT32_MAX - length;
}

/* Whether a run at this offset can join the open list: its numbers must fit. */
static bool joins(const sb_builder_t *builder, ptrdiff_t offset, size_t length)
{
    ptrdiff_t distance;

    return !__builtin_sub_overflow(offset, builder->origin, &distance) && distance >= INT32_MIN &&
           distance <= INT32_MAX && holds(builder, length);
}

static void append_run(sb_builder_t *builder, ptrdiff_t offset, size_t length)
{
    void *runs = builder->runs;
    size_t position = 0;

    if (builder->run_count > 0) {
        const sb_run_t *last = &builder->runs[builder->run_count - 1];
        size_t behind = (size_t)builder->origin + (size_t)last->offset + builder->last_length;
        /* A list's only run is as long as it likes. */
        if ((size_t)offset == behind && (builder->run_count == 1 || holds(builder, length))) {
            builder->last_length += length;
            return;
        }
        if (!joins(builder, offset, length))
            close_runs(builder);
    }
    if (builder->run_count == 0)
        builder->origin = offset;
    else
        position = builder->runs[builder->run_count - 1].position + builder->last_length;
    if (!reserve(&runs, builder->run_count, &builder->run_room, sizeof *builder->runs,
                 SB_LAYOUT_RUNS_MOST)) {
        builder->failed = true;
        return;
    }
    builder->runs = runs;
    builder->runs[builder->run_count++] =
        (sb_run_t){(int32_t)(offset - builder->origin), (uint32_t)position};
    builder->last_length = length;
}

static size_t run_length(const sb_builder_t *builder, size_t i)
{
    return i + 1 < builder->run_count ? builder->runs[i + 1].position - builder->runs[i].position
                                      : builder->last_length;
}

/* The length of all runs, or 0 if they differ. */
static size_t common_length(const sb_builder_t *builder)
{
    for (size_t i = 0; i + 1 < builder->run_count; i++) {
        if (run_length(builder, i) != builder->last_length)
            return 0;
    }
    return builder->last_length;
}

/* Whether the runs lie at equal distances. */
static bool is_progression(const sb_builder_t *builder, ptrdiff_t *stride)
{
    const sb_run_t *runs = builder->runs;

    *stride = builder->run_count > 1 ? (ptrdiff_t)runs[1].offset - runs[0].offset : 0;
    for (size_t i = 1; i < builder->run_count; i++) {
        if ((ptrdiff_t)runs[i].offset - runs[i - 1].offset != *stride)
            return false;
    }
    return true;
}

static sb_layout_t *make_list(const sb_builder_t *builder, size_t length)
{
    size_t n = builder->run_count;
    sb_layout_t *list =
        length > 0 ? allocate(n, sizeof *list->offsets) : allocate(n + 1, sizeof *list->runs);

    if (list == NULL)
        return NULL;
    list->n = n;
    list->length = length;
    list->origin = builder->origin;
    list->bytes = builder->runs[n - 1].position + builder->last_length;
    list->low = PTRDIFF_MAX;
    list->high = PTRDIFF_MIN;
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t offset = list->origin + builder->runs[i].offset;
        ptrdiff_t end = offset + (ptrdiff_t)run_length(builder, i);
        list->low = offset < list->low ? offset : list->low;
        list->high = end > list->high ? end : list->high;
        if (length > 0)
            list->offsets[i] = builder->runs[i].offset;
        else
            list->runs[i] = builder->runs[i];
    }
    if (length > 0)
        return list;
    list->runs[n].position = (uint32_t)list->bytes;
    sb_sorted_add(list);
    return list;
}

/* Takes over `part->inner`. */
static void append_part(sb_builder_t *builder, sb_part_t part)
{
    void *parts = builder->parts;

    if (!reserve(&parts, builder->part_count, &builder->part_room, sizeof part,
                 SB_LAYOUT_PARTS_MOST)) {
        builder->failed = true;
        sb_layout_release(part.inner);
    } else {
        ((sb_part_t *)parts)[builder->part_count++] = part;
    }
    builder->parts = parts;
}

/* Turns the runs so far into a part: a loop if they are many and regular, else a list. */
static void close_runs(sb_builder_t *builder)
{
    ptrdiff_t stride = 0;
    sb_part_t part = {.count = 1};

    if (builder->run_count == 0 || builder->failed)
        return;
    size_t length = common_length(builder);
    if (length > 0 && builder->run_count > LIST_RUNS && is_progression(builder, &stride)) {
        part.offset = builder->origin;
        part.count = builder->run_count;
        part.stride = stride;
        part.inner = sb_layout_bytes(length);
    } else {
        part.inner = make_list(builder, length);
    }
    builder->run_count = 0;
    if (part.inner == NULL)
        builder->failed = true;
    else
        append_part(builder, part);
}

/* How far `count` steps lead; wraps around where the machine's addresses do. */
static ptrdiff_t distance(size_t count, ptrdiff_t stride)
{
    return (ptrdiff_t)(count * (size_t)stride);
}

/* Adds to the part before if this one goes on where it ends. */
static bool extend_part(sb_builder_t *builder, const sb_part_t *part)
{
    if (builder->part_count == 0)
        return false;
    sb_part_t *last = &builder->parts[builder->part_count - 1];
    if (last->inner != part->inner)
        return false;
    ptrdiff_t stride = part->offset - last->offset;
    if (last->count > 1)
        stride = last->stride;
    else if (part->count > 1)
        stride = part->stride;
    if (part->offset - last->offset != distance(last->count, stride) ||
        (part->count > 1 && part->stride != stride))
        return false;
    last->count += part->count;
    last->stride = stride;
    return true;
}

static void add_part(sb_builder_t *builder, sb_part_t part)
{
    close_runs(builder);
    if (builder->failed || extend_part(builder, &part))
        return;
    sb_layout_hold(part.inner);
    append_part(builder, part);
}

/* The span of memory of a repeated layout; false if addresses cannot express it. */
static bool find_span(const sb_part_t *part, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t first = part->offset, last;

    if (__builtin_mul_overflow((ptrdiff_t)(part->count - 1), part->stride, &last) ||
        __builtin_add_overflow(last, first, &last))
        return false;
    return !__builtin_add_overflow(first < last ? first : last, part->inner->low, low) &&
           !__builtin_add_overflow(first < last ? last : first, part->inner->high, high);
}

/* Adds every run of a repeated list. */
static void add_runs(sb_builder_t *builder, const sb_part_t *part)
{
    const sb_layout_t *list = part->inner;

    for (size_t k = 0; k < part->count && !builder->failed; k++) {
        ptrdiff_t offset = part->offset + distance(k, part->stride);
        for (size_t i = 0; i < list->n && !builder->failed; i++)
            append_run(builder, offset + sb_run_offset(list, i), sb_run_length(list, i));
    }
}

/* Adds a repeated group: its parts if they are few, itself otherwise. */
static void add_group(sb_builder_t *builder, const sb_part_t *part)
{
    const sb_layout_t *group = part->inner;
    const sb_part_t *only = &group->parts[0];

    if (group->n == 1 && part->stride == distance(only->count, only->stride)) {
        sb_builder_add(builder, part->offset + only->offset, part->count * only->count,
                       only->stride, only->inner);
    } else if (part->count == 1 && group->n <= LIST_RUNS) {
        for (size_t i = 0; i < group->n; i++)
            sb_builder_add(builder, part->offset + group->parts[i].offset, group->parts[i].count,
                           group->parts[i].stride, group->parts[i].inner);
    } else {
        add_part(builder, *part);
    }
}

void sb_builder_add(sb_builder_t *builder, ptrdiff_t offset, size_t count, ptrdiff_t stride,
                    sb_layout_t *inner)
{
    sb_part_t part = {.offset = offset, .count = count, .stride = stride, .inner = inner};
    ptrdiff_t low, high;
    size_t bytes;

    if (builder->failed || count == 0 || inner->bytes == 0)
        return;
    if (!find_span(&part, &low, &high) || __builtin_mul_overflow(count, inner->bytes, &bytes) ||
        bytes > PTRDIFF_MAX) {
        builder->failed = true;
        return;
    }
    if (!sb_layout_is_list(inner)) {
        add_group(builder, &part);
    } else if (inner->n == 1 && stride == (ptrdiff_t)inner->bytes) {
        append_run(builder, offset + sb_run_offset(inner, 0), bytes);
    } else if (count <= LIST_RUNS && inner->n * count <= LIST_RUNS) {
        add_runs(builder, &part);
    } else {
        add_part(builder, part);
    }
}

/* Fills what follows from the parts. Returns false if a number or a bound is exceeded. */
static bool sum_up(sb_layout_t *group)
{
    group->low = PTRDIFF_MAX;
    group->high = PTRDIFF_MIN;
    for (size_t i = 0; i < group->n; i++) {
        sb_part_t *part = &group->parts[i];
        ptrdiff_t low, high;
        size_t bytes;
        if (!find_span(part, &low, &high) ||
            __builtin_mul_overflow(part->count, part->inner->bytes, &bytes))
            return false;
        part->position = group->bytes;
        if (__builtin_add_overflow(group->bytes, bytes, &group->bytes))
            return false;
        group->low = low < group->low ? low : group->low;
        group->high = high > group->high ? high : group->high;
        group->depth = (uint32_t)sb_max(group->depth, part->inner->depth + 1);
        if (i == 0 || part->inner != group->parts[i - 1].inner)
            group->memory += part->inner->memory;
    }
    return group->depth <= SB_LAYOUT_DEPTH_MOST && group->memory <= SB_LAYOUT_BYTES_MOST;
}

static sb_layout_t *make_group(const sb_builder_t *builder)
{
    sb_layout_t *group = allocate(builder->part_count, sizeof *group->parts);

    if (group == NULL)
        return NULL;
    group->n = builder->part_count;
    group->depth = 1;
    for (size_t i = 0; i < group->n; i++) {
        group->parts[i] = builder->parts[i];
        sb_layout_hold(group->parts[i].inner);
    }
    if (sum_up(group))
        return group;
    sb_layout_release(group);
    return NULL;
}

sb_layout_t *sb_builder_end(sb_builder_t *builder)
{
    sb_layout_t *layout = NULL;

    close_runs(builder);
    const sb_part_t *first = builder->parts;
    if (builder->failed)
        layout = NULL;
    else if (builder->part_count == 0)
        layout = sb_layout_bytes(0);
    else if (builder->part_count == 1 && first->count == 1 && first->offset == 0)
        layout = sb_layout_hold(first->inner);
    else
        layout = make_group(builder);
    for (size_t i = 0; i < builder->part_count; i++)
        sb_layout_release(builder->parts[i].inner);
    free(builder->runs);
    free(builder->parts);
    return layout;
}

sb_layout_t *sb_layout_repeat(ptrdiff_t offset, size_t count, ptrdiff_t stride, sb_layout_t *inner)
{
    sb_builder_t builder;

    sb_builder_start(&builder);
    sb_builder_add(&builder, offset, count, stride, inner);
    return sb_builder_end(&builder);
}
