/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/simulate.h"

#include "base/config.h"
#include "baseline/baseline.h"
#include "select/tuning.h"
#include "tools/asked.h"
#include "tools/self_sim.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MOST 16384
#define CALLS_MOST 10000000
#define BYTES_MOST ((uint64_t)1 << 32)
#define CALLS_TIMED 100
#define CALLS_EXPLORED 3
#define WARMUP 5
/* From so many ranks on a call takes so long that few have to do. */
#define RANKS_MANY 256
#define CALLS_OF_MANY 3
#define WARMUP_OF_MANY 1
#define NOT_SAID UINT32_MAX
#define DIGITS 12 /* of numbers in the answer */

#define PLACE(field) offsetof(sb_simulate_t, field)

static void parse_map(const sb_option_t *option, void *asked, const char *value)
{
    sb_simulate_t *options = asked;

    options->dealt = strcmp(value, "node") == 0;
    options->mapping = SB_MAP_CORE;
    if (!options->dealt && !sb_mapping_parse(value, &options->mapping))
        sb_tool_fail("--%s: expected core, node, numa or socket, found \"%s\"", option->name,
                     value);
    options->map_name = value;
}

static void parse_bytes(const sb_option_t *option, void *asked, const char *value)
{
    sb_simulate_t *options = asked;

    options->size_count = 0;
    for (const char *at = value; *at != '\0';) {
        size_t length = strcspn(at, ",");
        char word[64];
        uint64_t bytes;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (!sb_parse_bytes(word, &bytes) || bytes > BYTES_MOST)
            sb_tool_fail("--%s: expected sizes such as 4096 or 4K, up to 4G, found \"%s\"",
                         option->name, value);
        if (options->size_count == SB_SIZES_MOST)
            sb_tool_fail("--%s: expected at most %d sizes", option->name, SB_SIZES_MOST);
        options->sizes[options->size_count++] = (size_t)bytes;
        at += length + (at[length] == ',');
    }
}

static void parse_counts(const sb_option_t *option, void *field, const char *value)
{
    if (!sb_counts_parse(value, field))
        sb_tool_fail("--%s: expected equal, linear, heavy, random or half, found \"%s\"",
                     option->name, value);
}

static void parse_root(const sb_option_t *option, void *asked, const char *value)
{
    sb_simulate_t *options = asked;

    options->rotate = strcmp(value, "rotate") == 0;
    options->root = 0;
    if (!options->rotate)
        sb_option_number(option, &options->root, value);
}

static void parse_arrival(const sb_option_t *option, void *field, const char *value)
{
    (void)option;
    sb_arrival_read(field, value);
}

static void parse_sync(const sb_option_t *option, void *asked, const char *value)
{
    sb_simulate_t *options = asked;

    options->barriers = strcmp(value, "barrier") == 0;
    options->chained = strcmp(value, "chain") == 0;
    if (!options->barriers && !options->chained && strcmp(value, "none") != 0)
        sb_tool_fail("--%s: expected none, barrier or chain, found \"%s\"", option->name, value);
}

static void parse_segment(const sb_option_t *option, void *field, const char *value)
{
    static const char *const words[] = {"each", "one", "one-read-ahead"};

    for (uint32_t i = 0; i < SB_COUNT_OF(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            *(sb_sim_segment_t *)field = (sb_sim_segment_t)i;
            return;
        }
    }
    sb_tool_fail("--%s: expected each, one or one-read-ahead, found \"%s\"", option->name, value);
}

/* Before the variables are read: nothing of this process's own environment counts. */
static void parse_set(const sb_option_t *option, void *asked, const char *value)
{
    const char *equals = strchr(value, '=');
    sb_value_t parsed;

    (void)asked;
    if (equals == NULL || strncmp(value, "SOBOR_", 6) != 0)
        sb_tool_fail("--%s: expected SOBOR_NAME=VALUE, found \"%s\"", option->name, value);
    int length = (int)(equals - value);
    const sb_variable_t *variable = sb_variable_find(value, (size_t)length);
    if (variable == NULL)
        sb_tool_fail("--%s: %.*s is no variable of Sobor", option->name, length, value);
    const char *expected = sb_variable_parse(variable, equals + 1, &parsed);
    if (expected != NULL)
        sb_tool_fail("%s: expected %s, found \"%s\"", variable->name, expected, equals + 1);
    setenv(variable->name, equals + 1, 1);
}

static void parse_mode(const sb_option_t *option, void *asked, const char *value)
{
    static const struct {
        const char *name;
        sb_explore_mode_t mode;
    } modes[] = {{"random", SB_EXPLORE_RANDOM},
                 {"pct", SB_EXPLORE_PCT},
                 {"exhaustive", SB_EXPLORE_EXHAUSTIVE}};
    sb_simulate_t *options = asked;

    options->timed = strcmp(value, "timed") == 0;
    for (size_t i = 0; i < SB_COUNT_OF(modes); i++) {
        if (strcmp(value, modes[i].name) != 0)
            continue;
        options->explore.mode = modes[i].mode;
        return;
    }
    if (!options->timed)
        sb_tool_fail("--%s: expected random, pct, exhaustive or timed, found \"%s\"", option->name,
                     value);
}

static const sb_option_t known[] = {
    {"machine", "FILE", sb_option_text, .doc = "the machine's file (needed)", PLACE(machine)},
    {"nodes", "N", sb_option_number, .doc = "number of nodes that the ranks are on; 1 if not given",
     PLACE(nodes), 1, RANKS_MOST},
    {"ranks", "N", sb_option_number,
     .doc = "number of ranks, on all nodes together; as many as those have cores if not given",
     PLACE(ranks), 1, RANKS_MOST},
    {"map", "HOW", parse_map,
     .doc = "how ranks are dealt: core (consecutive), node (round the nodes), or numa or socket "
            "(round "
            "those of each node); core if not given"},
    {"algorithm", "A,A", sb_option_text,
     .doc = "algorithms by name; all, or auto; all if not given. Over several nodes cluster is "
            "Sobor, and "
            "host-NAME are flat ones",
     PLACE(algorithms)},
    {"bytes", "B,B", parse_bytes, .doc = "sizes of messages, such as 4096 or 4K; 8 if not given"},
    {"counts", "HOW", parse_counts,
     .doc =
         "sizes of the parts where they may differ, of which --bytes is the mean: equal, linear, "
         "heavy, random or half; equal if not given",
     PLACE(counts)},
    {"root", "R", parse_root, .doc = "the root of all calls, or rotate; 0 if not given",
     .most = RANKS_MOST - 1},
    {"calls", "N", sb_option_number,
     .doc = "calls that are measured; 100 if not given, 3 where schedules are checked or from 256 "
            "ranks "
            "on",
     PLACE(calls), 1, CALLS_MOST},
    {"warmup", "N", sb_option_number, .doc = "calls before; 5 if not given, 1 from 256 ranks on",
     PLACE(warmup), 0, CALLS_MOST},
    {"enough", "NS", sb_option_long,
     .doc = "make no more calls of an algorithm once it is plain that it takes longer than that; "
            "all calls if not given",
     PLACE(enough), 1, INT64_MAX},
    {"seed", "N", sb_option_long, .doc = "seed of noise, arrival and equal times; 1 if not given",
     PLACE(seed), 0, INT64_MAX},
    {"arrival", "HOW", parse_arrival,
     .doc = "how late ranks come: none, uniform:TIME, normal:TIME, exponential:TIME, "
            "straggler:TIME or "
            "trace:FILE; none if not given",
     PLACE(arrival)},
    {"noise", "on|off", sb_option_switch, .doc = "stalls by the operating system; off if not given",
     PLACE(noise)},
    {"cold", "on|off", sb_option_switch, .doc = "users' buffers are in no cache; off if not given",
     PLACE(cold)},
    {"sync", "none|barrier|chain", parse_sync,
     .doc = "before each call all are there at once (none), or come out of a barrier and read the "
            "clock, "
            "as under bench; chain: calls follow one another, and a call lasts from the end of the "
            "one "
            "before to its own"},
    {"placement", "on|off", sb_option_switch,
     .doc =
         "shared memory lies on its owner's NUMA node; off: all of it on node 0; on if not given",
     PLACE(placement)},
    {"segment", "each|one|one-read-ahead", parse_segment,
     .doc = "shared memory is a region of each rank, or one segment with the parts of all, in "
            "which who "
            "touches a page first places it, and with it those read ahead; each if not given",
     PLACE(segment)},
    {"set", "NAME=VALUE", parse_set, .doc = "a SOBOR_* variable; may be given several times"},
    {"lines", "on|off", sb_option_switch, .doc = "count lines moved, by distance; off if not given",
     PLACE(lines)},
    {"check", "on|off", sb_option_switch,
     .doc = "look for races, deadlocks, lost wake-ups and wrong data, in many schedules; off if "
            "not given",
     PLACE(check)},
    {"mode", "HOW", parse_mode,
     .doc = "what schedules are checked: random, pct (priorities) or exhaustive; timed: the one by "
            "the "
            "clock; random if not given"},
    {"schedules", "N", sb_option_long, .doc = "how many at most; 1000 if not given",
     PLACE(explore.schedules), 1, INT64_MAX},
    {"relaxed", "on|off", sb_option_switch,
     .doc = "let loads see old values, as far as C11 allows; off if not given",
     PLACE(explore.relaxed)},
    {"replay", "TEXT", sb_option_text, .doc = "run the schedule again that a report names",
     PLACE(explore.replay)},
    {"timeline", "FILE", sb_option_text, .doc = "write what each rank did; one algorithm and size",
     PLACE(timeline)},
};

static const sb_options_t options_known = {"sobor-simulate", known, SB_COUNT_OF(known)};

static void print_help(void)
{
    printf("Usage: sobor-simulate COLLECTIVE --machine FILE [OPTION VALUE]...\n"
           "Runs a collective operation on a simulated machine; answers in JSON on standard "
           "output.\nWrong use, or a wrong result: a line on standard error, status 2. A check "
           "that finds something: status 1.\n\n");
    sb_options_print(&options_known);
}

static void check_nodes(sb_simulate_t *options, const sb_simulated_t *machine)
{
    const sb_sim_machine_t *model = &machine->model;

    if (options->nodes > model->nodes)
        sb_tool_fail("--nodes: expected at most %u, those of %s, found %u", model->nodes,
                     machine->name, options->nodes);
    if (options->ranks == 0)
        options->ranks = options->nodes * model->cores;
    if (options->ranks < options->nodes)
        sb_tool_fail("--ranks: expected at least %u, one on each of --nodes, found %u",
                     options->nodes, options->ranks);
    if (model->nodes > 1 && options->nodes == 1 && options->ranks > model->cores)
        sb_tool_fail("--ranks: expected at most %u, the cores of one node of %s, found %u: "
                     "--nodes says on how many nodes they are",
                     model->cores, machine->name, options->ranks);
    if (options->nodes > 1 && options->check && !options->timed)
        sb_tool_fail("--check: over several nodes expected --mode timed");
}

/* How often is called, where that was not said. */
static void count_calls(sb_simulate_t *options)
{
    bool many = options->ranks >= RANKS_MANY;

    if (options->calls == 0 && options->check && !options->timed)
        options->calls = CALLS_EXPLORED;
    else if (options->calls == 0)
        options->calls = many ? CALLS_OF_MANY : CALLS_TIMED;
    if (options->warmup == NOT_SAID)
        options->warmup = many ? WARMUP_OF_MANY : WARMUP;
}

static void check_options(sb_simulate_t *options, const sb_simulated_t *machine)
{
    check_nodes(options, machine);
    if (!options->rotate && options->root >= options->ranks)
        sb_tool_fail("--root: expected a rank below %u, found %u", options->ranks, options->root);
    if (options->collective == SB_BARRIER) {
        options->sizes[0] = 0;
        options->size_count = 1;
    }
    if (options->explore.replay != NULL) {
        options->check = true;
        options->timed = false;
        options->explore.mode = SB_EXPLORE_REPLAY;
    }
    if (options->enough > 0 && (options->chained || options->check))
        sb_tool_fail("--enough: expected calls that all ranks begin together, and no --check");
    count_calls(options);
    if (options->arrival.kind == SB_ARRIVE_TRACE && options->arrival.columns != options->ranks)
        sb_tool_fail("--arrival %s: expected %u times in a line, one for each rank, found %zu",
                     options->arrival.text, options->ranks, options->arrival.columns);
}

static void check_tuning(void)
{
    const char *path = sb_config()->tuning.text;
    char error[1024];
    sb_rules_t rules;

    if (*path != '\0' && !sb_tuning_read(path, &rules, error, sizeof error))
        sb_tool_fail("SOBOR_TUNING: %s", error);
}

/* The shape that a team of these ranks will have, for the choice of an algorithm. */
static const sb_algorithm_t *choose(const sb_simulate_t *options, const sb_simulated_t *machine,
                                    size_t bytes)
{
    sb_place_t *places = sb_tool_take(options->ranks, sizeof *places);
    sb_settings_t settings;
    sb_rules_t rules;

    if (sb_places_map(places, options->ranks, machine->topology, options->mapping) != SB_OK)
        sb_tool_fail("--ranks %u: the ranks could not be placed", options->ranks);
    sb_topology_simulate(machine->topology, places);
    sb_settings_self(&settings);
    sb_shape_t shape;
    if (sb_asked_shape(&shape, &settings, machine->topology, places, options->ranks) != SB_OK)
        sb_tool_fail("out of memory");
    free(places);
    sb_asked_rules(&settings, &shape, &rules);
    return sb_choose(options->collective, &shape, &settings, bytes, false).algorithm;
}

static json_t *run_one(const sb_simulate_t *options, const sb_simulated_t *machine,
                       const sb_algorithm_t *algorithm, size_t bytes)
{
    return options->check && !options->timed
               ? sb_simulate_explore(options, machine, algorithm, bytes)
               : sb_simulate_run(options, machine, algorithm, NULL, bytes);
}

static bool found_any(const json_t *results)
{
    size_t i;
    json_t *result;

    json_array_foreach(results, i, result)
    {
        if (json_array_size(json_object_get(result, "violations")) > 0)
            return true;
    }
    return false;
}

static void run_size(const sb_simulate_t *options, const sb_simulated_t *machine, size_t bytes,
                     json_t *results)
{
    char name[SB_NAME_BYTES];

    if (options->nodes > 1) {
        sb_simulate_spanning(options, machine, bytes, results);
        return;
    }
    if (strcmp(options->algorithms, "all") == 0) {
        for (size_t i = 0; i < sb_algorithm_count(); i++) {
            const sb_algorithm_t *algorithm = sb_algorithm_at(i);
            if (algorithm->collective == options->collective && !algorithm->unlisted)
                json_array_append_new(results, run_one(options, machine, algorithm, bytes));
        }
        return;
    }
    for (const char *at = options->algorithms; *at != '\0';) {
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        const sb_algorithm_t *algorithm = strcmp(name, "auto") == 0
                                              ? choose(options, machine, bytes)
                                              : sb_algorithm_find(options->collective, name);
        if (algorithm == NULL && strcmp(name, "auto") == 0)
            sb_tool_fail("--algorithm: auto leaves a %s of %zu bytes to the host MPI, which is "
                         "not simulated; name an algorithm",
                         sb_collective_name(options->collective), bytes);
        if (algorithm == NULL)
            sb_tool_fail("--algorithm: expected all, auto or names of %s algorithms, found "
                         "\"%s\"",
                         sb_collective_name(options->collective), name);
        json_array_append_new(results, run_one(options, machine, algorithm, bytes));
        at += length + (at[length] == ',');
    }
}

/* Variables of this process's environment would make the same words give other results. */
static void clear_environment(void)
{
    for (size_t i = 0; i < sb_variable_count(); i++)
        unsetenv(sb_variable_at(i)->name);
}

int main(int argc, char **argv)
{
    sb_simulate_t options = {.map_name = "core",
                             .algorithms = "all",
                             .sizes = {8},
                             .size_count = 1,
                             .nodes = 1,
                             .warmup = NOT_SAID,
                             .seed = 1,
                             .placement = true,
                             .explore = {.mode = SB_EXPLORE_RANDOM, .schedules = 1000},
                             .arrival = {.text = "none"}};
    sb_simulated_t machine;

    sb_baselines_add();
    if (argc < 2)
        sb_tool_fail("expected a collective operation; see sobor-simulate --help");
    if (sb_tool_help(argc, argv)) {
        print_help();
        return 0;
    }
    clear_environment();
    /* What ranks free after set-up goes back to the system before their buffers are taken. */
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    options.collective = sb_tool_collective("sobor-simulate", argv[1]);
    sb_options_read(&options_known, UINT32_MAX, &options, argc - 1, argv + 1);
    if (options.machine == NULL)
        sb_tool_fail("expected --machine FILE");
    sb_simulated_read(&machine, options.machine);
    check_options(&options, &machine);
    check_tuning();
    json_t *results = json_array();
    for (size_t i = 0; i < options.size_count; i++)
        run_size(&options, &machine, options.sizes[i], results);
    bool found = found_any(results);
    sb_tool_answer(results, DIGITS);
    free(options.arrival.trace);
    sb_simulated_free(&machine);
    return found ? 1 : 0;
}
