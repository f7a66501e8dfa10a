/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"

#include "base/log.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const sb_variable_t variables[] = {
#define SB_VARIABLE(field, name, type, standard, choices, doc)                                     \
    {name, SB_TYPE_##type, standard, choices, doc},
#include "base/variables.def"
#undef SB_VARIABLE
};

static sb_config_t config;
static bool from_environment[SB_COUNT_OF(variables)];
static pthread_once_t config_once = PTHREAD_ONCE_INIT;

size_t sb_variable_count(void)
{
    return SB_COUNT_OF(variables);
}

const sb_variable_t *sb_variable_at(size_t index)
{
    return &variables[index];
}

/* Index of the word in a list separated by commas, or -1. */
static int word_index(const char *list, const char *word, size_t length)
{
    int index = 0;

    for (const char *at = list; *at != '\0'; index++) {
        size_t size = strcspn(at, ",");
        if (size == length && strncmp(at, word, length) == 0)
            return index;
        at += size + (at[size] == ',');
    }
    return -1;
}

bool sb_words_contain(const char *list, const char *word)
{
    return word_index(list, word, strlen(word)) >= 0;
}

bool sb_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end != '\0' && *end != 'B' && *end != 'b') {
        const char *unit = strchr(units, toupper((unsigned char)*end));
        if (unit == NULL)
            return false;
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (*end != '\0' && strcasecmp(end, "B") != 0 && strcasecmp(end, "iB") != 0)
        return false;
    if (number > (UINT64_MAX >> shift))
        return false;
    *bytes = (uint64_t)number << shift;
    return true;
}

static const char *parse_switch(const char *text, sb_value_t *value)
{
    static const char *const on[] = {"on", "1", "yes", "true"};
    static const char *const off[] = {"off", "0", "no", "false"};

    for (size_t i = 0; i < SB_COUNT_OF(on); i++) {
        if (strcasecmp(text, on[i]) == 0 || strcasecmp(text, off[i]) == 0) {
            value->number = strcasecmp(text, on[i]) == 0;
            return NULL;
        }
    }
    return "on or off";
}

static const char *parse_count(const sb_variable_t *variable, const char *text, sb_value_t *value)
{
    char *end;

    if (sb_words_contain(variable->choices, "auto") && strcmp(text, "auto") == 0)
        return NULL;
    value->number = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' ? NULL : "a number of 0 or more";
}

static const char *parse_bytes(const sb_variable_t *variable, const char *text, sb_value_t *value)
{
    value->number = 0;
    if (sb_words_contain(variable->choices, "auto") && strcmp(text, "auto") == 0)
        return NULL;
    return sb_parse_bytes(text, &value->number) && value->number > 0 ? NULL
                                                                     : "a size such as 512KiB";
}

static const char *parse_choice(const sb_variable_t *variable, const char *text, sb_value_t *value)
{
    int index = word_index(variable->choices, text, strlen(text));

    value->number = (uint64_t)index;
    return index >= 0 ? NULL : variable->choices;
}

static const char *parse_words(const sb_variable_t *variable, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t size = strcspn(at, ",");
        if (word_index(variable->choices, at, size) < 0)
            return variable->choices;
        at += size + (at[size] == ',');
    }
    return NULL;
}

const char *sb_variable_parse(const sb_variable_t *variable, const char *text, sb_value_t *value)
{
    value->text = text;
    value->number = 0;
    switch (variable->type) {
    case SB_TYPE_SWITCH:
        return parse_switch(text, value);
    case SB_TYPE_COUNT:
        return parse_count(variable, text, value);
    case SB_TYPE_BYTES:
        return parse_bytes(variable, text, value);
    case SB_TYPE_CHOICE:
        return parse_choice(variable, text, value);
    case SB_TYPE_WORDS:
        return parse_words(variable, text);
    case SB_TYPE_ALGORITHM: /* checked where the algorithms are known */
    case SB_TYPE_TEXT:
        return NULL;
    }
    return NULL;
}

static void read_variable(const sb_variable_t *variable, sb_value_t *value, bool *given)
{
    const char *text = getenv(variable->name);

    *given = text != NULL && *text != '\0';
    if (*given) {
        const char *expected = sb_variable_parse(variable, text, value);
        if (expected == NULL)
            return;
        sb_log_once("%s: expected %s, found \"%s\"; using %s", variable->name, expected, text,
                    variable->standard);
    }
    sb_variable_parse(variable, variable->standard, value);
}

static void read_environment(void)
{
    sb_value_t *values = (sb_value_t *)&config;

    _Static_assert(sizeof config == sizeof(sb_value_t) * SB_COUNT_OF(variables),
                   "sb_config_t is an array of values, one for each variable");
    for (size_t i = 0; i < SB_COUNT_OF(variables); i++)
        read_variable(&variables[i], &values[i], &from_environment[i]);
}

const sb_config_t *sb_config(void)
{
    pthread_once(&config_once, read_environment);
    return &config;
}

const sb_value_t *sb_variable_value(size_t index, bool *given)
{
    const sb_value_t *values = (const sb_value_t *)sb_config();

    *given = from_environment[index];
    return &values[index];
}
