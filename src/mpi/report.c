/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/report.h"

#include "base/config.h"
#include "base/log.h"
#include "cluster/operations.h"
#include "coll/barrier/barrier.h"
#include "mpi/prices.h"
#include "mpi/self.h"
#include "team/hierarchy.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lines kept of communicators that ended; more are summed up. */
#define LINES_MOST 256
#define LINE_BYTES 1536

/* Teams of more ranks are described without naming each. */
#define MEMBERS_MOST 32

typedef struct text {
    char bytes[LINE_BYTES];
    size_t length;
} text_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *lines[LINES_MOST];
static size_t line_count;
static uint64_t more_comms;
static sb_usage_t more = {.served = true}; /* of these together */
static sb_usage_t ended;                   /* all of them, whether lines are kept or not */
static bool printed;
static pid_t reporter; /* the process whose calls were counted: not a child that forks off */

static const char *const why_names[SB_WHY_COUNT] = {
#define SB_WORD(enumerator, word) word,
    SB_EACH_WHY(SB_WORD)
#undef SB_WORD
};

const char *sb_why_word(int why)
{
    return why_names[why];
}

static bool is_wanted(void)
{
    return sb_config()->verbose.number > 0;
}

/* Those of teams, and then of clusters. */
static size_t count_algorithms(void)
{
    return sb_algorithm_count() + SB_COLLECTIVES;
}

static const sb_algorithm_t *algorithm_at(size_t i)
{
    return i < sb_algorithm_count() ? sb_algorithm_at(i)
                                    : &sb_cluster_operations[i - sb_algorithm_count()].algorithm;
}

void sb_report_start(void)
{
    reporter = getpid();
}

void sb_report_begin(sb_usage_t *usage)
{
    if (!is_wanted())
        return;
    /* NULL: no memory; then the report says nothing of algorithms. */
    usage->by_algorithm = calloc(count_algorithms(), sizeof *usage->by_algorithm);
    if (!sb_world_is_open())
        sb_report_name(usage);
}

void sb_report_count(sb_usage_t *usage, const sb_algorithm_t *algorithm)
{
    size_t i = 0;

    while (algorithm_at(i) != algorithm)
        i++;
    usage->by_algorithm[i]++;
}

static void append(text_t *text, const char *format, ...) SB_PRINTF(2, 3);

static void append(text_t *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length =
        vsnprintf(text->bytes + text->length, LINE_BYTES - text->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length = sb_min(text->length + (size_t)length, LINE_BYTES - 1);
}

/* NULL: no memory; "-": it has none. */
static char *ask_name(MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;

    sb_host.Comm_get_name(comm, name, &length);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == ' ' ? '_' : *at;
    return strdup(name[0] == '\0' ? "-" : name);
}

uint64_t sb_usage_served(const sb_usage_t *usage)
{
    uint64_t calls = 0;

    for (int c = 0; c < SB_COLLECTIVES; c++)
        calls += usage->calls[c];
    return calls;
}

uint64_t sb_usage_passed(const sb_usage_t *usage)
{
    uint64_t calls = 0;

    for (int why = 0; why < SB_WHY_COUNT; why++)
        calls += usage->passed[why];
    return calls;
}

/* Barrier and broadcast always, the others where there were any. */
static void append_calls(text_t *text, const uint64_t *calls)
{
    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++) {
        if (calls[c] > 0 || c <= SB_BCAST)
            append(text, " %s=%" PRIu64, sb_collective_name(c), calls[c]);
    }
}

static void append_algorithms(text_t *text, const sb_usage_t *usage)
{
    size_t start = text->length;

    for (size_t i = 0; usage->by_algorithm != NULL && i < count_algorithms(); i++) {
        const sb_algorithm_t *algorithm = algorithm_at(i);
        if (usage->by_algorithm[i] > 0)
            append(text, "%s%s:%s=%" PRIu64, text->length > start ? "," : "",
                   sb_collective_name(algorithm->collective), algorithm->name,
                   usage->by_algorithm[i]);
    }
    append(text, "%s", text->length > start ? "" : "-");
}

static void append_reasons(text_t *text, const sb_usage_t *usage)
{
    size_t start = text->length;

    for (int why = 0; why < SB_WHY_COUNT; why++) {
        if (usage->passed[why] > 0)
            append(text, "%s%s", text->length > start ? "," : "", why_names[why]);
    }
    append(text, "%s", text->length > start ? "" : "-");
}

static void describe(text_t *text, const sb_usage_t *usage, const char *name)
{
    uint64_t by_trial = usage->passed[SB_WHY_TRIAL] + usage->passed[SB_WHY_FASTER];

    text->length = 0;
    append(text, "comm name=%s size=%d where=%s", name == NULL ? "-" : name, usage->size,
           !usage->served      ? "host"
           : usage->nodes == 0 ? "shm"
                               : "cluster");
    if (usage->nodes != 0)
        append(text, " nodes=%u", usage->nodes);
    append_calls(text, usage->calls);
    if (by_trial > 0)
        append(text, " by_trial=%" PRIu64, by_trial);
    append(text, " bytes=%" PRIu64 " host=%" PRIu64 " time_us=%.1f algorithms=", usage->bytes,
           sb_usage_passed(usage), (double)usage->time_ns / 1000);
    append_algorithms(text, usage);
    append(text, " reason=");
    append_reasons(text, usage);
}

static void append_members(text_t *text, const sb_stage_t *stage)
{
    for (size_t group = 0; group < stage->count; group++) {
        const uint32_t *member = sb_stage_members(stage, group);
        for (size_t i = 0; i < sb_stage_size(stage, group); i++)
            append(text, "%s%u", i > 0 ? "," : " {", member[i]);
        append(text, "}");
    }
}

/* "numa {0,1} {2,3}, top {0,2}"; for many ranks "numa 4 of up to 32, top 1 of up to 4". */
static void append_stages(text_t *text, const sb_groups_t *groups, uint32_t ranks)
{
    for (size_t i = 0; i < groups->count; i++) {
        const sb_stage_t *stage = &groups->stage[i];
        append(text, "%s%s", i > 0 ? ", " : "", sb_level_name(stage->kind));
        if (ranks <= MEMBERS_MOST)
            append_members(text, stage);
        else
            append(text, " %zu of up to %zu", stage->count, sb_stage_largest(stage));
    }
}

/* The groups that the team's barriers go by, or those that they could, or why there are none. */
static void append_groups(text_t *text, sb_team_t *team, const sb_algorithm_t *barrier)
{
    bool subgroups = barrier == &sb_barrier_exchange;
    unsigned own =
        barrier != NULL && barrier->levels != 0 ? barrier->levels : team->settings.levels;
    sb_groups_t groups = {0};
    sb_status_t status = sb_team_groups(&groups, team, subgroups ? SB_SUBGROUP_LEVELS : own,
                                        subgroups ? sb_team_subgroup_most(team) : 0);

    if (groups.refusal != NULL)
        append(text, "no groups by levels (%s)", groups.refusal);
    if (status == SB_OK) {
        append(text, groups.refusal != NULL ? ", of ranks: " : "groups ");
        append_stages(text, &groups, team->size);
    }
    sb_groups_free(&groups);
}

void sb_report_team(sb_team_t *team, sb_plan_table_t *plan)
{
    text_t text;

    if (sb_config()->verbose.number < 2 || team->rank != 0)
        return;
    const sb_algorithm_t *barrier = sb_planned(plan, SB_BARRIER, 0, false)->algorithm;
    text.length = 0;
    append_groups(&text, team, barrier);
    if (team->rules != NULL)
        append(&text, ", %u rules of its tuning file", team->rules->count);
    append(&text, ", prices %s", sb_prices_origin());
    sb_log("team of %u ranks: %s, barrier %s, %s, control blocks of %zu bytes", team->size,
           team->oversubscribed ? "ranks share processors" : "a processor for each rank",
           barrier == NULL ? "host" : barrier->name, text.bytes, sb_control_bytes(team->slots));
}

void sb_report_cluster(const sb_cluster_t *cluster)
{
    if (sb_config()->verbose.number >= 2 && cluster->rank == 0)
        sb_log("cluster of %u ranks on %u nodes, the first of them with %u, %s; a message %g ns, "
               "a byte %.3g ns; of broadcasts %.4g ns, %.3g ns",
               cluster->map.ranks, cluster->map.nodes, sb_map_size(&cluster->map, 0),
               cluster->map.contiguous ? "each an interval of ranks" : "not all intervals of ranks",
               cluster->prices.latency, cluster->prices.byte, cluster->seen.latency,
               cluster->seen.byte);
}

void sb_report_name(sb_usage_t *usage)
{
    if (!is_wanted() || usage->rank != 0)
        return;
    free(usage->name);
    usage->name = ask_name(usage->comm);
}

/* Communicators that were looked at but never used say nothing. */
static bool is_silent(const sb_usage_t *usage)
{
    return sb_usage_served(usage) + sb_usage_passed(usage) == 0;
}

void sb_report_add(sb_usage_t *sum, const sb_usage_t *usage)
{
    for (int c = 0; c < SB_COLLECTIVES; c++)
        sum->calls[c] += usage->calls[c];
    sum->bytes += usage->bytes;
    sum->time_ns += usage->time_ns;
    for (int why = 0; why < SB_WHY_COUNT; why++)
        sum->passed[why] += usage->passed[why];
}

void sb_report_add_ended(sb_usage_t *sum)
{
    pthread_mutex_lock(&lock);
    sb_report_add(sum, &ended);
    pthread_mutex_unlock(&lock);
}

static void sum_up(const sb_usage_t *usage)
{
    more_comms++;
    sb_report_add(&more, usage);
}

static void keep_line(const sb_usage_t *usage)
{
    text_t text;

    describe(&text, usage, usage->name);
    pthread_mutex_lock(&lock);
    char *line = line_count < LINES_MOST ? strdup(text.bytes) : NULL;
    if (line != NULL)
        lines[line_count++] = line;
    else
        sum_up(usage);
    pthread_mutex_unlock(&lock);
}

void sb_report_end(sb_usage_t *usage)
{
    if (is_wanted() && usage->rank == 0 && !is_silent(usage))
        keep_line(usage);
    pthread_mutex_lock(&lock);
    sb_report_add(&ended, usage);
    pthread_mutex_unlock(&lock);
    free(usage->by_algorithm);
    free(usage->name);
}

void sb_report_live(sb_usage_t *usage)
{
    text_t text;

    if (usage->rank != 0 || is_silent(usage))
        return;
    if (sb_world_is_open())
        sb_report_name(usage);
    describe(&text, usage, usage->name);
    sb_log("%s", text.bytes);
}

void sb_report_heap(const sb_usage_t *world)
{
    static const char *const ends[] = {[SB_HEAP_LASTS] = "no",
                                       [SB_HEAP_FORK] = "fork",
                                       [SB_HEAP_MAPPING] = "mapping",
                                       [SB_HEAP_ADVICE] = "advice"};
    sb_heap_counts_t counts;

    if (sb_heap == NULL)
        return;
    sb_heap->count(&counts);
    if (world->rank != 0 && counts.end == SB_HEAP_LASTS)
        return;
    sb_log("heap rank=%d blocks=%" PRIu64 " peak=%" PRIu64 " loads=%" PRIu64 " private=%s",
           world->rank, counts.blocks, counts.peak, counts.loads, ends[counts.end]);
}

static void print_more(void)
{
    char name[40];
    text_t text;

    snprintf(name, sizeof name, "(%" PRIu64 "_more)", more_comms);
    describe(&text, &more, name);
    sb_log("%s", text.bytes);
}

bool sb_report_ended(void)
{
    if (!is_wanted() || printed || reporter != getpid())
        return false;
    printed = true;
    for (size_t i = 0; i < line_count; i++) {
        sb_log("%s", lines[i]);
        free(lines[i]);
    }
    line_count = 0;
    if (more_comms > 0)
        print_more();
    return true;
}
