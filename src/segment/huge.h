/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_HUGE_H
#define SB_SEGMENT_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Linux 5.14. Earlier systems refuse it, and the pages come as they always did. */
#if !defined MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Huge pages for regions. The system says whether shared memory may have them; where it says never,
 * nothing is done. A region gets them for each whole huge page that it holds, never beyond its end:
 * so it takes no more memory than it was made with, whatever the system is set to.
 */

/* What the system is set to: "never", "advise", ...; `root` is "" or, in tests, a folder for /. */
typedef struct sb_huge_mode {
    char word[16]; /* "unknown" where the system does not tell */
    size_t page;   /* bytes of a huge page; 0: there are none */
} sb_huge_mode_t;

void sb_huge_read(const char *root, sb_huge_mode_t *mode);

/* The same for memory that is not shared. */
void sb_huge_read_private(const char *root, sb_huge_mode_t *mode);

/* Whether shared memory may have huge pages on a system of this mode. */
bool sb_huge_possible(const sb_huge_mode_t *mode);

/*
 * Gives advice for a mapping of anonymous shared memory: faults take huge pages where whole ones
 * fit and are wanted, and small ones elsewhere. True: the system gives them to shared memory at
 * all. `page`: bytes of those that fit and are wanted; 0: none are. For the owner and for peers,
 * who may be the first to use a page. What the system is set to is read once.
 */
bool sb_huge_advise(char *base, size_t bytes, bool wanted, size_t *page);

/* Bytes between `base` and its end that this process has mapped by huge pages. */
size_t sb_huge_mapped(const char *base, size_t bytes);

#endif
