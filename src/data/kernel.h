/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_DATA_KERNEL_H
#define SB_DATA_KERNEL_H

/*
 * The loops that move bytes between the user's memory and the packed stream. Each exists once, with
 * the direction and the length of a block as arguments that are constants where it is used, so that
 * the compiler makes a loop of plain loads and stores for each usual length.
 *
 * The user's memory is an address as a number: a datatype may lead outside the object that the
 * call's buffer points to, or start from the address 0.
 */

#include "data/layout.h"
#include "machine/machine.h"

#define SB_INLINE static inline __attribute__((always_inline))

/* Blocks that lie farther apart than this are each in lines of their own. */
#define SB_NEAR 256

/* Memory that a column of blocks may touch before the next column starts: well within L1. */
#define SB_TILE_BYTES ((size_t)16 << 10)

SB_INLINE void sb_move(uintptr_t user, char *packed, size_t length, bool pack)
{
    if (pack)
        sb_copy(packed, (const void *)user, length);
    else
        sb_copy((void *)user, packed, length);
}

/* One block of up to SB_COPY_FEW bytes. */
SB_INLINE void sb_move_short(uintptr_t user, char *packed, size_t length, bool pack)
{
    if (pack)
        sb_copy_few(packed, (const void *)user, length);
    else
        sb_copy_few((void *)user, packed, length);
}

#define SB_LENGTH_CASE(bytes, loop, ...)                                                           \
    case bytes:                                                                                    \
        loop(bytes, false, __VA_ARGS__);                                                           \
        break

/* Calls loop(length, short, ...), with the length as a constant if it is one of the usual ones. */
#define SB_BY_LENGTH(length, loop, ...)                                                            \
    switch (length) {                                                                              \
        SB_LENGTH_CASE(1, loop, __VA_ARGS__);                                                      \
        SB_LENGTH_CASE(2, loop, __VA_ARGS__);                                                      \
        SB_LENGTH_CASE(4, loop, __VA_ARGS__);                                                      \
        SB_LENGTH_CASE(8, loop, __VA_ARGS__);                                                      \
        SB_LENGTH_CASE(12, loop, __VA_ARGS__);                                                     \
        SB_LENGTH_CASE(16, loop, __VA_ARGS__);                                                     \
        SB_LENGTH_CASE(24, loop, __VA_ARGS__);                                                     \
        SB_LENGTH_CASE(32, loop, __VA_ARGS__);                                                     \
        SB_LENGTH_CASE(64, loop, __VA_ARGS__);                                                     \
    default:                                                                                       \
        if ((length) <= SB_COPY_FEW)                                                               \
            loop(length, true, __VA_ARGS__);                                                       \
        else                                                                                       \
            loop(length, false, __VA_ARGS__);                                                      \
    }

SB_INLINE void sb_move_block(size_t length, bool is_short, uintptr_t user, char *packed, bool pack)
{
    if (is_short)
        sb_move_short(user, packed, length, pack);
    else
        sb_move(user, packed, length, pack);
}

SB_INLINE void sb_strided_loop(size_t length, bool is_short, uintptr_t user, ptrdiff_t stride,
                               char *packed, size_t step, size_t count, bool pack)
{
    bool is_near = stride <= SB_NEAR && stride >= -SB_NEAR;
    size_t i = 0;

    /* Four at a time from one address: the processor adds multiples by itself. Far apart, it is
     * better that one instruction takes all: processors foresee each instruction's next address. */
    for (; is_near && i + 4 <= count; i += 4) {
        sb_move_block(length, is_short, user, packed, pack);
        sb_move_block(length, is_short, user + (uintptr_t)stride, packed + step, pack);
        sb_move_block(length, is_short, user + 2 * (uintptr_t)stride, packed + 2 * step, pack);
        sb_move_block(length, is_short, user + 3 * (uintptr_t)stride, packed + 3 * step, pack);
        user += 4 * (uintptr_t)stride;
        packed += 4 * step;
    }
#pragma GCC unroll 1
    for (; i < count; i++) {
        sb_move_block(length, is_short, user, packed, pack);
        user += (uintptr_t)stride;
        packed += step;
    }
}

SB_INLINE void sb_even_loop(size_t length, bool is_short, uintptr_t user, const int32_t *offsets,
                            char *packed, size_t count, bool pack)
{
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i++) {
        sb_move_block(length, is_short, user + (uintptr_t)(ptrdiff_t)offsets[i], packed, pack);
        packed += length;
    }
}

SB_INLINE void sb_placed_loop(size_t length, bool is_short, uintptr_t user, const sb_run_t *runs,
                              uintptr_t packed, size_t count, bool pack)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < count; i++)
        sb_move_block(length, is_short, user + (uintptr_t)(ptrdiff_t)runs[i].offset,
                      (char *)(packed + runs[i].position), pack);
}

/* `count` blocks, `stride` bytes apart in memory and `step` bytes apart in the stream. */
SB_INLINE void sb_move_strided(uintptr_t user, ptrdiff_t stride, char *packed, size_t step,
                               size_t count, size_t length, bool pack)
{
    SB_BY_LENGTH(length, sb_strided_loop, user, stride, packed, step, count, pack);
}

/* `count` blocks of equal length at the offsets given, one after the other in the stream. */
SB_INLINE void sb_move_even(uintptr_t user, const int32_t *offsets, char *packed, size_t count,
                            size_t length, bool pack)
{
    SB_BY_LENGTH(length, sb_even_loop, user, offsets, packed, count, pack);
}

/* `count` blocks of equal length at the offsets and positions given. */
SB_INLINE void sb_move_placed(uintptr_t user, const sb_run_t *runs, uintptr_t packed, size_t count,
                              size_t length, bool pack)
{
    SB_BY_LENGTH(length, sb_placed_loop, user, runs, packed, count, pack);
}

/* `count` runs, with the position behind the last one in runs[count]. */
SB_INLINE void sb_move_uneven(uintptr_t user, const sb_run_t *runs, char *packed, size_t count,
                              bool pack)
{
    size_t start = runs[0].position;

    for (size_t i = 0; i < count; i++) {
        size_t end = runs[i + 1].position;
        sb_move(user + (uintptr_t)(ptrdiff_t)runs[i].offset, packed, end - start, pack);
        packed += end - start;
        start = end;
    }
}

#endif
