/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that are touched while they are in use, on a kernel that does not do it by itself. */
#include "testing.h"

#include "segment/arena.h"
#include "segment/huge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define MARK 0x5a

static int refusals;

/* The C library's function, for Linux before 5.14. */
int madvise(void *at, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE) {
        refusals++;
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

static sb_block_t take(size_t bytes, size_t near)
{
    sb_block_t block;
    sb_reason_t reason;

    assert_int_equal(sb_arena_take_near(&block, bytes, near, SB_ARENA_ANY, 1, &reason), SB_OK);
    return block;
}

static void check_marked(const sb_block_t *block)
{
    for (size_t i = 0; i < block->bytes; i++) {
        if (block->address[i] != MARK)
            fail_msg("byte %zu is %d", i, block->address[i]);
    }
}

/* A region of its own for `first`, and one in which what comes behind `far` is not touched. */
static sb_block_t first, far;

static int make_gap(void **state)
{
    (void)state;
    first = take(8 * MIB, SIZE_MAX);
    far = take(MIB, 4 * KIB);
    return 0;
}

/* Behind a gap nobody knows how far a block is touched, and its user asks for all of it. */
static void what_is_in_a_block_stays(void **state)
{
    sb_block_t block = take(64 * KIB, 4 * KIB);

    (void)state;
    assert_ptr_equal(far.region, block.region);
    assert_int_equal(block.touched, 0);
    memset(block.address, MARK, block.bytes);
    sb_arena_touch(&block, block.touched, block.bytes);
    check_marked(&block);
    sb_arena_give(&block);
}

/* Short blocks share pages, and what follows them is touched with them. */
static void what_is_in_a_neighbour_stays(void **state)
{
    sb_block_t block = take(7680, SIZE_MAX);

    (void)state;
    assert_ptr_equal(far.region, block.region);
    memset(block.address, MARK, block.bytes);
    sb_block_t next = take(7680, SIZE_MAX);
    assert_ptr_equal(next.address, block.address + block.bytes);
    check_marked(&block);
    sb_arena_give(&next);
    sb_arena_give(&block);
}

/* Each page of a new region that is asked for is there, though the kernel has refused. */
static void pages_are_touched(void **state)
{
    enum { PAGES = 16 };
    const size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
    unsigned char present[PAGES];
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, bytes, -1, &reason), SB_OK);
    refusals = 0;
    sb_region_touch(&region, 0, bytes);
    assert_true(refusals > 0);
    assert_return_code(mincore(region.base, bytes, present), errno);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(present[i] & 1, 1);
    sb_region_close(&region);
}

int main(void)
{
    setenv("SOBOR_MEMORY", "64MiB", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_touched),
        cmocka_unit_test(what_is_in_a_block_stays),
        cmocka_unit_test(what_is_in_a_neighbour_stays),
    };

    return cmocka_run_group_tests(tests, make_gap, NULL);
}
