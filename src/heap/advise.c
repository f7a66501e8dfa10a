/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program tells the kernel about its memory means another thing where that is shared: pages
 * that it does not need any more would not be zero afterwards, and what it maps in a block's place
 * is not what others read.
 */
#include "heap/arena.h"
#include "heap/next.h"

#include "segment/huge.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

/* What private memory has unasked, the arena asks for. */
void sb_heap_arena_advise_huge(char *base)
{
    sb_huge_mode_t shared, own;

    sb_huge_read("", &shared);
    sb_huge_read_private("", &own);
    sb_heap_arena.may_be_huge = sb_huge_possible(&shared);
    if (strcmp(shared.word, "advise") == 0 && strcmp(own.word, "always") == 0)
        sb_next.madvise(base, SB_HEAP_ARENA_BYTES, MADV_HUGEPAGE);
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

/* Whether all new memory of the process is locked: then a page is for which nobody asked that. */
static bool is_all_locked(void)
{
    void *page =
        sb_next.mmap(NULL, SB_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool locked = page == MAP_FAILED || sb_next.madvise(page, SB_PAGE, MADV_DONTNEED) != 0;

    if (page != MAP_FAILED)
        sb_next.munmap(page, SB_PAGE);
    return locked;
}

/*
 * Of locked memory the kernel takes no pages away. Where a program has freed a block as it was,
 * the lock ends with the block, as it would if that were unmapped; where it wants to have all its
 * memory locked, the pages stay.
 */
bool sb_heap_arena_drop(char *at, size_t bytes)
{
    static bool all_locked; /* as was seen last; under the arena's lock */

    if (sb_next.madvise(at, bytes, MADV_REMOVE) == 0) {
        all_locked = false;
        return true;
    }
    if (errno != EINVAL || all_locked)
        return false;
    all_locked = is_all_locked();
    return !all_locked && munlock(at, bytes) == 0 && sb_next.madvise(at, bytes, MADV_REMOVE) == 0;
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
    sb_heap_arena_part(SB_HEAP_ADVICE);
    bytes = sb_round_up(bytes, SB_PAGE);
    /* Acquire: pairs with the stores in mprotect() and replace(). */
    if (!atomic_load_explicit(&sb_heap_arena.protected, memory_order_acquire))
        return clear(at, bytes, PROT_READ | PROT_WRITE, true) ? 0 : -1;
    return sb_heap_arena_by_rights(at, bytes, clear) ? 0 : -1;
}

SB_EXPORTED int madvise(void *at, size_t bytes, int advice)
{
    if (!sb_heap_arena_has_all(at, bytes))
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
    if (sb_heap_arena_has_all(at, bytes))
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
    sb_heap_arena_part(SB_HEAP_MAPPING);
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
