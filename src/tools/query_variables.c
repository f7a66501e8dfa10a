/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "baseline/baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#if !defined SOBOR_VERSION || !defined SOBOR_ABIS
#error "the build defines SOBOR_VERSION, and SOBOR_ABIS as the names of the back ends with commas"
#endif

static const char *const type_names[] = {
    [SB_TYPE_SWITCH] = "switch", [SB_TYPE_COUNT] = "count", [SB_TYPE_BYTES] = "bytes",
    [SB_TYPE_CHOICE] = "choice", [SB_TYPE_WORDS] = "words", [SB_TYPE_ALGORITHM] = "algorithm",
    [SB_TYPE_TEXT] = "text",
};

static void add_words(json_t *array, const char *words)
{
    while (*words != '\0') {
        size_t length = strcspn(words, ",");
        json_array_append_new(array, json_stringn(words, length));
        words += length + (words[length] == ',');
    }
}

/* The collective whose algorithm the variable names: SOBOR_BCAST_ALGORITHM, bcast. */
static bool names_algorithm_of(const sb_variable_t *variable, const sb_algorithm_t *algorithm)
{
    const char *name = sb_collective_name(algorithm->collective);
    const char *start = variable->name + strlen("SOBOR_");

    return strncasecmp(start, name, strlen(name)) == 0 &&
           strcmp(start + strlen(name), "_ALGORITHM") == 0;
}

/* The words that the variable takes; none for numbers, sizes and free text. */
static json_t *choices_of(const sb_variable_t *variable)
{
    json_t *choices = json_array();

    add_words(choices, variable->type == SB_TYPE_SWITCH ? "on,off" : variable->choices);
    for (size_t i = 0; variable->type == SB_TYPE_ALGORITHM && i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        if (names_algorithm_of(variable, algorithm) && !algorithm->unlisted)
            json_array_append_new(choices, json_string(algorithm->name));
    }
    return choices;
}

static bool is_among(const json_t *choices, const char *word)
{
    for (size_t i = 0; i < json_array_size(choices); i++) {
        if (strcmp(json_string_value(json_array_get(choices, i)), word) == 0)
            return true;
    }
    return false;
}

/* The algorithm that the word names here: by a former name too, and variants that are not listed.
 */
static const sb_algorithm_t *algorithm_of(const sb_variable_t *variable, const char *word)
{
    for (unsigned i = 0; variable->type == SB_TYPE_ALGORITHM && i < SB_COLLECTIVES; i++) {
        const sb_algorithm_t *found = sb_algorithm_find((sb_collective_t)i, word);
        if (found != NULL && names_algorithm_of(variable, found))
            return found;
    }
    return NULL;
}

/* "one of auto, host, ..." */
static void list_choices(const json_t *choices, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "one of");

    for (size_t i = 0; i < json_array_size(choices) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s %s", i > 0 ? "," : "",
                                 json_string_value(json_array_get(choices, i)));
}

/* What is wrong with the variable's text in the environment, or null. */
static json_t *error_of(const sb_variable_t *variable, const json_t *choices, const char *text)
{
    char expected[512];
    sb_value_t value;
    const char *phrase = sb_variable_parse(variable, text, &value);

    if (variable->type == SB_TYPE_ALGORITHM && !is_among(choices, text) &&
        algorithm_of(variable, text) == NULL) {
        list_choices(choices, expected, sizeof expected);
        phrase = expected;
    }
    if (strcmp(variable->name, "SOBOR_TUNING") == 0)
        return sb_query_tuning_error(text);
    if (phrase == NULL)
        return json_null();
    char message[1024];
    snprintf(message, sizeof message, "expected %s, found \"%s\"", phrase, text);
    return sb_tool_text(message);
}

/* The value in use, in one spelling for each meaning of a switch and each algorithm. */
static json_t *value_of(const sb_variable_t *variable, const char *text)
{
    const sb_algorithm_t *algorithm = algorithm_of(variable, text);
    sb_value_t value;

    if (algorithm != NULL)
        return json_string(algorithm->name);
    if (variable->type == SB_TYPE_SWITCH && sb_variable_parse(variable, text, &value) == NULL)
        return json_string(value.number != 0 ? "on" : "off");
    return sb_tool_text(text);
}

/*
 * Read from the environment here, not from sb_config, which would report the same errors again on
 * standard error.
 */
static json_t *describe_variable(const sb_variable_t *variable)
{
    const char *text = getenv(variable->name);
    bool given = text != NULL && *text != '\0';
    json_t *choices = choices_of(variable);
    json_t *error = given ? error_of(variable, choices, text) : json_null();
    const char *used = given && json_is_null(error) ? text : variable->standard;

    return json_pack("{s:s, s:s, s:o, s:s?, s:s?, s:s, s:o, s:s, s:s, s:o}", "name", variable->name,
                     "type", type_names[variable->type], "choices", choices, "least",
                     variable->least, "most", variable->most, "default", variable->standard,
                     "value", value_of(variable, used), "source", given ? "environment" : "default",
                     "doc", variable->doc, "error", error);
}

json_t *sb_query_variables(const sb_query_t *query)
{
    json_t *list = json_array();

    (void)query;
    sb_baselines_add();
    for (size_t i = 0; i < sb_variable_count(); i++)
        json_array_append_new(list, describe_variable(sb_variable_at(i)));
    return list;
}

static json_t *describe_algorithm(const sb_algorithm_t *algorithm, bool baseline)
{
    json_t *former = json_array();

    if (algorithm->former != NULL)
        add_words(former, algorithm->former);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:b}", "collective",
                     sb_collective_name(algorithm->collective), "name", algorithm->name, "doc",
                     algorithm->doc, "source", algorithm->source, "former", former, "baseline",
                     baseline);
}

json_t *sb_query_algorithms(const sb_query_t *query)
{
    json_t *list = json_array();

    (void)query;
    size_t served = sb_algorithm_count();
    sb_baselines_add();
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        if (!sb_algorithm_at(i)->unlisted)
            json_array_append_new(list, describe_algorithm(sb_algorithm_at(i), i >= served));
    }
    return list;
}

json_t *sb_query_version(const sb_query_t *query)
{
    json_t *backends = json_array();

    (void)query;
    add_words(backends, SOBOR_ABIS);
    return json_pack("{s:s, s:o}", "version", SOBOR_VERSION, "backends", backends);
}
