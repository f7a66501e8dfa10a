/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How much of a wrong text an error shows. */
#define SHOWN 24

void sb_json_open(sb_json_t *json, const char *text)
{
    *json = (sb_json_t){.at = text, .line = 1};
}

bool sb_json_fail(sb_json_t *json, uint32_t line, const char *format, ...)
{
    va_list arguments;

    if (json->failed)
        return false;
    json->failed = true;
    json->error_line = line;
    va_start(arguments, format);
    vsnprintf(json->error, sizeof json->error, format, arguments);
    va_end(arguments);
    return false;
}

static void skip_blanks(sb_json_t *json)
{
    for (; *json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r';
         json->at++)
        json->line += *json->at == '\n';
}

/* What comes next is not what has to. */
static bool refuse(sb_json_t *json, const char *expected)
{
    int length = (int)strcspn(json->at, " \t\r\n");

    if (*json->at == '\0')
        return sb_json_fail(json, json->line, "expected %s, found the end", expected);
    return sb_json_fail(json, json->line, "expected %s, found %.*s", expected,
                        length < SHOWN ? length : SHOWN, json->at);
}

static bool take(sb_json_t *json, const char *token)
{
    if (json->failed || strncmp(json->at, token, strlen(token)) != 0)
        return false;
    json->at += strlen(token);
    return true;
}

sb_json_kind_t sb_json_kind(sb_json_t *json)
{
    if (json->failed)
        return SB_JSON_NONE;
    skip_blanks(json);
    switch (*json->at) {
    case '{':
        return SB_JSON_OBJECT;
    case '[':
        return SB_JSON_ARRAY;
    case '"':
        return SB_JSON_STRING;
    case 't':
        return SB_JSON_TRUE;
    case 'f':
        return SB_JSON_FALSE;
    case 'n':
        return SB_JSON_NULL;
    default:
        return *json->at == '-' || isdigit((unsigned char)*json->at) ? SB_JSON_NUMBER
                                                                     : SB_JSON_NONE;
    }
}

bool sb_json_enter(sb_json_t *json, sb_json_kind_t kind)
{
    bool object = kind == SB_JSON_OBJECT;

    if (json->failed)
        return false;
    skip_blanks(json);
    if (!take(json, object ? "{" : "["))
        return refuse(json, object ? "an object, { ... }" : "a list, [ ... ]");
    json->first = true;
    return true;
}

/* Whether a further part of an object or array comes; takes its comma, or the end. */
static bool go_on(sb_json_t *json, const char *end)
{
    bool first = json->first;

    if (json->failed)
        return false;
    skip_blanks(json);
    json->first = false;
    if (take(json, end))
        return false;
    if (!first && !take(json, ","))
        return refuse(json, *end == '}' ? "a comma or }" : "a comma or ]");
    skip_blanks(json);
    return true;
}

bool sb_json_member(sb_json_t *json, char *key, size_t room)
{
    if (!go_on(json, "}"))
        return false;
    if (sb_json_kind(json) != SB_JSON_STRING)
        return refuse(json, "a name in quotes");
    sb_json_scalar(json, key, room);
    skip_blanks(json);
    return take(json, ":") || refuse(json, "a colon");
}

bool sb_json_element(sb_json_t *json)
{
    return go_on(json, "]");
}

static size_t put(char *text, size_t room, size_t length, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++, length++) {
        if (length + 1 < room)
            text[length] = bytes[i];
    }
    return length;
}

static bool read_hex(sb_json_t *json, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        unsigned char digit = (unsigned char)*json->at;
        if (!isxdigit(digit))
            return refuse(json, "four hexadecimal digits");
        *unit = *unit * 16 + (uint32_t)(isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10);
    }
    return true;
}

/* What follows \u, with the other half of a pair: a character in UTF-8. Returns its bytes, or 0. */
static size_t read_unicode(sb_json_t *json, char *bytes)
{
    uint32_t code, low;

    if (!read_hex(json, &code))
        return 0;
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || !take(json, "\\u") || !read_hex(json, &low) || low < 0xdc00 ||
            low >= 0xe000)
            return refuse(json, "a pair of surrogates");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0)
        return refuse(json, "no character of number 0");
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = count - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(marks[count] | code);
    return count;
}

/* What follows a backslash. Returns its bytes, or 0. */
static size_t read_escape(sb_json_t *json, char *bytes)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = *json->at == '\0' ? NULL : strchr(names, *json->at);

    if (take(json, "u"))
        return read_unicode(json, bytes);
    if (found == NULL)
        return refuse(json, "a character that may follow \\");
    json->at++;
    bytes[0] = meanings[found - names];
    return 1;
}

static bool read_string(sb_json_t *json, char *text, size_t room)
{
    size_t length = 0;
    char bytes[4];

    for (json->at++; *json->at != '"';) {
        if ((unsigned char)*json->at < 0x20)
            return refuse(json, "a quotation mark at the string's end");
        size_t count = 1;
        bytes[0] = *json->at++;
        if (bytes[0] == '\\')
            count = read_escape(json, bytes);
        if (count == 0)
            return false;
        length = put(text, room, length, bytes, count);
    }
    json->at++;
    text[sb_min(length, room - 1)] = '\0';
    return true;
}

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* Length of the number at the beginning, or 0. */
static size_t number_length(const char *start)
{
    const char *at = start + (*start == '-');
    size_t whole = digits(at);

    if (whole == 0 || (*at == '0' && whole > 1))
        return 0;
    at += whole;
    if (*at == '.') {
        if (digits(at + 1) == 0)
            return 0;
        at += 1 + digits(at + 1);
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (digits(at) == 0)
            return 0;
        at += digits(at);
    }
    return (size_t)(at - start);
}

static bool read_number(sb_json_t *json, char *text, size_t room)
{
    size_t length = number_length(json->at);

    if (length == 0)
        return refuse(json, "a number");
    text[sb_min(put(text, room, 0, json->at, length), room - 1)] = '\0';
    json->at += length;
    return true;
}

static bool read_word(sb_json_t *json, const char *word, char *text, size_t room)
{
    if (!take(json, word))
        return refuse(json, "a value");
    text[sb_min(put(text, room, 0, word, strlen(word)), room - 1)] = '\0';
    return true;
}

sb_json_kind_t sb_json_scalar(sb_json_t *json, char *text, size_t room)
{
    static const char *const words[] = {
        [SB_JSON_TRUE] = "true", [SB_JSON_FALSE] = "false", [SB_JSON_NULL] = "null"};
    sb_json_kind_t kind = sb_json_kind(json);
    bool right = false;

    text[0] = '\0';
    json->first = false;
    if (json->failed)
        return SB_JSON_NONE;
    switch (kind) {
    case SB_JSON_STRING:
        right = read_string(json, text, room);
        break;
    case SB_JSON_NUMBER:
        right = read_number(json, text, room);
        break;
    case SB_JSON_TRUE:
    case SB_JSON_FALSE:
    case SB_JSON_NULL:
        right = read_word(json, words[kind], text, room);
        break;
    default:
        refuse(json, "a string, a number, true, false or null");
    }
    return right ? kind : SB_JSON_NONE;
}

bool sb_json_close(sb_json_t *json)
{
    if (json->failed)
        return false;
    skip_blanks(json);
    return *json->at == '\0' || refuse(json, "nothing more");
}
