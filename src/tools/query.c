/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "topology/levels.h"

#include <stdio.h>
#include <string.h>

#define RANKS_MOST 65536
#define BYTES_MOST (UINT64_C(1) << 60)
#define DIGITS 6 /* of numbers in the answer */

enum {
    MACHINE,
    LEVELS,
    MAP,
    RANKS,
    COLLECTIVE,
    BYTES,
    OVERSUBSCRIBED,
    PRICES,
    PROCESSOR,
    NODES,
    NETWORK,
    OPTIONS
};

static void parse_levels(const sb_option_t *option, void *field, const char *value)
{
    if (!sb_levels_parse(value, field))
        sb_tool_fail("--%s: expected words of l2,l3,numa,package, found \"%s\"", option->name,
                     value);
}

static void parse_map(const sb_option_t *option, void *asked, const char *value)
{
    sb_query_t *query = asked;

    query->dealt = strcmp(value, "node") == 0;
    if (!query->dealt && !sb_mapping_parse(value, &query->mapping))
        sb_tool_fail("--%s: expected core, numa, socket or none, found \"%s\"", option->name,
                     value);
    query->map_name = value;
    query->mapped = true;
}

static void parse_bytes(const sb_option_t *option, void *field, const char *value)
{
    uint64_t *bytes = field;

    if (!sb_parse_bytes(value, bytes) || *bytes > BYTES_MOST)
        sb_tool_fail("--%s: expected a size such as 4096 or 4K, found \"%s\"", option->name, value);
}

static void parse_oversubscribed(const sb_option_t *option, void *field, const char *value)
{
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        sb_tool_fail("--%s: expected 0 or 1, found \"%s\"", option->name, value);
    *(int *)field = value[0] - '0';
}

static void parse_prices(const sb_option_t *option, void *asked, const char *value)
{
    sb_query_t *query = asked;
    int end = 0;

    if (sscanf(value, "%lf,%lf%n", &query->line, &query->byte, &end) != 2 || value[end] != '\0' ||
        !(query->line > 0) || !(query->byte > 0))
        sb_tool_fail("--%s: expected two numbers above 0, such as 70,0.06, found \"%s\"",
                     option->name, value);
}

static void parse_processor(const sb_option_t *option, void *field, const char *value)
{
    char names[256];
    sb_processor_t processor = sb_processor_named(value);

    if (processor == SB_PROCESSORS)
        sb_tool_fail("--%s: expected one of %s, found \"%s\"", option->name,
                     sb_processor_names(names, sizeof names), value);
    *(sb_processor_t *)field = processor;
}

#define PLACE(field) offsetof(sb_query_t, field)

static const sb_option_t known[OPTIONS] = {
    [MACHINE] =
        {"machine", "M", sb_option_text,
         .doc = "an hwloc XML file, or a synthetic description such as \"package:2 numa:2 core:8 "
                "pu:1\"; this machine if not given",
         PLACE(machine)},
    [LEVELS] = {"levels", "L,L", parse_levels,
                .doc = "the levels to use, of l2, l3, numa, package (or socket); all if not given",
                PLACE(levels)},
    [MAP] = {"map", "HOW", parse_map,
             .doc =
                 "how ranks are dealt, each bound to one core: core (consecutive), numa or socket "
                 "(round robin); or none: they are not bound; core if not given. Over several "
                 "nodes also "
                 "node: dealt round the nodes"},
    [RANKS] = {"ranks", "N", sb_option_number, .doc = "number of ranks", PLACE(ranks), 1,
               RANKS_MOST},
    [COLLECTIVE] = {"collective", "C", sb_option_collective, .doc = "the collective operation",
                    PLACE(collective)},
    [BYTES] = {"bytes", "B", parse_bytes,
               .doc = "size of the message, such as 4096 or 4K; 0 if not given", PLACE(bytes)},
    [OVERSUBSCRIBED] =
        {"oversubscribed", "0|1", parse_oversubscribed,
         .doc = "whether the ranks outnumber the processors; found out if not given, from "
                "--map, else for ranks bound like this process",
         PLACE(oversubscribed)},
    [PRICES] =
        {"prices", "LINE,BYTE", parse_prices,
         .doc = "what a line from another core and a byte that is copied take, in ns; all other "
                "prices in proportion to them; those that are built in if not given"},
    [PROCESSOR] = {"processor", "NAME", parse_processor,
                   .doc = "the processor of another machine that does not say it, such as zen4",
                   PLACE(processor)},
    [NODES] = {"nodes", "N", sb_option_number, .doc = "number of nodes that the ranks are on",
               PLACE(nodes), 2, RANKS_MOST},
    [NETWORK] = {"network", "FILE", sb_option_text,
                 .doc =
                     "a machine file that says what messages cost; as SOBOR_NETWORK if not given",
                 PLACE(network)},
};

static const sb_options_t options = {"sobor-query", known, OPTIONS};

#define BIT(option) (1U << (option))

typedef struct command {
    const char *name;
    unsigned takes; /* BIT of each option */
    unsigned needs;
    sb_query_function_t *run;
    const char *doc;
} command_t;

static const command_t commands[] = {
    {"variables", 0, 0, sb_query_variables, "the SOBOR_* variables with their present values"},
    {"algorithms", 0, 0, sb_query_algorithms, "the algorithms of each collective operation"},
    {"prices", BIT(RANKS), 0, sb_query_prices, "what the choice of algorithms takes steps to cost"},
    {"measured", BIT(RANKS), 0, sb_query_measured, "the file of what was measured on this machine"},
    {"topology", BIT(MACHINE) | BIT(LEVELS) | BIT(PROCESSOR), 0, sb_query_topology,
     "the machine and its levels"},
    {"groups", BIT(MACHINE) | BIT(LEVELS) | BIT(MAP) | BIT(RANKS), BIT(RANKS), sb_query_groups,
     "the hierarchy of groups that ranks form"},
    {"choice",
     BIT(COLLECTIVE) | BIT(BYTES) | BIT(RANKS) | BIT(OVERSUBSCRIBED) | BIT(MACHINE) | BIT(MAP) |
         BIT(PRICES) | BIT(PROCESSOR),
     BIT(COLLECTIVE) | BIT(RANKS), sb_query_choice, "which algorithm serves a call, and why"},
    {"exchanges", BIT(RANKS), BIT(RANKS), sb_query_exchanges,
     "the stages of bagds: pairs of ranks, and blocks that go each way"},
    {"spanning",
     BIT(COLLECTIVE) | BIT(BYTES) | BIT(RANKS) | BIT(NODES) | BIT(OVERSUBSCRIBED) | BIT(MAP) |
         BIT(NETWORK),
     BIT(COLLECTIVE) | BIT(RANKS) | BIT(NODES), sb_query_spanning,
     "how calls of ranks on several nodes are served, and what that is expected to take"},
    {"placement", BIT(RANKS) | BIT(MAP), 0, sb_query_placement,
     "where the memory of ranks bound to cores really is"},
    {"segment", 0, 0, sb_query_segment, "which kinds of shared memory work here, and how much"},
    {"tuning", 0, 0, sb_query_tuning, "the rules of the tuning file, SOBOR_TUNING"},
    {"version", 0, 0, sb_query_version, "the version and the back ends that were built"},
};

size_t sb_query_ring(void)
{
    sb_settings_t settings;

    sb_settings_self(&settings);
    return (size_t)settings.ring_bytes;
}

static void print_help(void)
{
    printf("Usage: sobor-query QUESTION [OPTION VALUE]...\n"
           "Answers in JSON on standard output. Wrong use: a line on standard error, status 2.\n\n"
           "Questions:\n");
    for (size_t i = 0; i < SB_COUNT_OF(commands); i++) {
        printf("  %-11s %s\n", commands[i].name, commands[i].doc);
        for (unsigned option = 0; option < OPTIONS; option++) {
            if (commands[i].takes & BIT(option))
                printf("  %11s   --%s%s\n", "", known[option].name,
                       commands[i].needs & BIT(option) ? " (needed)" : "");
        }
    }
    printf("\nOptions:\n");
    sb_options_print(&options);
}

static const command_t *find_command(const char *name)
{
    for (size_t i = 0; i < SB_COUNT_OF(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    sb_tool_fail("sobor-query: \"%s\" is no question; see sobor-query --help", name);
}

static void read_options(sb_query_t *query, const command_t *command, int count, char **words)
{
    uint32_t given = sb_options_read(&options, command->takes, query, count, words);

    for (unsigned option = 0; option < OPTIONS; option++) {
        if (command->needs & ~given & BIT(option))
            sb_tool_fail("sobor-query %s needs --%s", command->name, known[option].name);
    }
    if (query->dealt && query->nodes == 0)
        sb_tool_fail("--map: node goes with --nodes");
}

int main(int argc, char **argv)
{
    sb_query_t query = {.levels = SB_LEVELS_ALL, .map_name = "core", .oversubscribed = -1};

    if (argc < 2)
        sb_tool_fail("sobor-query: expected a question, found nothing; see sobor-query --help");
    if (sb_tool_help(argc, argv)) {
        print_help();
        return 0;
    }
    const command_t *command = find_command(argv[1]);
    read_options(&query, command, argc - 1, argv + 1);
    sb_tool_answer(command->run(&query), DIGITS);
    return 0;
}
