/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON reader, compared with a JSON library on texts that are right and texts made wrong. */
#include "testing.h"

#include "base/json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads any value; keys and scalars are added to `text`, so that two readers can be compared. */
static void read_value(sb_json_t *json, char *text, size_t room)
{
    char word[128];
    sb_json_kind_t kind = sb_json_kind(json);

    if (kind == SB_JSON_OBJECT) {
        sb_json_enter(json, kind);
        while (sb_json_member(json, word, sizeof word)) {
            snprintf(text + strlen(text), room - strlen(text), "%s=", word);
            read_value(json, text, room);
        }
    } else if (kind == SB_JSON_ARRAY) {
        sb_json_enter(json, kind);
        while (sb_json_element(json))
            read_value(json, text, room);
    } else {
        kind = sb_json_scalar(json, word, sizeof word);
        snprintf(text + strlen(text), room - strlen(text), "%d%s;", kind,
                 kind == SB_JSON_STRING ? word : "");
    }
}

static bool is_read(const char *source, char *text, size_t room)
{
    sb_json_t json;

    text[0] = '\0';
    sb_json_open(&json, source);
    read_value(&json, text, room);
    return sb_json_close(&json);
}

/* The same by the library. Members in their order. */
static void show(const json_t *value, char *text, size_t room)
{
    const char *key;
    json_t *part;
    size_t i;
    static const int kinds[] = {[JSON_STRING] = SB_JSON_STRING, [JSON_INTEGER] = SB_JSON_NUMBER,
                                [JSON_REAL] = SB_JSON_NUMBER,   [JSON_TRUE] = SB_JSON_TRUE,
                                [JSON_FALSE] = SB_JSON_FALSE,   [JSON_NULL] = SB_JSON_NULL};

    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, part)
        {
            snprintf(text + strlen(text), room - strlen(text), "%s=", key);
            show(part, text, room);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, part) show(part, text, room);
    } else {
        snprintf(text + strlen(text), room - strlen(text), "%d%s;", kinds[json_typeof(value)],
                 json_is_string(value) ? json_string_value(value) : "");
    }
}

static const char *const samples[] = {
    "{\"rules\": [{\"collective\": \"bcast\", \"bytes\": {\"to\": \"4KiB\"}, \"arity\": 2}]}",
    " [1, -2.5e+3, 0, 0.5, true, false, null, \"\", \"a\\n\\\"\\\\\\/\\u00e9\\ud83d\\ude00z\"] ",
    "{\"a\": [[], {}, [{}]], \"b\": {\"c\": [1]}}",
    "\"text\"",
    "[\"\\t\", 10, 1E5, -0]",
};

static void samples_are_read_alike(void **state)
{
    char ours[1024], theirs[1024];

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(samples); i++) {
        json_t *value = json_loads(samples[i], JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        theirs[0] = '\0';
        show(value, theirs, sizeof theirs);
        assert_true(is_read(samples[i], ours, sizeof ours));
        assert_string_equal(ours, theirs);
        json_decref(value);
    }
}

/*
 * Texts with a few bytes changed, left out or doubled are right for both readers or for neither;
 * and read alike. Keys that stand twice are none of the reader's business.
 */
static void damaged_texts_are_judged_alike(void **state)
{
    static const char bytes[] = "{}[]\",:\\ueE+-.0129 \n\tnulltrfasb\x01";
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 60000; round++) {
        char text[256], ours[1024], theirs[1024] = "";
        snprintf(text, sizeof text, "%s", samples[round % SB_COUNT_OF(samples)]);
        for (int change = rand_r(&seed) % 3; change >= 0; change--) {
            size_t length = strlen(text), at = (size_t)rand_r(&seed) % (length + 1);
            if (rand_r(&seed) % 2 && at < length)
                memmove(text + at, text + at + 1, length - at);
            else if (at < length)
                text[at] = bytes[(size_t)rand_r(&seed) % (sizeof bytes - 1)];
        }
        json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        bool right = is_read(text, ours, sizeof ours);
        json_t *lenient = json_loads(text, JSON_DECODE_ANY, NULL);
        /* Numbers beyond a double are this reader's user's to judge. */
        bool large = value == NULL && lenient == NULL && strpbrk(text, "eE") != NULL && right;
        if (!large && right != (lenient != NULL))
            fail_msg("round %d: we %s, they %s: %s", round, right ? "read" : "refuse",
                     lenient != NULL ? "read" : "refuse", text);
        if (value != NULL) {
            show(value, theirs, sizeof theirs);
            assert_string_equal(ours, theirs);
        }
        json_decref(value);
        json_decref(lenient);
    }
}

/* Deep nesting is the caller's; what is longer than its room is cut off, and ends. */
static void long_words_are_cut(void **state)
{
    sb_json_t json;
    char word[5];

    (void)state;
    sb_json_open(&json, "\"abcdefgh\"");
    assert_int_equal(sb_json_scalar(&json, word, sizeof word), SB_JSON_STRING);
    assert_string_equal(word, "abcd");
    assert_true(sb_json_close(&json));
}

static void errors_name_their_line(void **state)
{
    sb_json_t json;
    char key[8], text[8];

    (void)state;
    sb_json_open(&json, "{\n\"a\": 1,\n\n\"b\" 2}");
    sb_json_enter(&json, SB_JSON_OBJECT);
    while (sb_json_member(&json, key, sizeof key))
        sb_json_scalar(&json, text, sizeof text);
    assert_false(sb_json_close(&json));
    assert_int_equal(json.error_line, 4);
    assert_string_equal(json.error, "expected a colon, found 2}");
    assert_false(sb_json_fail(&json, 1, "another"));
    assert_int_equal(json.error_line, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read_alike),
        cmocka_unit_test(damaged_texts_are_judged_alike),
        cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(errors_name_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
