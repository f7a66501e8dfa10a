/* SPDX-License-Identifier: BSD-3-Clause */
/* The race checker and the memory orders on sequences written by hand. */
#include "../unit/testing.h"

#include "machine/sim/check.h"

#include <string.h>

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define ACQ_REL memory_order_acq_rel
#define SEQ_CST memory_order_seq_cst

static const sb_site_t here = {"test.c", 1}, there = {"test.c", 2};
static const sb_where_t flag = {1, 0}, other_flag = {1, 128}, data = {1, 256};

/* The memory itself: what the machine behind the checker holds. */
static uint64_t memory[64];

/* Choices of loads, to be made one after the other; then the newest. */
static uint32_t wishes[8], wish_count, wish_next, most_offered;

static uint32_t choose(void *context, uint32_t count)
{
    (void)context;
    most_offered = count > most_offered ? count : most_offered;
    uint32_t wish = wish_next < wish_count ? wishes[wish_next++] : 0;
    return wish < count ? wish : count - 1;
}

static uint64_t *cell(sb_where_t where)
{
    return &memory[where.offset / 8];
}

static sb_check_t *begin(uint32_t ranks)
{
    sb_check_t *check = sb_check_new(ranks);

    assert_non_null(check);
    memset(memory, 0, sizeof memory);
    wish_count = wish_next = most_offered = 0;
    sb_check_begin(check, choose, NULL);
    sb_check_take(check, 0, 1, 512, &here);
    sb_check_meet(check);
    return check;
}

static void store(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t value,
                  memory_order order)
{
    sb_check_store(check, rank, where, *cell(where), value, order, &here);
    *cell(where) = value;
}

static uint64_t load(sb_check_t *check, uint32_t rank, sb_where_t where, memory_order order)
{
    return sb_check_load(check, rank, where, *cell(where), order, &there);
}

static void add(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t amount,
                memory_order order)
{
    sb_check_add(check, rank, where, *cell(where), amount, order, &here);
    *cell(where) += amount;
}

static sb_violation_kind_t end(sb_check_t *check)
{
    sb_violation_kind_t kind = sb_check_violation(check)->kind;

    sb_check_free(check);
    return kind;
}

/* Data, then a flag; the flag, then the data. */
static sb_violation_kind_t pass_message(memory_order out, memory_order in)
{
    sb_check_t *check = begin(2);

    sb_check_write(check, 0, data, 13, &here);
    store(check, 0, flag, 1, out);
    assert_int_equal(load(check, 1, flag, in), 1);
    sb_check_read(check, 1, data, 13, &there);
    return end(check);
}

static void test_message_passing(void **state)
{
    (void)state;
    assert_int_equal(pass_message(RELEASE, ACQUIRE), SB_VIOLATION_NONE);
    assert_int_equal(pass_message(SEQ_CST, SEQ_CST), SB_VIOLATION_NONE);
    assert_int_equal(pass_message(RELAXED, ACQUIRE), SB_VIOLATION_RACE);
    assert_int_equal(pass_message(RELEASE, RELAXED), SB_VIOLATION_RACE);
}

static void test_report_names_both(void **state)
{
    char text[512];
    sb_check_t *check = begin(2);

    (void)state;
    sb_check_write(check, 0, data, 13, &here);
    sb_check_read(check, 1, (sb_where_t){1, 260}, 2, &there);
    sb_violation_text(sb_check_violation(check), NULL, text, sizeof text);
    assert_non_null(strstr(text, "rank 0 wrote at test.c:1"));
    assert_non_null(strstr(text, "rank 1 reads at test.c:2"));
    assert_non_null(strstr(text, "block 1, offset 260, 2 bytes"));
    assert_int_equal(end(check), SB_VIOLATION_RACE);
}

/* An acquire that sees an older value than the release's learns nothing of it. */
static void test_old_value_orders_nothing(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    sb_check_write(check, 0, data, 8, &here);
    store(check, 0, flag, 1, RELEASE);
    wishes[wish_count++] = 1;
    assert_int_equal(load(check, 1, flag, ACQUIRE), 0);
    sb_check_read(check, 1, data, 8, &there);
    assert_int_equal(end(check), SB_VIOLATION_RACE);
}

/* Two flags: without a release in between the second may be seen before the first. */
static void test_stores_overtake(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        sb_check_t *check = begin(2);
        store(check, 0, flag, 1, RELAXED);
        store(check, 0, other_flag, 1, ordered ? RELEASE : RELAXED);
        assert_int_equal(load(check, 1, other_flag, ACQUIRE), 1);
        wishes[0] = 1, wish_count = 1, wish_next = 0;
        assert_int_equal(load(check, 1, flag, RELAXED), ordered);
        assert_int_equal(end(check), SB_VIOLATION_NONE);
    }
}

/* A rank that has seen a value does not see an older one, nor does who learns from it. */
static void test_coherence(void **state)
{
    sb_check_t *check = begin(3);

    (void)state;
    store(check, 0, flag, 1, RELAXED);
    store(check, 0, flag, 2, RELAXED);
    store(check, 0, flag, 3, RELAXED);
    wishes[0] = 1, wishes[1] = 3, wishes[2] = 3, wishes[3] = 0, wishes[4] = 3, wish_count = 5;
    assert_int_equal(load(check, 1, flag, RELAXED), 2);
    assert_int_equal(load(check, 1, flag, RELAXED), 2);
    assert_int_equal(load(check, 2, flag, RELAXED), 0);
    store(check, 1, other_flag, 1, RELEASE);
    assert_int_equal(load(check, 2, other_flag, ACQUIRE), 1);
    assert_int_equal(load(check, 2, flag, RELAXED), 2);
    assert_int_equal(load(check, 0, flag, RELAXED), 3);
    assert_int_equal(end(check), SB_VIOLATION_NONE);
}

/* Dekker: both store, then both look at the other's. Returns whether both may see nothing. */
static bool both_miss(int fence)
{
    sb_check_t *check = begin(2);

    wishes[0] = wishes[1] = 1, wish_count = 2;
    store(check, 0, flag, 1, fence == 3 ? SEQ_CST : RELEASE);
    if (fence == 1)
        sb_check_fence(check, 0);
    store(check, 1, other_flag, 1, fence == 3 ? SEQ_CST : RELEASE);
    if (fence == 1)
        sb_check_fence(check, 1);
    if (fence == 2)
        sb_check_fence_all(check);
    uint64_t first = load(check, 0, other_flag, fence == 3 ? SEQ_CST : ACQUIRE);
    uint64_t second = load(check, 1, flag, fence == 3 ? SEQ_CST : ACQUIRE);
    assert_int_equal(end(check), SB_VIOLATION_NONE);
    return first == 0 && second == 0;
}

static void test_store_buffering(void **state)
{
    (void)state;
    assert_true(both_miss(0));
    assert_false(both_miss(1));
    assert_false(both_miss(2));
    assert_false(both_miss(3));
}

/* A fence of one side alone is not enough. */
static void test_one_sided_fence(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    wishes[0] = wishes[1] = 1, wish_count = 2;
    store(check, 0, flag, 1, RELEASE);
    store(check, 1, other_flag, 1, RELEASE);
    sb_check_fence(check, 1);
    assert_int_equal(load(check, 1, flag, ACQUIRE), 0);
    assert_int_equal(load(check, 0, other_flag, ACQUIRE), 0);
    assert_int_equal(end(check), SB_VIOLATION_NONE);
}

/* An addition continues the release of the store or addition before it; a plain store ends it. */
static sb_violation_kind_t release_sequence(memory_order second, bool by_store)
{
    sb_check_t *check = begin(3);

    sb_check_write(check, 0, data, 8, &here);
    add(check, 0, flag, 1, RELEASE);
    if (by_store)
        store(check, 0, flag, 2, second);
    else
        add(check, 1, flag, 1, second);
    assert_int_equal(load(check, 2, flag, ACQUIRE), 2);
    sb_check_read(check, 2, data, 8, &there);
    return end(check);
}

static void test_release_sequence(void **state)
{
    (void)state;
    assert_int_equal(release_sequence(RELAXED, false), SB_VIOLATION_NONE);
    assert_int_equal(release_sequence(RELEASE, false), SB_VIOLATION_NONE);
    assert_int_equal(release_sequence(ACQ_REL, false), SB_VIOLATION_NONE);
    assert_int_equal(release_sequence(RELAXED, true), SB_VIOLATION_RACE);
}

/* Additions see the newest value and order who adds later after who added before. */
static void test_counter(void **state)
{
    (void)state;
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        sb_check_t *check = begin(3);
        for (uint32_t rank = 0; rank < 3; rank++) {
            sb_check_write(check, rank, (sb_where_t){1, 256 + rank}, 1, &here);
            add(check, rank, flag, 1, relaxed ? RELAXED : ACQ_REL);
        }
        sb_check_read(check, 2, data, 3, &there);
        assert_int_equal(end(check), relaxed ? SB_VIOLATION_RACE : SB_VIOLATION_NONE);
    }
}

/* A slot is filled again: only after its reader has said so. */
static sb_violation_kind_t reuse_slot(bool waits)
{
    sb_check_t *check = begin(2);

    sb_check_write(check, 0, data, 100, &here);
    store(check, 0, flag, 1, RELEASE);
    load(check, 1, flag, ACQUIRE);
    sb_check_read(check, 1, data, 100, &there);
    store(check, 1, other_flag, 1, RELEASE);
    if (waits)
        load(check, 0, other_flag, ACQUIRE);
    sb_check_write(check, 0, (sb_where_t){1, 300}, 8, &here);
    return end(check);
}

static void test_slot_reuse(void **state)
{
    (void)state;
    assert_int_equal(reuse_slot(true), SB_VIOLATION_NONE);
    assert_int_equal(reuse_slot(false), SB_VIOLATION_RACE);
}

/* Neighbouring bytes of different ranks are different bytes; intervals split and join again. */
static void test_bytes(void **state)
{
    sb_check_t *check = begin(4);

    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++)
        sb_check_write(check, rank, (sb_where_t){1, 250 + 3 * rank}, 3, &here);
    assert_int_equal(sb_check_violation(check)->kind, SB_VIOLATION_NONE);
    sb_check_meet(check);
    sb_check_read(check, 1, (sb_where_t){1, 0}, 512, &there);
    sb_check_meet(check);
    sb_check_write(check, 2, (sb_where_t){1, 100}, 300, &here);
    sb_check_write(check, 3, (sb_where_t){1, 400}, 112, &here);
    sb_check_write(check, 1, (sb_where_t){1, 0}, 100, &here);
    assert_int_equal(sb_check_violation(check)->kind, SB_VIOLATION_NONE);
    sb_check_read(check, 0, (sb_where_t){1, 99}, 1, &there);
    assert_int_equal(sb_check_violation(check)->first.rank, 1);
    assert_int_equal(end(check), SB_VIOLATION_RACE);
}

/* A second writer that nothing orders after the first; a value that shrinks. */
static void test_writers(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    store(check, 0, flag, 1, RELEASE);
    load(check, 1, flag, ACQUIRE);
    store(check, 1, flag, 2, RELEASE);
    assert_int_equal(sb_check_violation(check)->kind, SB_VIOLATION_NONE);
    store(check, 0, flag, 3, RELEASE);
    assert_int_equal(end(check), SB_VIOLATION_WRITERS);

    check = begin(2);
    store(check, 0, flag, 2, RELEASE);
    store(check, 0, flag, 2, RELEASE);
    assert_int_equal(sb_check_violation(check)->kind, SB_VIOLATION_NONE);
    store(check, 0, flag, 1, RELEASE);
    assert_int_equal(end(check), SB_VIOLATION_WRITERS);
}

static void test_dead_memory(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        sb_check_t *check = begin(2);
        sb_check_write(check, 0, data, 4, &here);
        store(check, 0, flag, 1, RELEASE);
        load(check, 1, flag, ACQUIRE);
        sb_check_read(check, 1, data, 4, &there);
        add(check, 1, other_flag, 1, ACQ_REL);
        if (waits)
            load(check, 0, other_flag, ACQUIRE);
        sb_check_give(check, 0, 1, &here);
        assert_int_equal(sb_check_violation(check)->kind,
                         waits ? SB_VIOLATION_NONE : SB_VIOLATION_DEAD);
        load(check, 1, flag, ACQUIRE);
        assert_int_equal(end(check), SB_VIOLATION_DEAD);
    }
}

static void test_bounds(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    sb_check_read(check, 1, (sb_where_t){1, 510}, 3, &there);
    assert_int_equal(end(check), SB_VIOLATION_BOUNDS);
    check = begin(2);
    sb_check_write(check, 1, (sb_where_t){7, 0}, 1, &there);
    assert_int_equal(end(check), SB_VIOLATION_BOUNDS);
}

/* A taken block is zeroed by its owner: others must hear of it. */
static void test_taken_block(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    sb_check_take(check, 0, 2, 64, &here);
    load(check, 1, (sb_where_t){2, 0}, ACQUIRE);
    assert_int_equal(end(check), SB_VIOLATION_RACE);
}

/* Nothing of one run is left in the next. */
static void test_runs(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    for (int run = 0; run < 3; run++) {
        sb_check_write(check, 1, data, 256, &here);
        store(check, 1, flag, 5, RELEASE);
        assert_int_equal(sb_check_violation(check)->kind, SB_VIOLATION_NONE);
        sb_check_write(check, 0, data, 1, &here);
        assert_int_equal(sb_check_violation(check)->kind, SB_VIOLATION_RACE);
        memset(memory, 0, sizeof memory);
        sb_check_begin(check, NULL, NULL);
        sb_check_take(check, 0, 1, 512, &here);
        sb_check_meet(check);
        assert_int_equal(load(check, 1, flag, ACQUIRE), 0);
    }
    sb_check_free(check);
}

/* Without a choice of values every load sees the newest. */
static void test_not_relaxed(void **state)
{
    sb_check_t *check = begin(2);

    (void)state;
    sb_check_begin(check, NULL, NULL);
    sb_check_take(check, 0, 1, 512, &here);
    sb_check_meet(check);
    store(check, 0, flag, 7, RELAXED);
    assert_int_equal(load(check, 1, flag, RELAXED), 7);
    assert_int_equal(most_offered, 0);
    assert_int_equal(end(check), SB_VIOLATION_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_passing),
        cmocka_unit_test(test_report_names_both),
        cmocka_unit_test(test_old_value_orders_nothing),
        cmocka_unit_test(test_stores_overtake),
        cmocka_unit_test(test_coherence),
        cmocka_unit_test(test_store_buffering),
        cmocka_unit_test(test_one_sided_fence),
        cmocka_unit_test(test_release_sequence),
        cmocka_unit_test(test_counter),
        cmocka_unit_test(test_slot_reuse),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_writers),
        cmocka_unit_test(test_dead_memory),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_taken_block),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_not_relaxed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
