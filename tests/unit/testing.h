/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_UNIT_TESTING_H
#define SB_TESTS_UNIT_TESTING_H

/* cmocka, with the headers that it wants before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Leaves the present test out; scripts/run_tests.sh shows at the end what was, and why. */
#define LEAVE_OUT(why)                                                                             \
    do {                                                                                           \
        print_message("left out: " why "\n");                                                      \
        skip();                                                                                    \
    } while (0)

#endif
