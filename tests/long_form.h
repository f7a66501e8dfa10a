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

/* Of so many that are drawn an emulator has a tenth, the first, unless time does not count. */
static inline unsigned drawn(unsigned all)
{
    return EMULATED && !is_long_form() ? all / 10 : all;
}

/* A quarter of the calls where time counts. */
static inline int calls_of(int all)
{
    return is_long_form() ? all : all / 4;
}

/* The next number of ranks: each one up to 9, and from there on in steps of 8 where time counts. */
static inline unsigned next_ranks(unsigned ranks)
{
    return ranks + (ranks < 9 || is_long_form() ? 1 : 8);
}

#endif
