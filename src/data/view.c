/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/view.h"

#include "data/kernel.h"

/* What is moved, and where to. The kernels exist for either direction. */
typedef struct walk {
    char *packed; /* the next byte of the stream */
    bool pack;
} walk_t;

#define SB_EITHER(walk, kernel, ...)                                                               \
    do {                                                                                           \
        if ((walk)->pack)                                                                          \
            kernel(__VA_ARGS__, true);                                                             \
        else                                                                                       \
            kernel(__VA_ARGS__, false);                                                            \
    } while (0)

/* Rows of a sorted list that are moved length by length before the next ones. */
#define SB_TILE_ROWS 32

static void move_run(walk_t *walk, uintptr_t user, size_t bytes)
{
    SB_EITHER(walk, sb_move, user, walk->packed, bytes);
    walk->packed += bytes;
}

/* Rows [first, last) of a sorted list, length by length. `packed`: where position 0 would be. */
static void move_rows(walk_t *walk, const sb_sorted_t *sorted, uintptr_t user, uintptr_t packed,
                      size_t first, size_t last)
{
    const uint32_t *begin = &sorted->starts[first * sorted->lengths];
    const uint32_t *end = &sorted->starts[last * sorted->lengths];

    for (size_t i = 0; i < sorted->lengths; i++) {
        if (begin[i] < end[i])
            SB_EITHER(walk, sb_move_placed, user, sorted->runs + begin[i], packed,
                      end[i] - begin[i], sorted->length[i]);
    }
}

/* Runs [first, last) of an uneven list, in order. */
static void move_uneven(walk_t *walk, const sb_layout_t *list, uintptr_t user, size_t first,
                        size_t last)
{
    if (first < last)
        SB_EITHER(walk, sb_move_uneven, user, list->runs + first, walk->packed, last - first);
    walk->packed += list->runs[last].position - list->runs[first].position;
}

/* The same of a sorted list: whole rows by length, some at a time so that they stay in the cache.
 */
static void move_sorted(walk_t *walk, const sb_layout_t *list, uintptr_t user, size_t first,
                        size_t last)
{
    size_t row = sb_divide_up(first, SB_SORTED_ROW), end = last / SB_SORTED_ROW;

    if (last == list->n && last % SB_SORTED_ROW != 0)
        end++;
    if (row >= end) {
        move_uneven(walk, list, user, first, last);
        return;
    }
    move_uneven(walk, list, user, first, row * SB_SORTED_ROW);
    uintptr_t packed = (uintptr_t)walk->packed - list->runs[row * SB_SORTED_ROW].position;
    for (size_t next; row < end; row = next) {
        next = sb_min(row + SB_TILE_ROWS, end);
        move_rows(walk, list->sorted, user, packed, row, next);
    }
    size_t done = sb_min(end * SB_SORTED_ROW, last);
    walk->packed = (char *)(packed + list->runs[done].position);
    move_uneven(walk, list, user, done, last);
}

/* Runs [first, last) of a list, whole. */
static void move_runs(walk_t *walk, const sb_layout_t *list, uintptr_t user, size_t first,
                      size_t last)
{
    size_t count = last - first;

    if (count == 0)
        return;
    user += (uintptr_t)list->origin;
    if (list->sorted != NULL) {
        move_sorted(walk, list, user, first, last);
    } else if (list->length == 0) {
        move_uneven(walk, list, user, first, last);
    } else {
        SB_EITHER(walk, sb_move_even, user, list->offsets + first, walk->packed, count,
                  list->length);
        walk->packed += count * list->length;
    }
}

/* One run of each of `count` elements of a list. */
static void move_column(const walk_t *walk, const sb_layout_t *list, size_t run, uintptr_t user,
                        size_t count, ptrdiff_t stride)
{
    uintptr_t first = user + (uintptr_t)sb_run_offset(list, run);
    char *packed = walk->packed + sb_run_position(list, run);

    SB_EITHER(walk, sb_move_strided, first, stride, packed, list->bytes, count,
              sb_run_length(list, run));
}

/*
 * `count` elements of a list. Some elements at a time are moved run by run: the loop over one run
 * of many elements knows the length of its blocks, and the elements stay in the nearest cache
 * meanwhile.
 */
static void move_lists(walk_t *walk, const sb_layout_t *list, uintptr_t user, size_t count,
                       ptrdiff_t stride)
{
    size_t distance = (size_t)(stride < 0 ? -stride : stride);
    size_t rows = SB_TILE_BYTES / sb_max(sb_max(distance, list->bytes), 1);

    rows = list->n == 1 ? count : rows;
    if (rows < 4 || count < 4) {
        for (size_t i = 0; i < count; i++, user += (uintptr_t)stride)
            move_runs(walk, list, user, 0, list->n);
        return;
    }
    for (size_t some; count > 0; count -= some) {
        some = sb_min(count, rows);
        for (size_t run = 0; run < list->n; run++)
            move_column(walk, list, run, user, some, stride);
        user += (uintptr_t)stride * some;
        walk->packed += some * list->bytes;
    }
}

/* Whether elements are columns side by side, such as those of a matrix, each with more rows than
 * stay in the nearest cache until the next column wants the same lines. */
static bool are_columns(const sb_layout_t *group, size_t count, ptrdiff_t stride)
{
    const sb_part_t *only = group->parts;

    if (group->n != 1 || count < 2 || !sb_layout_is_one_run(only->inner))
        return false;
    size_t length = only->inner->bytes;
    size_t distance = (size_t)(only->stride < 0 ? -only->stride : only->stride);
    return stride == (ptrdiff_t)length && length <= SB_LINE / 2 &&
           only->count * distance > 2 * SB_TILE_BYTES;
}

/* Such elements, as many at a time as have room in a line, row by row. */
static void move_columns(walk_t *walk, const sb_layout_t *group, uintptr_t user, size_t count,
                         ptrdiff_t stride)
{
    const sb_part_t *only = group->parts;
    size_t length = only->inner->bytes;

    user += (uintptr_t)(only->offset + sb_run_offset(only->inner, 0));
    for (size_t some; count > 0; count -= some) {
        some = sb_min(count, SB_LINE / length);
        uintptr_t row = user;
        char *packed = walk->packed;
        for (size_t i = 0; i < only->count; i++, row += (uintptr_t)only->stride, packed += length)
            SB_EITHER(walk, sb_move_strided, row, stride, packed, group->bytes, some, length);
        user += some * length;
        walk->packed += some * group->bytes;
    }
}

/* `count` elements of any layout, whole. */
static void move_all(walk_t *walk, const sb_layout_t *layout, uintptr_t user, size_t count,
                     ptrdiff_t stride)
{
    if (sb_layout_is_list(layout)) {
        move_lists(walk, layout, user, count, stride);
        return;
    }
    if (are_columns(layout, count, stride)) {
        move_columns(walk, layout, user, count, stride);
        return;
    }
    for (; count > 0; count--, user += (uintptr_t)stride) {
        for (size_t i = 0; i < layout->n; i++) {
            const sb_part_t *part = &layout->parts[i];
            move_all(walk, part->inner, user + (uintptr_t)part->offset, part->count, part->stride);
        }
    }
}

static size_t run_at(const sb_layout_t *list, size_t position)
{
    size_t low = 0, high = list->n;

    if (list->length > 0)
        return position / list->length;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (list->runs[middle].position <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t part_at(const sb_layout_t *group, size_t position)
{
    size_t low = 0, high = group->n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (group->parts[middle].position <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Bytes [from, to) of one element of a list; not none. */
static void move_list_part(walk_t *walk, const sb_layout_t *list, uintptr_t user, size_t from,
                           size_t to)
{
    size_t first = run_at(list, from), last = run_at(list, to - 1);
    size_t skipped = from - sb_run_position(list, first);

    if (first == last) {
        move_run(walk, user + (uintptr_t)sb_run_offset(list, first) + skipped, to - from);
        return;
    }
    if (skipped > 0) {
        size_t rest = sb_run_position(list, first + 1) - from;
        move_run(walk, user + (uintptr_t)sb_run_offset(list, first) + skipped, rest);
        first++;
    }
    move_runs(walk, list, user, first, last);
    move_run(walk, user + (uintptr_t)sb_run_offset(list, last), to - sb_run_position(list, last));
}

static void move_range(walk_t *walk, const sb_layout_t *layout, uintptr_t user, size_t count,
                       ptrdiff_t stride, size_t from, size_t to);

/* Bytes [from, to) of one element of a group; not none. */
static void move_group_part(walk_t *walk, const sb_layout_t *group, uintptr_t user, size_t from,
                            size_t to)
{
    for (size_t i = part_at(group, from); i < group->n && group->parts[i].position < to; i++) {
        const sb_part_t *part = &group->parts[i];
        size_t bytes = part->count * part->inner->bytes;
        size_t begin = from > part->position ? from - part->position : 0;
        size_t end = sb_min(to - part->position, bytes);
        move_range(walk, part->inner, user + (uintptr_t)part->offset, part->count, part->stride,
                   begin, end);
    }
}

static void move_part(walk_t *walk, const sb_layout_t *layout, uintptr_t user, size_t from,
                      size_t to)
{
    if (from == to)
        return;
    if (sb_layout_is_list(layout))
        move_list_part(walk, layout, user, from, to);
    else
        move_group_part(walk, layout, user, from, to);
}

/* Bytes [from, to) of `count` elements: the end of one, whole ones, the beginning of one. */
static void move_range(walk_t *walk, const sb_layout_t *layout, uintptr_t user, size_t count,
                       ptrdiff_t stride, size_t from, size_t to)
{
    const sb_part_t *only = layout->parts;

    if (sb_layout_is_one_run(layout) && (count == 1 || stride == (ptrdiff_t)layout->bytes)) {
        move_run(walk, user + (uintptr_t)sb_run_offset(layout, 0) + from, to - from);
        return;
    }
    if (!sb_layout_is_list(layout) && layout->n == 1 &&
        (count == 1 || (size_t)stride == only->count * (size_t)only->stride)) {
        move_range(walk, only->inner, user + (uintptr_t)only->offset, count * only->count,
                   only->stride, from, to);
        return;
    }
    size_t first = from / layout->bytes, last = to / layout->bytes;
    size_t head = from - first * layout->bytes, tail = to - last * layout->bytes;
    if (first == last) {
        move_part(walk, layout, user + (uintptr_t)stride * first, head, tail);
        return;
    }
    if (head > 0)
        move_part(walk, layout, user + (uintptr_t)stride * first++, head, layout->bytes);
    move_all(walk, layout, user + (uintptr_t)stride * first, last - first, stride);
    move_part(walk, layout, user + (uintptr_t)stride * last, 0, tail);
}

void *sb_view_plain(const sb_view_t *view)
{
    const sb_layout_t *layout = view->layout;

    if (!sb_layout_is_one_run(layout) ||
        (view->count != 1 && view->extent != (ptrdiff_t)layout->bytes))
        return NULL;
    return (void *)((uintptr_t)view->base + (uintptr_t)sb_run_offset(layout, 0));
}

static void move_view(const sb_view_t *view, size_t offset, char *packed, size_t bytes, bool pack)
{
    walk_t walk = {packed, pack};

    if (bytes > 0)
        move_range(&walk, view->layout, (uintptr_t)view->base, view->count, view->extent, offset,
                   offset + bytes);
}

void sb_view_pack(const sb_view_t *view, size_t offset, void *to, size_t bytes)
{
    move_view(view, offset, to, bytes, true);
}

void sb_view_unpack(const sb_view_t *view, size_t offset, const void *from, size_t bytes)
{
    /* The stream is only read in this direction. */
    move_view(view, offset, (char *)(uintptr_t)from, bytes, false);
}
