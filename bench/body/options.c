/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include "method.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const COLLECTIVES[] = {"barrier",   "bcast",          "scatter",
                                          "scatterv",  "gather",         "gatherv",
                                          "allgather", "allgatherv",     "alltoall",
                                          "alltoallv", "alltoallw",      "reduce",
                                          "allreduce", "reduce_scatter", "reduce_scatter_block",
                                          "scan",      "exscan",         "passthrough",
                                          NULL};
static const char *const VARIANTS[] = {"hot", "cold", "chain", NULL};

const char *const bench_counts_names[] = {"equal", "linear", "heavy", "random", "half-zero", NULL};

typedef int option_parser(struct bench_options *options, const char *value);

/* Splits text at commas in place; every part must be one of the allowed words. */
static int parse_words(char *text, const char *const *allowed, const char **words, size_t *count)
{
    *count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;
        while (allowed[i] != NULL && strcmp(allowed[i], word) != 0)
            i++;
        if (allowed[i] == NULL || *count == BENCH_MAX_NAMES)
            return -1;
        words[(*count)++] = allowed[i];
    }
    return *count > 0 ? 0 : -1;
}

static int parse_list(const char *value, const char *const *allowed, const char **words,
                      size_t *count)
{
    char *copy = strdup(value);
    if (copy == NULL)
        return -1;
    int status = parse_words(copy, allowed, words, count);
    free(copy);
    return status;
}

static int unit_shift(const char *unit)
{
    static const struct {
        const char *name;
        int shift;
    } units[] = {{"", 0},    {"B", 0},    {"K", 10}, {"KB", 10}, {"KiB", 10}, {"M", 20},
                 {"MB", 20}, {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].shift;
    return -1;
}

static int parse_bytes(const char *text, uint64_t *bytes)
{
    if (*text < '0' || *text > '9')
        return -1;
    char *unit = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &unit, 10);
    int shift = unit_shift(unit);
    if (errno != 0 || shift < 0 || number > (UINT64_MAX >> shift))
        return -1;
    *bytes = (uint64_t)number << shift;
    return 0;
}

static int parse_number(const char *text, double low, double high, double *number)
{
    char *end = NULL;
    errno = 0;
    *number = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *number >= low && *number <= high ? 0 : -1;
}

static int set_collectives(struct bench_options *options, const char *value)
{
    return parse_list(value, COLLECTIVES, options->collectives, &options->collective_count);
}

static int set_variants(struct bench_options *options, const char *value)
{
    return parse_list(value, VARIANTS, options->variants, &options->variant_count);
}

static int set_methods(struct bench_options *options, const char *value)
{
    return parse_list(value, bench_method_names, options->methods, &options->method_count);
}

static int set_sizes(struct bench_options *options, const char *value)
{
    char *copy = strdup(value);
    if (copy == NULL)
        return -1;
    int status = 0;
    options->size_count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL && status == 0;
         word = strtok_r(NULL, ",", &rest)) {
        uint64_t bytes = 0;
        if (options->size_count == BENCH_MAX_SIZES || parse_bytes(word, &bytes) != 0 ||
            bytes == 0 || bytes > INT_MAX)
            status = -1;
        else
            options->sizes[options->size_count++] = (size_t)bytes;
    }
    free(copy);
    return options->size_count > 0 ? status : -1;
}

static int set_seconds(struct bench_options *options, const char *value)
{
    return parse_number(value, 0.001, 3600.0, &options->seconds);
}

static int set_calls(struct bench_options *options, const char *value)
{
    double calls = 0;
    int status = parse_number(value, 5, 1e7, &calls);
    options->max_calls = (long)calls;
    return status;
}

static int set_range(struct bench_options *options, const char *value)
{
    return parse_bytes(value, &options->range);
}

static int set_buffers(struct bench_options *options, const char *value)
{
    options->page_aligned = strcmp(value, "aligned") == 0;
    return options->page_aligned || strcmp(value, "malloc") == 0 ? 0 : -1;
}

static int set_root(struct bench_options *options, const char *value)
{
    double root = BENCH_ROOT_ROTATES;
    int status = strcmp(value, "rotate") == 0 ? 0 : parse_number(value, 0, INT_MAX, &root);
    options->root = (int)root;
    return status;
}

static int set_counts(struct bench_options *options, const char *value)
{
    for (int i = 0; bench_counts_names[i] != NULL; i++)
        if (strcmp(bench_counts_names[i], value) == 0) {
            options->counts = (enum bench_counts)i;
            return 0;
        }
    return -1;
}

static int set_seed(struct bench_options *options, const char *value)
{
    return parse_bytes(value, &options->seed);
}

static int set_arrival(struct bench_options *options, const char *value)
{
    return parse_number(value, 0.0, 10.0, &options->arrival);
}

static int set_sync(struct bench_options *options, const char *value)
{
    options->sync = strcmp(value, "common") == 0 ? BENCH_SYNC_COMMON : BENCH_SYNC_OWN;
    return options->sync == BENCH_SYNC_COMMON || strcmp(value, "own") == 0 ? 0 : -1;
}

static int set_host_only(struct bench_options *options, const char *value)
{
    (void)value;
    options->host_only = true;
    return 0;
}

static int set_limits(struct bench_options *options, const char *value)
{
    (void)value;
    options->limits = true;
    return 0;
}

static int set_platform(struct bench_options *options, const char *value)
{
    (void)value;
    options->platform = true;
    return 0;
}

static int set_first(struct bench_options *options, const char *value)
{
    (void)value;
    options->first = true;
    return 0;
}

static int set_between_nodes(struct bench_options *options, const char *value)
{
    (void)value;
    options->between_nodes = true;
    return 0;
}

static int set_longest(struct bench_options *options, const char *value)
{
    uint64_t bytes;
    if (parse_bytes(value, &bytes) != 0 || bytes < 1024 || bytes > 1 << 20)
        return -1;
    options->longest = (int)bytes;
    return 0;
}

static int set_no_check(struct bench_options *options, const char *value)
{
    (void)value;
    options->check = false;
    return 0;
}

static int set_help(struct bench_options *options, const char *value)
{
    (void)value;
    options->help = true;
    return 0;
}

static const struct option {
    const char *name;
    const char *expected; /* NULL: the option takes no value */
    option_parser *set;
} OPTIONS[] = {
    {"--collectives",
     "a list out of "
     "barrier,bcast,scatter,scatterv,gather,gatherv,allgather,allgatherv,alltoall,alltoallv,"
     "alltoallw,reduce,allreduce,reduce_scatter,reduce_scatter_block,scan,exscan,passthrough",
     set_collectives},
    {"--sizes", "a list of sizes from 1 to 2147483647 bytes, such as 8,1K,64K,1M", set_sizes},
    {"--variants", "a list out of hot,cold,chain", set_variants},
    {"--method", "a list out of sobor,single,row,window", set_methods},
    {"--seconds", "a time from 0.001 to 3600 for each side of a point", set_seconds},
    {"--calls", "a largest number of timed calls from 5 to 10000000", set_calls},
    {"--range", "a size for the rotation of cold buffers, such as 256M", set_range},
    {"--buffers", "malloc or aligned", set_buffers},
    {"--root", "a rank, or rotate", set_root},
    {"--counts", "one of equal,linear,heavy,random,half-zero", set_counts},
    {"--arrival", "a time from 0 to 10 seconds", set_arrival},
    {"--seed", "a number", set_seed},
    {"--sync", "own or common", set_sync},
    {"--host-only", NULL, set_host_only},
    {"--limits", NULL, set_limits},
    {"--platform", NULL, set_platform},
    {"--first", NULL, set_first},
    {"--between-nodes", NULL, set_between_nodes},
    {"--longest", "a size from 1K to 1M", set_longest},
    {"--no-check", NULL, set_no_check},
    {"--help", NULL, set_help},
};

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (strcmp(OPTIONS[i].name, name) == 0)
            return &OPTIONS[i];
    return NULL;
}

static void set_defaults(struct bench_options *options)
{
    *options = (struct bench_options){.seconds = 0.5, .max_calls = 20000, .seed = 1, .check = true};
    set_collectives(options, "barrier,bcast");
    set_variants(options, "hot,cold");
    set_methods(options, "sobor");
    set_sizes(options, "8,1K,64K,1M");
    options->longest = 1 << 20;
}

int bench_options_parse(struct bench_options *options, int argc, char **argv, char *error,
                        size_t error_size)
{
    set_defaults(options);
    for (int i = 1; i < argc; i++) {
        const struct option *option = find_option(argv[i]);
        if (option == NULL) {
            snprintf(error, error_size, "%s: expected one of the options of --help", argv[i]);
            return -1;
        }
        const char *value = option->expected != NULL ? argv[i + 1] : "";
        if (value == NULL || option->set(options, value) != 0) {
            snprintf(error, error_size, "%s: expected %s, found \"%s\"", option->name,
                     option->expected, value == NULL ? "nothing" : value);
            return -1;
        }
        i += option->expected != NULL;
    }
    return 0;
}

const char *bench_options_usage(void)
{
    return "options of the bench:\n"
           "  --collectives LIST  barrier, bcast, scatter, scatterv, gather, gatherv, allgather,\n"
           "                      allgatherv, alltoall, alltoallv, alltoallw, reduce, allreduce,\n"
           "                      reduce_scatter, reduce_scatter_block, scan, exscan, passthrough\n"
           "                      (default barrier,bcast)\n"
           "  --sizes LIST        bytes, such as 8,1K,64K,1M (the default); of each part, on "
           "average,\n"
           "                      where a call moves parts; of what a rank gives in a reduction\n"
           "  --counts PATTERN    parts of the v and w collectives: equal (default), linear, heavy "
           "(one\n"
           "                      rank has nearly all), random, half-zero\n"
           "  --variants LIST     hot, cold, chain (default hot,cold); chain: the root goes round\n"
           "                      in an unbroken row of calls, and the figure is the row's mean; "
           "by\n"
           "                      the method sobor\n"
           "  --method LIST       sobor (default), single, row, window: see docs/bench.md\n"
           "  --seconds S         time for each side of a point (default 0.5)\n"
           "  --calls N           most timed calls for each side of a point (default 20000)\n"
           "  --range BYTES       range of the cold buffers, all ranks of a node together\n"
           "  --buffers WHERE     malloc: 16 bytes behind a page, as large blocks of malloc are "
           "(default);\n"
           "                      aligned: on a page\n"
           "  --root RANK|rotate  the root (default 0); rotate: another in each call\n"
           "  --arrival S         ranks come to each call of the method single after a time drawn "
           "from\n"
           "                      0 to S seconds, which is not timed (default 0)\n"
           "  --seed N            seed of the data patterns (default 1)\n"
           "  --sync own|common   before each call of sobor and single: the side's own barrier, or "
           "that\n"
           "                      of the program for both sides (default; of single both ways)\n"
           "  --host-only         measure the host MPI alone\n"
           "  --platform          measure what the platform does instead\n"
           "  --first             time each collective's first call instead, of the size at\n"
           "                      its place in --sizes\n"
           "  --between-nodes     of a platform of one node tell that alone\n"
           "  --longest BYTES     of a platform: blocks of calls of all ends (default 1M)\n"
           "  --limits            measure two ranks against the loops of bench/limits too\n"
           "  --no-check          leave out the pass that checks the data\n";
}
