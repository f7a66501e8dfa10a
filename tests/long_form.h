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

#endif
