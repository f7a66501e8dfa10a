/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_UNIT_TESTING_H
#define SB_TESTS_UNIT_TESTING_H

/* cmocka, with the headers that it wants before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
