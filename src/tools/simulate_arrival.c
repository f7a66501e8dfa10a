/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late each rank comes to each call. The delays are drawn in integers, from the seed, the call
 * and the rank alone.
 */
#include "tools/simulate.h"

#include "machine/sim/random.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_ARRIVAL 3

static const char expected[] = "none, uniform:TIME, normal:TIME, exponential:TIME, straggler:TIME "
                               "or trace:FILE, with a TIME such as 500us, of less than a day";

/* Some hundred calls, each as late as that, are still within the simulator's clock. */
static const double A_DAY = 86400e12;

/* "500us" in picoseconds; a number alone is in microseconds. */
static bool read_time(const char *text, uint64_t *time)
{
    static const struct {
        const char *name;
        double picoseconds;
    } units[] = {{"ns", 1e3}, {"us", 1e6}, {"", 1e6}, {"ms", 1e9}, {"s", 1e12}};
    char *end;
    double number = strtod(text, &end);

    if (!isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < SB_COUNT_OF(units); i++) {
        double picoseconds = number * units[i].picoseconds;
        if (strcmp(end, units[i].name) == 0 && picoseconds >= 0 && picoseconds < A_DAY) {
            *time = (uint64_t)llround(picoseconds);
            return true;
        }
    }
    return false;
}

static void add_row(sb_arrival_t *arrival, const char *path, char *line, size_t number)
{
    size_t columns = 0;
    char *rest;

    for (char *word = strtok_r(line, " ,\t\r\n", &rest); word != NULL;
         word = strtok_r(NULL, " ,\t\r\n", &rest), columns++) {
        uint64_t *trace = realloc(arrival->trace,
                                  (arrival->rows * arrival->columns + columns + 1) * sizeof *trace);
        if (trace == NULL)
            sb_tool_fail("out of memory");
        arrival->trace = trace;
        if (!read_time(word, &trace[arrival->rows * arrival->columns + columns]))
            sb_tool_fail("%s:%zu: expected times such as 12.5us, of less than a day, found \"%s\"",
                         path, number, word);
    }
    if (columns == 0)
        return;
    if (arrival->rows > 0 && columns != arrival->columns)
        sb_tool_fail("%s:%zu: expected %zu times, as in the lines before, found %zu", path, number,
                     arrival->columns, columns);
    arrival->columns = columns;
    arrival->rows++;
}

/* One line for each call, with the delay of each rank; lines that begin with # say what it is. */
static void read_trace(sb_arrival_t *arrival, const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, number = 0;

    if (file == NULL)
        sb_tool_fail("--arrival trace:%s: %s", path, strerror(errno));
    errno = 0;
    while (getline(&line, &room, file) >= 0) {
        number++;
        if (line[0] != '#')
            add_row(arrival, path, line, number);
    }
    if (ferror(file))
        sb_tool_fail("--arrival trace:%s: %s", path, strerror(errno));
    free(line);
    fclose(file);
    if (arrival->rows == 0)
        sb_tool_fail("%s: expected one line of times for each call, found none", path);
}

void sb_arrival_read(sb_arrival_t *arrival, const char *text)
{
    static const char *const names[] = {[SB_ARRIVE_UNIFORM] = "uniform",
                                        [SB_ARRIVE_NORMAL] = "normal",
                                        [SB_ARRIVE_EXPONENTIAL] = "exponential",
                                        [SB_ARRIVE_STRAGGLER] = "straggler",
                                        [SB_ARRIVE_TRACE] = "trace"};
    size_t length = strcspn(text, ":");

    *arrival = (sb_arrival_t){.text = text};
    if (strcmp(text, "none") == 0)
        return;
    for (size_t kind = SB_ARRIVE_UNIFORM; text[length] == ':' && kind < SB_COUNT_OF(names);
         kind++) {
        if (strlen(names[kind]) != length || strncmp(text, names[kind], length) != 0)
            continue;
        arrival->kind = (sb_arrival_kind_t)kind;
        if (kind == SB_ARRIVE_TRACE)
            read_trace(arrival, text + length + 1);
        else if (!read_time(text + length + 1, &arrival->width))
            break;
        return;
    }
    sb_tool_fail("--arrival: expected %s, found \"%s\"", expected, text);
}

/*
 * Around `width`, with a third of it as deviation: the sum of twelve uniform numbers less six is
 * close to a normal number, and none of them is beyond six deviations. Nobody comes before 0.
 */
static uint64_t draw_normal(uint64_t *state, uint64_t width)
{
    int64_t deviation = (int64_t)(width / 3), sum = 0;

    for (int i = 0; i < 12; i++)
        sum += (int64_t)sb_random_below(state, (uint64_t)deviation + 1);
    int64_t delay = (int64_t)width + sum - 6 * deviation;
    return delay < 0 ? 0 : (uint64_t)delay;
}

uint64_t sb_arrival_delay(const sb_arrival_t *arrival, uint64_t seed, uint32_t rank, uint32_t call)
{
    uint64_t number = ((uint64_t)call << 32) | rank;
    uint64_t state = sb_random_stream(seed, STREAM_ARRIVAL, number);

    switch (arrival->kind) {
    case SB_ARRIVE_UNIFORM:
        return sb_random_below(&state, arrival->width + 1);
    case SB_ARRIVE_NORMAL:
        return draw_normal(&state, arrival->width);
    case SB_ARRIVE_EXPONENTIAL:
        return (uint64_t)(((unsigned __int128)sb_random_log(&state) * arrival->width) >> 32);
    case SB_ARRIVE_TRACE:
        return arrival->trace[call % arrival->rows * arrival->columns + rank % arrival->columns];
    default:
        return 0;
    }
}
