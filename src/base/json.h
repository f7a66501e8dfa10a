/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_JSON_H
#define SB_BASE_JSON_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * Reads JSON (RFC 8259), value by value, without a tree and without private memory. The core has no
 * JSON library: what a back end links has to get along with whatever the program has linked, and
 * libraries of JSON are known for having the same names. Every value is at a line, so errors of
 * meaning can name it as well as errors of form.
 *
 *     sb_json_open(&json, text);
 *     if (sb_json_enter(&json, SB_JSON_OBJECT))
 *         while (sb_json_member(&json, key, sizeof key))
 *             sb_json_scalar(&json, text, sizeof text);
 *     sb_json_close(&json);
 *
 * After an error every function does nothing and returns false; the first error is kept.
 */

typedef enum sb_json_kind {
    SB_JSON_NONE, /* no value begins here */
    SB_JSON_OBJECT,
    SB_JSON_ARRAY,
    SB_JSON_STRING,
    SB_JSON_NUMBER,
    SB_JSON_TRUE,
    SB_JSON_FALSE,
    SB_JSON_NULL,
} sb_json_kind_t;

typedef struct sb_json {
    const char *at; /* what comes next */
    uint32_t line;  /* of it, from 1 */
    bool first;     /* nothing of the innermost object or array was read yet */
    bool failed;
    char error[512];     /* "expected ..., found ...", once failed */
    uint32_t error_line; /* where */
} sb_json_t;

/* Starts at the beginning of a text that ends with NUL. */
void sb_json_open(sb_json_t *json, const char *text);

/* The kind of the value that comes next. */
sb_json_kind_t sb_json_kind(sb_json_t *json);

/* Enters the object or array that comes next. */
bool sb_json_enter(sb_json_t *json, sb_json_kind_t kind);

/* The next member's key, cut to fit; its value comes next. False: the object ends, and was left. */
bool sb_json_member(sb_json_t *json, char *key, size_t room);

/* Whether a further element comes next. False: the array ends, and was left. */
bool sb_json_element(sb_json_t *json);

/*
 * Reads a string, decoded, or a number, true, false or null, as it is written. What does not fit is
 * cut off. Returns its kind.
 */
sb_json_kind_t sb_json_scalar(sb_json_t *json, char *text, size_t room);

/* Nothing may follow. Returns whether all was right. */
bool sb_json_close(sb_json_t *json);

/* Ends the reading with an error of meaning at that line. Returns false. */
bool sb_json_fail(sb_json_t *json, uint32_t line, const char *format, ...) SB_PRINTF(3, 4);

#endif
