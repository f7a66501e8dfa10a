/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/tool.h"

#include "base/config.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* getopt's own answers are characters. */
#define FIRST 256

void sb_tool_fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "sobor: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(2);
}

void *sb_tool_take(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL)
        sb_tool_fail("out of memory");
    return memory;
}

void sb_option_text(const sb_option_t *option, void *field, const char *value)
{
    (void)option;
    *(const char **)field = value;
}

void sb_option_switch(const sb_option_t *option, void *field, const char *value)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
        sb_tool_fail("--%s: expected on or off, found \"%s\"", option->name, value);
    *(bool *)field = strcmp(value, "on") == 0;
}

void sb_option_flag(const sb_option_t *option, void *field, const char *value)
{
    (void)option;
    (void)value;
    *(bool *)field = true;
}

void sb_option_long(const sb_option_t *option, void *field, const char *value)
{
    uint64_t number;

    if (!sb_parse_count(value, &number) || number < option->least || number > option->most)
        sb_tool_fail("--%s: expected a number from %llu to %llu, found \"%s\"", option->name,
                     (unsigned long long)option->least, (unsigned long long)option->most, value);
    *(uint64_t *)field = number;
}

void sb_option_number(const sb_option_t *option, void *field, const char *value)
{
    uint64_t number;

    sb_option_long(option, &number, value);
    *(uint32_t *)field = (uint32_t)number;
}

sb_collective_t sb_tool_collective(const char *name, const char *text)
{
    char known[512] = "";

    for (unsigned i = 0; i < SB_COLLECTIVES; i++) {
        const char *collective = sb_collective_name((sb_collective_t)i);
        size_t length = strlen(known);
        if (strcmp(text, collective) == 0)
            return (sb_collective_t)i;
        snprintf(known + length, sizeof known - length, "%s%s", length > 0 ? ", " : "", collective);
    }
    sb_tool_fail("%s: expected one of %s, found \"%s\"", name, known, text);
}

void sb_option_collective(const sb_option_t *option, void *field, const char *value)
{
    (void)option;
    *(sb_collective_t *)field = sb_tool_collective("--collective", value);
}

/* What getopt takes for `options`; the last is empty. */
static void describe(const sb_options_t *options, uint32_t taken, struct option *known)
{
    for (size_t i = 0; i < options->count; i++) {
        if (taken >> i & 1)
            *known++ = (struct option){.name = options->option[i].name,
                                       .has_arg = options->option[i].value != NULL,
                                       .val = FIRST + (int)i};
    }
    *known = (struct option){0};
}

uint32_t sb_options_read(const sb_options_t *options, uint32_t taken, void *asked, int count,
                         char **words)
{
    struct option known[SB_OPTIONS_MOST + 1];
    uint32_t given = 0;
    int found;

    describe(options, taken, known);
    opterr = 0;
    while ((found = getopt_long(count, words, "-:", known, NULL)) != -1) {
        if (found == ':')
            sb_tool_fail("%s: expected a value after it, found nothing", words[optind - 1]);
        if (found < FIRST)
            sb_tool_fail("%s: \"%s\" is no option here; see %s --help", options->tool,
                         words[optind - 1], options->tool);
        const sb_option_t *option = &options->option[found - FIRST];
        option->parse(option, (char *)asked + option->place, optarg);
        given |= UINT32_C(1) << (found - FIRST);
    }
    return given;
}

void sb_options_print(const sb_options_t *options)
{
    for (size_t i = 0; i < options->count; i++) {
        const sb_option_t *option = &options->option[i];
        printf("  --%s%s%s: %s\n", option->name, option->value != NULL ? " " : "",
               option->value != NULL ? option->value : "", option->doc);
    }
}

bool sb_tool_help(int count, char **words)
{
    return count > 1 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
}

json_t *sb_tool_text(const char *text)
{
    json_t *string = json_string(text);

    if (string != NULL)
        return string;
    char *plain = strdup(text);
    for (char *at = plain; at != NULL && *at != '\0'; at++)
        *at = isascii((unsigned char)*at) ? *at : '?';
    string = plain == NULL ? NULL : json_string(plain);
    free(plain);
    return string;
}

void sb_tool_answer(json_t *answer, size_t precision)
{
    if (answer == NULL)
        sb_tool_fail("out of memory");
    if (json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(precision)) != 0 ||
        puts("") == EOF || fflush(stdout) != 0)
        sb_tool_fail("the answer could not be written");
    json_decref(answer);
}
