/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing.h"

#include "base/config.h"

#include <stdlib.h>
#include <string.h>

static const sb_variable_t *variable(const char *name)
{
    const sb_variable_t *found = sb_variable_find(name, strlen(name));

    assert_non_null(found);
    return found;
}

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"8", 8},
                {"64K", 65536},
                {"512KiB", 524288},
                {"1M", 1048576},
                {"2GiB", 2147483648},
                {"3mb", 3145728},
                {"16B", 16},
                {"0", 0}};
    static const char *const bad[] = {
        "", "abc", "-1", "1Q", "1KiBs", "K", "1.5M", "99999999999999T", "18446744073709551616"};
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(good); i++) {
        assert_true(sb_parse_bytes(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < SB_COUNT_OF(bad); i++)
        assert_false(sb_parse_bytes(bad[i], &bytes));
}

static void words_are_found_whole(void **state)
{
    (void)state;
    assert_true(sb_words_contain("barrier,bcast", "bcast"));
    assert_true(sb_words_contain("barrier,bcast", "barrier"));
    assert_false(sb_words_contain("barrier,bcast", "cast"));
    assert_false(sb_words_contain("barrier,bcast", "bcas"));
    assert_false(sb_words_contain("", "bcast"));
}

static void every_default_is_valid(void **state)
{
    sb_value_t value;

    (void)state;
    for (size_t i = 0; i < sb_variable_count(); i++) {
        const sb_variable_t *at = sb_variable_at(i);
        assert_null(sb_variable_parse(at, at->standard, &value));
        assert_true(strlen(at->doc) > 20);
        assert_int_equal(strncmp(at->name, "SOBOR", 5), 0);
    }
}

static void wrong_values_say_what_is_expected(void **state)
{
    sb_value_t value;

    (void)state;
    assert_string_equal(sb_variable_parse(variable("SOBOR"), "maybe", &value), "on or off");
    assert_string_equal(sb_variable_parse(variable("SOBOR_RING"), "abc", &value),
                        "a size from 4KiB to 1GiB");
    assert_string_equal(sb_variable_parse(variable("SOBOR_RING"), "0", &value),
                        "a size from 4KiB to 1GiB");
    assert_string_equal(sb_variable_parse(variable("SOBOR_SEGMENT"), "memf", &value),
                        "auto,memfd,named,off");
    assert_string_equal(sb_variable_parse(variable("SOBOR_COLLECTIVES"), "barrier,sum", &value),
                        variable("SOBOR_COLLECTIVES")->choices);
    assert_string_equal(sb_variable_parse(variable("SOBOR_VERBOSE"), "-1", &value),
                        "a number from 0 to 2");
}

static void values_are_read(void **state)
{
    sb_value_t value;

    (void)state;
    assert_null(sb_variable_parse(variable("SOBOR"), "OFF", &value));
    assert_int_equal(value.number, 0);
    assert_null(sb_variable_parse(variable("SOBOR"), "1", &value));
    assert_int_equal(value.number, 1);
    assert_null(sb_variable_parse(variable("SOBOR_MEMORY"), "auto", &value));
    assert_int_equal(value.number, 0);
}

/* Each word of a choice gives the number by which the code knows it, and there are no others. */
static void words_are_those_of_the_code(void **state)
{
    static const struct {
        const char *variable, *word;
        uint64_t number;
    } words[] = {
        {"SOBOR_SEGMENT", "auto", SB_SEGMENT_AUTO},
        {"SOBOR_SEGMENT", "memfd", SB_SEGMENT_MEMFD},
        {"SOBOR_SEGMENT", "named", SB_SEGMENT_NAMED},
        {"SOBOR_SEGMENT", "off", SB_SEGMENT_OFF},
        {"SOBOR_WAIT", "auto", SB_WAIT_AUTO},
        {"SOBOR_WAIT", "spin", SB_WAIT_SPIN},
        {"SOBOR_WAIT", "yield", SB_WAIT_YIELD},
        {"SOBOR_WAIT", "sleep", SB_WAIT_SLEEP},
        {"SOBOR_STORES", "auto", SB_STORES_AUTO},
        {"SOBOR_STORES", "streaming", SB_STORES_STREAMING},
        {"SOBOR_STORES", "cached", SB_STORES_CACHED},
        {"SOBOR_BCAST_TREE", "auto", SB_TREE_AUTO},
        {"SOBOR_BCAST_TREE", "flat", SB_TREE_FLAT},
        {"SOBOR_BCAST_TREE", "chain", SB_TREE_CHAIN},
        {"SOBOR_BCAST_TREE", "kary", SB_TREE_KARY},
        {"SOBOR_BCAST_TREE", "knomial", SB_TREE_KNOMIAL},
        {"SOBOR_CMA", "auto", SB_CMA_AUTO},
        {"SOBOR_CMA", "on", SB_CMA_ON},
        {"SOBOR_CMA", "off", SB_CMA_OFF},
        {"SOBOR_REPRODUCIBLE", "auto", SB_REPRODUCIBLE_AUTO},
        {"SOBOR_REPRODUCIBLE", "strict", SB_REPRODUCIBLE_STRICT},
        {"SOBOR_HUGE_PAGES", "auto", SB_HUGE_PAGES_AUTO},
        {"SOBOR_HUGE_PAGES", "off", SB_HUGE_PAGES_OFF},
        {"SOBOR_PRICES", "auto", SB_PRICES_AUTO},
        {"SOBOR_PRICES", "built-in", SB_PRICES_ALWAYS_BUILT_IN},
        {"SOBOR_DEVICE", "auto", SB_DEVICE_AUTO},
        {"SOBOR_DEVICE", "never", SB_DEVICE_NEVER},
        {"SOBOR_DEVICE", "always", SB_DEVICE_ALWAYS},
        {"SOBOR_DEVICE", "check", SB_DEVICE_CHECK},
        {"SOBOR_TRIALS", "rules", SB_TRIALS_RULES},
        {"SOBOR_TRIALS", "on", SB_TRIALS_ON},
        {"SOBOR_TRIALS", "off", SB_TRIALS_OFF},
        {"SOBOR_CLUSTER", "auto", SB_CLUSTER_AUTO},
        {"SOBOR_CLUSTER", "on", SB_CLUSTER_ON},
        {"SOBOR_CLUSTER", "off", SB_CLUSTER_OFF},
        {"SOBOR_CLUSTER_BCAST", "auto", SB_FORM_AUTO},
        {"SOBOR_CLUSTER_BCAST", "fixed", SB_FORM_FIXED},
        {"SOBOR_CLUSTER_BCAST", "p", SB_FORM_P},
        {"SOBOR_CLUSTER_BCAST", "cp", SB_FORM_CP},
#define FORM(symbol, name) {"SOBOR_CLUSTER_BCAST", name, SB_FORM_##symbol},
        SB_EACH_FORM(FORM)
#undef FORM
            {"SOBOR_CLUSTER_BCAST_RDAAS", "power-of-two", SB_RDAAS_POWER_OF_TWO},
        {"SOBOR_CLUSTER_BCAST_RDAAS", "never", SB_RDAAS_NEVER},
        {"SOBOR_CLUSTER_SCATTER", "auto", SB_SCATTER_AUTO},
        {"SOBOR_CLUSTER_SCATTER", "fixed", SB_SCATTER_FIXED},
        {"SOBOR_CLUSTER_SCATTER", "first", SB_SCATTER_FIRST},
    };
    size_t there = 0;
    sb_value_t value;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(words); i++) {
        assert_null(sb_variable_parse(variable(words[i].variable), words[i].word, &value));
        assert_int_equal(value.number, words[i].number);
    }
    for (size_t i = 0; i < sb_variable_count(); i++) {
        const char *at = sb_variable_at(i)->choices;
        if (sb_variable_at(i)->type != SB_TYPE_CHOICE)
            continue;
        for (there++; *at != '\0'; at++)
            there += *at == ',';
    }
    assert_int_equal(there, SB_COUNT_OF(words));
}

/* The process's own configuration: a good value is taken, a bad one gives the default. */
static void environment_is_read(void **state)
{
    static char summary[] = "SOBOR_SUMMARY=/a/file";
    bool given;

    (void)state;
    setenv("SOBOR_RING", "64KiB", 1);
    setenv("SOBOR_LIVENESS", "soon", 1);
    putenv(summary);
    assert_string_equal(sb_config()->summary.text, "/a/file");
    strcpy(strchr(summary, '/'), "/other"); /* as programs that show another name of theirs do */
    assert_string_equal(sb_config()->summary.text, "/a/file");
    assert_int_equal(sb_config()->ring.number, 65536);
    assert_int_equal(sb_config()->liveness.number, 500);
    for (size_t i = 0; i < sb_variable_count(); i++) {
        sb_variable_value(sb_variable_at(i), &given);
        const char *name = sb_variable_at(i)->name;
        assert_int_equal(given, getenv(name) != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(words_are_found_whole),
        cmocka_unit_test(every_default_is_valid),
        cmocka_unit_test(wrong_values_say_what_is_expected),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(words_are_those_of_the_code),
        cmocka_unit_test(environment_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
