/* SPDX-License-Identifier: BSD-3-Clause */
/* Completes the numbers with what has to be assumed, and writes the machine file. */
#include "machine/sim/model.h"
#include "tools/calibrate.h"
#include "topology/read.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOPOLOGY_TEXT 4096

static const struct {
    const char *name;
    const char *unit;
} names[] = {
#define SB_NUMBER(identifier, name, unit) {name, unit},
#include "tools/calibrate.def"
#undef SB_NUMBER
};

static void set(sb_calibration_t *calibration, sb_number_t number, double value, bool assumed,
                const char *format, va_list arguments)
{
    sb_measure_t *measure = &calibration->number[number];
    const char *kind = assumed ? "assumed" : "measured";
    int length = snprintf(measure->source, sizeof measure->source, "%s: ", kind);

    measure->value = value;
    measure->assumed = assumed;
    vsnprintf(measure->source + length, sizeof measure->source - (size_t)length, format, arguments);
}

void sb_measured(sb_calibration_t *calibration, sb_number_t number, double value,
                 const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    set(calibration, number, value, false, format, arguments);
    va_end(arguments);
}

void sb_assumed(sb_calibration_t *calibration, sb_number_t number, double value, const char *format,
                ...)
{
    va_list arguments;

    va_start(arguments, format);
    set(calibration, number, value, true, format, arguments);
    va_end(arguments);
}

/* What is taken where nothing could be measured. */
static const struct {
    sb_number_t number;
    double value;
    const char *reason;
} assumptions[] = {
    {SB_NUMBER_READ_L2, 50, "only one core here; of the order of other machines"},
    {SB_NUMBER_INVALIDATE_L2, 50, "only one core here; of the order of other machines"},
    {SB_NUMBER_COPY_L2, 10, "only one core here; of the order of other machines"},
    {SB_NUMBER_COPY_START, 0, "only one core here; nothing is added"},
    {SB_NUMBER_STORE, 0.5, "only one core here; goes to the store buffer"},
    {SB_NUMBER_ATOMIC_EXTRA, 5, "only one core here; some 20 cycles"},
    {SB_NUMBER_READ_OVERLAP, 6, "only one core here; of the order of other machines"},
    {SB_NUMBER_LINE_SERVICE, 10,
     "fewer than four cores here; some 20 cycles of a cache's or mesh's clock"},
    {SB_NUMBER_INVALIDATE_PER_SHARER, 1,
     "not measured: it shows only with many sharers; one message after the other"},
    {SB_NUMBER_L2_BYTES, 1048576, "the system does not say"},
    {SB_NUMBER_L3_BYTES, 33554432, "the system does not say"},
    {SB_NUMBER_READAHEAD_PAGES, 1, "could not be seen"},
    {SB_NUMBER_SWITCH, 1800, "could not be measured; of the order of other machines"},
    {SB_NUMBER_SLICE, 3000000, "no other process got the core; the base slice of Linux"},
    {SB_NUMBER_WAKE, 3500, "only one core here; of the order of other machines"},
    {SB_NUMBER_NOISE_RATE, 0, "no stall was seen"},
    {SB_NUMBER_NOISE_LENGTH, 3000, "no stall was seen; a timer interrupt"},
};

bool sb_is_known(const sb_calibration_t *calibration, sb_number_t number)
{
    return calibration->number[number].source[0] != '\0';
}

/* Takes the first known of the series for those before it, and each known for those after it. */
static void spread_along(sb_calibration_t *calibration, sb_number_t first, size_t count)
{
    size_t known = 0;

    while (known < count && !sb_is_known(calibration, first + known))
        known++;
    for (size_t i = 0; i < count && known < count; i++) {
        sb_number_t from = i < known ? first + known : first + i - 1;
        if (!sb_is_known(calibration, first + i))
            sb_assumed(calibration, first + i, calibration->number[from].value,
                       "nothing here is at this distance without a nearer one; as %s",
                       names[from].name);
    }
}

/* Noise must not make far cheaper than near. */
static void make_rising(sb_calibration_t *calibration, sb_number_t first, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const sb_measure_t *near = &calibration->number[first + i - 1];
        if (calibration->number[first + i].value < near->value)
            sb_assumed(calibration, first + i, near->value, "measured less than %s; taken as that",
                       names[first + i - 1].name);
    }
}

/* A core of the simulator has no more reads under way, and it refuses a machine that has. */
static void limit_overlap(sb_calibration_t *calibration)
{
    double found = calibration->number[SB_NUMBER_READ_OVERLAP].value;

    if (found > SB_OVERLAP_MOST)
        sb_assumed(calibration, SB_NUMBER_READ_OVERLAP, SB_OVERLAP_MOST,
                   "measured %.3g; taken as the most that the simulator has", found);
}

static void take_assumptions(sb_calibration_t *calibration)
{
    for (size_t i = 0; i < SB_COUNT_OF(assumptions); i++) {
        if (!sb_is_known(calibration, assumptions[i].number))
            sb_assumed(calibration, assumptions[i].number, assumptions[i].value, "%s",
                       assumptions[i].reason);
    }
}

static void report_caches(sb_calibration_t *calibration)
{
    size_t l2 = sb_topology_cache(calibration->topology, SB_LEVEL_L2);
    size_t l3 = sb_topology_cache(calibration->topology, SB_LEVEL_L3);

    if (l2 > 0)
        sb_measured(calibration, SB_NUMBER_L2_BYTES, (double)l2, "said by the system");
    if (l3 > 0)
        sb_measured(calibration, SB_NUMBER_L3_BYTES, (double)l3, "said by the system");
}

void sb_calibration_complete(sb_calibration_t *calibration)
{
    double controller = calibration->number[SB_NUMBER_NUMA_CONTROLLER].value;

    report_caches(calibration);
    limit_overlap(calibration);
    spread_along(calibration, SB_NUMBER_READ_L2, SB_NEARNESS);
    spread_along(calibration, SB_NUMBER_INVALIDATE_L2, SB_NEARNESS);
    spread_along(calibration, SB_NUMBER_COPY_L2, SB_NEARNESS);
    spread_along(calibration, SB_NUMBER_MEMORY_NUMA, SB_LEVEL_TOP - SB_LEVEL_NUMA + 1);
    take_assumptions(calibration);
    spread_along(calibration, SB_NUMBER_READ_L2, SB_NEARNESS);
    spread_along(calibration, SB_NUMBER_INVALIDATE_L2, SB_NEARNESS);
    spread_along(calibration, SB_NUMBER_COPY_L2, SB_NEARNESS);
    make_rising(calibration, SB_NUMBER_READ_L2, SB_NEARNESS);
    make_rising(calibration, SB_NUMBER_INVALIDATE_L2, SB_NEARNESS);
    make_rising(calibration, SB_NUMBER_MEMORY_NUMA, SB_LEVEL_TOP - SB_LEVEL_NUMA + 1);
    for (unsigned link = SB_NUMBER_LINK_PACKAGE; link <= SB_NUMBER_LINK_MACHINE; link++) {
        if (!sb_is_known(calibration, link))
            sb_assumed(calibration, link, controller,
                       "no two NUMA nodes here are at this distance; as numa_controller");
    }
}

/* Four digits that count; sizes exact. */
static double rounded(double value)
{
    char text[40];

    snprintf(text, sizeof text, value >= 1000 ? "%.0f" : "%.4g", value);
    return strtod(text, NULL);
}

static json_t *list_numbers(const sb_calibration_t *calibration)
{
    json_t *object = json_object();

    for (unsigned i = 0; i < SB_NUMBERS; i++) {
        const sb_measure_t *measure = &calibration->number[i];
        json_object_set_new(object, names[i].name,
                            json_pack("{s:f, s:s, s:s, s:b}", "value", rounded(measure->value),
                                      "unit", names[i].unit, "source", measure->source, "assumed",
                                      measure->assumed));
    }
    return object;
}

static json_t *list_hops(const sb_calibration_t *calibration)
{
    size_t count = calibration->count;
    json_t *rows = json_array();

    for (size_t a = 0; a < count; a++) {
        json_t *row = json_array();
        for (size_t b = 0; b < count; b++)
            json_array_append_new(row, json_real(rounded(calibration->hops[a * count + b])));
        json_array_append_new(rows, row);
    }
    return json_pack("{s:s, s:s, s:o}", "what", "half of a round trip over two flags", "unit", "ns",
                     "matrix", rows);
}

static json_t *make_notes(void)
{
    char text[100];
    time_t now = time(NULL);

    strftime(text, sizeof text, "Measured by sobor simulate --calibrate on %Y-%m-%d.",
             gmtime(&now));
    return json_string(text);
}

/* The topology as text, or as an XML file beside this one where no text can say it. */
static void set_topology(json_t *file, const char *path, const char *name)
{
    char text[TOPOLOGY_TEXT];

    if (sb_topology_describe(NULL, text, sizeof text)) {
        json_object_set_new(file, "topology", json_string(text));
        return;
    }
    const char *slash = strrchr(path, '/');
    int folder = slash == NULL ? 0 : (int)(slash + 1 - path);
    snprintf(text, sizeof text, "%.*s%s.xml", folder, path, name);
    if (sb_topology_save(NULL, text) != SB_OK)
        sb_tool_fail("%s: the topology could not be written", text);
    json_object_set_new(file, "xml", json_string(text + folder));
}

void sb_calibration_write(const sb_calibration_t *calibration, const char *path, const char *name)
{
    char title[300];
    const char *model = calibration->topology->model;
    json_t *file = json_object();

    snprintf(title, sizeof title, "%s: %zu core%s, measured here",
             *model == '\0' ? "Machine" : model, calibration->count,
             calibration->count == 1 ? "" : "s");
    json_object_set_new(file, "name", sb_tool_text(name));
    json_object_set_new(file, "title", sb_tool_text(title));
    json_object_set_new(file, "notes", make_notes());
    json_object_set_new(file, "processor",
                        json_string(sb_processor_name(calibration->topology->processor)));
    set_topology(file, path, name);
    json_object_set_new(file, "nodes", json_integer(1));
    json_object_set_new(file, "parameters", list_numbers(calibration));
    json_object_set_new(file, "hops", list_hops(calibration));
    if (json_dump_file(file, path, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0)
        sb_tool_fail("%s: the file could not be written", path);
    json_decref(file);
}
