/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_FILE_H
#define SB_BASE_FILE_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * Reads the first line of the file that `format` names, with its newline. False: there is none, and
 * the line is empty.
 */
bool sb_file_line(char *line, size_t size, const char *format, ...) SB_PRINTF(3, 4);

#endif
