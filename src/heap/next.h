/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_HEAP_NEXT_H
#define SB_HEAP_NEXT_H

#include "base/compiler.h"

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * The functions that this object stands before: the C library's, or another allocator's. A process
 * calls some of them before any constructor has run, so they are found by the first call.
 */
typedef struct sb_next {
#define SB_NEXT(result, name, parameters, arguments) result(*name) parameters;
#include "heap/next.def"
#undef SB_NEXT
} sb_next_t;

extern sb_next_t sb_next;

/* Bytes that were given out while the functions were looked for: nobody's to free. */
#define SB_FIRST_BYTES ((size_t)16 << 10)
extern char sb_first_bytes[SB_FIRST_BYTES];

static inline bool sb_is_first(const void *block)
{
    return (uintptr_t)block - (uintptr_t)sb_first_bytes < SB_FIRST_BYTES;
}

/*
 * Whether the process calls this object's functions, each of them: what one gives another's must
 * not take back.
 */
bool sb_next_is_behind(void);

/* As C23 declares them: not all C libraries do. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);

#define SB_EXPORTED __attribute__((__visibility__("default")))

#endif
