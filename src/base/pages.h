/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_PAGES_H
#define SB_BASE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/*
 * Pages of zeros, for what is needed for a moment and may take 128 KiB or more. The C library maps
 * such blocks apart, 16 bytes past a page, until the first of them is given back: from then on what
 * is no longer than that comes from its heap. So the program's own blocks would lie elsewhere than
 * without Sobor, with other bytes of a line than the peers', which slows every copy.
 */
static inline void *sb_pages_take(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

/* NULL: there is nothing to give back. */
static inline void sb_pages_give(void *pages, size_t bytes)
{
    if (pages != NULL)
        munmap(pages, bytes);
}

#endif
