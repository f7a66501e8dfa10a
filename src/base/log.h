/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_LOG_H
#define SB_BASE_LOG_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * Lines for people go to standard error, one write each, so that lines of several ranks do not mix.
 * A message that every rank would print is printed by one of them.
 */

/* Prints "sobor: <message>\n" in a single write. */
void sb_log(const char *format, ...) SB_PRINTF(1, 2);

/* Prints like sb_log, but only from the process that speaks for its job. */
void sb_log_once(const char *format, ...) SB_PRINTF(1, 2);

/* Whether this process's launcher has given it a rank. */
bool sb_is_rank(void);

#endif
