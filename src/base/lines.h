/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_LINES_H
#define SB_BASE_LINES_H

#include "base/compiler.h"
#include "base/pages.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytes of the shortest cache line: messages and rounds of copies begin on one. Where lines are
 * longer, two messages may meet in one, and it then travels once more.
 *
 * Between two calls of a program its own data takes the caches, so what a call looks at comes from
 * far, line by line. What every call needs of a long structure therefore stands on one line of it,
 * and so do the variables that every call looks at.
 */
#define SB_LINE 64

/* A small variable that every call looks at: these stand together. */
#define SB_EVERY_CALL __attribute__((__section__("sb_every_call")))

/* As calloc, of memory that begins on a line. NULL: memory is exhausted. */
static inline void *sb_alloc_lines(size_t bytes)
{
    if (bytes >= SB_PAGES_LEAST)
        return sb_pages_take(bytes);
    void *made = aligned_alloc(SB_LINE, sb_round_up(bytes, SB_LINE));
    return made == NULL ? NULL : memset(made, 0, bytes);
}

/* Gives that back, which was so long. NULL: there is nothing to give back. */
static inline void sb_free_lines(void *made, size_t bytes)
{
    if (bytes >= SB_PAGES_LEAST)
        sb_pages_give(made, bytes);
    else
        free(made);
}

#endif
