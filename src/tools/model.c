/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/model.h"

#include "base/config.h"
#include "segment/arena.h"
#include "topology/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MOST (UINT64_C(1) << 50)
#define NUMBER_MOST (UINT64_C(1) << 30)
#define NANOSECONDS_MOST 1e12

/* The published table of ring sizes. */
#define TABLE_FIRST 4096
#define TABLE_LAST 65536
#define TABLE_STEP 4096
#define DIVISOR_FIRST 2
#define DIVISOR_LAST 512

#define CURVE_POINTS 400

#define DIGITS 15 /* of numbers in the answer */

#define PLACE(field) offsetof(sb_model_question_t, field)

static void parse_size(const sb_option_t *option, void *field, const char *value)
{
    uint64_t *size = field;

    if (!sb_parse_bytes(value, size) || *size < 1 || *size > BYTES_MOST)
        sb_tool_fail("--%s: expected a size such as 4096 or 4KiB, at least 1 byte, found \"%s\"",
                     option->name, value);
}

/* "50ns", "0.1us", "50": nanoseconds. */
static void parse_time(const sb_option_t *option, void *field, const char *value)
{
    static const struct {
        const char *unit;
        double nanoseconds;
    } units[] = {{"", 1}, {"ps", 1e-3}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double *time = field;
    char *end;
    double number = strtod(value, &end);
    bool plain = isdigit((unsigned char)value[0]) || value[0] == '.';
    bool least = option->least > 0 ? number > 0 : number >= 0;

    for (size_t i = 0; plain && least && i < SB_COUNT_OF(units); i++) {
        *time = number * units[i].nanoseconds;
        if (strcmp(end, units[i].unit) == 0 && *time <= NANOSECONDS_MOST)
            return;
    }
    sb_tool_fail("--%s: expected a time such as 50ns, %s, found \"%s\"", option->name,
                 option->least > 0 ? "more than 0" : "0 or more", value);
}

static void parse_way(const sb_option_t *option, void *asked, const char *value)
{
    static const char *const names[] = {"budget", "message", "fragment", "slots"};
    sb_model_question_t *question = asked;

    for (unsigned i = 0; i < SB_COUNT_OF(names); i++) {
        if (strcmp(value, names[i]) == 0) {
            question->way = (sb_model_way_t)i;
            question->choose = true;
            return;
        }
    }
    sb_tool_fail("--%s: expected budget, message, fragment or slots, found \"%s\"", option->name,
                 value);
}

static void parse_tree(const sb_option_t *option, void *field, const char *value)
{
    const sb_model_tree_t *tree = sb_model_tree_find(value);

    if (tree == NULL)
        sb_tool_fail("--%s: expected flat, chain, binary, 4-ary, binomial or 4-nomial, found "
                     "\"%s\"",
                     option->name, value);
    *(const sb_model_tree_t **)field = tree;
}

static const sb_option_t known[] = {
    {"bytes", "M", parse_size, .doc = "the message, m", PLACE(bytes)},
    {"ring", "B", parse_size, .doc = "the buffers of one rank, b; SOBOR_MEMORY if not given",
     PLACE(ring)},
    {"fragment", "F", parse_size, .doc = "one buffer, f; the best if not given", PLACE(fragment)},
    {"slots", "S", sb_option_long, .doc = "buffers of one rank, s", PLACE(slots), 1, NUMBER_MOST},
    {"sets", "Q", sb_option_long, .doc = "sets of buffers, q; 1 if not given", PLACE(sets), 1,
     NUMBER_MOST},
    {"ranks", "P", sb_option_long, .doc = "ranks, p; one for each core if not given", PLACE(ranks),
     1, NUMBER_MOST},
    {"page", "W", parse_size, .doc = "a page, w; this machine's if not given", PLACE(page)},
    {"t", "TIME", parse_time, .doc = "reading or writing one byte", PLACE(prices.byte), .least = 1},
    {"tw", "TIME", parse_time, .doc = "waiting for a notification", PLACE(prices.notify)},
    {"two", "TIME", parse_time, .doc = "waiting for a set to be opened", PLACE(prices.open)},
    {"ta", "TIME", parse_time, .doc = "one atomic subtraction", PLACE(prices.release)},
    {"tree", "TREE", parse_tree,
     .doc = "of notifications: flat, chain, binary, 4-ary, binomial, 4-nomial; t_W and t_WO, given "
            "for "
            "two processes, or measured, become those of it and of p",
     PLACE(tree)},
    {"choose", "HOW", parse_way, .doc = "choose f and s by: budget, message, fragment, slots"},
    {"table", NULL, sb_option_flag, .doc = "the table of ring sizes", PLACE(table)},
    {"curves", NULL, sb_option_flag, .doc = "points of T(f) and T(s)", PLACE(curves)},
    {"measure", NULL, sb_option_flag, .doc = "measure the prices on this machine", PLACE(measure)},
};

static const sb_options_t options = {"sobor-model", known, SB_COUNT_OF(known)};

/* Bits of the options whose fields begin at that place. */
static uint32_t options_at(size_t place)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < SB_COUNT_OF(known); i++)
        bits |= known[i].place == place ? UINT32_C(1) << i : 0;
    return bits;
}

static void read_options(sb_model_question_t *question, int count, char **words)
{
    uint32_t given = sb_options_read(&options, UINT32_MAX, question, count, words);

    question->priced =
        (given & options_at(PLACE(prices.byte))) && (given & options_at(PLACE(prices.notify)));
}

static uint64_t default_budget(void)
{
    sb_arena_usage_t usage;

    sb_arena_usage(&usage);
    return usage.bound;
}

static uint64_t default_ranks(void)
{
    sb_topology_counts_t counts;

    sb_topology_count(sb_topology_self(), &counts);
    return sb_max(counts.cores, 1);
}

static void need(uint64_t value, const char *option, const char *why)
{
    if (value == 0)
        sb_tool_fail("%s: expected a value, found nothing: %s", option, why);
}

/* What contradicts itself is refused; what is not given gets its standard. */
static void complete(sb_model_question_t *question)
{
    if (question->page == 0)
        question->page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (question->ranks == 0)
        question->ranks = default_ranks();
    if (question->sets == 0)
        question->sets = 1;
    if (question->fragment != 0 && question->slots != 0 && question->ring != 0 &&
        question->fragment * question->slots != question->ring)
        sb_tool_fail("--ring: expected --fragment times --slots, %llu, found %llu",
                     (unsigned long long)(question->fragment * question->slots),
                     (unsigned long long)question->ring);
    if (question->ring == 0 && (question->fragment == 0 || question->slots == 0))
        question->ring = question->fragment != 0 && question->slots == 0
                             ? sb_max(default_budget(), question->fragment)
                             : default_budget();
    if (question->ring != 0 && question->fragment > question->ring)
        sb_tool_fail("--fragment: expected at most the ring, %llu bytes, found %llu",
                     (unsigned long long)question->ring, (unsigned long long)question->fragment);
    if (question->ring != 0 && question->slots > question->ring)
        sb_tool_fail("--slots: expected at most one for each of %llu bytes of the ring, found %llu",
                     (unsigned long long)question->ring, (unsigned long long)question->slots);
}

/* The ring in use: an optimum is not rounded. */
typedef struct form {
    double fragment;
    double slots;
    double ring;
} form_t;

static form_t form_of(const sb_model_ring_t *ring)
{
    return (form_t){(double)ring->fragment, (double)ring->slots,
                    (double)ring->fragment * (double)ring->slots};
}

static form_t choose(sb_model_question_t *question)
{
    const sb_model_ring_t given = {question->fragment, question->slots};
    uint64_t bytes = question->way == SB_MODEL_BUDGET ? question->ring : question->bytes;

    if (question->way == SB_MODEL_FRAGMENT)
        need(question->fragment, "--fragment", "--choose fragment takes it as given");
    if (question->way == SB_MODEL_SLOTS)
        need(question->slots, "--slots", "--choose slots takes it as given");
    if (question->way == SB_MODEL_BUDGET && question->bytes == 0)
        question->bytes = question->ring;
    need(question->bytes, "--bytes", "the size of the message");
    sb_model_ring_t chosen = sb_model_choose(
        question->way, question->priced ? &question->prices : NULL, bytes, given, question->page);
    return form_of(&chosen);
}

static form_t find_form(const sb_model_question_t *question)
{
    sb_model_ring_t ring = {question->fragment, question->slots};

    if (ring.fragment == 0 && ring.slots == 0) {
        double best = sb_model_best_fragment(&question->prices, question->bytes, question->ring);
        return (form_t){best, (double)question->ring / best, (double)question->ring};
    }
    if (ring.fragment == 0)
        ring.fragment = question->ring / ring.slots;
    if (ring.slots == 0)
        ring.slots = question->ring / ring.fragment;
    return form_of(&ring);
}

static json_t *whole(double number)
{
    return json_integer((json_int_t)llround(number));
}

static json_t *describe_prices(const sb_model_prices_t *prices)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "t_ns", prices->byte, "tw_ns", prices->notify,
                     "two_ns", prices->open, "ta_ns", prices->release);
}

static json_t *describe(const sb_model_question_t *question, const form_t *form)
{
    const sb_model_prices_t *prices = &question->prices;
    uint64_t bytes = question->bytes;
    bool budgeted = question->ring != 0 && (!question->choose || question->way == SB_MODEL_BUDGET);
    uint64_t budget = budgeted ? question->ring : (uint64_t)llround(form->ring);
    double best = sb_model_best_fragment(prices, bytes, budget);
    sb_model_ring_t ring = {(uint64_t)llround(form->fragment),
                            sb_max((uint64_t)llround(form->slots), 1)};
    sb_model_regime_t regime = sb_model_regime(bytes, form->fragment, form->ring);

    return json_pack(
        "{s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:s, s:o, s:o, s:I, s:o}", "bytes",
        (json_int_t)bytes, "ring_bytes", (json_int_t)llround(form->ring), "fragment_bytes",
        whole(form->fragment), "slots", whole(form->slots), "prices", describe_prices(prices),
        "sets", (json_int_t)question->sets, "ranks", (json_int_t)question->ranks, "page_bytes",
        (json_int_t)question->page, "t_one_buffer_us",
        sb_model_one_buffer(prices, bytes, form->fragment) / 1000, "t_s_buffers_us",
        sb_model_buffers(prices, bytes, form->fragment, form->ring) / 1000, "t_sets_us",
        sb_model_sets(prices, bytes, form->fragment, form->ring, question->sets) / 1000, "regime",
        sb_model_regime_name(regime), "f_opt_bytes", whole(best), "s_opt",
        whole((double)budget / best), "segment_bytes",
        (json_int_t)sb_model_segment_bytes(question->ranks, ring, question->sets, question->page),
        "choice",
        question->choose ? json_pack("{s:I, s:I}", "fragment_bytes", (json_int_t)ring.fragment,
                                     "slots", (json_int_t)ring.slots)
                         : json_null());
}

static json_t *list_table(void)
{
    json_t *rows = json_array();

    for (json_int_t fragment = TABLE_FIRST; fragment <= TABLE_LAST; fragment += TABLE_STEP) {
        json_t *rings = json_array();
        for (json_int_t divisor = DIVISOR_FIRST; divisor <= DIVISOR_LAST; divisor *= 2)
            json_array_append_new(rings, json_pack("{s:I, s:I, s:I}", "divisor", divisor, "slots",
                                                   fragment / divisor, "ring_bytes",
                                                   fragment * (fragment / divisor)));
        json_array_append_new(rows,
                              json_pack("{s:I, s:o}", "fragment_bytes", fragment, "rings", rings));
    }
    return rows;
}

static void add_point(json_t *curve, double at, double time)
{
    json_array_append_new(curve, json_pack("[f, f]", at, time / 1000));
}

/* From `first` to `last` in equal steps, or in equal ratios. */
static double step_to(double first, double last, unsigned i, bool ratios)
{
    double part = (double)i / (CURVE_POINTS - 1);

    return ratios ? first * pow(last / first, part) : first + (last - first) * part;
}

/* T(f) in a ring of b bytes, and its two parts; T(f) with s fixed, which is a saw-tooth; T(s) with
 * f fixed. */
static json_t *list_curves(const sb_model_question_t *question, const form_t *form)
{
    json_t *by_fragment = json_array(), *saw_tooth = json_array(), *by_slots = json_array();
    json_t *notices = json_array(), *others = json_array();
    double bytes = (double)question->bytes, slots = fmax(1, round(form->slots));
    const sb_model_prices_t *prices = &question->prices;

    for (unsigned i = 0; i < CURVE_POINTS; i++) {
        double f = step_to(fmin(256, form->ring), form->ring, i, true);
        double all = sb_model_buffers(prices, question->bytes, f, form->ring);
        double notice = sb_model_rounds(question->bytes, f) * prices->notify;
        add_point(by_fragment, f, all);
        add_point(notices, f, notice);
        add_point(others, f, all - notice);
        f = step_to(fmax(1, bytes / slots / 12), fmax(2, bytes / slots * 1.25), i, false);
        add_point(saw_tooth, f, sb_model_buffers(prices, question->bytes, f, f * slots));
    }
    for (double s = 1; s <= 1024; s = fmax(s + 1, floor(s * 1.05)))
        add_point(by_slots, s,
                  sb_model_buffers(prices, question->bytes, form->fragment, form->fragment * s));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "fragment", by_fragment, "notifications", notices,
                     "openings_and_copies", others, "saw_tooth", saw_tooth, "slots", by_slots);
}

static uint32_t steps_of(const sb_model_tree_t *tree, uint64_t ranks)
{
    if (ranks < 2 || ranks > SB_MODEL_TREE_RANKS_MOST)
        sb_tool_fail("--ranks: expected 2 to %d with --tree, found %llu", SB_MODEL_TREE_RANKS_MOST,
                     (unsigned long long)ranks);
    return sb_model_tree_steps(tree, (uint32_t)ranks);
}

static json_t *measure(sb_model_question_t *question)
{
    sb_model_measured_t measured = sb_model_measure((uint32_t)sb_min(question->ranks, 1024));
    json_t *trees = json_array();

    question->prices = measured.prices;
    question->priced = true;
    for (unsigned i = 0; i < SB_MODEL_TREES; i++) {
        const sb_model_tree_t *tree = &sb_model_trees[i];
        json_array_append_new(trees,
                              json_pack("{s:s, s:I, s:f, s:f}", "tree", tree->name, "steps",
                                        (json_int_t)steps_of(tree, measured.ranks), "tw_ns",
                                        measured.tree[i].notify, "two_ns", measured.tree[i].open));
        if (tree == question->tree)
            question->prices = measured.tree[i];
    }
    return json_pack("{s:o, s:o, s:I, s:b}", "prices", describe_prices(&measured.prices), "trees",
                     trees, "ranks", (json_int_t)measured.ranks, "shared_processors",
                     measured.shared);
}

/* What was given, or stands where nothing is, holds for two processes. */
static json_t *apply_tree(sb_model_question_t *question)
{
    if (question->tree == NULL)
        return json_null();
    if (question->ranks == 0)
        question->ranks = sb_max(default_ranks(), 2);
    uint32_t steps = steps_of(question->tree, question->ranks);
    if (!question->measure)
        question->prices = sb_model_tree_prices(&question->prices, steps);
    return json_pack("{s:s, s:I}", "name", question->tree->name, "steps", (json_int_t)steps);
}

static json_t *answer(sb_model_question_t *question)
{
    json_t *parts = json_object();

    if (question->measure) {
        if (question->ranks == 0)
            question->ranks = sb_max(default_ranks(), 2);
        json_object_set_new(parts, "measured", measure(question));
    }
    json_object_set_new(parts, "tree", apply_tree(question));
    if (question->table)
        json_object_set_new(parts, "table", list_table());
    if (question->bytes == 0 && !question->choose && (question->table || question->measure))
        return parts;
    complete(question);
    form_t form = {0};
    if (question->choose) {
        form = choose(question);
    } else {
        need(question->bytes, "--bytes", "the size of the message");
        form = find_form(question);
    }
    if ((double)question->sets > fmax(1, round(form.slots)))
        sb_tool_fail("--sets: expected at most as many as slots, %.0f, found %llu",
                     round(form.slots), (unsigned long long)question->sets);
    json_object_update_new(parts, describe(question, &form));
    if (question->curves)
        json_object_set_new(parts, "curves", list_curves(question, &form));
    return parts;
}

static void print_help(void)
{
    printf(
        "Usage: sobor-model bcast [OPTION VALUE]...\n"
        "Answers in JSON on standard output. Wrong use: a line on standard error, status 2.\n\n");
    sb_options_print(&options);
}

int main(int argc, char **argv)
{
    sb_model_question_t question = {.prices = SB_MODEL_PRICES};

    if (sb_tool_help(argc, argv)) {
        print_help();
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "bcast") != 0)
        sb_tool_fail("sobor-model: expected a collective that has a model: bcast, found \"%s\"",
                     argc < 2 ? "" : argv[1]);
    read_options(&question, argc - 1, argv + 1);
    sb_tool_answer(answer(&question), DIGITS);
    return 0;
}
