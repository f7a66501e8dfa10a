/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every variable of the table is given wrong values, one process for each: it says in one line
 * which variable is wrong, what was expected and what was found, and goes on with the default.
 */
#include "../long_form.h"
#include "testing.h"

#include "base/config.h"
#include "select/select.h"
#include "select/tuning.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct output {
    char text[4096];
} output_t;

static const sb_variable_t *find(const char *name)
{
    return sb_variable_find(name, strlen(name));
}

/* Whether the process uses what it would use if the variable were not set. */
static bool uses_default(const sb_variable_t *variable)
{
    sb_settings_t settings;
    sb_value_t standard;
    bool given;

    sb_settings_self(&settings);
    sb_settings_check(&settings);
    if (variable->type == SB_TYPE_ALGORITHM) {
        for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++) {
            if (strcmp(settings.algorithm[c], "auto") != 0)
                return false;
        }
        return true;
    }
    if (variable->type == SB_TYPE_TEXT)
        return sb_tuning_self() == NULL;
    const sb_value_t *used = sb_variable_value(variable, &given);
    return sb_variable_parse(variable, variable->standard, &standard) == NULL &&
           used->number == standard.number && strcmp(used->text, standard.text) == 0;
}

/* What a process with this setting says; `status` tells whether it uses the default. */
static output_t said_with(const char *name, const char *value, const sb_variable_t *variable,
                          int *status)
{
    output_t said = {""};
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        setenv(name, value, 1);
        _exit(uses_default(variable) ? 0 : 1);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    said.text[fread(said.text, 1, sizeof said.text - 1, lines)] = '\0';
    fclose(lines);
    assert_int_equal(waitpid(child, status, 0), child);
    return said;
}

/* Whether a variable is given a wrong value: where few count, each value goes to every third. */
static bool takes(size_t variable, size_t wrong)
{
    return !takes_few() || (variable + wrong) % 3 == 0;
}

static void expect_refused(const sb_variable_t *variable, const char *value)
{
    const char *name = variable->name;
    char found[128];
    int status;
    output_t said = said_with(name, value, variable, &status);
    const char *newline = strchr(said.text, '\n');

    snprintf(found, sizeof found, "%s%s%s", value[0] == '/' ? "" : "found \"", value,
             value[0] == '/' ? "" : "\"");
    bool told = strncmp(said.text, "sobor: ", 7) == 0 &&
                strncmp(said.text + 7, name, strlen(name)) == 0 && newline != NULL &&
                newline[1] == '\0' && strstr(said.text, found) != NULL &&
                (value[0] == '/' || strstr(said.text, "expected ") != NULL);
    if (!told || status != 0)
        fail_msg("%s=%s: status %d, said: %s", name, value, status, said.text);
}

static void decrease(const char *least, char *text, size_t room)
{
    uint64_t number;

    assert_true(sb_parse_bytes(least, &number));
    if (number > 0)
        snprintf(text, room, "%llu", (unsigned long long)number - 1);
    else
        snprintf(text, room, "-1");
}

static void increase(const char *most, char *text, size_t room)
{
    uint64_t number;

    assert_true(sb_parse_bytes(most, &number));
    snprintf(text, room, "%llu", (unsigned long long)number + 1);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const char *const wrong[] = {"18446744073709551615",
                                        "18446744073709551616",
                                        "18446744073709551617",
                                        "4294967296T",
                                        "12x",
                                        "0x10",
                                        "-4",
                                        "1.5",
                                        "many"};
    size_t numbers = 0;
    char text[32];

    (void)state;
    for (size_t i = 0; i < sb_variable_count(); i++) {
        const sb_variable_t *variable = sb_variable_at(i);
        if (variable->type != SB_TYPE_COUNT && variable->type != SB_TYPE_BYTES)
            continue;
        decrease(variable->least, text, sizeof text);
        expect_refused(variable, text);
        increase(variable->most, text, sizeof text);
        expect_refused(variable, text);
        for (size_t w = 0; w < SB_COUNT_OF(wrong); w++) {
            if (takes(i, w))
                expect_refused(variable, wrong[w]);
        }
        numbers++;
    }
    assert_true(numbers >= 12);
}

static void ends_of_ranges_are_taken(void **state)
{
    sb_value_t value;

    (void)state;
    for (size_t i = 0; i < sb_variable_count(); i++) {
        const sb_variable_t *variable = sb_variable_at(i);
        if (variable->least == NULL)
            continue;
        assert_null(sb_variable_parse(variable, variable->least, &value));
        assert_null(sb_variable_parse(variable, variable->most, &value));
    }
}

static void wrong_words_are_refused(void **state)
{
    static const char *const wrong[] = {"nonsense", "auto,", " on", "hos"};

    (void)state;
    for (size_t i = 0; i < sb_variable_count(); i++) {
        const sb_variable_t *variable = sb_variable_at(i);
        sb_variable_type_t type = variable->type;
        if (type != SB_TYPE_SWITCH && type != SB_TYPE_CHOICE && type != SB_TYPE_WORDS &&
            type != SB_TYPE_ALGORITHM)
            continue;
        for (size_t w = 0; w < SB_COUNT_OF(wrong); w++) {
            if (takes(i, w))
                expect_refused(variable, wrong[w]);
        }
    }
    expect_refused(find("SOBOR_TUNING"), "/no/such/file");
}

static void unknown_names_are_told(void **state)
{
    const sb_variable_t *ring = find("SOBOR_RING");
    int status;

    (void)state;
    output_t said = said_with("SOBOR_RINGS", "1MiB", ring, &status);
    assert_int_equal(status, 0);
    assert_non_null(strstr(said.text, "sobor: SOBOR_RINGS: expected the name of a variable"));
    said = said_with("SOBOR_RIN", "1MiB", ring, &status);
    assert_non_null(strstr(said.text, "sobor: SOBOR_RIN: expected the name of a variable"));
    static const char *const silent[] = {"SOBOR_PREFIX",      "SOBOR_PYTHON", "SOBOR_PRELOAD",
                                         "SOBOR_TEST_LONG",   "SOBORNOST",    "SOBOR_RING",
                                         "SOBOR_OMPI_INCLUDE"};
    for (size_t i = 0; i < SB_COUNT_OF(silent); i++) {
        said = said_with(silent[i], "1MiB", find("SOBOR_WAIT"), &status);
        assert_string_equal(said.text, "");
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(ends_of_ranges_are_taken),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(unknown_names_are_told),
    };

    /* A process for each value, of which none is to read a machine: all have what is read here. */
    setenv("HWLOC_SYNTHETIC", "pu:2", 1);
    (void)sb_topology_self();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
