/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To find a function may take memory: the linker's own ask malloc for it. That comes out of a few
 * bytes of this object.
 */
#include "heap/next.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Alignas(16) char sb_first_bytes[SB_FIRST_BYTES];
static size_t used;

/* The first call comes from the loader, before there are threads. */
static void *first_malloc(size_t bytes)
{
    size_t at = used;

    if (bytes > SB_FIRST_BYTES - at)
        return NULL;
    used = sb_min(SB_FIRST_BYTES, at + sb_round_up(bytes, 16));
    return sb_first_bytes + at;
}

static void *first_calloc(size_t count, size_t bytes)
{
    return bytes > 0 && count > SB_FIRST_BYTES / bytes ? NULL : first_malloc(count * bytes);
}

static void *first_realloc(void *block, size_t bytes)
{
    void *larger = first_malloc(bytes);
    size_t had = block == NULL ? 0 : used - (size_t)((char *)block - sb_first_bytes);

    return larger == NULL ? NULL : memcpy(larger, block, sb_min(had, bytes));
}

static void first_free(void *block)
{
    (void)block;
}

static void find(void)
{
    sb_next_t found;

    sb_next.malloc = first_malloc;
    sb_next.calloc = first_calloc;
    sb_next.realloc = first_realloc;
    sb_next.free = first_free;
#define SB_NEXT(result, name, parameters, arguments)                                               \
    found.name = (result(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name);
#include "heap/next.def"
#undef SB_NEXT
    sb_next = found;
}

#define SB_NEXT(result, name, parameters, arguments)                                               \
    static result find_##name parameters                                                           \
    {                                                                                              \
        find();                                                                                    \
        return sb_next.name arguments;                                                             \
    }
#include "heap/next.def"
#undef SB_NEXT

sb_next_t sb_next = {
#define SB_NEXT(result, name, parameters, arguments) .name = find_##name,
#include "heap/next.def"
#undef SB_NEXT
};

bool sb_next_is_behind(void)
{
    static const struct {
        const char *name;
        void (*ours)(void);
    } family[] = {
#define SB_OURS(name) {#name, (void (*)(void))name}
        SB_OURS(malloc),        SB_OURS(calloc),       SB_OURS(realloc),
        SB_OURS(free),          SB_OURS(memalign),     SB_OURS(posix_memalign),
        SB_OURS(aligned_alloc), SB_OURS(reallocarray), SB_OURS(malloc_usable_size),
#undef SB_OURS
    };
    bool behind = true;

    for (size_t i = 0; i < SB_COUNT_OF(family); i++)
        behind = behind && dlsym(RTLD_DEFAULT, family[i].name) == (void *)(uintptr_t)family[i].ours;
    return behind;
}
