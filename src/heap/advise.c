/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program tells the kernel about its memory means another thing where that is shared: pages
 * that it does not need any more would not be zero afterwards.
 */
#include "heap/arena.h"
#include "heap/next.h"

#include <string.h>
#include <sys/mman.h>

static bool is_within(const void *at, size_t bytes)
{
    return sb_arena_has(at) && bytes <= SB_ARENA_BYTES - (size_t)((const char *)at - sb_arena.base);
}

SB_EXPORTED int madvise(void *at, size_t bytes, int advice)
{
    if (!is_within(at, bytes))
        return sb_next.madvise(at, bytes, advice);
    /* A child that does not come by fork.c's handlers never has it; its pages may stay. */
    if (advice == MADV_DOFORK || advice == MADV_FREE)
        return 0;
    /* Nothing but another mapping would come of it, and a fork moves the pages of one. */
    if ((advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE) && !sb_arena.may_be_huge)
        return 0;
    if (advice != MADV_DONTNEED)
        return sb_next.madvise(at, bytes, advice);
    /* Private by now, or locked: its pages are the program's own. */
    if (sb_next.madvise(at, bytes, MADV_REMOVE) != 0)
        memset(at, 0, bytes);
    return 0;
}

SB_EXPORTED int mprotect(void *at, size_t bytes, int rights)
{
    if (is_within(at, bytes))
        atomic_store_explicit(&sb_arena.protected, true, memory_order_release);
    return sb_next.mprotect(at, bytes, rights);
}
