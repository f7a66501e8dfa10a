/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exploration on small programs: a few ranks, a few words, one access after the other. What all
 * interleavings can show is found by trying every one, without any reduction.
 */
#include "../random.h"
#include "../unit/testing.h"

#include "machine/sim/check.h"
#include "machine/sim/explore.h"

#include <stdlib.h>
#include <string.h>

#define RANKS 3
#define STEPS 4
#define WORDS 3
#define OUTCOMES 4096

typedef enum kind { LOAD, STORE, ADD, AWAIT, FENCE } kind_t;

typedef struct step {
    kind_t kind;
    uint32_t word;
    uint64_t value;
} step_t;

typedef struct program {
    uint32_t ranks;
    uint32_t steps[RANKS];
    step_t step[RANKS][STEPS];
} program_t;

static const sb_site_t site = {"program", 1};

/* What one run showed: all loads, as a number. */
typedef struct outcomes {
    uint64_t seen[OUTCOMES];
    size_t count;
    uint64_t runs;
} outcomes_t;

static void note_outcome(outcomes_t *outcomes, uint64_t outcome)
{
    outcomes->runs++;
    for (size_t i = 0; i < outcomes->count; i++) {
        if (outcomes->seen[i] == outcome)
            return;
    }
    assert_true(outcomes->count < OUTCOMES);
    outcomes->seen[outcomes->count++] = outcome;
}

static bool has_outcome(const outcomes_t *outcomes, uint64_t outcome)
{
    for (size_t i = 0; i < outcomes->count; i++) {
        if (outcomes->seen[i] == outcome)
            return true;
    }
    return false;
}

/* How a run gets its choices: from the explorer, or from an odometer of all possibilities. */
typedef struct chooser {
    sb_explore_t *explore; /* NULL: the odometer */
    uint32_t digit[64];
    uint32_t base[64];
    uint32_t digits;
    uint32_t at;
} chooser_t;

static uint32_t turn(chooser_t *chooser, uint32_t base)
{
    if (chooser->at == chooser->digits) {
        assert_true(chooser->digits < 64);
        chooser->digit[chooser->digits] = 0;
        chooser->base[chooser->digits++] = base;
    }
    assert_int_equal(chooser->base[chooser->at], base);
    return chooser->digit[chooser->at++];
}

static bool advance(chooser_t *chooser)
{
    chooser->at = 0;
    while (chooser->digits > 0) {
        uint32_t last = chooser->digits - 1;
        if (++chooser->digit[last] < chooser->base[last])
            return true;
        chooser->digits--;
    }
    return false;
}

static uint32_t choose_value(void *context, uint32_t count)
{
    chooser_t *chooser = context;

    return chooser->explore != NULL ? sb_explore_value(chooser->explore, count)
                                    : turn(chooser, count);
}

static uint32_t choose_rank(chooser_t *chooser, const sb_sim_pending_t *pending, uint32_t ranks)
{
    uint32_t enabled[RANKS], count = 0;

    if (chooser->explore != NULL)
        return sb_explore_next(chooser->explore, pending);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (pending[rank].enabled)
            enabled[count++] = rank;
    }
    return count == 0 ? SB_SIM_NOBODY : enabled[turn(chooser, count)];
}

static sb_sim_pending_t pending_of(const program_t *program, uint32_t rank, uint32_t at,
                                   const uint64_t *memory)
{
    if (at == program->steps[rank])
        return (sb_sim_pending_t){SB_SIM_ENDED, false, 0, 0};
    const step_t *step = &program->step[rank][at];
    bool reads = step->kind == LOAD || step->kind == AWAIT;
    sb_sim_step_t kind = step->kind == FENCE ? SB_SIM_FENCES : reads ? SB_SIM_READS : SB_SIM_WRITES;
    bool enabled = step->kind != AWAIT || memory[step->word] >= step->value;
    return (sb_sim_pending_t){kind, enabled, 0, step->word};
}

static uint64_t execute(sb_check_t *check, uint32_t rank, const step_t *step, uint64_t *memory)
{
    sb_where_t where = {0, 8 * step->word};
    uint64_t now = memory[step->word];

    switch (step->kind) {
    case STORE:
        sb_check_store(check, rank, where, now, step->value, memory_order_relaxed, &site);
        memory[step->word] = step->value;
        return 0;
    case ADD:
        sb_check_add(check, rank, where, now, step->value, memory_order_relaxed, &site);
        memory[step->word] += step->value;
        return now;
    case FENCE:
        sb_check_fence_all(check);
        return 0;
    default:
        return sb_check_load(check, rank, where, now, memory_order_relaxed, &site);
    }
}

/* One run. A deadlock is an outcome too. */
static uint64_t run(const program_t *program, sb_check_t *check, chooser_t *chooser, bool relaxed)
{
    uint64_t memory[WORDS] = {0}, seen[RANKS] = {0}, outcome = 0;
    uint32_t at[RANKS] = {0};
    sb_sim_pending_t pending[RANKS];

    sb_check_begin(check, relaxed ? choose_value : NULL, chooser);
    sb_check_take(check, 0, 0, sizeof memory, &site);
    sb_check_meet(check);
    for (;;) {
        for (uint32_t rank = 0; rank < program->ranks; rank++)
            pending[rank] = pending_of(program, rank, at[rank], memory);
        uint32_t rank = choose_rank(chooser, pending, program->ranks);
        if (rank == SB_SIM_NOBODY)
            break;
        const step_t *step = &program->step[rank][at[rank]++];
        seen[rank] = seen[rank] * 8 + execute(check, rank, step, memory);
    }
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        outcome = outcome << 20 | seen[rank] << 3 | (program->steps[rank] - at[rank]);
    return outcome;
}

static void try_all(const program_t *program, bool relaxed, outcomes_t *outcomes)
{
    sb_check_t *check = sb_check_new(program->ranks);
    chooser_t chooser = {0};

    *outcomes = (outcomes_t){0};
    do
        note_outcome(outcomes, run(program, check, &chooser, relaxed));
    while (advance(&chooser));
    sb_check_free(check);
}

static void explore(const program_t *program, const sb_explore_options_t *options,
                    outcomes_t *outcomes)
{
    const char *problem;
    sb_check_t *check = sb_check_new(program->ranks);
    chooser_t chooser = {.explore = sb_explore_new(options, &problem)};

    assert_non_null(chooser.explore);
    *outcomes = (outcomes_t){0};
    while (sb_explore_begin(chooser.explore))
        note_outcome(outcomes, run(program, check, &chooser, options->relaxed));
    if (options->mode == SB_EXPLORE_EXHAUSTIVE)
        assert_true(sb_explore_complete(chooser.explore));
    sb_explore_free(chooser.explore);
    sb_check_free(check);
}

static sb_explore_options_t exhaustive(uint32_t ranks, bool relaxed)
{
    return (sb_explore_options_t){
        .mode = SB_EXPLORE_EXHAUSTIVE, .ranks = ranks, .schedules = 1000000, .relaxed = relaxed};
}

/* Both store, then both look. */
static const program_t dekker = {
    2, {2, 2, 0}, {{{STORE, 0, 1}, {LOAD, 1, 0}}, {{STORE, 1, 1}, {LOAD, 0, 0}}}};
static const program_t fenced = {
    2,
    {3, 3, 0},
    {{{STORE, 0, 1}, {FENCE, 0, 0}, {LOAD, 1, 0}}, {{STORE, 1, 1}, {FENCE, 0, 0}, {LOAD, 0, 0}}}};

static void test_store_buffering(void **state)
{
    static outcomes_t found;
    sb_explore_options_t strong = exhaustive(2, false), relaxed = exhaustive(2, true);

    (void)state;
    explore(&dekker, &strong, &found);
    assert_false(has_outcome(&found, 0));
    assert_int_equal(found.count, 3);
    explore(&dekker, &relaxed, &found);
    assert_true(has_outcome(&found, 0));
    assert_int_equal(found.count, 4);
    explore(&fenced, &relaxed, &found);
    assert_false(has_outcome(&found, 0));
    assert_int_equal(found.count, 3);
}

static uint64_t random_state = 20;

/*
 * A word that is waited for only grows; a rank reads at most twice, as often as an exhaustive
 * exploration shows it an old value.
 */
static step_t draw_step(uint32_t *reads)
{
    static const kind_t kinds[] = {STORE, STORE, ADD, FENCE, LOAD, LOAD, AWAIT};
    kind_t kind = kinds[draw(&random_state, *reads < 2 ? SB_COUNT_OF(kinds) : 4)];

    *reads += kind == LOAD || kind == AWAIT;
    return (step_t){kind,
                    kind == AWAIT   ? WORDS - 1
                    : kind == STORE ? draw(&random_state, WORDS - 1)
                                    : draw(&random_state, WORDS),
                    1 + draw(&random_state, 2)};
}

static program_t draw_program(uint32_t ranks, uint32_t steps)
{
    program_t program = {.ranks = ranks};

    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t reads = 0;
        program.steps[rank] = 1 + draw(&random_state, steps);
        for (uint32_t i = 0; i < program.steps[rank]; i++)
            program.step[rank][i] = draw_step(&reads);
    }
    return program;
}

/* The reduced exploration shows all that every interleaving together can show, in fewer runs. */
static void compare(uint32_t ranks, uint32_t steps, bool relaxed, int programs)
{
    static outcomes_t all, found;
    uint64_t runs_all = 0, runs_found = 0;

    for (int i = 0; i < programs; i++) {
        program_t program = draw_program(ranks, steps);
        sb_explore_options_t options = exhaustive(ranks, relaxed);
        try_all(&program, relaxed, &all);
        explore(&program, &options, &found);
        for (size_t k = 0; k < all.count; k++) {
            if (!has_outcome(&found, all.seen[k]))
                fail_msg("program %d of %u ranks: an outcome is missed", i, ranks);
        }
        assert_int_equal(found.count, all.count);
        runs_all += all.runs;
        runs_found += found.runs;
    }
    assert_true(runs_found < runs_all);
    print_message("%u ranks: %lu runs in place of %lu\n", ranks, (unsigned long)runs_found,
                  (unsigned long)runs_all);
}

static void test_reduction(void **state)
{
    (void)state;
    compare(2, 4, false, 300);
    compare(3, 3, false, 300);
}

static void test_reduction_relaxed(void **state)
{
    (void)state;
    compare(2, 3, true, 300);
    compare(3, 2, true, 200);
}

/* Independent ranks have one interleaving. */
static void test_independent(void **state)
{
    static const program_t program = {3,
                                      {3, 3, 3},
                                      {{{STORE, 0, 1}, {LOAD, 0, 0}, {STORE, 0, 2}},
                                       {{STORE, 1, 1}, {LOAD, 1, 0}, {STORE, 1, 2}},
                                       {{STORE, 2, 1}, {LOAD, 2, 0}, {STORE, 2, 2}}}};
    static outcomes_t found;
    sb_explore_options_t options = exhaustive(3, true);

    (void)state;
    explore(&program, &options, &found);
    assert_int_equal(found.runs, 1);
}

/* Random and PCT see all outcomes of a small program, and every schedule can be run again. */
static void replay_each(sb_explore_mode_t mode)
{
    const char *problem;
    sb_explore_options_t options = {
        .mode = mode, .ranks = 2, .seed = 5, .schedules = 400, .relaxed = true};
    sb_check_t *check = sb_check_new(2);
    chooser_t chooser = {.explore = sb_explore_new(&options, &problem)};
    static outcomes_t found;

    found = (outcomes_t){0};
    while (sb_explore_begin(chooser.explore)) {
        uint64_t outcome = run(&dekker, check, &chooser, true);
        char *text = sb_explore_text(chooser.explore);
        sb_explore_options_t again = {.mode = SB_EXPLORE_REPLAY, .ranks = 2, .replay = text};
        chooser_t second = {.explore = sb_explore_new(&again, &problem)};
        assert_non_null(second.explore);
        assert_true(sb_explore_relaxed(second.explore));
        assert_true(sb_explore_begin(second.explore));
        assert_int_equal(run(&dekker, check, &second, true), outcome);
        char *same = sb_explore_text(second.explore);
        assert_string_equal(same, text);
        assert_false(sb_explore_begin(second.explore));
        sb_explore_free(second.explore);
        free(same);
        free(text);
        note_outcome(&found, outcome);
    }
    assert_int_equal(found.count, 4);
    sb_explore_free(chooser.explore);
    sb_check_free(check);
}

static void test_replay(void **state)
{
    (void)state;
    replay_each(SB_EXPLORE_RANDOM);
    replay_each(SB_EXPLORE_PCT);
    replay_each(SB_EXPLORE_EXHAUSTIVE);
}

static void test_wrong_options(void **state)
{
    static const char *const texts[] = {"",           "random",          "random:1:2",
                                        "pct:1:2:x",  "random:1:2:3x",   "exhaustive:",
                                        "exhaustive", "exhaustive:1,,2", "other:1:2:3"};
    const char *problem = NULL;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(texts); i++) {
        sb_explore_options_t options = {.mode = SB_EXPLORE_REPLAY, .ranks = 2, .replay = texts[i]};
        assert_null(sb_explore_new(&options, &problem));
        assert_non_null(problem);
    }
    sb_explore_options_t many = exhaustive(SB_EXHAUSTIVE_RANKS + 1, false);
    assert_null(sb_explore_new(&many, &problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_buffering),
        cmocka_unit_test(test_reduction),
        cmocka_unit_test(test_reduction_relaxed),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_wrong_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
