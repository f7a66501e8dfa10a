/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK",
};

static void print_line(const char *format, va_list arguments)
{
    char line[2048];
    int length = snprintf(line, sizeof line, "sobor: ");
    int body = vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);

    if (body < 0)
        return;
    size_t total = sb_min((size_t)(length + body), sizeof line - 2);
    line[total++] = '\n';
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line, total);
    } while (written < 0 && errno == EINTR);
}

void sb_log(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

/* Whether this process's launcher calls it rank 0, or it has none. */
static bool is_speaker(void)
{
    for (size_t i = 0; i < SB_COUNT_OF(rank_variables); i++) {
        const char *value = getenv(rank_variables[i]);
        if (value != NULL)
            return strcmp(value, "0") == 0;
    }
    return true;
}

void sb_log_once(const char *format, ...)
{
    va_list arguments;

    if (!is_speaker())
        return;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}
