/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
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

/* What this process's launcher calls it; NULL: it has none. */
static const char *own_rank(void)
{
    const char *value = NULL;

    for (size_t i = 0; i < SB_COUNT_OF(rank_variables) && value == NULL; i++)
        value = getenv(rank_variables[i]);
    return value;
}

bool sb_is_rank(void)
{
    return own_rank() != NULL;
}

/* Whether this process's launcher calls it rank 0, or it has none. */
static bool is_speaker(void)
{
    const char *rank = own_rank();

    return rank == NULL || strcmp(rank, "0") == 0;
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
