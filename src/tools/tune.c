/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sobor-tune --seconds N measures the prices of this machine and keeps them where jobs look for
 * them: what sobor-calibrate measures for the simulator, of the cores that so many ranks would be
 * dealt to. sobor-tune --rules MPI RANKS [RULE]... keeps rules that somebody else has measured.
 */
#include "base/config.h"
#include "select/measured.h"
#include "tools/calibrate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_LEAST 0.1
#define SECONDS_MOST 3600
#define DIGITS 17 /* of numbers: all that they have */
/* Of pairs of cores, whatever the seconds; but so many for each core. */
#define PAIRS_MOST 1000
#define PARTNERS_LEAST 4

/* The number for the level at which the first cores meet; 0: it was not measured. */
static double at_level(const sb_calibration_t *calibration, size_t ranks, sb_number_t nearest)
{
    sb_level_kind_t level = SB_LEVEL_L2;

    for (size_t a = 1; a < ranks; a++)
        level = sb_max(level, sb_cores_level(&calibration->cores[0], &calibration->cores[a]));
    return calibration->number[nearest + level].value;
}

/* What `ranks` ranks have to reckon with, a core for each. */
static void set_prices(sb_measured_t *measured, const sb_calibration_t *calibration, size_t ranks)
{
    double line = sb_calibration_mean_hop(calibration, ranks);
    double read = at_level(calibration, ranks, SB_NUMBER_READ_L2);
    double overlap = calibration->number[SB_NUMBER_READ_OVERLAP].value;
    double rate = at_level(calibration, ranks, SB_NUMBER_COPY_L2);

    measured->known = 0;
    measured->prices = sb_prices_standard;
    sb_measured_price(measured, "line", line);
    if (overlap > 0)
        sb_measured_price(measured, "next_line", read / overlap);
    if (rate > 0)
        sb_measured_price(measured, "byte", 1 / rate);
    sb_measured_price(measured, "process_switch", calibration->number[SB_NUMBER_SWITCH].value);
}

static json_t *describe(const sb_measured_t *measured, const char *error)
{
    json_t *prices = json_object();

    for (size_t i = 0; i < sb_price_count(); i++) {
        if (measured->known >> i & 1)
            json_object_set_new(prices, sb_price_at(i)->name,
                                json_real(sb_price_get(&measured->prices, i)));
    }
    return json_pack("{s:i, s:o, s:o}", "ranks", (int)measured->key.ranks, "prices", prices,
                     "error", error == NULL ? json_null() : sb_tool_text(error));
}

/* Why it was not kept; NULL: it was. */
static const char *reason(bool kept, const char *error)
{
    return kept ? NULL : *error == '\0' ? "SOBOR_CACHE is off" : error;
}

/* One entry: measured before, kept now. */
static json_t *keep(const sb_calibration_t *calibration, size_t ranks)
{
    static sb_measured_t measured;
    char error[SB_CACHE_PATH + 256];

    sb_measured_find(&measured, (uint32_t)ranks, "");
    set_prices(&measured, calibration, ranks);
    bool kept = sb_measured_keep(&measured, "tune", error, sizeof error);
    return describe(&measured, reason(kept, error));
}

/* Two ranks, twice as many and so on, and all cores: jobs take what is for half to twice theirs. */
static json_t *keep_all(const sb_calibration_t *calibration)
{
    json_t *list = json_array();

    for (size_t ranks = 2; ranks < calibration->count; ranks *= 2)
        json_array_append_new(list, keep(calibration, ranks));
    json_array_append_new(list, keep(calibration, calibration->count));
    return list;
}

static double parse_seconds(int argc, char **argv)
{
    char *end = NULL;
    double seconds = argc == 3 && strcmp(argv[1], "--seconds") == 0 ? strtod(argv[2], &end) : 0;

    if (end == NULL || *end != '\0' || !(seconds >= SECONDS_LEAST && seconds <= SECONDS_MOST))
        sb_tool_fail("sobor-tune: expected --seconds and a number from %g to %d", SECONDS_LEAST,
                     SECONDS_MOST);
    return seconds;
}

static json_t *measure(int argc, char **argv)
{
    static sb_calibration_t calibration;

    calibration.seconds = parse_seconds(argc, argv);
    sb_calibration_read_machine(&calibration);
    if (calibration.count < 2)
        sb_tool_fail("this process may use one core alone: no line passes between cores");
    if (sb_calibration_pairs(0, calibration.count) > PAIRS_MOST)
        calibration.partners = sb_max(PARTNERS_LEAST, PAIRS_MOST / calibration.count);
    sb_pin(calibration.cores[0].cpu);
    sb_calibrate_switch(&calibration);
    sb_calibrate_lines(&calibration);
    sb_calibrate_copies(&calibration);
    json_t *entries = keep_all(&calibration);
    free(calibration.cores);
    free(calibration.hops);
    return entries;
}

/* The rules, each as it stands in the file, without the word "rule". */
static void read_rules(int argc, char **argv, sb_cache_entry_t *entry)
{
    char error[128];

    for (int i = 4; i < argc; i++) {
        if (!sb_cache_rule(entry, argv[i], error, sizeof error))
            sb_tool_fail("sobor-tune: rule %d: expected %s, found \"%s\"", i - 3, error, argv[i]);
    }
}

static json_t *keep_rules(int argc, char **argv)
{
    static sb_measured_t measured;
    static sb_cache_entry_t entry;
    char error[SB_CACHE_PATH + 256];
    uint64_t ranks = 0;

    if (argc < 4 || !sb_parse_count(argv[3], &ranks) || ranks == 0 || ranks > UINT32_MAX ||
        *argv[2] == '\0' || strlen(argv[2]) >= SB_CACHE_MPI)
        sb_tool_fail("sobor-tune: --rules: expected an MPI, a number of ranks and rules");
    read_rules(argc, argv, &entry);
    sb_measured_find(&measured, (uint32_t)ranks, argv[2]);
    bool kept = sb_measured_keep_rules(&measured, &entry.rules, "tune", error, sizeof error);
    const char *why = reason(kept, error);
    return json_pack("[{s:i, s:s, s:i, s:o}]", "ranks", (int)ranks, "mpi", argv[2], "rules",
                     (int)entry.rules.count, "error",
                     why == NULL ? json_null() : sb_tool_text(why));
}

int main(int argc, char **argv)
{
    char path[SB_CACHE_PATH];
    bool rules = argc > 1 && strcmp(argv[1], "--rules") == 0;
    json_t *entries = rules ? keep_rules(argc, argv) : measure(argc, argv);

    bool there = sb_cache_path(SB_CACHE_USER, path, sizeof path);
    sb_tool_answer(json_pack("{s:o, s:o}", "file", there ? sb_tool_text(path) : json_null(),
                             "entries", entries),
                   DIGITS);
    return 0;
}
