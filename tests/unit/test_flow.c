/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows at the edges: what fits, what is skipped, and what each end remembers of the other. */
#include "testing.h"

#include "team/flow.h"

#include <sys/mman.h>

#define READERS 4
#define RING 1024

static const sb_waiter_t patient = {.bare_spins = 1};

static void pieces_end_with_the_window(void **state)
{
    sb_cursor_t cursor = sb_cursor(RING, 5 * RING + 1000);

    (void)state;
    assert_int_equal(cursor.round, 5 * RING);
    assert_int_equal(sb_cursor_place(&cursor), 1000);
    assert_int_equal(sb_cursor_piece(&cursor, 100), 24);
    sb_cursor_pass(&cursor, 24);
    assert_int_equal(sb_cursor_piece(&cursor, 100), 100);
    assert_int_equal(cursor.position, 6 * RING);
    cursor.window = 128;
    sb_cursor_pass(&cursor, 100);
    assert_int_equal(sb_cursor_piece(&cursor, 100), 28);
    sb_cursor_pass(&cursor, 28);
    assert_int_equal(sb_cursor_piece(&cursor, 7), 7);
    assert_int_equal(cursor.position, 7 * RING); /* what is behind the window is left out */
}

static void whole_pieces_are_not_cut(void **state)
{
    sb_cursor_t cursor = sb_cursor(RING, 0);

    (void)state;
    sb_cursor_fit(&cursor, RING);
    assert_int_equal(cursor.position, 0);
    sb_cursor_pass(&cursor, 1);
    sb_cursor_align(&cursor);
    assert_int_equal(cursor.position, SB_LINE);
    sb_cursor_fit(&cursor, RING - SB_LINE);
    assert_int_equal(cursor.position, SB_LINE);
    sb_cursor_fit(&cursor, RING - SB_LINE + 1);
    assert_int_equal(cursor.position, RING);
    sb_cursor_align(&cursor);
    assert_int_equal(cursor.position, RING);
}

/* A writer among its readers, whose own flag says nothing. */
typedef struct scene {
    sb_wide_flag_t credit[READERS];
    sb_wide_flag_t news;
    void *blocks[READERS];
    sb_flow_out_t out;
} scene_t;

static scene_t *make_scene(uint32_t self)
{
    static scene_t scene;

    scene = (scene_t){0};
    for (uint32_t i = 0; i < READERS; i++)
        scene.blocks[i] = &scene.credit[i];
    scene.out =
        (sb_flow_out_t){.readers = {scene.blocks, offsetof(sb_wide_flag_t, flag), READERS, self},
                        .published = &scene.news.flag,
                        .room = RING};
    return &scene;
}

static void credit_is_the_least_of_all_readers(void **state)
{
    scene_t *scene = make_scene(1);
    sb_flow_out_t *out = &scene->out;

    (void)state;
    assert_true(sb_flow_try_reserve(out, RING));
    assert_false(sb_flow_try_reserve(out, RING + 1));
    sb_flag_publish(&scene->credit[0].flag, 300);
    sb_flag_publish(&scene->credit[2].flag, 200);
    assert_false(sb_flow_try_reserve(out, RING + 1));
    assert_int_equal(out->known, 0);
    sb_flag_publish(&scene->credit[3].flag, 100);
    assert_int_equal(sb_peers_missing(&out->readers, 200), 1);
    assert_false(sb_flow_try_reserve(out, RING + 101));
    assert_true(sb_flow_try_reserve(out, RING + 100));
    assert_int_equal(sb_flow_reserve(out, RING + 100, &patient), SB_OK);
    sb_flow_credit(out, 250);
    assert_true(sb_flow_try_reserve(out, RING + 250));
    sb_flow_credit(out, 10); /* what is known does not shrink, */
    assert_false(sb_flow_try_reserve(out, RING + 251));
    assert_int_equal(out->known, 250); /* not even by what is seen */
    sb_flag_publish(&scene->credit[3].flag, 400);
    sb_flag_publish(&scene->credit[2].flag, 350);
    assert_int_equal(sb_flow_reserve(out, RING + 300, &patient), SB_OK);
    assert_int_equal(out->known, 300);
}

/* As much as has been shown may be read without another look. */
static void a_reader_looks_when_it_has_to(void **state)
{
    scene_t *scene = make_scene(READERS);
    sb_wide_flag_t own = {0};
    sb_flow_in_t in = {&scene->news.flag, &own.flag, 0};

    (void)state;
    assert_false(sb_flow_try_peek(&in, 1));
    sb_flow_commit(&scene->out, 70);
    assert_false(sb_flow_try_peek(&in, 71));
    assert_true(sb_flow_try_peek(&in, 70));
    assert_int_equal(in.seen, 70);
    in.published = NULL;
    assert_true(sb_flow_try_peek(&in, 64));
    assert_int_equal(sb_flow_peek(&in, 70, NULL), SB_OK);
    sb_flow_consume(&in, 70);
    assert_int_equal(sb_flag_read(&own.flag), 70);
}

static void one_reader_needs_no_list(void **state)
{
    scene_t *scene = make_scene(0);
    sb_flow_out_t out = scene->out;

    (void)state;
    out.readers = (sb_peers_t){scene->blocks + 2, 0, 1, 1};
    assert_false(sb_flow_try_reserve(&out, RING + 5));
    sb_flag_publish(&scene->credit[2].flag, 5);
    assert_true(sb_flow_try_reserve(&out, RING + 5));
    out.readers.self = 0; /* nobody reads: there is no end to the credit */
    assert_int_equal(sb_peers_least(&out.readers), UINT64_MAX);
}

/* A wait may begin before memory is there, and other threads may write it: it is neither read nor
 * written, and the flag ends it. */
static void memory_is_only_asked_for_meanwhile(void **state)
{
    size_t bytes = 5 * SB_LINE + 3;
    char *none = mmap(NULL, 2 * RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sb_wide_flag_t news = {0};

    (void)state;
    assert_ptr_not_equal(none, MAP_FAILED);
    sb_flag_meanwhile(&news.flag, 1, none, none + RING, bytes);
    sb_flag_meanwhile(&news.flag, 1, NULL, none + RING, bytes);
    sb_flag_publish(&news.flag, 1);
    sb_flag_meanwhile(&news.flag, 1, none, none, SIZE_MAX);
    munmap(none, 2 * RING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_end_with_the_window),
        cmocka_unit_test(whole_pieces_are_not_cut),
        cmocka_unit_test(credit_is_the_least_of_all_readers),
        cmocka_unit_test(a_reader_looks_when_it_has_to),
        cmocka_unit_test(one_reader_needs_no_list),
        cmocka_unit_test(memory_is_only_asked_for_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
