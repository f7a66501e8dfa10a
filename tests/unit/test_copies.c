/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's copies move every byte and no other, wherever both sides lie in a line and a page.
 */
#include "../long_form.h"
#include "testing.h"

#include "machine/machine.h"

#include <stdlib.h>
#include <time.h>

#define PAGE ((size_t)4096)
#define MOST (17 * PAGE)
/* Bytes that are watched before and behind. */
#define MARGIN ((size_t)256)

typedef struct memory {
    unsigned char *from;
    unsigned char *to;
} memory_t;

static const size_t sizes[] = {0,    1,    31,   32,   63,   64,   65,    255,   256,  300,
                               384,  511,  512,  513,  2047, 2048, 2049,  2111,  2112, 2303,
                               2304, 2305, 4096, 4159, 8192, 8193, 32768, 65535, MOST};

static int set_up(void **state)
{
    memory_t *memory = malloc(sizeof *memory);

    memory->from = aligned_alloc(PAGE, MOST + 2 * PAGE);
    memory->to = aligned_alloc(PAGE, MOST + 2 * PAGE);
    for (size_t i = 0; i < MOST + 2 * PAGE; i++)
        memory->from[i] = (unsigned char)(i % 251 + i / 251 % 7);
    *state = memory;
    return 0;
}

static int tear_down(void **state)
{
    memory_t *memory = *state;

    free(memory->from);
    free(memory->to);
    free(memory);
    return 0;
}

static void check_one(sb_copy_t *copy, const memory_t *memory, size_t from, size_t to, size_t bytes)
{
    unsigned char margin[MARGIN];
    unsigned char *target = memory->to + MARGIN + to;
    const unsigned char *source = memory->from + from;

    memset(margin, 0xee, MARGIN);
    memset(target - MARGIN, 0xee, bytes + 2 * MARGIN);
    copy(target, source, bytes);
    if (memcmp(target, source, bytes) != 0 || memcmp(target - MARGIN, margin, MARGIN) != 0 ||
        memcmp(target + bytes, margin, MARGIN) != 0)
        fail_msg("%zu bytes from offset %zu to offset %zu", bytes, from, to);
}

static void check(sb_copy_t *copy, const memory_t *memory)
{
    for (size_t i = 0; i < SB_COUNT_OF(sizes); i++) {
        /* The longest at fewer pairs: every offset of either side all the same. */
        size_t step = sizes[i] > 4 * PAGE ? 67 : sizes[i] > PAGE || takes_few() ? 7 : 1;
        for (size_t pair = 0; pair < (size_t)SB_LINE * SB_LINE; pair += step) {
            check_one(copy, memory, pair / SB_LINE, pair % SB_LINE, sizes[i]);
        }
        for (size_t offset = 0; offset < PAGE; offset += 16)
            check_one(copy, memory, 16, offset, sizes[i]);
        /* Over the end of a page, which may be done apart. */
        step = takes_few() && sizes[i] > PAGE ? 7 : 1;
        for (size_t before = 0; before < sizes[i] && before < PAGE / 4; before += step)
            check_one(copy, memory, before % 5, PAGE - MARGIN - before, sizes[i]);
    }
}

static void copies_are_right(void **state)
{
    unsigned sets = 0;

    for (sb_instructions_t set = 0; set < SB_INSTRUCTIONS; set++) {
        if (!sb_copy_use(set))
            continue;
        check(sb_copy, *state);
        check(sb_copy_shared, *state);
        sets++;
    }
    assert_true(sets > 0);
    sb_machine_start();
    check(sb_copy, *state);
    check(sb_copy_shared, *state);
}

/* Of a number with a small bound the compiler would copy byte by byte (check_loops.py). */
__attribute__((noinline)) static void copy_bounded(void *restrict to, const void *restrict from,
                                                   size_t bytes)
{
    sb_copy(to, from, sb_min(bytes, 48));
}

__attribute__((noinline)) static void copy_few(void *restrict to, const void *restrict from,
                                               size_t bytes)
{
    sb_copy_few(to, from, sb_min(bytes, SB_COPY_FEW));
}

static void few_bytes_are_right(void **state)
{
    for (size_t bytes = 0; bytes <= SB_COPY_FEW; bytes++)
        for (size_t pair = 0; pair < (size_t)SB_LINE * SB_LINE; pair += 5) {
            check_one(copy_few, *state, pair / SB_LINE, pair % SB_LINE, bytes);
            if (bytes <= 48)
                check_one(copy_bounded, *state, pair / SB_LINE, pair % SB_LINE, bytes);
        }
}

static void copy_message(void *restrict to, const void *restrict from, size_t bytes)
{
    sb_copy_message(to, from, bytes, sb_copy_shared_long);
}

static unsigned usual_copies;

/* As in the trap: it takes far longer where the two lie beside each other in their pages. */
static void trapped_copy(void *restrict to, const void *restrict from, size_t bytes)
{
    size_t apart = ((uintptr_t)to - (uintptr_t)from) % PAGE;
    struct timespec now, began;

    usual_copies++;
    memcpy(to, from, bytes);
    clock_gettime(CLOCK_MONOTONIC, &began);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (apart == 8 &&
           (now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < 100000);
}

static void messages_choose_their_copy(void **state)
{
    enum { COPIES = 1024 };
    static const size_t lengths[] = {SB_COPY_LONG, 5 * PAGE / 2, 4 * PAGE, 10 * PAGE};
    const memory_t *memory = *state;

    usual_copies = 0;
    sb_copy_message(memory->to + 8, memory->from, SB_COPY_LONG - 1, trapped_copy);
    assert_int_equal(usual_copies, 0);
    for (size_t i = 0; i < SB_COUNT_OF(lengths); i++) {
        usual_copies = 0;
        for (unsigned k = 0; k < COPIES; k++)
            sb_copy_message(memory->to + 8, memory->from, lengths[i], trapped_copy);
        assert_in_range(usual_copies, 1, COPIES / 2);
        /* What is known there is not taken for known elsewhere. */
        usual_copies = 0;
        sb_copy_message(memory->to + 512, memory->from, lengths[i], trapped_copy);
        assert_int_equal(usual_copies, 1);
    }
}

/* Of each size often enough for both ways. */
static void far_copies_are_right(void **state)
{
    check(sb_copy_far, *state);
    check(copy_message, *state);
}

static void streaming_copies_are_right(void **state)
{
    check(sb_copy_streaming, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_right),           cmocka_unit_test(few_bytes_are_right),
        cmocka_unit_test(messages_choose_their_copy), cmocka_unit_test(far_copies_are_right),
        cmocka_unit_test(streaming_copies_are_right),
    };

    return cmocka_run_group_tests_name("copies", tests, set_up, tear_down);
}
