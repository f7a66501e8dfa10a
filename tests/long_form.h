/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_LONG_FORM_H
#define SB_TESTS_LONG_FORM_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether larger counts are asked for: time does not matter. */
static inline bool is_long_form(void)
{
    const char *wanted = getenv("SOBOR_TEST_LONG");

    return wanted != NULL && *wanted != '\0' && strcmp(wanted, "0") != 0;
}

#ifndef EMULATED
#define EMULATED false
#endif

/* An emulator takes ten times as long, unless time does not count. */
static inline bool takes_few(void)
{
    return EMULATED && !is_long_form();
}

/* Of so many that are drawn it has a tenth, the first. */
static inline unsigned drawn(unsigned all)
{
    return takes_few() ? all / 10 : all;
}

/* A quarter of the calls where time counts. */
static inline int calls_of(int all)
{
    return is_long_form() ? all : all / 4;
}

/* The next number of ranks: each one up to 9, and from there on in steps of 8 where time counts. */
static inline unsigned next_ranks(unsigned ranks)
{
    return ranks + (is_long_form() || ranks < 9 ? 1 : 8);
}

#endif
