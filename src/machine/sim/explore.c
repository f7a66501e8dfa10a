/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/explore.h"

#include "machine/sim/random.h"
#include "machine/sim/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times that one rank may choose what is not the rule, in one run: so that every run ends. */
#define DEVIATIONS 200
#define DEVIATIONS_EXHAUSTIVE 2
/* Most points of a run where PCT changes priorities. */
#define CHANGES 6

/* The choices of one run, in a row. */
typedef struct record {
    uint32_t *values;
    size_t count;
    size_t capacity;
} record_t;

struct sb_explore {
    sb_explore_options_t options; /* mode: that of the run, also where one is replayed */
    bool replays;
    uint64_t number;   /* of the schedule, from 0 */
    uint64_t begun;    /* runs */
    uint64_t state;    /* of the random numbers */
    uint64_t steps;    /* scheduling points of this run so far */
    uint64_t longest;  /* and of the longest run: where PCT places its changes */
    uint64_t expected; /* what this run took for the longest */
    uint32_t current;
    uint32_t inertia;                 /* in 16: the rank that ran goes on */
    uint32_t chance[SB_CHOICE_KINDS]; /* in 16: what is not the rule */
    uint32_t *deviations;             /* of each rank so far */
    uint32_t *priority;               /* of each rank: the highest runs */
    uint32_t least;                   /* priority below all others */
    uint32_t changes;
    uint64_t change_at[CHANGES];
    sb_reduce_t *reduce;
    bool complete;
    record_t record;
    record_t script; /* to be replayed */
    size_t next;     /* in the script */
};

static const char *const mode_names[] = {
    [SB_EXPLORE_RANDOM] = "random",
    [SB_EXPLORE_PCT] = "pct",
    [SB_EXPLORE_EXHAUSTIVE] = "exhaustive",
};

/* Of the random numbers of a schedule. The first is left out: so the schedules are those that texts
 * of reports have named from the beginning. */
static uint64_t state_of(uint64_t seed, uint64_t number)
{
    uint64_t state = sb_random_next(&seed) ^ number;

    state = sb_random_next(&state);
    (void)sb_random_next(&state);
    return state;
}

static uint32_t draw(sb_explore_t *explore, uint32_t below)
{
    return (uint32_t)(((sb_random_next(&explore->state) >> 32) * below) >> 32);
}

static void append(record_t *record, uint32_t value)
{
    if (record->count == record->capacity) {
        record->capacity = record->capacity * 2 + 256;
        record->values = realloc(record->values, record->capacity * sizeof *record->values);
        /* A test tool has nothing to fall back to. */
        if (record->values == NULL)
            abort();
    }
    record->values[record->count++] = value;
}

/* Reads "V", "V*N", separated by commas. */
static bool read_script(record_t *script, const char *text)
{
    for (;;) {
        char *end;
        unsigned long value = strtoul(text, &end, 10), times = 1;
        if (end == text)
            return false;
        if (*end == '*')
            times = strtoul(text = end + 1, &end, 10);
        if (end == text || times > 100000000)
            return false;
        for (unsigned long i = 0; i < times; i++)
            append(script, (uint32_t)value);
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

/* MODE[+relaxed]:..., see sb_explore_text. */
static bool read_text(sb_explore_t *explore, const char *text)
{
    for (size_t mode = 0; mode < SB_COUNT_OF(mode_names); mode++) {
        size_t length = strlen(mode_names[mode]);
        int end = 0;
        if (strncmp(text, mode_names[mode], length) != 0)
            continue;
        text += length;
        explore->options.mode = (sb_explore_mode_t)mode;
        explore->options.relaxed = strncmp(text, "+relaxed", 8) == 0;
        text += explore->options.relaxed ? 8 : 0;
        if (mode == SB_EXPLORE_EXHAUSTIVE)
            return *text == ':' && read_script(&explore->script, text + 1);
        return sscanf(text, ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 "%n", &explore->options.seed,
                      &explore->number, &explore->longest, &end) == 3 &&
               text[end] == '\0';
    }
    return false;
}

static const char *set_up(sb_explore_t *explore)
{
    const sb_explore_options_t *options = &explore->options;

    explore->replays = options->mode == SB_EXPLORE_REPLAY;
    if (explore->replays && (options->replay == NULL || !read_text(explore, options->replay)))
        return "expected the text that a report ends with, such as random:1:42:100";
    if (options->mode == SB_EXPLORE_EXHAUSTIVE && options->ranks > SB_EXHAUSTIVE_RANKS)
        return "an exhaustive exploration takes at most 8 ranks";
    explore->deviations = calloc(options->ranks, sizeof *explore->deviations);
    explore->priority = calloc(options->ranks, sizeof *explore->priority);
    if (options->mode == SB_EXPLORE_EXHAUSTIVE)
        explore->reduce = sb_reduce_new(options->ranks);
    if (explore->deviations == NULL || explore->priority == NULL ||
        (options->mode == SB_EXPLORE_EXHAUSTIVE && explore->reduce == NULL))
        return "private memory is exhausted";
    return NULL;
}

sb_explore_t *sb_explore_new(const sb_explore_options_t *options, const char **problem)
{
    sb_explore_t *explore = calloc(1, sizeof *explore);

    if (explore == NULL) {
        *problem = "private memory is exhausted";
        return NULL;
    }
    explore->options = *options;
    *problem = set_up(explore);
    if (*problem == NULL)
        return explore;
    sb_explore_free(explore);
    return NULL;
}

void sb_explore_free(sb_explore_t *explore)
{
    if (explore == NULL)
        return;
    sb_reduce_free(explore->reduce);
    free(explore->deviations);
    free(explore->priority);
    free(explore->record.values);
    free(explore->script.values);
    free(explore);
}

/* The temper of a schedule: how long ranks run on, how often loads are late and waits short. */
static void draw_temper(sb_explore_t *explore)
{
    static const uint32_t inertia[] = {0, 0, 8, 14};
    static const uint32_t value[] = {0, 4, 8};
    static const uint32_t patience[] = {0, 0, 2, 14};

    explore->inertia = inertia[draw(explore, SB_COUNT_OF(inertia))];
    explore->chance[SB_CHOICE_VALUE] = value[draw(explore, SB_COUNT_OF(value))];
    explore->chance[SB_CHOICE_PATIENCE] = patience[draw(explore, SB_COUNT_OF(patience))];
}

static void draw_priorities(sb_explore_t *explore)
{
    uint32_t ranks = explore->options.ranks;
    uint64_t longest = explore->expected == 0 ? 100 * (uint64_t)ranks : explore->expected;

    explore->changes = draw(explore, CHANGES + 1);
    for (uint32_t i = 0; i < explore->changes; i++)
        explore->change_at[i] = draw(explore, (uint32_t)sb_min((size_t)longest, UINT32_MAX - 1));
    for (uint32_t rank = 0; rank < ranks; rank++)
        explore->priority[rank] = rank;
    for (uint32_t rank = ranks; rank-- > 1;) {
        uint32_t other = draw(explore, rank + 1), kept = explore->priority[rank];
        explore->priority[rank] = explore->priority[other];
        explore->priority[other] = kept;
    }
    /* Above the numbers that falling ranks will get. */
    for (uint32_t rank = 0; rank < ranks; rank++)
        explore->priority[rank] += CHANGES + 1;
    explore->least = CHANGES;
}

static bool begin_exhaustive(sb_explore_t *explore)
{
    if (explore->replays)
        return explore->begun == 0;
    explore->complete = !sb_reduce_begin(explore->reduce);
    return !explore->complete;
}

bool sb_explore_begin(sb_explore_t *explore)
{
    uint64_t most = explore->replays ? 1 : explore->options.schedules;

    if (explore->begun >= most)
        return false;
    if (explore->options.mode == SB_EXPLORE_EXHAUSTIVE && !begin_exhaustive(explore))
        return false;
    if (explore->begun > 0)
        explore->number++;
    explore->begun++;
    explore->expected = explore->longest;
    explore->steps = 0;
    explore->current = 0;
    explore->next = explore->record.count = 0;
    explore->state = state_of(explore->options.seed, explore->number);
    memset(explore->deviations, 0, explore->options.ranks * sizeof *explore->deviations);
    draw_temper(explore);
    if (explore->options.mode == SB_EXPLORE_PCT)
        draw_priorities(explore);
    return true;
}

static uint32_t next_random(sb_explore_t *explore, const sb_sim_pending_t *pending)
{
    uint32_t ranks = explore->options.ranks, enabled = 0;

    if (explore->inertia > 0 && pending[explore->current].enabled &&
        draw(explore, 16) < explore->inertia)
        return explore->current;
    for (uint32_t rank = 0; rank < ranks; rank++)
        enabled += pending[rank].enabled;
    if (enabled == 0)
        return SB_SIM_NOBODY;
    uint32_t left = draw(explore, enabled), rank = 0;
    while (!pending[rank].enabled || left-- > 0)
        rank++;
    return rank;
}

static uint32_t next_by_priority(sb_explore_t *explore, const sb_sim_pending_t *pending)
{
    uint32_t chosen = SB_SIM_NOBODY;

    for (uint32_t i = 0; i < explore->changes; i++) {
        if (explore->change_at[i] == explore->steps)
            explore->priority[explore->current] = explore->least--;
    }
    for (uint32_t rank = 0; rank < explore->options.ranks; rank++) {
        if (pending[rank].enabled &&
            (chosen == SB_SIM_NOBODY || explore->priority[rank] > explore->priority[chosen]))
            chosen = rank;
    }
    return chosen;
}

/* The next number of the script, or `otherwise` where it has ended or names what is not there. */
static uint32_t next_of_script(sb_explore_t *explore, uint32_t below, uint32_t otherwise)
{
    if (explore->next >= explore->script.count || explore->script.values[explore->next] >= below)
        return otherwise;
    return explore->script.values[explore->next++];
}

static uint32_t next_replayed(sb_explore_t *explore, const sb_sim_pending_t *pending)
{
    uint32_t first = 0, ranks = explore->options.ranks;

    while (first < ranks && !pending[first].enabled)
        first++;
    if (first == ranks)
        return SB_SIM_NOBODY;
    uint32_t rank = next_of_script(explore, ranks, first);
    return pending[rank].enabled ? rank : first;
}

uint32_t sb_explore_next(sb_explore_t *explore, const sb_sim_pending_t *pending)
{
    uint32_t chosen;

    if (explore->options.mode == SB_EXPLORE_RANDOM)
        chosen = next_random(explore, pending);
    else if (explore->options.mode == SB_EXPLORE_PCT)
        chosen = next_by_priority(explore, pending);
    else if (explore->replays)
        chosen = next_replayed(explore, pending);
    else
        chosen = sb_reduce_next(explore->reduce, pending);
    if (chosen == SB_SIM_NOBODY)
        return chosen;
    explore->current = chosen;
    explore->steps++;
    if (explore->steps > explore->longest)
        explore->longest = explore->steps;
    if (explore->options.mode == SB_EXPLORE_EXHAUSTIVE)
        append(&explore->record, chosen);
    return chosen;
}

uint32_t sb_explore_choose(sb_explore_t *explore, sb_choice_kind_t kind, uint32_t count)
{
    bool exhaustive = explore->options.mode == SB_EXPLORE_EXHAUSTIVE;
    uint32_t chosen = 0;

    if (explore->deviations[explore->current] >= (exhaustive ? DEVIATIONS_EXHAUSTIVE : DEVIATIONS))
        return 0;
    if (!exhaustive)
        chosen = draw(explore, 16) < explore->chance[kind] ? 1 + draw(explore, count - 1) : 0;
    else if (explore->replays)
        chosen = next_of_script(explore, count, 0);
    else
        chosen = sb_reduce_choose(explore->reduce, count);
    if (exhaustive)
        append(&explore->record, chosen);
    explore->deviations[explore->current] += chosen != 0;
    return chosen;
}

uint32_t sb_explore_value(void *explore, uint32_t count)
{
    return sb_explore_choose(explore, SB_CHOICE_VALUE, count);
}

uint64_t sb_explore_count(const sb_explore_t *explore)
{
    return explore->begun;
}

bool sb_explore_relaxed(const sb_explore_t *explore)
{
    return explore->options.relaxed;
}

bool sb_explore_complete(const sb_explore_t *explore)
{
    return explore->complete;
}

/* Equal numbers in a row are written once: "0*12,1,0*3". */
static void write_script(FILE *file, const record_t *record)
{
    for (size_t i = 0, end; i < record->count; i = end) {
        for (end = i + 1; end < record->count && record->values[end] == record->values[i];)
            end++;
        fprintf(file, i == 0 ? "%" PRIu32 : ",%" PRIu32, record->values[i]);
        if (end - i > 1)
            fprintf(file, "*%zu", end - i);
    }
}

char *sb_explore_text(const sb_explore_t *explore)
{
    const sb_explore_options_t *options = &explore->options;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        return NULL;
    fprintf(file, "%s%s:", mode_names[options->mode], options->relaxed ? "+relaxed" : "");
    if (options->mode == SB_EXPLORE_EXHAUSTIVE)
        write_script(file, &explore->record);
    else
        fprintf(file, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, options->seed, explore->number,
                explore->expected);
    fclose(file);
    return text;
}
