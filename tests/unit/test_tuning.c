/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning files: what is read, what is refused and how that is said, and which rule decides. */
#include "testing.h"

#include "base/config.h"
#include "baseline/baseline.h"
#include "select/select.h"
#include "select/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Puts the text into a new file, and its name into `name`. */
static int write_file(char *name, const char *text)
{
    int file = mkstemp(strcpy(name, "/tmp/sobor-tuning-XXXXXX"));

    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    return file;
}

/* Reads the text as a file; the error is given without the file's name. */
static bool read_text(const char *text, sb_rules_t *rules, char *error)
{
    char name[64], whole[1024] = "";
    int file = write_file(name, text);
    bool right = sb_tuning_read(name, rules, whole, sizeof whole);

    close(file);
    unlink(name);
    if (!right) {
        assert_memory_equal(whole, name, strlen(name));
        strcpy(error, whole + strlen(name) + 2);
    }
    return right;
}

static sb_rules_t rules_of(const char *text)
{
    sb_rules_t rules;
    char error[1024];

    if (!read_text(text, &rules, error))
        fail_msg("%s", error);
    return rules;
}

static void everything_is_read(void **state)
{
    sb_rules_t rules = rules_of(
        "{\"note\": \"made by hand\", \"rules\": [\n"
        "  {\"bytes\": {\"from\": \"1KiB\", \"to\": 65536}, \"algorithm\": \"ring\",\n"
        "   \"fragment\": \"4KiB\", \"arity\": 3, \"tree\": \"knomial\", \"collective\": "
        "\"bcast\",\n"
        "   \"ranks\": {\"from\": 2, \"to\": 8}, \"oversubscribed\": false, \"note\": \"quick\", "
        "\"measured\": true},\n"
        "  {\"collective\": \"bcast\", \"ring\": \"1MiB\", \"slots\": 16, \"sets\": \"auto\"},\n"
        "  {\"collective\": \"barrier\", \"ranks\": 4, \"algorithm\": \"host\"},\n"
        "  {\"collective\": \"scan\", \"bytes\": \"8\", \"algorithm\": \"auto\"}]}");
    const sb_rule_t *first = &rules.rule[0];

    (void)state;
    assert_int_equal(rules.count, 4);
    assert_int_equal(first->collective, SB_BCAST);
    assert_int_equal(first->bytes_from, 1024);
    assert_int_equal(first->bytes_to, 65536);
    assert_int_equal(first->ranks_from, 2);
    assert_int_equal(first->ranks_to, 8);
    assert_int_equal(first->oversubscribed, 0);
    assert_int_equal(first->measured, 1);
    assert_int_equal(first->value[SB_TUNE_FRAGMENT], 4096);
    assert_int_equal(first->value[SB_TUNE_ARITY], 3);
    assert_int_equal(first->value[SB_TUNE_TREE], SB_TREE_KNOMIAL);
    assert_ptr_equal(sb_algorithm_at(first->value[SB_TUNE_ALGORITHM] - SB_RULE_FIRST),
                     sb_algorithm_find(SB_BCAST, "ring"));
    assert_int_equal(rules.rule[1].sets,
                     1u << SB_TUNE_RING | 1u << SB_TUNE_SLOTS | 1u << SB_TUNE_SETS);
    assert_int_equal(rules.rule[1].bytes_to, UINT64_MAX);
    assert_int_equal(rules.rule[1].oversubscribed, -1);
    assert_int_equal(rules.rule[1].measured, 0);
    assert_int_equal(rules.rule[2].ranks_from, 4);
    assert_int_equal(rules.rule[2].ranks_to, 4);
    assert_int_equal(rules.rule[2].value[SB_TUNE_ALGORITHM], SB_RULE_HOST);
    assert_int_equal(rules.rule[3].bytes_to, 8);
    assert_int_equal(rules.rule[3].value[SB_TUNE_ALGORITHM], SB_RULE_AUTO);
    assert_int_equal(rules.rule[3].number, 4);
}

#define RULE(text) "{\"rules\": [\n\n{" text "}]}"

static void errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "line 1: '[' or '{' expected near end of file"},
        {"{\n\"rules\": []", "line 2: '}' expected near end of file"},
        {"{\"rules\": []} x", "line 1: end of file expected near 'x'"},
        {"{\"rules\": [],}", "line 1: string or '}' expected near '}'"},
        {"{\"rules\": [],\n\"rules\": []}", "line 2: duplicate object key near '\"rules\"'"},
        {RULE("\"collective\": \"bcast\", \"algorithm\": \"ring\",\n\"algorithm\": \"ring\""),
         "line 4: duplicate object key near '\"algorithm\"'"},
        {"[]", "expected an object with the list rules, and perhaps a note; found []"},
        {"{}", "expected an object with the list rules, and perhaps a note; found {}"},
        {"{\"rulez\": []}", "expected an object with the list rules, and perhaps a note; found "
                            "{\"rulez\":[]}"},
        {"{\"rules\": {}}", "expected an object with the list rules, and perhaps a note; found "
                            "{\"rules\":{}}"},
        {"{\"rules\": [3]}", "rule 1: it: expected an object, { ... }, found 3"},
        {RULE("\"algorithm\": \"ring\""), "rule 1: collective: expected a collective operation: "
                                          "barrier, bcast, "},
        {RULE("\"collective\": \"broadcast\", \"algorithm\": \"ring\""),
         "rule 1: collective: expected a collective operation: barrier, bcast, "},
        {RULE("\"collective\": null"), "rule 1: collective: expected a collective operation: "},
        {RULE("\"collective\": \"bcast\""),
         "rule 1: it: expected something to set, such as algorithm, found nothing"},
        {RULE("\"collective\": \"bcast\", \"algoritm\": \"ring\""),
         "rule 1: expected keys out of collective, bytes, ranks, oversubscribed, note, "
         "measured, algorithm, fragment, arity, ring, slots, sets, tree, found \"algoritm\""},
        {RULE("\"collective\": \"bcast\", \"algorithm\": \"rings\""),
         "rule 1: algorithm: expected auto, host, slots, ring, "},
        {RULE("\"collective\": \"barrier\", \"algorithm\": \"ring\""),
         "rule 1: algorithm: expected auto, host, flat, "},
        {RULE("\"collective\": \"bcast\", \"algorithm\": [\"ring\"]"),
         "rule 1: algorithm: expected auto, host, slots, ring, "},
        {RULE("\"collective\": \"bcast\", \"bytes\": \"lots\", \"algorithm\": \"ring\""),
         "rule 1: bytes: expected a size such as 64KiB, found \"lots\""},
        {RULE("\"collective\": \"bcast\", \"bytes\": 1.5, \"algorithm\": \"ring\""),
         "rule 1: bytes: expected a size such as 64KiB, found 1.5"},
        {RULE("\"collective\": \"bcast\", \"bytes\": {\"upto\": 3}, \"algorithm\": \"ring\""),
         "rule 1: bytes: expected the keys from and to, found {\"upto\":3}"},
        {RULE("\"collective\": \"bcast\", \"bytes\": {\"from\": \"4K\", \"to\": \"1K\"}, "
              "\"algorithm\": \"ring\""),
         "rule 1: bytes: expected from below to, found {\"from\":\"4K\",\"to\":\"1K\"}"},
        {RULE("\"collective\": \"scatterv\", \"bytes\": 8, \"algorithm\": \"direct\""),
         "rule 1: bytes: expected none for scatterv, whose sizes the ranks do not know of each "
         "other, found 8"},
        {RULE("\"collective\": \"barrier\", \"bytes\": {\"to\": 8}, \"algorithm\": \"flat\""),
         "rule 1: bytes: expected none for barrier, which has no message, found {\"to\":8}"},
        {RULE("\"collective\": \"bcast\", \"ranks\": -2, \"algorithm\": \"ring\""),
         "rule 1: ranks: expected a number of ranks, found -2"},
        {RULE("\"collective\": \"bcast\", \"oversubscribed\": \"yes\", \"algorithm\": \"ring\""),
         "rule 1: oversubscribed: expected true or false, found \"yes\""},
        {RULE("\"collective\": \"bcast\", \"measured\": 1, \"algorithm\": \"ring\""),
         "rule 1: measured: expected true or false, found 1"},
        {RULE("\"collective\": \"gather\", \"fragment\": 64"),
         "rule 1: fragment: expected with collective bcast, found with gather"},
        {RULE("\"collective\": \"scan\", \"arity\": 2"),
         "rule 1: arity: expected with collective bcast or barrier, found with scan"},
        {RULE("\"collective\": \"bcast\", \"bytes\": 64, \"slots\": 8"),
         "rule 1: slots: expected without bytes, as this memory is made once for a "
         "communicator; found with bytes"},
        {RULE("\"collective\": \"bcast\", \"fragment\": \"big\""),
         "rule 1: fragment: expected a size from 1 to 256MiB, found \"big\""},
        {RULE("\"collective\": \"bcast\", \"arity\": 0"),
         "rule 1: arity: expected a number from 1 to 65536, found 0"},
        {RULE("\"collective\": \"bcast\", \"arity\": 4294967297"),
         "rule 1: arity: expected a number from 1 to 65536, found 4294967297"},
        {RULE("\"collective\": \"bcast\", \"ranks\": \"18446744073709551617\", \"arity\": 2"),
         "rule 1: ranks: expected a number of ranks, found \"18446744073709551617\""},
        {RULE("\"collective\": \"bcast\", \"tree\": \"oak\""),
         "rule 1: tree: expected auto,flat,chain,kary,knomial, found \"oak\""},
        {"{\"rules\": [{\"collective\": \"bcast\", \"arity\": 2}, {\"collective\": \"bcst\"}]}",
         "rule 2: collective: "},
    };
    sb_rules_t rules;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(wrong); i++) {
        char error[1024] = "no error";
        assert_false(read_text(wrong[i].text, &rules, error));
        if (strncmp(error, wrong[i].error, strlen(wrong[i].error)) != 0)
            fail_msg("%s\nexpected: %s\nfound:    %s", wrong[i].text, wrong[i].error, error);
        assert_int_equal(rules.count, 0);
    }
}

/* A text of so many rules. */
static char *many(size_t count)
{
    char *text = calloc(count + 1, 64);

    assert_non_null(text);
    strcpy(text, "{\"rules\": [");
    for (size_t i = 0; i < count; i++)
        strcat(text, i > 0 ? ",\n{\"collective\": \"bcast\", \"arity\": 2}"
                           : "{\"collective\": \"bcast\", \"arity\": 2}");
    return strcat(text, "]}");
}

static void there_are_only_so_many(void **state)
{
    char error[1024], *most = many(SB_RULES_MOST), *more = many(SB_RULES_MOST + 1);
    sb_rules_t rules;

    (void)state;
    assert_true(read_text(most, &rules, error));
    assert_int_equal(rules.count, SB_RULES_MOST);
    assert_false(read_text(more, &rules, error));
    assert_string_equal(error, "rules: expected at most 64, found 65");
    free(most);
    free(more);
}

static void files_are_read(void **state)
{
    char name[64], error[1024];
    int file = write_file(name, "{\"rules\": [{\"collective\": \"bcast\", \"arity\": 2}]}");
    sb_rules_t rules;

    (void)state;
    assert_true(sb_tuning_read(name, &rules, error, sizeof error));
    assert_int_equal(rules.count, 1);
    assert_int_equal(ftruncate(file, 1 << 20), 0);
    assert_false(sb_tuning_read(name, &rules, error, sizeof error));
    assert_non_null(strstr(error, "expected a file of at most 256 KiB, found a larger one"));
    assert_int_equal(ftruncate(file, 100), 0);
    assert_false(sb_tuning_read(name, &rules, error, sizeof error));
    assert_memory_equal(error, name, strlen(name));
    close(file);
    unlink(name);
    assert_false(sb_tuning_read(name, &rules, error, sizeof error));
    assert_non_null(strstr(error, "No such file"));
    assert_false(sb_tuning_read("/tmp", &rules, error, sizeof error));
    assert_non_null(strstr(error, "no plain file"));
}

static uint64_t fragment_for(const sb_rules_t *rules, uint64_t bytes)
{
    return sb_rules_value(rules, SB_BCAST, SB_TUNE_FRAGMENT, bytes, 77);
}

/* For each setting, the first rule that fits and sets it. */
static void the_first_rule_that_fits_decides(void **state)
{
    sb_rules_t rules = rules_of(
        "{\"rules\": [{\"collective\": \"bcast\", \"bytes\": {\"from\": 10, \"to\": 20}, "
        "\"fragment\": 1}, {\"collective\": \"bcast\", \"bytes\": {\"to\": 15}, \"fragment\": 2},"
        "{\"collective\": \"bcast\", \"bytes\": {\"from\": 15, \"to\": 30}, \"arity\": 5},"
        "{\"collective\": \"bcast\", \"bytes\": {\"from\": 40}, \"fragment\": 3},"
        "{\"collective\": \"bcast\", \"fragment\": 4, \"arity\": 6}]}");

    (void)state;
    assert_int_equal(fragment_for(NULL, 5), 77);
    assert_int_equal(fragment_for(&rules, 0), 2);
    assert_int_equal(fragment_for(&rules, 9), 2);
    assert_int_equal(fragment_for(&rules, 10), 1);
    assert_int_equal(fragment_for(&rules, 20), 1);
    assert_int_equal(fragment_for(&rules, 21), 4);
    assert_int_equal(fragment_for(&rules, 39), 4);
    assert_int_equal(fragment_for(&rules, 40), 3);
    assert_int_equal(fragment_for(&rules, UINT64_MAX), 3);
    assert_int_equal(sb_rules_value(&rules, SB_BCAST, SB_TUNE_ARITY, 15, 0), 5);
    assert_int_equal(sb_rules_value(&rules, SB_BCAST, SB_TUNE_ARITY, 31, 0), 6);
    assert_int_equal(sb_rules_value(&rules, SB_BARRIER, SB_TUNE_ARITY, 31, 9), 9);
    assert_int_equal(sb_rules_value(&rules, SB_BCAST, SB_TUNE_SLOTS, 0, 8), 8);
    assert_int_equal(sb_rules_value_of_all(&rules, SB_BCAST, SB_TUNE_FRAGMENT, 77), 4);
    assert_int_equal(sb_rules_value_of_all(&rules, SB_BCAST, SB_TUNE_RING, 78), 78);
}

static void rules_of_other_teams_are_left_out(void **state)
{
    sb_rules_t rules =
        rules_of("{\"rules\": [{\"collective\": \"bcast\", \"ranks\": 4, \"arity\": 1},"
                 "{\"collective\": \"bcast\", \"ranks\": {\"from\": 5}, \"arity\": 2},"
                 "{\"collective\": \"bcast\", \"oversubscribed\": true, \"arity\": 3},"
                 "{\"collective\": \"bcast\", \"ranks\": {\"to\": 4}, \"oversubscribed\": false, "
                 "\"arity\": 4}]}");
    sb_rules_t four = rules, five = rules;

    (void)state;
    sb_rules_keep(&four, 4, false);
    assert_int_equal(four.count, 2);
    assert_int_equal(four.rule[0].number, 1);
    assert_int_equal(four.rule[1].number, 4);
    sb_rules_keep(&five, 5, true);
    assert_int_equal(five.count, 2);
    assert_int_equal(five.rule[0].number, 2);
    assert_int_equal(five.rule[1].number, 3);
}

static sb_settings_t settings_with(const sb_rules_t *rules)
{
    sb_settings_t made = {
        .ring_bytes = 512 << 10, .tree_arity = 4, .collectives = UINT32_MAX, .rules = rules};

    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++)
        strcpy(made.algorithm[c], "auto");
    return made;
}

static const sb_shape_t eight = {.prices = &sb_prices_standard,
                                 .ranks = 8,
                                 .processors = 8,
                                 .tree_arity = 4,
                                 .ring_bytes = 512 << 10,
                                 .ungrouped = "the ranks are not bound to processors"};

static const char *planned(sb_plan_table_t *plan, size_t bytes)
{
    const sb_algorithm_t *algorithm = sb_planned(plan, SB_BCAST, bytes, false)->algorithm;

    return algorithm == NULL ? "host" : algorithm->name;
}

/* Where ranks share processors the ring says how often each has to run for a message. */
static void a_ring_that_is_auto_is_as_without_a_rule(void **state)
{
    sb_rules_t rules = rules_of("{\"rules\": [{\"collective\": \"bcast\", \"ring\": \"auto\"}]}");
    sb_settings_t with = settings_with(&rules), without = settings_with(NULL);
    sb_shape_t crowded = eight;

    (void)state;
    crowded.processors = 2;
    crowded.oversubscribed = true;
    for (size_t bytes = 1; bytes <= (size_t)16 << 20; bytes *= 2)
        assert_ptr_equal(sb_choose(SB_BCAST, &crowded, &with, bytes, false).algorithm,
                         sb_choose(SB_BCAST, &crowded, &without, bytes, false).algorithm);
}

/* To the byte, in whatever order sizes come; what no rule is for is chosen as without the file. */
static void plans_keep_to_the_limits(void **state)
{
    static sb_plan_table_t plan, plain;
    sb_rules_t rules =
        rules_of("{\"rules\": [{\"collective\": \"bcast\", \"bytes\": 65536, \"algorithm\": "
                 "\"host\"}, {\"collective\": \"bcast\", \"bytes\": {\"from\": 1000, \"to\": "
                 "70000}, \"algorithm\": \"numa-relay\"}, {\"collective\": \"bcast\", \"bytes\": "
                 "{\"to\": 80000}, \"algorithm\": \"auto\"}, {\"collective\": \"bcast\", "
                 "\"algorithm\": \"tree\"}]}");
    sb_settings_t with = settings_with(&rules), without = settings_with(NULL);

    (void)state;
    sb_plan_start(&plan, &eight, &with);
    sb_plan_start(&plain, &eight, &without);
    for (size_t i = 0; i < 200000; i++) {
        size_t bytes = i * 7919 % 100003;
        const char *expected = bytes == 65536                    ? "host"
                               : bytes >= 1000 && bytes <= 70000 ? "numa-relay"
                               : bytes <= 80000                  ? planned(&plain, bytes)
                                                                 : "tree";
        if (strcmp(planned(&plan, bytes), expected) != 0)
            fail_msg("%zu bytes: %s, not %s", bytes, planned(&plan, bytes), expected);
    }
    assert_ptr_equal(sb_choose(SB_BCAST, &eight, &with, 65536, false).reason, sb_reason_rule);
    assert_string_equal(sb_choose(SB_BARRIER, &eight, &with, 0, false).reason,
                        "least expected time");
    sb_plan_end(&plan);
    sb_plan_end(&plain);
}

/* What the operator's order or missing groups forbid is refused, whoever asks for it. */
static void refused_rules_leave_the_choice_free(void **state)
{
    static sb_plan_table_t plan;
    sb_rules_t rules = rules_of("{\"rules\": [{\"collective\": \"allreduce\", \"algorithm\": "
                                "\"p2p-ring\"}, {\"collective\": \"barrier\", \"algorithm\": "
                                "\"hierarchical-numa\"}]}");
    sb_settings_t with = settings_with(&rules), without = settings_with(NULL);

    (void)state;
    sb_plan_start(&plan, &eight, &with);
    for (size_t bytes = 8; bytes < 1 << 24; bytes *= 2) {
        sb_choice_t choice = sb_choose(SB_ALLREDUCE, &eight, &with, bytes, true);
        size_t planned_bytes = sb_class_bytes(sb_size_class(bytes));
        sb_choice_t free_choice = sb_choose(SB_ALLREDUCE, &eight, &without, planned_bytes, true);
        assert_string_equal(choice.refused->name, "p2p-ring");
        assert_ptr_equal(choice.algorithm, free_choice.algorithm);
        assert_ptr_equal(sb_planned(&plan, SB_ALLREDUCE, bytes, true)->algorithm,
                         free_choice.algorithm);
        assert_string_equal(sb_planned(&plan, SB_ALLREDUCE, bytes, false)->algorithm->name,
                            "p2p-ring");
    }
    assert_string_equal(sb_choose(SB_BARRIER, &eight, &with, 0, false).refused->name,
                        "hierarchical-numa");
    sb_plan_end(&plan);
}

/* What is said for one run counts more than a file. The environment is read once: last. */
static void variables_overrule_rules(void **state)
{
    char name[64];
    static const char text[] =
        "{\"rules\": [{\"collective\": \"bcast\", \"algorithm\": \"ring\", \"fragment\": 64},"
        "{\"collective\": \"gather\", \"algorithm\": \"host\"}]}";

    (void)state;
    int file = write_file(name, text);
    setenv("SOBOR_TUNING", name, 1);
    setenv("SOBOR_BCAST_ALGORITHM", "auto", 1);
    const sb_rules_t *rules = sb_tuning_self();
    unlink(name);
    assert_non_null(rules);
    assert_null(sb_rule_find(rules, SB_BCAST, SB_TUNE_ALGORITHM, 8));
    assert_int_equal(fragment_for(rules, 8), 64);
    assert_non_null(sb_rule_find(rules, SB_GATHER, SB_TUNE_ALGORITHM, 8));
    assert_string_equal(sb_tuning_overruled(&rules->rule[0], SB_TUNE_ALGORITHM),
                        "SOBOR_BCAST_ALGORITHM");
    assert_null(sb_tuning_overruled(&rules->rule[0], SB_TUNE_FRAGMENT));
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(there_are_only_so_many),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(the_first_rule_that_fits_decides),
        cmocka_unit_test(rules_of_other_teams_are_left_out),
        cmocka_unit_test(a_ring_that_is_auto_is_as_without_a_rule),
        cmocka_unit_test(plans_keep_to_the_limits),
        cmocka_unit_test(refused_rules_leave_the_choice_free),
        cmocka_unit_test(variables_overrule_rules),
    };

    sb_baselines_add();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
