/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_CONFIG_H
#define SB_BASE_CONFIG_H

#include "base/collectives.h"
#include "base/compiler.h"
#include "base/forms.h"

#include <stdbool.h>

typedef enum sb_variable_type {
    SB_TYPE_SWITCH,
    SB_TYPE_COUNT,
    SB_TYPE_BYTES,
    SB_TYPE_CHOICE,
    SB_TYPE_WORDS,
    SB_TYPE_ALGORITHM,
    SB_TYPE_TEXT,
} sb_variable_type_t;

/* One SOBOR_* variable as it is declared in variables.def. */
typedef struct sb_variable {
    const char *name;
    sb_variable_type_t type;
    const char *standard; /* the default, as a user would write it */
    const char *choices;  /* words separated by commas; "auto" among them gives the number 0 */
    const char *doc;
    const char *least, *most; /* of a number, as a user would write them; NULL: it is none */
    const char *expected;     /* of a number, as a phrase */
} sb_variable_t;

/* The value of a variable: which member counts follows from its type. */
typedef struct sb_value {
    const char *text; /* as written; always valid */
    uint64_t number;  /* SWITCH 0 or 1, COUNT and BYTES (0 for auto), CHOICE: index in choices */
} sb_value_t;

/* All variables of this process, one member for each line of variables.def. */
typedef struct sb_config {
#define SB_VARIABLE(field, name, type, standard, choices, doc) sb_value_t field;
#define SB_NUMBER(field, name, type, standard, choices, least, most, doc) sb_value_t field;
#include "base/variables.def"
#undef SB_VARIABLE
#undef SB_NUMBER
} sb_config_t;

/* Order of the choices of SOBOR_SEGMENT, SOBOR_WAIT, SOBOR_STORES, SOBOR_BCAST_TREE, SOBOR_CMA,
 * SOBOR_REPRODUCIBLE, SOBOR_HUGE_PAGES, SOBOR_DEVICE, SOBOR_TRIALS, SOBOR_PRICES,
 * SOBOR_CLUSTER_BCAST_RDAAS, SOBOR_CLUSTER, SOBOR_CLUSTER_SCATTER. */
enum { SB_SEGMENT_AUTO, SB_SEGMENT_MEMFD, SB_SEGMENT_NAMED, SB_SEGMENT_OFF };
enum { SB_WAIT_AUTO, SB_WAIT_SPIN, SB_WAIT_YIELD, SB_WAIT_SLEEP };
enum { SB_STORES_AUTO, SB_STORES_STREAMING, SB_STORES_CACHED };
enum { SB_TREE_AUTO, SB_TREE_FLAT, SB_TREE_CHAIN, SB_TREE_KARY, SB_TREE_KNOMIAL };
enum { SB_CMA_AUTO, SB_CMA_ON, SB_CMA_OFF };
enum { SB_REPRODUCIBLE_AUTO, SB_REPRODUCIBLE_STRICT };
enum { SB_HUGE_PAGES_AUTO, SB_HUGE_PAGES_OFF };
enum { SB_PRICES_AUTO, SB_PRICES_ALWAYS_BUILT_IN };
enum { SB_DEVICE_AUTO, SB_DEVICE_NEVER, SB_DEVICE_ALWAYS, SB_DEVICE_CHECK };
enum { SB_TRIALS_RULES, SB_TRIALS_ON, SB_TRIALS_OFF };
enum { SB_RDAAS_POWER_OF_TWO, SB_RDAAS_NEVER };
enum { SB_CLUSTER_AUTO, SB_CLUSTER_ON, SB_CLUSTER_OFF };
enum { SB_SCATTER_AUTO, SB_SCATTER_FIXED, SB_SCATTER_FIRST };

/*
 * The variables of this process, read from the environment once. A value that cannot be read or is
 * out of range is reported (once per job) with what was expected and found, and the default is
 * used; so are names that begin like ours and are none.
 */
const sb_config_t *sb_config(void);

/* The declarations, in the order of variables.def. */
size_t sb_variable_count(void);
const sb_variable_t *sb_variable_at(size_t index);

/* The one whose name these characters are; NULL: there is none. */
const sb_variable_t *sb_variable_find(const char *name, size_t length);

/* The present value of one of them, and whether the environment gave it. */
const sb_value_t *sb_variable_value(const sb_variable_t *variable, bool *from_environment);

/*
 * Reads `text` as a value of `variable`. Returns NULL and fills `value`, or returns what was
 * expected, as a phrase ("a size from 4KiB to 1GiB").
 */
const char *sb_variable_parse(const sb_variable_t *variable, const char *text, sb_value_t *value);

/* True if `word` stands in `list`, words separated by commas. */
bool sb_words_contain(const char *list, const char *word);

/* Reads decimal digits alone. Returns false if it is anything else, or beyond 64 bits. */
bool sb_parse_count(const char *text, uint64_t *number);

/* Reads "8", "64K", "512KiB", "1M", "2GiB" (powers of 1024). Returns false if it is no size. */
bool sb_parse_bytes(const char *text, uint64_t *bytes);

#endif
