/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"

#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const sb_variable_t variables[] = {
#define SB_VARIABLE(field, name, type, standard, choices, doc)                                     \
    {name, SB_TYPE_##type, standard, choices, doc, NULL, NULL, NULL},
#define SB_PHRASE_COUNT "a number"
#define SB_PHRASE_BYTES "a size"
#define SB_NUMBER(field, name, type, standard, choices, least, most, doc)                          \
    {name, SB_TYPE_##type, standard, choices,                                                      \
     doc,  least,          most,     SB_PHRASE_##type " from " least " to " most},
#include "base/variables.def"
#undef SB_VARIABLE
#undef SB_NUMBER
};

/* Names that other programs of ours read, or the build, and those by which module files of sites
 * say where an installation is: no variables of the library. */
static const char *const foreign[] = {
    "SOBOR_PREFIX=", "SOBOR_PYTHON=",       "SOBOR_PRELOAD=",       "SOBOR_BENCH_",
    "SOBOR_TEST_",   "SOBOR_OMPI_INCLUDE=", "SOBOR_MPICH_INCLUDE=", "SOBOR_MPIABI_INCLUDE=",
    "SOBOR_ROOT=",   "SOBOR_DIR=",          "SOBOR_HOME=",          "SOBOR_VERSION="};

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

const sb_variable_t *sb_variable_find(const char *name, size_t length)
{
    for (size_t i = 0; i < SB_COUNT_OF(variables); i++) {
        if (strlen(variables[i].name) == length && strncmp(variables[i].name, name, length) == 0)
            return &variables[i];
    }
    return NULL;
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

static bool read_digits(const char *text, unsigned long long *number, char **end)
{
    errno = 0;
    *number = strtoull(text, end, 10);
    return isdigit((unsigned char)text[0]) && errno == 0;
}

bool sb_parse_count(const char *text, uint64_t *number)
{
    unsigned long long found;
    char *end;

    if (!read_digits(text, &found, &end) || *end != '\0')
        return false;
    *number = found;
    return true;
}

bool sb_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    unsigned long long number;
    unsigned shift = 0;
    char *end;

    if (!read_digits(text, &number, &end))
        return false;
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

/* A number is valid within the range of its variable; the ends themselves always parse. */
static const char *parse_number(const sb_variable_t *variable, const char *text, sb_value_t *value)
{
    bool (*parse)(const char *, uint64_t *) =
        variable->type == SB_TYPE_BYTES ? sb_parse_bytes : sb_parse_count;
    uint64_t least, most, number;

    if (sb_words_contain(variable->choices, "auto") && strcmp(text, "auto") == 0)
        return NULL;
    if (!parse(text, &number) || !parse(variable->least, &least) || number < least ||
        !parse(variable->most, &most) || number > most)
        return variable->expected;
    value->number = number;
    return NULL;
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
    case SB_TYPE_BYTES:
        return parse_number(variable, text, value);
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
    const char *found = getenv(variable->name);
    /* Programs write over their environment, to show another name of theirs. */
    char *text = found != NULL && *found != '\0' ? strdup(found) : NULL;

    *given = text != NULL;
    if (*given) {
        const char *expected = sb_variable_parse(variable, text, value);
        if (expected == NULL)
            return;
        sb_log_once("%s: expected %s, found \"%s\"; using %s", variable->name, expected, text,
                    variable->standard);
        free(text);
    }
    sb_variable_parse(variable, variable->standard, value);
}

static bool is_known(const char *assignment)
{
    for (size_t i = 0; i < SB_COUNT_OF(foreign); i++) {
        if (strncmp(assignment, foreign[i], strlen(foreign[i])) == 0)
            return true;
    }
    return sb_variable_find(assignment, strcspn(assignment, "=")) != NULL;
}

static void tell_unknown_names(void)
{
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, "SOBOR_", strlen("SOBOR_")) == 0 && !is_known(*at))
            sb_log_once("%.*s: expected the name of a variable (sobor info --variables), found one "
                        "that is none; it has no effect",
                        (int)strcspn(*at, "="), *at);
    }
}

static void read_environment(void)
{
    sb_value_t *values = (sb_value_t *)&config;

    _Static_assert(sizeof config == sizeof(sb_value_t) * SB_COUNT_OF(variables),
                   "sb_config_t is an array of values, one for each variable");
    for (size_t i = 0; i < SB_COUNT_OF(variables); i++)
        read_variable(&variables[i], &values[i], &from_environment[i]);
    tell_unknown_names();
}

const sb_config_t *sb_config(void)
{
    pthread_once(&config_once, read_environment);
    return &config;
}

const sb_value_t *sb_variable_value(const sb_variable_t *variable, bool *given)
{
    const sb_value_t *values = (const sb_value_t *)sb_config();
    ptrdiff_t index = variable - variables;

    *given = from_environment[index];
    return &values[index];
}
