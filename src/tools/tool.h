/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_TOOL_H
#define SB_TOOLS_TOOL_H

#include "select/select.h"

#include <jansson.h>

/*
 * What the programs that the `sobor` command asks share: options in a table, an answer in JSON on
 * standard output, and a message with status 2 where they were used wrongly.
 */

typedef struct sb_option sb_option_t;

/* Takes `value` into `field`; ends the tool if it is not what is expected. */
typedef void sb_option_parse_t(const sb_option_t *option, void *field, const char *value);

struct sb_option {
    const char *name;  /* without the dashes */
    const char *value; /* what stands for the value in the help; NULL: the option takes none */
    sb_option_parse_t *parse;
    const char *doc;
    size_t place;   /* of the field in what is asked; 0: all of it is handed over */
    uint64_t least; /* of numbers */
    uint64_t most;
};

/* Fields: const char *, bool (of on and off; of the option alone), uint32_t, uint64_t,
 * sb_collective_t. */
sb_option_parse_t sb_option_text, sb_option_switch, sb_option_flag, sb_option_number,
    sb_option_long, sb_option_collective;

#define SB_OPTIONS_MOST 32

/* Options that one tool knows, at most SB_OPTIONS_MOST. */
typedef struct sb_options {
    const char *tool;
    const sb_option_t *option;
    size_t count;
} sb_options_t;

/*
 * Reads the options in `words`, of which the first is passed over, into `asked`. Only those with
 * their bit in `taken` are known. Returns the bits of those that were given.
 */
uint32_t sb_options_read(const sb_options_t *options, uint32_t taken, void *asked, int count,
                         char **words);

/* Prints a line for each. */
void sb_options_print(const sb_options_t *options);

/* The operation that `text` names; `name` is what the message calls it. */
sb_collective_t sb_tool_collective(const char *name, const char *text);

/* Whether help was asked for, as the first word after the tool's name. */
bool sb_tool_help(int count, char **words);

/* A JSON string of any bytes, such as a path's: those that are not UTF-8 are shown as question
 * marks. */
json_t *sb_tool_text(const char *text);

/* Prints the answer and frees it; NULL means that memory ran out, and ends the tool. */
void sb_tool_answer(json_t *answer, size_t precision);

/* Zeroed memory for so many things, to be freed; ends the tool if there is none. */
void *sb_tool_take(size_t count, size_t bytes);

/* Ends the tool with a message on standard error and exit status 2. */
_Noreturn void sb_tool_fail(const char *format, ...) SB_PRINTF(1, 2);

#endif
