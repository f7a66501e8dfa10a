/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_DATA_LAYOUT_H
#define SB_DATA_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A layout tells where the bytes of one element lie in memory, in the order in which they are sent.
 * It is made once and never changes, so any number of threads may use it.
 *
 * It is a tree of two kinds of node. A list holds runs: so many bytes at an offset. A group holds
 * parts: another layout, repeated `count` times every `stride` bytes, from an offset on. Runs and
 * parts know their position among the packed bytes, so that a walk may begin at any byte: one
 * search for each level. Neighbours are merged, short loops become lists, and long lists of equal
 * runs at equal distances become loops, so that the description is small where the memory is
 * regular.
 *
 * Long lists of runs of few lengths are kept a second time, sorted by length within a row of
 * neighbours: moving all of one length, then all of the next, spares the processor to guess the
 * length of each.
 *
 * Memory: 4 bytes for a run in a list of runs of equal length, 8 in other lists (16 or 17 if they
 * are sorted as well), 40 for a part.
 * Numbers in lists are small because a list starts anew where they would not fit. A layout of more
 * than SB_LAYOUT_RUNS_MOST runs, SB_LAYOUT_PARTS_MOST parts in one group, SB_LAYOUT_BYTES_MOST or
 * SB_LAYOUT_DEPTH_MOST levels is not made.
 */
#define SB_LAYOUT_RUNS_MOST ((size_t)2 << 20) /* in one list */
#define SB_LAYOUT_PARTS_MOST ((size_t)256 << 10)
#define SB_LAYOUT_BYTES_MOST ((size_t)16 << 20)
#define SB_LAYOUT_DEPTH_MOST 16

typedef struct sb_layout sb_layout_t;

typedef struct sb_run {
    int32_t offset; /* from the list's origin */
    uint32_t position;
} sb_run_t;

typedef struct sb_part {
    ptrdiff_t offset;
    size_t position;
    size_t count;
    ptrdiff_t stride;
    sb_layout_t *inner;
} sb_part_t;

#define SB_SORTED_LENGTHS 8 /* at most */
#define SB_SORTED_ROW 32    /* runs */

/* A list's runs by length. A row covers SB_SORTED_ROW neighbours, the last one maybe fewer. */
typedef struct sb_sorted {
    size_t lengths;
    size_t length[SB_SORTED_LENGTHS];
    sb_run_t *runs;   /* all of the first length by position, all of the second, ... */
    uint32_t *starts; /* [row * lengths + i]: the row's first run of length i; one more row */
} sb_sorted_t;

/* Sorts a long list of short runs of few lengths. Without it the list is only slower. */
void sb_sorted_add(sb_layout_t *list);
void sb_sorted_free(sb_sorted_t *sorted); /* NULL is fine */

struct sb_layout {
    _Atomic uint32_t holders;
    uint32_t depth; /* levels of groups: 0 for a list */
    size_t bytes;   /* packed */
    ptrdiff_t low;  /* the first byte of memory, and the one behind the last */
    ptrdiff_t high;
    size_t memory;       /* bytes of the description, all levels */
    size_t length;       /* list: of each run, if they are equally long; else 0 */
    ptrdiff_t origin;    /* list: where its first run lies */
    sb_sorted_t *sorted; /* list: NULL if it is not worth it */
    size_t n;            /* runs or parts; 0 for a layout of nothing */
    union {
        int32_t *offsets; /* list with length; from origin on */
        sb_run_t *runs;   /* list without; one more at the end, with the position behind all */
        sb_part_t *parts; /* group */
    };
};

static inline bool sb_layout_is_list(const sb_layout_t *layout)
{
    return layout->depth == 0;
}

static inline bool sb_layout_is_one_run(const sb_layout_t *layout)
{
    return layout->n == 1 && sb_layout_is_list(layout);
}

/* The first byte of a list's run, where its bytes begin in the stream, and how many it has. */
static inline ptrdiff_t sb_run_offset(const sb_layout_t *list, size_t run)
{
    return list->origin + (list->length > 0 ? list->offsets[run] : list->runs[run].offset);
}

static inline size_t sb_run_position(const sb_layout_t *list, size_t run)
{
    return list->length > 0 ? run * list->length : list->runs[run].position;
}

static inline size_t sb_run_length(const sb_layout_t *list, size_t run)
{
    return list->length > 0 ? list->length
                            : list->runs[run + 1].position - list->runs[run].position;
}

/* One run of so many bytes at offset 0. NULL: no memory. */
sb_layout_t *sb_layout_bytes(size_t bytes);

/* A layout is freed when all who hold it have released it. Whoever makes one holds it. */
sb_layout_t *sb_layout_hold(sb_layout_t *layout);
void sb_layout_release(sb_layout_t *layout); /* NULL is fine */

/* A layout in the making. What fails is remembered until the end. */
typedef struct sb_builder {
    sb_run_t *runs; /* of the open list */
    size_t run_count;
    size_t run_room;
    ptrdiff_t origin;   /* of the open list */
    size_t last_length; /* of its last run, which may still grow */
    sb_part_t *parts;
    size_t part_count;
    size_t part_room;
    bool failed;
} sb_builder_t;

/* Appends `inner`, `count` times, `stride` bytes apart, from `offset` on. */
void sb_builder_start(sb_builder_t *builder);
void sb_builder_add(sb_builder_t *builder, ptrdiff_t offset, size_t count, ptrdiff_t stride,
                    sb_layout_t *inner);

/* The layout; NULL if memory, the bounds above or the range of numbers did not suffice. */
sb_layout_t *sb_builder_end(sb_builder_t *builder);

/* `inner`, `count` times, `stride` bytes apart, from `offset` on. NULL as above. */
sb_layout_t *sb_layout_repeat(ptrdiff_t offset, size_t count, ptrdiff_t stride, sb_layout_t *inner);

#endif
