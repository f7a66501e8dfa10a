/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc's family. What is as long as SOBOR_HEAP_LEAST comes out of the arena, where that has it;
 * everything else is the next allocator's. A block goes back to where it came from.
 */
#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "heap/arena.h"
#include "heap/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* Bytes of the shortest block of the arena; none until this object's constructor has run. */
static size_t least = SIZE_MAX;

/* Bytes of calloc's shortest block that is not the arena's. Pages of a file are there once they are
 * read; where a program clears so much of the machine's memory it may mean to use little of it. */
static size_t sparse = SIZE_MAX;
#define SPARSE_LEAST ((size_t)1 << 30)
#define SPARSE_PART 8 /* of the machine's memory */

static void *take(size_t bytes, size_t alignment)
{
    bool fresh;

    return SB_LIKELY(bytes < least) ? NULL : sb_heap_arena_take(bytes, alignment, &fresh);
}

SB_EXPORTED void *malloc(size_t bytes)
{
    void *block = take(bytes, 1);

    return SB_LIKELY(block == NULL) ? sb_next.malloc(bytes) : block;
}

SB_EXPORTED void free(void *block)
{
    if (SB_UNLIKELY(sb_heap_arena_has(block)))
        sb_heap_arena_give(block);
    else if (SB_LIKELY(!sb_is_first(block)))
        sb_next.free(block);
}

/* C libraries that have these of C23 may mean their own blocks alone; where they have not, nobody
 * asks for them. */
SB_EXPORTED void free_sized(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

SB_EXPORTED void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    free(block);
}

SB_EXPORTED void *calloc(size_t count, size_t bytes)
{
    size_t all;
    bool fresh;

    if (__builtin_mul_overflow(count, bytes, &all) || all < least || all >= sparse)
        return sb_next.calloc(count, bytes);
    void *block = sb_heap_arena_take(all, 1, &fresh);
    if (block == NULL)
        return sb_next.calloc(count, bytes);
    return fresh ? block : memset(block, 0, all);
}

/* Bytes of a block, whoever gave it. */
static size_t room_of(void *block)
{
    if (sb_is_first(block))
        return (size_t)(sb_first_bytes + SB_FIRST_BYTES - (char *)block);
    return sb_heap_arena_has(block) ? sb_heap_arena_size(block) : sb_next.malloc_usable_size(block);
}

static void *move(void *block, size_t bytes)
{
    void *other = malloc(bytes);

    if (other == NULL)
        return NULL;
    memcpy(other, block, sb_min(bytes, room_of(block)));
    free(block);
    return other;
}

/* A block that has grown to the arena's size moves there, once. */
SB_EXPORTED void *realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return malloc(bytes);
    if (sb_heap_arena_has(block) && bytes == 0) {
        free(block);
        return NULL;
    }
    if (sb_heap_arena_has(block) && bytes >= least && sb_heap_arena_resize(block, bytes))
        return block;
    if (sb_heap_arena_has(block) || sb_is_first(block))
        return move(block, bytes);
    if (SB_UNLIKELY(bytes >= least) && sb_next.malloc_usable_size(block) < least)
        return move(block, bytes);
    return sb_next.realloc(block, bytes);
}

SB_EXPORTED void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t all;

    if (!__builtin_mul_overflow(count, bytes, &all))
        return realloc(block, all);
    errno = ENOMEM;
    return NULL;
}

static bool is_power(size_t alignment)
{
    return alignment > 0 && (alignment & (alignment - 1)) == 0;
}

static void *take_aligned(size_t alignment, size_t bytes)
{
    return is_power(alignment) ? take(bytes, alignment) : NULL;
}

SB_EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *block = take_aligned(alignment, bytes);

    return block == NULL ? sb_next.aligned_alloc(alignment, bytes) : block;
}

SB_EXPORTED void *memalign(size_t alignment, size_t bytes)
{
    void *block = take_aligned(alignment, bytes);

    return block == NULL ? sb_next.memalign(alignment, bytes) : block;
}

SB_EXPORTED int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    void *taken = alignment % sizeof(void *) == 0 ? take_aligned(alignment, bytes) : NULL;

    if (taken == NULL)
        return sb_next.posix_memalign(block, alignment, bytes);
    *block = taken;
    return 0;
}

SB_EXPORTED void *valloc(size_t bytes)
{
    void *block = take(bytes, SB_PAGE);

    return block == NULL ? sb_next.valloc(bytes) : block;
}

SB_EXPORTED void *pvalloc(size_t bytes)
{
    void *block = take(bytes, SB_PAGE);

    return block == NULL ? sb_next.pvalloc(bytes) : block;
}

SB_EXPORTED size_t malloc_usable_size(void *block)
{
    return block == NULL ? 0 : room_of(block);
}

/* These keep books on memory, and must see all of it. */
static bool is_watched(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return dlsym(RTLD_DEFAULT, "__asan_init") != NULL ||
           dlsym(RTLD_DEFAULT, "__tsan_init") != NULL ||
           dlsym(RTLD_DEFAULT, "__msan_init") != NULL ||
           dlsym(RTLD_DEFAULT, "__lsan_init") != NULL ||
           (preload != NULL && strstr(preload, "vgpreload") != NULL);
}

/* Where address space is counted or has to be covered, it is not reserved. */
static bool is_scarce(void)
{
    struct rlimit limit;
    char text[8];
    bool all_counted =
        sb_file_line(text, sizeof text, "/proc/sys/vm/overcommit_memory") && text[0] == '2';

    return all_counted || (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
}

/* What a variable says, as the back end reads it; that tells of wrong values. */
static uint64_t value_of(const char *name)
{
    const sb_variable_t *variable = sb_variable_find(name, strlen(name));
    const char *text = getenv(name);
    sb_value_t value;

    if (text == NULL || sb_variable_parse(variable, text, &value) != NULL)
        sb_variable_parse(variable, variable->standard, &value);
    return value.number;
}

static size_t find_sparse(void)
{
    struct sysinfo machine;

    if (sysinfo(&machine) != 0)
        return SPARSE_LEAST;
    return sb_max(SPARSE_LEAST, (size_t)machine.totalram * machine.mem_unit / SPARSE_PART);
}

__attribute__((__constructor__)) static void start(void)
{
    sb_heap_arena.wanted = value_of("SOBOR_HEAP") != 0 && sb_is_rank() && !is_watched() &&
                           !is_scarce() && getpagesize() == SB_PAGE && sb_next_is_behind() &&
                           sb_heap_arena_watch_forks();
    if (!sb_heap_arena.wanted)
        return;
    sparse = find_sparse();
    least = (size_t)value_of("SOBOR_HEAP_LEAST");
}
