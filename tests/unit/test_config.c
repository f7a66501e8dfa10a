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

/* The words of each choice, at the numbers by which the code knows them. */
static const struct {
    const char *variable, *words[SB_FORMS + 1];
} choices[] = {
    {"SOBOR_SEGMENT",
     {[SB_SEGMENT_AUTO] = "auto",
      [SB_SEGMENT_MEMFD] = "memfd",
      [SB_SEGMENT_NAMED] = "named",
      [SB_SEGMENT_OFF] = "off"}},
    {"SOBOR_WAIT",
     {[SB_WAIT_AUTO] = "auto",
      [SB_WAIT_SPIN] = "spin",
      [SB_WAIT_YIELD] = "yield",
      [SB_WAIT_SLEEP] = "sleep"}},
    {"SOBOR_STORES",
     {[SB_STORES_AUTO] = "auto",
      [SB_STORES_STREAMING] = "streaming",
      [SB_STORES_CACHED] = "cached"}},
    {"SOBOR_BCAST_TREE",
     {[SB_TREE_AUTO] = "auto",
      [SB_TREE_FLAT] = "flat",
      [SB_TREE_CHAIN] = "chain",
      [SB_TREE_KARY] = "kary",
      [SB_TREE_KNOMIAL] = "knomial"}},
    {"SOBOR_CMA", {[SB_CMA_AUTO] = "auto", [SB_CMA_ON] = "on", [SB_CMA_OFF] = "off"}},
    {"SOBOR_REPRODUCIBLE", {[SB_REPRODUCIBLE_AUTO] = "auto", [SB_REPRODUCIBLE_STRICT] = "strict"}},
    {"SOBOR_HUGE_PAGES", {[SB_HUGE_PAGES_AUTO] = "auto", [SB_HUGE_PAGES_OFF] = "off"}},
    {"SOBOR_PRICES", {[SB_PRICES_AUTO] = "auto", [SB_PRICES_ALWAYS_BUILT_IN] = "built-in"}},
    {"SOBOR_DEVICE",
     {[SB_DEVICE_AUTO] = "auto",
      [SB_DEVICE_NEVER] = "never",
      [SB_DEVICE_ALWAYS] = "always",
      [SB_DEVICE_CHECK] = "check"}},
    {"SOBOR_TRIALS", {[SB_TRIALS_RULES] = "rules", [SB_TRIALS_ON] = "on", [SB_TRIALS_OFF] = "off"}},
    {"SOBOR_CLUSTER",
     {[SB_CLUSTER_AUTO] = "auto", [SB_CLUSTER_ON] = "on", [SB_CLUSTER_OFF] = "off"}},
#define FORM(symbol, name) [SB_FORM_##symbol] = name,
    {"SOBOR_CLUSTER_BCAST",
     {[SB_FORM_AUTO] = "auto",
      [SB_FORM_FIXED] = "fixed",
      [SB_FORM_P] = "p",
      [SB_FORM_CP] = "cp",
      SB_EACH_FORM(FORM)}},
#undef FORM
    {"SOBOR_CLUSTER_BCAST_RDAAS",
     {[SB_RDAAS_POWER_OF_TWO] = "power-of-two", [SB_RDAAS_NEVER] = "never"}},
    {"SOBOR_CLUSTER_SCATTER",
     {[SB_SCATTER_AUTO] = "auto", [SB_SCATTER_FIXED] = "fixed", [SB_SCATTER_FIRST] = "first"}},
};

/* And there are no others. */
static void words_are_those_of_the_code(void **state)
{
    size_t declared = 0;
    sb_value_t value;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(choices); i++) {
        const sb_variable_t *choice = variable(choices[i].variable);
        char list[256] = "";
        for (size_t n = 0; choices[i].words[n] != NULL; n++) {
            assert_null(sb_variable_parse(choice, choices[i].words[n], &value));
            assert_int_equal(value.number, n);
            strcat(strcat(list, n == 0 ? "" : ","), choices[i].words[n]);
        }
        assert_string_equal(choice->choices, list);
    }
    for (size_t i = 0; i < sb_variable_count(); i++)
        declared += sb_variable_at(i)->type == SB_TYPE_CHOICE;
    assert_int_equal(declared, SB_COUNT_OF(choices));
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
