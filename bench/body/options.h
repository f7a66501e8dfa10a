/* SPDX-License-Identifier: BSD-3-Clause */
/* What one run of the bench is asked to measure. */
#ifndef SOBOR_BENCH_OPTIONS_H
#define SOBOR_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_SIZES = 64, BENCH_MAX_NAMES = 32, BENCH_ROOT_ROTATES = -1 };

/* How the parts of a call differ, where they may. */
enum bench_counts { BENCH_EQUAL, BENCH_LINEAR, BENCH_HEAVY, BENCH_RANDOM, BENCH_HALF_ZERO };

extern const char *const bench_counts_names[];

/* Whose barrier comes before a call: the program's for both sides, or each side's own. By itself a
 * method takes the common one; single both, one after the other. */
enum bench_sync { BENCH_SYNC_BY_METHOD, BENCH_SYNC_OWN, BENCH_SYNC_COMMON };

struct bench_options {
    const char *collectives[BENCH_MAX_NAMES];
    size_t collective_count;
    const char *variants[BENCH_MAX_NAMES];
    size_t variant_count;
    const char *methods[BENCH_MAX_NAMES];
    size_t method_count;
    size_t sizes[BENCH_MAX_SIZES];
    size_t size_count;
    double seconds;    /* wall time for each side of one point */
    long max_calls;    /* timed calls for each side of one point */
    uint64_t range;    /* bytes over which cold buffers of a node rotate; 0: see cold.h */
    bool page_aligned; /* buffers begin on a page, not behind one as malloc gives them */
    int root;          /* or BENCH_ROOT_ROTATES: another in each call */
    enum bench_counts counts;
    enum bench_sync sync;
    double arrival; /* seconds within which ranks come to each call of single */
    uint64_t seed;
    bool host_only;
    bool limits;
    bool platform;
    int longest; /* of its blocks */
    bool first;
    bool between_nodes;
    bool check;
    bool help;
};

/* Returns 0, or -1 after writing what was expected and found into error. */
int bench_options_parse(struct bench_options *options, int argc, char **argv, char *error,
                        size_t error_size);

const char *bench_options_usage(void);

#endif
