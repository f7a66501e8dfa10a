/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "base/log.h"
#include "topology/levels.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MOST 65536
#define BYTES_MOST (UINT64_C(1) << 60)

typedef void parse_t(sb_query_t *query, const char *value);

static parse_t parse_machine, parse_levels, parse_map, parse_ranks, parse_collective, parse_bytes,
    parse_oversubscribed, parse_prices, parse_nodes, parse_network;

typedef struct option {
    const char *name;
    const char *value; /* what stands for the value in the help */
    parse_t *parse;
    const char *doc;
} option_t;

enum {
    MACHINE,
    LEVELS,
    MAP,
    RANKS,
    COLLECTIVE,
    BYTES,
    OVERSUBSCRIBED,
    PRICES,
    NODES,
    NETWORK,
    OPTIONS
};

static const option_t options[OPTIONS] = {
    [MACHINE] = {"--machine", "M", parse_machine,
                 "an hwloc XML file, or a synthetic description such as \"package:2 numa:2 core:8 "
                 "pu:1\"; this machine if not given"},
    [LEVELS] = {"--levels", "L,L", parse_levels,
                "the levels to use, of l2, l3, numa, package (or socket); all if not given"},
    [MAP] =
        {"--map", "HOW", parse_map,
         "how ranks are dealt, each bound to one core: core (consecutive), numa or socket "
         "(round robin); or none: they are not bound; core if not given. Over several nodes also "
         "node: dealt round the nodes"},
    [RANKS] = {"--ranks", "N", parse_ranks, "number of ranks"},
    [COLLECTIVE] = {"--collective", "C", parse_collective, "the collective operation"},
    [BYTES] = {"--bytes", "B", parse_bytes,
               "size of the message, such as 4096 or 4K; 0 if not given"},
    [OVERSUBSCRIBED] = {"--oversubscribed", "0|1", parse_oversubscribed,
                        "whether the ranks outnumber the processors; found out if not given, from "
                        "--map, else for ranks bound like this process"},
    [PRICES] = {"--prices", "LINE,BYTE", parse_prices,
                "what a line from another core and a byte that is copied take, in ns; all other "
                "prices in proportion to them; those that are built in if not given"},
    [NODES] = {"--nodes", "N", parse_nodes, "number of nodes that the ranks are on"},
    [NETWORK] = {"--network", "FILE", parse_network,
                 "a machine file that says what messages cost; as SOBOR_NETWORK if not given"},
};

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
    {"topology", BIT(MACHINE) | BIT(LEVELS), 0, sb_query_topology, "the machine and its levels"},
    {"groups", BIT(MACHINE) | BIT(LEVELS) | BIT(MAP) | BIT(RANKS), BIT(RANKS), sb_query_groups,
     "the hierarchy of groups that ranks form"},
    {"choice",
     BIT(COLLECTIVE) | BIT(BYTES) | BIT(RANKS) | BIT(OVERSUBSCRIBED) | BIT(MACHINE) | BIT(MAP) |
         BIT(PRICES),
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

void sb_query_fail(const char *format, ...)
{
    char message[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sb_log("%s", message);
    exit(2);
}

json_t *sb_query_text(const char *text)
{
    json_t *string = json_string(text);

    if (string != NULL)
        return string;
    char *plain = strdup(text);
    for (char *at = plain; at != NULL && *at != '\0'; at++)
        *at = isascii((unsigned char)*at) ? *at : '?';
    string = plain == NULL ? NULL : json_string(plain);
    free(plain);
    return string;
}

static void parse_machine(sb_query_t *query, const char *value)
{
    query->machine = value;
}

static void parse_levels(sb_query_t *query, const char *value)
{
    if (!sb_levels_parse(value, &query->levels))
        sb_query_fail("--levels: expected words of l2,l3,numa,package, found \"%s\"", value);
}

static void parse_map(sb_query_t *query, const char *value)
{
    query->dealt = strcmp(value, "node") == 0;
    if (!query->dealt && !sb_mapping_parse(value, &query->mapping))
        sb_query_fail("--map: expected core, numa, socket or none, found \"%s\"", value);
    query->map_name = value;
    query->mapped = true;
}

static void parse_ranks(sb_query_t *query, const char *value)
{
    char *end;
    unsigned long ranks = strtoul(value, &end, 10);

    if (!isdigit((unsigned char)value[0]) || *end != '\0' || ranks < 1 || ranks > RANKS_MOST)
        sb_query_fail("--ranks: expected a number from 1 to %d, found \"%s\"", RANKS_MOST, value);
    query->ranks = (uint32_t)ranks;
}

static void parse_collective(sb_query_t *query, const char *value)
{
    char known[256] = "";

    for (unsigned i = 0; i < SB_COLLECTIVES; i++) {
        const char *name = sb_collective_name((sb_collective_t)i);
        size_t length = strlen(known);
        if (strcmp(value, name) == 0) {
            query->collective = (sb_collective_t)i;
            return;
        }
        snprintf(known + length, sizeof known - length, "%s%s", length > 0 ? ", " : "", name);
    }
    sb_query_fail("--collective: expected one of %s, found \"%s\"", known, value);
}

static void parse_bytes(sb_query_t *query, const char *value)
{
    if (!sb_parse_bytes(value, &query->bytes) || query->bytes > BYTES_MOST)
        sb_query_fail("--bytes: expected a size such as 4096 or 4K, found \"%s\"", value);
}

static void parse_oversubscribed(sb_query_t *query, const char *value)
{
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        sb_query_fail("--oversubscribed: expected 0 or 1, found \"%s\"", value);
    query->oversubscribed = value[0] - '0';
}

static void parse_prices(sb_query_t *query, const char *value)
{
    int end = 0;

    if (sscanf(value, "%lf,%lf%n", &query->line, &query->byte, &end) != 2 || value[end] != '\0' ||
        !(query->line > 0) || !(query->byte > 0))
        sb_query_fail("--prices: expected two numbers above 0, such as 70,0.06, found \"%s\"",
                      value);
}

static void parse_nodes(sb_query_t *query, const char *value)
{
    char *end;
    unsigned long nodes = strtoul(value, &end, 10);

    if (!isdigit((unsigned char)value[0]) || *end != '\0' || nodes < 2 || nodes > RANKS_MOST)
        sb_query_fail("--nodes: expected a number from 2 to %d, found \"%s\"", RANKS_MOST, value);
    query->nodes = (uint32_t)nodes;
}

static void parse_network(sb_query_t *query, const char *value)
{
    query->network = value;
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
                printf("  %11s   %s%s\n", "", options[option].name,
                       commands[i].needs & BIT(option) ? " (needed)" : "");
        }
    }
    printf("\nOptions:\n");
    for (unsigned option = 0; option < OPTIONS; option++)
        printf("  %s %s: %s\n", options[option].name, options[option].value, options[option].doc);
}

static const command_t *find_command(const char *name)
{
    for (size_t i = 0; i < SB_COUNT_OF(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    sb_query_fail("sobor-query: \"%s\" is no question; see sobor-query --help", name);
}

/* The option that `word` names, as "--name" or "--name=value". */
static unsigned find_option(const command_t *command, const char *word)
{
    size_t length = strcspn(word, "=");

    for (unsigned option = 0; option < OPTIONS; option++) {
        const char *name = options[option].name;
        if (strlen(name) == length && strncmp(name, word, length) == 0 &&
            (command->takes & BIT(option)) != 0)
            return option;
    }
    sb_query_fail("sobor-query %s: \"%s\" is no option here; see sobor-query --help", command->name,
                  word);
}

static void parse_options(sb_query_t *query, const command_t *command, char **words)
{
    unsigned given = 0;

    for (; *words != NULL; words++) {
        unsigned option = find_option(command, *words);
        const char *value = strchr(*words, '=');
        value = value != NULL ? value + 1 : *++words;
        if (value == NULL)
            sb_query_fail("%s: expected a value after it, found nothing", options[option].name);
        options[option].parse(query, value);
        given |= BIT(option);
    }
    for (unsigned option = 0; option < OPTIONS; option++) {
        if (command->needs & ~given & BIT(option))
            sb_query_fail("sobor-query %s needs %s", command->name, options[option].name);
    }
    if (query->dealt && query->nodes == 0)
        sb_query_fail("--map: node goes with --nodes");
}

int main(int argc, char **argv)
{
    sb_query_t query = {.levels = SB_LEVELS_ALL, .map_name = "core", .oversubscribed = -1};

    if (argc < 2)
        sb_query_fail("sobor-query: expected a question, found nothing; see sobor-query --help");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return 0;
    }
    const command_t *command = find_command(argv[1]);
    parse_options(&query, command, argv + 2);
    json_t *answer = command->run(&query);
    if (answer == NULL)
        sb_query_fail("sobor-query: out of memory");
    if (json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0 ||
        puts("") == EOF || fflush(stdout) != 0)
        sb_query_fail("sobor-query: the answer could not be written");
    json_decref(answer);
    return 0;
}
