/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program tells the kernel about its memory means another thing where that is shared: pages
 * that it does not need any more would not be zero afterwards, and what it maps in a block's place
 * is not what others read.
 */
#include "heap/arena.h"
#include "heap/next.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

static bool is_within(const void *at, size_t bytes)
{
    return sb_heap_arena_has(at) &&
           bytes <= SB_HEAP_ARENA_BYTES - (size_t)((const char *)at - sb_heap_arena.base);
}

/* What must not be written gets other pages: those of the file hold what was there before. */
static bool clear(char *from, size_t bytes, int rights, bool ours)
{
    if (!ours)
        return sb_next.madvise(from, bytes, MADV_DONTNEED) == 0;
    if ((rights & PROT_WRITE) == 0)
        return sb_next.mmap(from, bytes, rights,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                            0) != MAP_FAILED;
    memset(from, 0, bytes);
    return true;
}

/*
 * Pages that are zero when they are looked at again. What the kernel refuses of private memory, as
 * of pages that are locked, it refuses here. Older ones do not take away pages of a file that must
 * not be written: the memory is the process's own from then on.
 */
static int give_back(char *at, size_t bytes)
{
    /* Of a file that the program has mapped in a block's place it would take the bytes. */
    bool shared = sb_heap_arena_state() == SB_HEAP_ARENA_SHARED;

    if (shared && sb_next.madvise(at, bytes, MADV_REMOVE) == 0)
        return 0;
    if (shared && errno != EACCES)
        return -1;
    if ((uintptr_t)at % SB_PAGE != 0) {
        errno = EINVAL;
        return -1;
    }
    sb_heap_arena_part();
    bytes = sb_round_up(bytes, SB_PAGE);
    /* Acquire: pairs with the stores in mprotect() and replace(). */
    if (!atomic_load_explicit(&sb_heap_arena.protected, memory_order_acquire))
        return clear(at, bytes, PROT_READ | PROT_WRITE, true) ? 0 : -1;
    return sb_heap_arena_by_rights(at, bytes, clear) ? 0 : -1;
}

SB_EXPORTED int madvise(void *at, size_t bytes, int advice)
{
    if (!is_within(at, bytes))
        return sb_next.madvise(at, bytes, advice);
    /* A child that does not come by fork.c's handlers never has it; its pages may stay. */
    if (advice == MADV_DOFORK || advice == MADV_FREE)
        return 0;
    /* Nothing but another mapping would come of it, and a fork moves the pages of one. */
    if ((advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE) && !sb_heap_arena.may_be_huge)
        return 0;
    return advice == MADV_DONTNEED ? give_back(at, bytes) : sb_next.madvise(at, bytes, advice);
}

SB_EXPORTED int mprotect(void *at, size_t bytes, int rights)
{
    if (is_within(at, bytes))
        atomic_store_explicit(&sb_heap_arena.protected, true, memory_order_release);
    return sb_next.mprotect(at, bytes, rights);
}

/* Whether some of these addresses are the arena's. */
static bool meets(const void *at, size_t bytes)
{
    const char *end = (const char *)at + bytes;

    return bytes > 0 && (sb_heap_arena_has(at) || sb_heap_arena_has(end - 1) ||
                         ((const char *)at < sb_heap_arena.base && end > sb_heap_arena.base));
}

/* What is there from now on is no longer the file's: others ask the kernel for it. */
static void replace(const void *at, size_t bytes)
{
    if (SB_LIKELY(!meets(at, bytes)))
        return;
    sb_heap_arena_part();
    atomic_store_explicit(&sb_heap_arena.protected, true, memory_order_release);
}

SB_EXPORTED void *mmap(void *at, size_t bytes, int rights, int flags, int file, off_t from)
{
    if (SB_UNLIKELY((flags & MAP_FIXED) != 0))
        replace(at, bytes);
    return sb_next.mmap(at, bytes, rights, flags, file, from);
}

/* What programs call that are compiled for long files; there is no other kind here. */
SB_EXPORTED void *mmap64(void *at, size_t bytes, int rights, int flags, int file, off_t from)
    __attribute__((alias("mmap")));

#define NOTHING (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Addresses of the arena stay taken: were they free, the C library could be given them, and its
 * blocks would be taken for the arena's. */
SB_EXPORTED int munmap(void *at, size_t bytes)
{
    if (SB_LIKELY(!meets(at, bytes)))
        return sb_next.munmap(at, bytes);
    replace(at, bytes);
    return sb_next.mmap(at, bytes, PROT_NONE, NOTHING | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0;
}

/* The same where there is a hole already: not in the place of what another thread has put there. */
static void fill(char *at, size_t bytes)
{
    if (!meets(at, bytes))
        return;
    void *filled = sb_next.mmap(at, bytes, PROT_NONE, NOTHING, -1, 0);
    if (filled != MAP_FAILED && filled != at)
        sb_next.munmap(filled, bytes);
}

SB_EXPORTED void *mremap(void *at, size_t had, size_t bytes, int flags, ...)
{
    va_list more;
    void *to = NULL;

    va_start(more, flags);
    if ((flags & MREMAP_FIXED) != 0)
        to = va_arg(more, void *);
    va_end(more);
    if (to != NULL)
        replace(to, bytes);
    replace(at, had);
    char *moved = sb_next.mremap(at, had, bytes, flags, to);
    size_t kept = moved == at ? sb_round_up(bytes, SB_PAGE) : 0;
    if (moved != MAP_FAILED && (flags & MREMAP_DONTUNMAP) == 0 && kept < had)
        fill((char *)at + kept, had - kept);
    return moved;
}
