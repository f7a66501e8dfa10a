/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include "method.h"

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
    if (text == NULL || text[0] == '\0') {
        printf(", \"%s\": null", name);
        return;
    }
    printf(", \"%s\": \"", name);
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
            putchar(*text);
    putchar('"');
}

static const char *sync_of(const struct bench_point *point)
{
    if (!point->method->synchronised)
        return "";
    return point->common_sync ? "common" : "own";
}

/* The figures of one side under names that begin with its own. */
static void put_side(const char *side, const struct bench_point *point,
                     const struct bench_side_times *times, bool measured)
{
    char name[32];
    bool known = measured && times->figure.median > 0.0;
    put_summary(side, "_us", known, times->figure, MICROSECONDS);
    if (point->method->rank_means) {
        snprintf(name, sizeof name, "%s_max", side);
        put_summary(name, "_us", known, times->most, MICROSECONDS);
    }
    if (point->method->synchronised) {
        snprintf(name, sizeof name, "%s_skew", side);
        put_summary(name, "_us", known, times->skew, MICROSECONDS);
        snprintf(name, sizeof name, "%s_span", side);
        put_summary(name, "_us", known, times->span, MICROSECONDS);
    }
    if (point->method->timed)
        printf(", \"%s_late\": %ld", side, times->late);
    if (point->method->unbroken)
        put_switching(side, measured, times->switching);
}

/* The forms' times, and Sobor's relative to the best one. */
static void put_limits(const struct bench_limit_times *times)
{
    double best = 0.0;
    for (int form = 0; form < LIMIT_FORMS; form++) {
        double limit = times->limit[form].median;
        double ratio = limit > 0.0 ? times->program[form].median / limit : 0.0;
        char name[32];
        snprintf(name, sizeof name, "limit_%s_us", limit_forms[form]);
        put_number(name, limit > 0.0, limit * MICROSECONDS);
        best = ratio > best ? ratio : best;
    }
    put_number("limit_ratio", best > 0.0, best);
}

static void put_checked(enum bench_checked checked)
{
    if (checked == BENCH_UNCHECKED)
        printf(", \"checked\": null");
    else
        printf(", \"checked\": %s", checked == BENCH_RIGHT ? "true" : "false");
}

void bench_report(const struct bench_point *point, const struct bench_times *times,
                  const struct bench_times *single, const struct bench_limit_times *limit,
                  enum bench_checked checked)
{
    bool both = !point->options->host_only, ratio = times->ratio.median > 0.0;
    printf("{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %zu, \"variant\": \"%s\"",
           point->collective, point->job->ranks, point->bytes, point->variant);
    if (bench_parts_which(point->collective) >= 0 &&
        bench_parts_vary(bench_parts_which(point->collective)))
        put_text("counts", bench_counts_names[point->options->counts]);
    printf(", \"nodes\": %d, \"processors\": %d, \"oversubscribed\": %s", point->job->nodes,
           times->sharing.processors, times->sharing.oversubscribed ? "true" : "false");
    put_text("method", point->method->name);
    put_text("sync", sync_of(point));
    if (point->options->arrival > 0.0 && point->method->rank_means) {
        put_number("arrival_us", true, point->options->arrival * MICROSECONDS);
        put_text("late_by", point->job->fits ? "computing" : "sleeping");
    }
    put_text("algorithm", times->algorithm);
    put_text("host", point->job->library);
    put_side("host", point, &times->host, true);
    put_side("sobor", point, &times->program, both);
    put_summary("ratio", "", both && ratio, times->ratio, 1.0);
    put_summary("line", "_us", times->line.median > 0.0, times->line, MICROSECONDS);
    if (single != NULL) {
        put_number("host_single_us", true, single->host.figure.median * MICROSECONDS);
        put_number("sobor_single_us", both, single->program.figure.median * MICROSECONDS);
    }
    if (limit != NULL)
        put_limits(limit);
    printf(", \"calls\": %ld", times->calls);
    put_checked(checked);
    printf("}\n");
    fflush(stdout);
}
