/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up, end and failures of teams over forked processes. */
#include "../unit/testing.h"

#include "job.h"

#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"
#include "coll/reduction/workspace.h"
#include "select/select.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const sb_algorithm_t *bcast(const char *name)
{
    return sb_algorithm_find(SB_BCAST, name);
}

static sb_status_t barrier(sb_team_t *team)
{
    return sb_algorithm_find(SB_BARRIER, "flat")->barrier(team);
}

static sb_status_t send_bytes(sb_team_t *team, const char *algorithm, uint32_t root, void *data,
                              size_t bytes)
{
    sb_stream_t stream = {.base = data, .bytes = bytes};

    if (sb_algorithm_prepare(bcast(algorithm), team, bytes) != SB_OK)
        return SB_ERR_UNSUPPORTED;
    return bcast(algorithm)->bcast(team, root, &stream);
}

/* Makes, uses and ends many teams; memory is used again and bounded. */
static int make_many(rank_context_t *context, void *argument)
{
    char data[1000] = {0};
    sb_arena_usage_t usage;

    (void)argument;
    for (int i = 0; i < 2000; i++) {
        sb_team_t *team = job_team(context);
        if (team == NULL || barrier(team) != SB_OK)
            return 1;
        if (i % 10 == 0 && send_bytes(team, "ring", i % context->size, data, sizeof data) != SB_OK)
            return 1;
        sb_team_destroy(team);
    }
    job_synchronise(context);
    size_t deferred = sb_team_deferred();
    sb_arena_usage(&usage);
    if (deferred == 0 && usage.taken == 0 && usage.owned <= (8 << 20) &&
        usage.attachments < (size_t)context->size * 5)
        return 0;
    fprintf(stderr, "deferred %zu, taken %zu, owned %zu, attachments %zu\n", deferred, usage.taken,
            usage.owned, usage.attachments);
    return 1;
}

static void teams_come_and_go(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 100, make_many, NULL), 0);
}

static int keep_many(rank_context_t *context, void *argument)
{
    enum { TEAMS = 300 };
    sb_team_t *teams[TEAMS];
    sb_arena_usage_t usage;
    int failures = 0;

    (void)argument;
    for (int i = 0; i < TEAMS; i++) {
        teams[i] = job_team(context);
        if (teams[i] == NULL)
            return 1;
    }
    for (int i = 0; i < TEAMS; i++)
        failures += barrier(teams[i]) != SB_OK;
    sb_arena_usage(&usage);
    /* Where ranks share a processor there are more slots: such a block begins on a page. */
    size_t bytes = sb_control_bytes(teams[0]->slots);
    size_t unit = bytes <= SB_ARENA_SMALL ? SB_ARENA_GRAIN : (size_t)sysconf(_SC_PAGESIZE);
    failures += usage.taken != TEAMS * sb_round_up(bytes, unit);
    for (int i = TEAMS - 1; i >= 0; i--)
        sb_team_destroy(teams[i]);
    return failures;
}

static void many_teams_live_at_once(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, 100, keep_many, NULL), 0);
}

/* A block that a slow member still reads must not be used again by the owner. */
static int leave_early(rank_context_t *context, void *argument)
{
    unsigned char data[200];

    (void)argument;
    for (int i = 0; i < 200; i++) {
        sb_team_t *team = job_team(context);
        memset(data, context->rank == 0 ? i + 1 : 0, sizeof data);
        if (team == NULL)
            return 1;
        if (context->rank == 1 && i % 10 == 0)
            usleep(2000);
        if (send_bytes(team, "slots", 0, data, sizeof data) != SB_OK || data[199] != (i + 1) % 256)
            return 1;
        sb_team_destroy(team);
    }
    return 0;
}

static void the_root_may_leave_the_team_first(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 100, leave_early, NULL), 0);
}

/* What a rank that expects another number of bytes gets; the others get theirs. */
static int disagree(rank_context_t *context, void *argument)
{
    const char *algorithm = argument;
    static unsigned char data[70000];
    sb_team_t *team = job_team(context);
    const size_t sent[] = {100, 200, 50000};
    int failures = team == NULL;

    for (size_t i = 0; failures == 0 && i < SB_COUNT_OF(sent); i++) {
        if (strcmp(algorithm, "ring") != 0 && sent[i] > SB_SLOT_PAYLOAD)
            continue;
        for (int more = -1; more <= 1; more++) {
            bool wrong = context->rank == 1 && more != 0;
            size_t bytes = sent[i] + (wrong ? (size_t)(more * 40) : 0);
            memset(data, context->rank == 0 ? 7 : 0, sizeof data);
            sb_status_t status = send_bytes(team, algorithm, 0, data, bytes);
            failures += status != (!wrong ? SB_OK : more < 0 ? SB_ERR_TRUNCATE : SB_ERR_SHORT);
            failures += data[sb_min(bytes, sent[i]) - 1] != 7;
            failures += context->rank == 1 && data[bytes] != 0;
        }
    }
    return failures;
}

static void disagreement_is_told(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, disagree, "slots"), 0);
    assert_int_equal(job_run(3, 20, disagree, "ring"), 0);
    assert_int_equal(job_run(3, 20, disagree, "tree"), 0);
}

/* Rank 1 dies where the others wait for it. */
static int lose_a_peer(rank_context_t *context, void *argument)
{
    const char *wait = argument;

    setenv("SOBOR_WAIT", wait, 1);
    setenv("SOBOR_LIVENESS", "100", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL || barrier(team) != SB_OK)
        return 1;
    if (context->rank == 1)
        _exit(0);
    uint64_t began = sb_now_ns();
    sb_status_t status = barrier(team);
    if (status == SB_ERR_PEER_DEAD && sb_now_ns() - began < 5000000000u && team->failure == status)
        return 0;
    fprintf(stderr, "%s: rank %u: %s\n", wait, context->rank, sb_status_string(status));
    return 1;
}

static void a_dead_peer_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 10, lose_a_peer, "auto"), 0);
    assert_int_equal(job_run(3, 10, lose_a_peer, "spin"), 0);
    assert_int_equal(job_run(3, 10, lose_a_peer, "sleep"), 0);
}

/* A rank that has left in good order is no failure, and what it sent arrives. */
static int depart(rank_context_t *context, void *argument)
{
    int data = context->rank == 0 ? 42 : 0;

    (void)argument;
    setenv("SOBOR_LIVENESS", "50", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    if (context->rank == 1)
        usleep(400000);
    if (send_bytes(team, "slots", 0, &data, sizeof data) != SB_OK || data != 42)
        return 1;
    if (context->rank == 0) {
        sb_arena_depart();
        _exit(0);
    }
    /* Rank 2 waits for rank 1 past its check of peers, with rank 0 gone. */
    data = context->rank == 1 ? 43 : 0;
    return send_bytes(team, "slots", 1, &data, sizeof data) != SB_OK || data != 43;
}

static void departure_is_no_failure(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, depart, NULL), 0);
}

/* A stopped peer is alive: the others wait. */
static int stop_a_peer(rank_context_t *context, void *argument)
{
    (void)argument;
    setenv("SOBOR_LIVENESS", "100", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL || barrier(team) != SB_OK)
        return 1;
    if (context->rank == 0) {
        kill(job_pid(context, 1), SIGSTOP);
        usleep(700000);
        kill(job_pid(context, 1), SIGCONT);
    }
    return barrier(team) != SB_OK;
}

static void a_stopped_peer_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, stop_a_peer, NULL), 0);
}

/* Sleepers are woken: the first sleep of one that is not, a sixteenth of the longest, is longer
 * than the ranks may take, and that is long for thousands of switches, also on a busy machine. */
enum { AWAKE_SECONDS = 40, SLEEP_SECONDS = 17 * AWAKE_SECONDS };

typedef struct sleeping {
    const char *algorithm;
    sb_word32_t *sleepers; /* where all ranks count them; NULL: nowhere */
} sleeping_t;

static int sleep_and_wake(rank_context_t *context, void *argument)
{
    const sleeping_t *sleeping = argument;

    setenv("SOBOR_WAIT", "sleep", 1);
    if (sleeping->sleepers != NULL)
        sb_sleepers_share(sleeping->sleepers);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    team->waiter.sleep_after_ns = 0;
    team->waiter.sleep_longest_ns = SLEEP_SECONDS * UINT64_C(1000000000);
    team->waiter_near = team->waiter;
    for (int i = 0; i < 3000; i++) {
        if (i % 100 == (int)context->rank)
            usleep(2000);
        if (sb_algorithm_find(SB_BARRIER, sleeping->algorithm)->barrier(team) != SB_OK)
            return 1;
    }
    return 0;
}

static void sleepers_are_woken(void **state)
{
    sb_word32_t *word =
        mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sleeping_t flat = {"flat", NULL}, several_at_one_flag = {"counter", NULL};
    sleeping_t counted = {"flat", word};

    (void)state;
    assert_ptr_not_equal(word, MAP_FAILED);
    assert_int_equal(job_run(3, AWAKE_SECONDS, sleep_and_wake, &flat), 0);
    assert_int_equal(job_run(4, AWAKE_SECONDS, sleep_and_wake, &several_at_one_flag), 0);
    assert_int_equal(job_run(3, AWAKE_SECONDS, sleep_and_wake, &counted), 0);
    /* Relaxed: the ranks have ended. */
    assert_int_equal(atomic_load_explicit(word, memory_order_relaxed), 0);
    munmap(word, sizeof *word);
}

/* What all ranks are to find. */
typedef struct expectation {
    const char *variable; /* set on the ranks from `from` on */
    const char *value;
    uint32_t from;
    uint32_t objection; /* of the last rank's front end */
    sb_refusal_t refusal;
} expectation_t;

static int set_up(rank_context_t *context, void *argument)
{
    const expectation_t *expected = argument;
    sb_team_t *team;
    sb_refusal_t refusal;
    sb_reason_t reason;

    if (expected->variable != NULL && context->rank >= expected->from)
        setenv(expected->variable, expected->value, 1);
    if (context->rank == context->size - 1)
        context->front.objection = expected->objection;
    sb_status_t status =
        sb_team_create(&team, &context->front, context->rank, context->size, &refusal, &reason);
    if (expected->refusal == SB_REFUSAL_NONE)
        return status != SB_OK || barrier(team) != SB_OK;
    return status != SB_ERR_UNSUPPORTED || refusal != expected->refusal ||
           (refusal == SB_REFUSAL_MEMORY && reason.text[0] == '\0');
}

static void set_up_is_agreed(void **state)
{
    static const expectation_t cases[] = {
        {NULL, NULL, 0, 0, SB_REFUSAL_NONE},
        {"SOBOR", "off", 2, 0, SB_REFUSAL_DISABLED},
        {"SOBOR_NODE", "other", 1, 0, SB_REFUSAL_NODES},
        {"SOBOR_NODE", "same", 0, 0, SB_REFUSAL_NONE},
        {"SOBOR_SEGMENT", "off", 2, 0, SB_REFUSAL_MEMORY},
        {"SOBOR_SEGMENT", "named", 0, 0, SB_REFUSAL_NONE},
        {"SOBOR_SEGMENT", "memfd", 0, 0, SB_REFUSAL_NONE},
        {"SOBOR_SEGMENT", "named", 1, 0, SB_REFUSAL_NONE},
        {"SOBOR_MEMORY", "4KiB", 1, 0, SB_REFUSAL_MEMORY},
        {NULL, NULL, 0, 5, SB_REFUSAL_FRONT},
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(cases); i++) {
        for (uint32_t ranks = 3; ranks <= 70; ranks += 67) {
            print_message("%s=%s on %u ranks\n", cases[i].variable ? cases[i].variable : "-",
                          cases[i].value ? cases[i].value : "-", ranks);
            assert_int_equal(job_run(ranks, 60, set_up, (void *)(uintptr_t)&cases[i]), 0);
        }
    }
}

/* Memory for control blocks but not for rings: agreed by all, and slots go on working. */
static int refuse_rings(rank_context_t *context, void *argument)
{
    char data[1000];

    (void)argument;
    if (context->rank == 1)
        setenv("SOBOR_MEMORY", job_little_memory(context->size), 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    memset(data, context->rank == 2 ? 9 : 0, sizeof data);
    int failures = sb_rings_prepare(team) != SB_ERR_UNSUPPORTED;
    failures += sb_rings_prepare(team) != SB_ERR_UNSUPPORTED;
    failures += send_bytes(team, "slots", 2, data, sizeof data) != SB_OK || data[999] != 9;
    return failures;
}

static void rings_are_refused_by_all(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, refuse_rings, NULL), 0);
}

#define LONG_BYTES ((size_t)100 << 10)

/* As calls of the program are made: the root has rings made, and made longer. 0: data is right. */
static int send_ring(rank_context_t *context, sb_team_t *team, uint32_t root, size_t bytes)
{
    char *data = job_memory(bytes);
    const sb_stream_t stream = {.base = data, .bytes = bytes};

    for (size_t i = 0; i < bytes; i++)
        data[i] = context->rank == root ? (char)(i * 7 + root) : 0;
    int failures = sb_bcast(bcast("ring"), team, root, &stream) != SB_OK;
    for (size_t i = 0; i < bytes; i++)
        failures += data[i] != (char)(i * 7 + root);
    free(data);
    return failures;
}

/* Both ends of the same: how long rings are, and whether all say so. */
static int check_rings(const sb_team_t *team, bool whole, size_t bytes)
{
    const sb_rings_t *rings = sb_rings(team);

    if (rings->whole == whole && rings->cursor.ring == bytes &&
        rings->resource.bytes == SB_RING_AT + bytes)
        return 0;
    fprintf(stderr, "rank %u: rings of %zu bytes in %zu, %swhole\n", team->rank,
            (size_t)rings->cursor.ring, rings->resource.bytes, rings->whole ? "" : "not ");
    return 1;
}

/* Messages that rings are not to grow by, however long a busy machine takes for them. */
static int send_as_if_fast(rank_context_t *context, sb_team_t *team, uint32_t root, size_t bytes)
{
    if (sb_rings(team) != NULL)
        sb_rings(team)->resource.block.page_ns = (uint64_t)1 << 40;
    return send_ring(context, team, root, bytes);
}

/* Roots go round; what is sent after the rings have grown is right too. They do when messages have
 * taken long enough, one root's at least. */
static int grow_rings(rank_context_t *context, void *argument)
{
    const size_t *whole = argument, near = (size_t)256 << 10;
    int failures = 0;

    setenv("SOBOR_RING", "2MiB", 1);
    if (context->rank == 1 && *whole == near)
        setenv("SOBOR_MEMORY", "1MiB", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    failures += team->settings.grows < 2;
    team->settings.grows = 2;
    for (uint32_t i = 0; i < 5; i++)
        failures += send_as_if_fast(context, team, i % 3, LONG_BYTES);
    failures += check_rings(team, false, near);
    for (uint32_t i = 0; i < 40; i++)
        failures +=
            send_as_if_fast(context, team, i % context->size, i % 3 == 0 ? 700 : LONG_BYTES);
    failures += check_rings(team, false, near);
    if (context->rank == 1)
        sb_rings(team)->copies.of[0][0].spent = UINT64_MAX / 2;
    for (uint32_t i = 0; i < 2 * context->size; i++)
        failures += send_ring(context, team, i % context->size, LONG_BYTES);
    failures += check_rings(team, true, *whole) + send_ring(context, team, 2, 2 * near);
    sb_team_destroy(team);
    return failures;
}

static void rings_grow_with_what_is_sent(void **state)
{
    size_t whole = (size_t)2 << 20, near = whole / 8;

    (void)state;
    assert_int_equal(job_run(3, 20, grow_rings, &whole), 0);
    /* One rank has no more memory: all go on with what they have. */
    assert_int_equal(job_run(3, 20, grow_rings, &near), 0);
}

#define SHORT_BYTES ((size_t)300)
#define SHORT_CALLS 600
#define SHORT_ROOM ((size_t)64 * 320)

/* Short messages go round in the first bytes of a ring: few pages of it are ever touched, and it
 * does not grow for them. Their lengths differ, so that the last one of a round leaves a rest that
 * is too short for the next. Readers are done when the next one is sent. */
static int send_short(rank_context_t *context, void *argument)
{
    int failures = 0;

    (void)argument;
    setenv("SOBOR_RING", "2MiB", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    for (uint32_t i = 0; i < SHORT_CALLS; i++) {
        failures += send_ring(context, team, i % context->size, SHORT_BYTES - i % 71);
        failures += barrier(team) != SB_OK;
        failures += sb_cursor_place(&sb_rings(team)->cursor) > SHORT_ROOM;
    }
    failures += send_ring(context, team, 0, SB_COPY_LEAST) + sb_rings(team)->whole;
    sb_team_destroy(team);
    return failures;
}

static void short_messages_touch_few_pages(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, send_short, NULL), 0);
}

#define SOME_BYTES ((size_t)16 << 10)
#define SOME_CALLS 60

/* What few messages go round in. */
typedef struct some {
    bool shares; /* their processors */
    double process_switch, byte;
    size_t least, most; /* messages that there is room for */
} some_t;

/* Messages go round in few pages until they have taken a multiple of what more of them take. */
static int send_some(rank_context_t *context, void *argument)
{
    const some_t *some = argument;
    int failures = 0;

    setenv("SOBOR_RING", "2MiB", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL || send_as_if_fast(context, team, 0, SOME_BYTES) != 0)
        return 1;
    sb_resource_t *resource = &sb_rings(team)->resource;
    /* As if the ring had been taken where nothing had pages. */
    resource->touched = SB_RING_AT;
    team->oversubscribed = some->shares;
    team->settings.prices.process_switch = some->process_switch;
    team->settings.prices.byte = some->byte;
    for (uint32_t i = 0; i < SOME_CALLS; i++)
        failures += send_as_if_fast(context, team, i % context->size, SOME_BYTES);
    failures += resource->touched > SB_RING_AT + some->most * SOME_BYTES;
    failures += resource->touched < SB_RING_AT + some->least * SOME_BYTES;
    sb_rings(team)->copies.of[0][0].spent = UINT64_MAX / 2;
    resource->block.page_ns = 1;
    for (uint32_t i = 0; i < SOME_CALLS; i++)
        failures += send_ring(context, team, i % context->size, SOME_BYTES);
    failures += resource->touched < SB_RING_AT + 8 * SOME_BYTES;
    sb_team_destroy(team);
    return failures;
}

static void few_messages_touch_few_pages(void **state)
{
    some_t apart = {false, 1e6, 1, 1, 4};
    some_t together = {true, 1, 1, 4, 8};
    /* A switch as long as a sixteenth of twelve messages. */
    some_t slowly = {true, 12 * SOME_BYTES / 16.0, 1, 12, 16};

    (void)state;
    assert_int_equal(job_run(3, 20, send_some, &apart), 0);
    assert_int_equal(job_run(3, 20, send_some, &together), 0);
    assert_int_equal(job_run(3, 20, send_some, &slowly), 0);
}

/* Longer messages than the near part go round in it. */
static int begin_long(rank_context_t *context, void *argument)
{
    (void)argument;
    setenv("SOBOR_RING", "2MiB", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    int failures = 0;
    for (uint32_t i = 0; i < 6; i++)
        failures += send_ring(context, team, i % 3, (size_t)(300 + 400 * i) << 10);
    failures += check_rings(team, false, (size_t)256 << 10);
    sb_team_destroy(team);
    return failures;
}

static void a_long_message_goes_round_in_the_near_part(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, begin_long, NULL), 0);
}

static sb_status_t add_bytes(const sb_operator_t *self, void *to, const void *const from[],
                             uint32_t n, size_t bytes)
{
    unsigned char *sum = to;

    (void)self;
    for (size_t i = 0; i < bytes; i++) {
        unsigned all = 0;
        for (uint32_t k = 0; k < n; k++)
            all += ((const unsigned char *)from[k])[i];
        sum[i] = (unsigned char)all;
    }
    return SB_OK;
}

static int sum_up(sb_team_t *team, const char *name, size_t bytes)
{
    const sb_algorithm_t *algorithm = sb_algorithm_find(SB_ALLREDUCE, name);
    const sb_operator_t operation = {.element = 1, .commutative = true, .fold = add_bytes};
    char *send = job_memory(bytes), *receive = job_memory(bytes);
    const sb_reduction_t reduction = {
        .operation = &operation, .bytes = bytes, .send = send, .receive = receive};
    int failures = sb_algorithm_prepare(algorithm, team, bytes) != SB_OK;

    memset(send, (int)team->rank + 1, bytes);
    failures += algorithm->reduction(team, &reduction) != SB_OK;
    for (size_t i = 0; i < bytes; i++)
        failures += receive[i] != (char)(team->size * (team->size + 1) / 2);
    free(send);
    free(receive);
    return failures;
}

/* What a reduction through rings touches, and that it makes nothing for those that go in steps. */
static int reduce_some(rank_context_t *context, void *argument)
{
    (void)argument;
    setenv("SOBOR_RING", "2MiB", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    int failures = sum_up(team, "rings", 5000);
    const sb_resource_t *block = &sb_workspace(team)->resource;
    failures += block->bytes > (size_t)512 << 10 || team->resource[SB_RESOURCE_BUFFERS] != NULL;
    failures += block->touched > sb_max(block->block.touched, block->bytes / 2);
    failures += sum_up(team, "reduce-scatter-allgather", 5000);
    failures += team->resource[SB_RESOURCE_BUFFERS] == NULL;
    failures += sum_up(team, "rings", (size_t)1 << 20);
    failures += sum_up(team, "reduce-scatter-allgather", (size_t)1 << 20);
    sb_team_destroy(team);
    return failures;
}

static void reductions_have_what_they_need(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, reduce_some, NULL), 0);
}

/* Of two ranks no short reduction waits for a page. */
static int reduce_shortly(rank_context_t *context, void *argument)
{
    (void)argument;
    setenv("SOBOR_RING", "2MiB", 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    int failures = sum_up(team, "rings", 256);
    const sb_workspace_t *space = sb_workspace(team);
    const sb_resource_t *block = &space->resource;
    /* On one processor the ring is a short one, and all of it is touched. */
    failures += block->touched < sizeof(sb_workspace_head_t) + space->span;
    failures += !team->oversubscribed && block->touched > block->bytes / 4;
    sb_team_destroy(team);
    return failures;
}

static void short_reductions_wait_for_no_page(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, 20, reduce_shortly, NULL), 0);
}

/* Each rank has measured other prices; those of rank 0 are the team's. */
static int measure_apart(rank_context_t *context, void *argument)
{
    static sb_prices_t prices;

    (void)argument;
    prices = sb_prices_standard;
    prices.line = 100.0 + context->rank;
    sb_settings_price(&prices);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    int failures = team->settings.prices.line != 100.0;
    failures += sb_team_shape(team).prices->line != 100.0;
    sb_team_destroy(team);
    return failures;
}

static void prices_are_those_of_rank_0(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, measure_apart, NULL), 0);
}

/* After all that went before, refusals and deaths included. Others on this machine have names. */
static void no_name_is_left(void **state)
{
    DIR *folder = opendir("/dev/shm");
    int pid;

    (void)state;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (sscanf(entry->d_name, "sobor.%d.", &pid) == 1 && kill(pid, 0) != 0 && errno == ESRCH)
            fail_msg("/dev/shm/%s is left by a process that has ended", entry->d_name);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_come_and_go),
        cmocka_unit_test(many_teams_live_at_once),
        cmocka_unit_test(the_root_may_leave_the_team_first),
        cmocka_unit_test(disagreement_is_told),
        cmocka_unit_test(a_dead_peer_is_an_error),
        cmocka_unit_test(departure_is_no_failure),
        cmocka_unit_test(a_stopped_peer_is_waited_for),
        cmocka_unit_test(sleepers_are_woken),
        cmocka_unit_test(set_up_is_agreed),
        cmocka_unit_test(rings_are_refused_by_all),
        cmocka_unit_test(rings_grow_with_what_is_sent),
        cmocka_unit_test(short_messages_touch_few_pages),
        cmocka_unit_test(few_messages_touch_few_pages),
        cmocka_unit_test(a_long_message_goes_round_in_the_near_part),
        cmocka_unit_test(reductions_have_what_they_need),
        cmocka_unit_test(short_reductions_wait_for_no_page),
        cmocka_unit_test(prices_are_those_of_rank_0),
        cmocka_unit_test(no_name_is_left),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
