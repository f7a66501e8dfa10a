/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <stdio.h>

static const double MICROSECONDS = 1e6;

static void put_number(const char *name, bool known, double value)
{
    if (known)
        printf(", \"%s\": %.5g", name, value);
    else
        printf(", \"%s\": null", name);
}

static void put_summary(const char *name, const char *unit, bool known,
                        struct bench_summary summary, double factor)
{
    char label[32];
    snprintf(label, sizeof label, "%s%s", name, unit);
    put_number(label, known, summary.median * factor);
    snprintf(label, sizeof label, "%s%s_p10", name, unit);
    put_number(label, known, summary.p10 * factor);
    snprintf(label, sizeof label, "%s%s_p90", name, unit);
    put_number(label, known, summary.p90 * factor);
}

static void put_switching(const char *name, bool known, struct bench_switching switching)
{
    put_summary(name, "_switches", known, switching.all, 1.0);
    put_summary(name, "_sleeps", known, switching.voluntary, 1.0);
}

/* Names of libraries and algorithms are plain words: what JSON would have to escape is dropped. */
static void put_text(const char *name, const char *text)
{
    if (text[0] == '\0') {
        printf(", \"%s\": null", name);
        return;
    }
    printf(", \"%s\": \"", name);
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
            putchar(*text);
    putchar('"');
}

static void put_checked(enum bench_checked checked)
{
    if (checked == BENCH_UNCHECKED)
        printf(", \"checked\": null");
    else
        printf(", \"checked\": %s", checked == BENCH_RIGHT ? "true" : "false");
}

void bench_report(const struct bench_point *point, const struct bench_times *times,
                  const struct bench_times *single, enum bench_checked checked)
{
    bool both = !point->options->host_only;
    printf("{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %zu, \"variant\": \"%s\"",
           point->collective, point->job->ranks, point->bytes, point->variant);
    if (bench_parts_which(point->collective) >= 0 &&
        bench_parts_vary(bench_parts_which(point->collective)))
        put_text("counts", bench_counts_names[point->options->counts]);
    put_text("algorithm", times->algorithm);
    put_text("host", point->job->library);
    put_summary("host", "_us", true, times->host, MICROSECONDS);
    put_summary("sobor", "_us", both, times->program, MICROSECONDS);
    put_summary("ratio", "", both, times->ratio, 1.0);
    if (point->line != NULL)
        put_summary("line", "_us", times->line.median > 0.0, times->line, MICROSECONDS);
    if (point->unbroken) {
        put_switching("host", true, times->host_switching);
        put_switching("sobor", both, times->program_switching);
    }
    if (single != NULL) {
        put_number("host_single_us", true, single->host.median * MICROSECONDS);
        put_number("sobor_single_us", both, single->program.median * MICROSECONDS);
    }
    printf(", \"calls\": %ld", times->calls);
    put_checked(checked);
    printf("}\n");
    fflush(stdout);
}
