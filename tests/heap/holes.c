/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program unmaps parts of its long blocks, or moves them away: the C library's blocks must not
 * come to lie there. To be run with the heap preloaded.
 */
#include "support.h"

#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define ALL (16 * MIB)
#define SIZE ((size_t)200 << 10)
#define BLOCKS 400

static char *block;

static bool is_within(const char *at)
{
    return at >= block && at < block + ALL;
}

/* Each in a mapping of its own, which the system takes from where there is room. */
static void check_others(void)
{
    char *other[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        other[i] = memset(malloc(SIZE), 5, SIZE);
        CHECK(!is_within(other[i]), "block %zu is at byte %zd", i, other[i] - block);
        other[i] = realloc(other[i], 2 * SIZE);
        CHECK(!is_within(other[i]), "block %zu is now at byte %zd", i, other[i] - block);
        CHECK(other[i][0] == 5 && other[i][SIZE - 1] == 5, "block %zu is lost", i);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(other[i]);
}

static void unmap_replaced(char *at)
{
    CHECK(mmap(at, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
              at,
          "not replaced");
    CHECK(munmap(at, MIB) == 0, "not unmapped");
}

static void unmap(char *at)
{
    CHECK(munmap(at, MIB) == 0, "not unmapped");
}

static void move_away(char *at)
{
    char *to = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(to != MAP_FAILED && mremap(at, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
          "not moved");
    CHECK(to[0] == 8 && to[MIB - 1] == 8, "moved: %d and %d", to[0], to[MIB - 1]);
    munmap(to, MIB);
}

static void shorten(char *at)
{
    CHECK(mremap(at, MIB, MIB / 2, 0) == at, "not made shorter");
    CHECK(at[0] == 8 && at[MIB / 2 - 1] == 8, "shorter: %d", at[0]);
}

int main(void)
{
    void (*const take_away[])(char *at) = {unmap, unmap_replaced, move_away, shorten};
    char *before = memset(malloc(MIB), 7, MIB);

    block = aligned_alloc(4096, ALL);
    CHECK(is_shared(block), "the heap is not used");
    memset(block, 8, ALL);
    for (size_t i = 0; i < sizeof take_away / sizeof *take_away; i++) {
        take_away[i](block + (2 * i + 1) * MIB);
        check_others();
        CHECK(!is_shared(block), "others read what was there before");
    }
    sb_heap_counts_t counts;
    own_heap()->count(&counts);
    CHECK(counts.end == SB_HEAP_MAPPING, "it is said to have ended by %d", (int)counts.end);
    CHECK(block[0] == 8 && block[ALL - 1] == 8 && before[MIB - 1] == 7, "what is left has changed");
    free(block);
    free(before);
    return 0;
}
