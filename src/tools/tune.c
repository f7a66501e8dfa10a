/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sobor-tune measures the prices of this machine and keeps them where jobs look for them: what
 * sobor-calibrate measures for the simulator, of the cores that so many ranks would be dealt to.
 */
#include "select/measured.h"
#include "tools/calibrate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_LEAST 0.1
#define SECONDS_MOST 3600

/* Mean time of a hop between any two of the first cores, ns. */
static double mean_hop(const sb_calibration_t *calibration, size_t ranks)
{
    double sum = 0;
    size_t pairs = 0;

    for (size_t a = 0; a < ranks; a++) {
        for (size_t b = 0; b < a; b++, pairs++)
            sum += calibration->hops[a * calibration->count + b];
    }
    return sum / (double)pairs;
}

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
    double line = mean_hop(calibration, ranks);
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
                     "error", error == NULL ? json_null() : json_string(error));
}

/* One entry: measured before, kept now. */
static json_t *keep(const sb_calibration_t *calibration, size_t ranks)
{
    static sb_measured_t measured;
    char error[SB_CACHE_PATH + 256];

    sb_measured_find(&measured, (uint32_t)ranks, "");
    set_prices(&measured, calibration, ranks);
    bool kept = sb_measured_keep(&measured, "tune", error, sizeof error);
    if (!kept && *error == '\0')
        snprintf(error, sizeof error, "SOBOR_CACHE is off");
    return describe(&measured, kept ? NULL : error);
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
        sb_calibration_fail("sobor-tune: expected --seconds and a number from %g to %d",
                            SECONDS_LEAST, SECONDS_MOST);
    return seconds;
}

int main(int argc, char **argv)
{
    static sb_calibration_t calibration;
    char path[SB_CACHE_PATH] = "";

    calibration.seconds = parse_seconds(argc, argv);
    sb_calibration_read_machine(&calibration);
    if (calibration.count < 2)
        sb_calibration_fail("this process may use one core alone: no line passes between cores");
    sb_pin(calibration.cores[0].cpu);
    sb_calibrate_switch(&calibration);
    sb_calibrate_lines(&calibration);
    sb_calibrate_copies(&calibration);
    sb_cache_path(SB_CACHE_USER, path, sizeof path);
    json_t *answer = json_pack("{s:s, s:o}", "file", path, "entries", keep_all(&calibration));
    int failed = answer == NULL || json_dumpf(answer, stdout, JSON_INDENT(2)) != 0 ||
                 puts("") == EOF || fflush(stdout) != 0;
    json_decref(answer);
    free(calibration.cores);
    free(calibration.hops);
    return failed ? 2 : 0;
}
