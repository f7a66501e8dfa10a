/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file.h"

#include <stdarg.h>
#include <stdio.h>

bool sb_file_line(char *line, size_t size, const char *format, ...)
{
    char path[4096];
    va_list arguments;

    line[0] = '\0';
    va_start(arguments, format);
    int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    FILE *file = length < (int)sizeof path ? fopen(path, "re") : NULL;
    if (file == NULL)
        return false;
    bool found = fgets(line, (int)size, file) != NULL;
    fclose(file);
    return found;
}
