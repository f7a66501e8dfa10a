/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model of the pipelined broadcast. Usage: test_model [SEED]. */
#include "testing.h"

#include "tools/model_forms.h"

#include <math.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)
#define CASES 20000

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 20) % below;
}

static void assert_near(double found, double expected, double within)
{
    if (fabs(found - expected) > within)
        print_error("expected %.9g, found %.9g\n", expected, found);
    assert_true(fabs(found - expected) <= within);
}

/* m = 16 MiB, b = 4 MiB, t = 1 ns, t_WO = 100 t, t_A = 10 t, t_W = 50 t. */
static void the_published_optimum_is_met(void **state)
{
    sb_model_prices_t prices = SB_MODEL_PRICES;
    double best = sb_model_best_fragment(&prices, 16 * MIB, 4 * MIB);

    (void)state;
    assert_near(best, 14482, 1);
    assert_near(4 * (double)MIB / best, 290, 1);
}

static void the_published_segment_is_met(void **state)
{
    (void)state;
    assert_int_equal(sb_model_segment_bytes(8, (sb_model_ring_t){8192, 8}, 2, 4096), 780 * 1024);
    /* A buffer that is no whole page takes one. */
    assert_int_equal(sb_model_segment_bytes(2, (sb_model_ring_t){100, 3}, 1, 4096),
                     4096 + 4096 + 2 * 3 * 8192);
}

/* Random prices, sizes and rings, against the formulas in whole numbers. */
static void the_three_regimes_hold(void **state)
{
    unsigned seen[3] = {0};

    (void)state;
    for (int i = 0; i < CASES; i++) {
        sb_model_prices_t p = {(double)draw(100) / 10 + 0.1, (double)draw(1000), (double)draw(1000),
                               (double)draw(1000)};
        uint64_t f = 1 + draw((uint64_t)1 << draw(17)), s = 1 + draw((uint64_t)1 << draw(11));
        uint64_t m = 1 + draw((uint64_t)1 << draw(28)), b = f * s, q = 1 + draw(s);
        double fragments = (double)((m + f - 1) / f), rings = (double)((m + b - 1) / b);
        double copy = (double)m * p.byte, fill = (double)f * p.byte;
        double time = sb_model_buffers(&p, m, (double)f, (double)b);
        sb_model_regime_t regime = sb_model_regime(m, (double)f, (double)b);
        double expected = rings * (p.open + p.release + fill) + fragments * p.notify + copy;

        if (m <= f)
            expected = p.open + p.release + p.notify + 2 * copy;
        seen[regime]++;
        assert_int_equal(regime, m <= f ? 0 : m <= b ? 1 : 2);
        assert_near(time, expected, 1e-12 * expected);
        assert_near(sb_model_one_buffer(&p, m, (double)f),
                    fragments * (p.open + p.release + p.notify) + 2 * copy, 1e-12 * expected * s);
        assert_near(sb_model_sets(&p, m, (double)f, (double)b, q),
                    (double)q * rings * (p.open + p.release) + fill + fragments * p.notify + copy,
                    1e-12 * expected * (double)q);
    }
    assert_true(seen[0] > CASES / 20 && seen[1] > CASES / 20 && seen[2] > CASES / 20);
}

/* f* is where T(f), without the rounding up, is least: any other fragment costs as much or more. */
static void the_best_fragment_is_best(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        sb_model_prices_t p = {0.05 + (double)draw(100) / 50, 1 + (double)draw(500), 100, 10};
        uint64_t b = 4096 * (1 + draw(2048)), m = b * (1 + draw(16));
        double best = sb_model_best_fragment(&p, m, b);
        double other = 1 + (double)draw(b), rings = (double)(m / b);
        double at_best = rings * best * p.byte + (double)m / best * p.notify;

        assert_true(best >= 1 && best <= (double)b);
        assert_true(at_best <= (rings * other * p.byte + (double)m / other * p.notify) * 1.0000001);
    }
}

/* What each way promises. */
static void the_ways_keep_their_promises(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        uint64_t m = 1 + draw((uint64_t)1 << draw(34)), page = (uint64_t)4096 << draw(3);
        sb_model_prices_t p = {1, 1 + (double)draw(200), 100, 10};
        sb_model_ring_t given = {1 + draw(1 << 20), 1 + draw(4096)};
        sb_model_ring_t budget = sb_model_choose(SB_MODEL_BUDGET, &p, m, given, page);
        sb_model_ring_t message = sb_model_choose(SB_MODEL_MESSAGE, &p, m, given, page);
        sb_model_ring_t fragment = sb_model_choose(SB_MODEL_FRAGMENT, &p, m, given, page);
        sb_model_ring_t slots = sb_model_choose(SB_MODEL_SLOTS, &p, m, given, page);

        assert_true(budget.slots >= 1 && budget.fragment * budget.slots <= m);
        assert_true(budget.fragment % page == 0 || (budget.slots == 1 && budget.fragment == m));
        assert_true(message.fragment % page == 0 && message.fragment * message.slots >= m);
        assert_true((message.fragment - page) * (message.fragment - page) < m);
        assert_int_equal(fragment.fragment, given.fragment);
        assert_true(fragment.fragment * fragment.slots >= m &&
                    fragment.fragment * (fragment.slots - 1) < m);
        assert_int_equal(slots.slots, given.slots);
        assert_int_equal(slots.fragment, message.fragment);
    }
}

static void a_budget_without_prices_takes_the_root(void **state)
{
    sb_model_ring_t ring = sb_model_choose(SB_MODEL_BUDGET, NULL, 4 * MIB, (sb_model_ring_t){0}, 1);

    (void)state;
    assert_int_equal(ring.fragment, 2048);
    assert_int_equal(ring.slots, 2048);
    ring = sb_model_choose(SB_MODEL_BUDGET, NULL, 4 * MIB + 1, (sb_model_ring_t){0}, 4096);
    assert_int_equal(ring.fragment, 4096);
    assert_int_equal(ring.slots, 1024);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_optimum_is_met),
        cmocka_unit_test(the_published_segment_is_met),
        cmocka_unit_test(the_three_regimes_hold),
        cmocka_unit_test(the_best_fragment_is_best),
        cmocka_unit_test(the_ways_keep_their_promises),
        cmocka_unit_test(a_budget_without_prices_takes_the_root),
    };

    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    print_message("seed %lu\n", (unsigned long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
