/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_PAGES_H
#define SB_BASE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/*
 * Pages of zeros, of which those that are never touched take no memory. For all that may take
 * SB_PAGES_LEAST bytes or more and is given back before the process ends: the C library maps such
 * blocks apart, 16 bytes past a page, until it is given back the first of them, and from then on
 * what is no longer than that comes from its heap. So the program's own blocks would lie elsewhere
 * than without Sobor, in other ways than the peers', which slows every copy between them.
 */
#define SB_PAGES_LEAST ((size_t)128 << 10)

static inline void *sb_pages_take(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

/* NULL: there is nothing to give back. */
static inline void sb_pages_give(void *pages, size_t bytes)
{
    if (pages != NULL)
        munmap(pages, bytes);
}

#endif
