/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is answered of a run. A call's time is that of the rank that took longest; a barrier's time
 * counts from when the last rank came; in a chain of calls a call's time is that from the end of
 * the call before.
 */
#include "tools/simulate_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Before these an algorithm is not judged, and then by so many. */
enum { FIRST_CALLS = 3, LAST_CALLS = 8 };

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The time below which so many percent of the calls are; between two of them, the mean. */
static double percentile(const uint64_t *times, size_t count, unsigned percent)
{
    size_t scaled = (count - 1) * percent;
    size_t below = scaled / 100;
    uint64_t rest = scaled % 100;
    uint64_t high = times[below + 1 < count ? below + 1 : below];

    return (double)((times[below] * (100 - rest) + high * rest) / 100 / 1000) / 1000;
}

/* How long a call took: see the top of this file. */
static uint64_t time_of(const sb_simulate_t *options, const sb_timed_run_t *timed,
                        const sb_timed_call_t *call)
{
    /* A broadcast's root may be done with a call before the others are with the one before. */
    if (options->chained && call > timed->calls)
        return call->last_exit - sb_min(call[-1].last_exit, call->last_exit);
    return options->collective == SB_BARRIER ? call->last_exit - call->last_entry : call->longest;
}

/* How many of the last calls took more than so many nanoseconds. */
static uint32_t count_longer(const sb_simulate_t *options, const sb_timed_run_t *timed,
                             uint32_t made, uint32_t last, uint64_t ns)
{
    uint32_t longer = 0;

    for (uint32_t i = made - last; i < made; i++)
        longer += time_of(options, timed, &timed->calls[i]) / 1000 > ns;
    return longer;
}

/*
 * First calls take up to four times as long as later ones, and while a ring is new, up to 1.7
 * times. Of those that count more than half decide.
 */
bool sb_simulate_enough(const sb_simulate_t *options, const sb_timed_run_t *timed, uint32_t made)
{
    uint64_t enough = options->enough;

    if (enough == 0)
        return false;
    /* No first call is so much slower than the others that they could make up for this. */
    if (made < FIRST_CALLS)
        return made > 0 && count_longer(options, timed, made, made, 16 * enough) == made;
    if (count_longer(options, timed, made, made, 4 * enough) == made)
        return true;
    if (made > options->warmup)
        return count_longer(options, timed, made, made - options->warmup, enough) >
               options->calls / 2;
    return made >= 2 * LAST_CALLS &&
           count_longer(options, timed, made, LAST_CALLS, 2 * enough) == LAST_CALLS;
}

/* Of one that was left before there were any that count: the last. */
static void add_times(json_t *result, const sb_simulate_t *options, const sb_timed_run_t *timed)
{
    uint32_t made = timed->made;
    uint32_t begin = made > options->warmup ? options->warmup : made - sb_min(made, LAST_CALLS);
    uint32_t count = made - begin;
    uint64_t *times = sb_tool_take(count, sizeof *times);
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        times[i] = time_of(options, timed, &timed->calls[begin + i]);
        sum += times[i];
    }
    qsort(times, count, sizeof *times, compare_times);
    json_object_set_new(result, "median_us", json_real(percentile(times, count, 50)));
    json_object_set_new(result, "max_us", json_real(percentile(times, count, 100)));
    json_object_set_new(result, "mean_us", json_real((double)(sum / count / 1000) / 1000));
    json_object_set_new(result, "p10_us", json_real(percentile(times, count, 10)));
    json_object_set_new(result, "p90_us", json_real(percentile(times, count, 90)));
    free(times);
}

/* Each rank's mean over the calls: of all ranks, and of the one that spent most. */
static void add_means(json_t *result, const sb_simulate_t *options, const sb_timed_run_t *timed)
{
    double each = 1e6 * options->calls, sum = 0, most = 0;

    for (uint32_t rank = 0; rank < options->ranks; rank++) {
        double mean = (double)timed->spent[rank] / each;
        sum += mean;
        most = mean > most ? mean : most;
    }
    json_object_set_new(result, "rank_mean_us", json_real(sum / options->ranks));
    json_object_set_new(result, "rank_max_us", json_real(most));
}

static void add_lines(json_t *result, const sb_timed_run_t *timed)
{
    static const char *const names[] = {[SB_NEAR_L2] = "l2",
                                        [SB_NEAR_L3] = "l3",
                                        [SB_NEAR_NUMA] = "numa",
                                        [SB_NEAR_PACKAGE] = "package",
                                        [SB_NEAR_MACHINE] = "machine"};
    json_t *lines = json_object();

    for (size_t near = SB_NEAR_L2; near < SB_COUNT_OF(names); near++)
        json_object_set_new(
            lines, names[near],
            json_integer((json_int_t)(timed->after.moved[near] - timed->before.moved[near])));
    json_object_set_new(lines, "memory",
                        json_integer((json_int_t)(timed->after.memory - timed->before.memory)));
    json_object_set_new(result, "lines", lines);
}

json_t *sb_simulate_describe(const sb_simulate_t *options, const sb_simulated_t *machine,
                             const sb_algorithm_t *algorithm, size_t bytes)
{
    json_t *result = json_object();

    json_object_set_new(result, "collective", json_string(sb_collective_name(options->collective)));
    json_object_set_new(result, "algorithm", json_string(algorithm->name));
    json_object_set_new(result, "machine", json_string(machine->name));
    json_object_set_new(result, "map", json_string(options->map_name));
    json_object_set_new(result, "nodes", json_integer(options->nodes));
    json_object_set_new(result, "ranks", json_integer(options->ranks));
    json_object_set_new(result, "bytes", json_integer((json_int_t)bytes));
    json_object_set_new(result, "counts", json_string(sb_counts_name(options->counts)));
    json_object_set_new(result, "root",
                        options->rotate ? json_string("rotate") : json_integer(options->root));
    json_object_set_new(result, "calls", json_integer(options->calls));
    json_object_set_new(result, "seed", json_integer((json_int_t)options->seed));
    json_object_set_new(result, "arrival", sb_tool_text(options->arrival.text));
    return result;
}

void sb_simulate_add_timed(json_t *result, const sb_simulate_t *options,
                           const sb_timed_run_t *timed)
{
    const sb_sim_messages_t *before = &timed->sent_before, *after = &timed->sent_after;

    if (timed->made < options->warmup + options->calls)
        json_object_set_new(result, "left_after", json_integer(timed->made));
    add_times(result, options, timed);
    add_means(result, options, timed);
    json_object_set_new(result, "messages",
                        json_integer((json_int_t)(after->count - before->count)));
    if (options->nodes > 1)
        json_object_set_new(result, "network_bytes",
                            json_integer((json_int_t)(after->bytes - before->bytes)));
    if (options->lines)
        add_lines(result, timed);
}

static void add_record(json_t *list, const sb_sim_record_t *record)
{
    static const char *const names[] = {[SB_SIM_COPIES] = "copy",
                                        [SB_SIM_WAITS] = "wait",
                                        [SB_SIM_NOTIFIES] = "notify",
                                        [SB_SIM_HOST] = "host"};

    json_array_append_new(list, json_pack("{s:i,s:s,s:f,s:f}", "rank", (int)record->rank, "kind",
                                          names[record->activity], "begin_us",
                                          (double)record->begin / 1e6, "end_us",
                                          (double)record->end / 1e6));
}

void sb_simulate_timeline(const sb_simulate_t *options, const json_t *result)
{
    size_t count;
    const sb_sim_record_t *records = sb_sim_records(&count);
    json_t *file = json_object();
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add_record(list, &records[i]);
    json_object_set(file, "run", (json_t *)(uintptr_t)result);
    json_object_set_new(file, "records", list);
    if (json_dump_file(file, options->timeline, JSON_COMPACT | JSON_REAL_PRECISION(12)) != 0)
        sb_tool_fail("--timeline %s: %s", options->timeline, strerror(errno));
    json_decref(file);
}
