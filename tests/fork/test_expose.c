/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts that are read where they lie: when the system ceases to allow it, when they lie in shared
 * memory, when a reader leaves while it is written to, and when a peer's plan is made up; and
 * broadcasts and contributions that are read where they are, by who can.
 */
#include "../refuse.h"
#include "job.h"

#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"
#include "coll/reduction/workspace.h"
#include "coll/vector/message.h"
#include "coll/vector/relays.h"
#include "data/fold.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 3

static uint64_t number_of(uint32_t from, uint32_t to, unsigned call)
{
    return from * 7 + to * 101 + call * 13 + 1;
}

static void fill(char *at, size_t bytes, uint32_t from, uint32_t to, unsigned call)
{
    job_fill(at, 1, bytes, number_of(from, to, call));
}

static int differs(const char *at, size_t bytes, uint32_t from, uint32_t to, unsigned call)
{
    size_t wrong = job_mismatch(at, 1, bytes, number_of(from, to, call));

    if (wrong < bytes)
        fprintf(stderr, "call %u: byte %zu from rank %u to %u is wrong\n", call, wrong, from, to);
    return wrong < bytes;
}

/* One call of all to all of `bytes` a part, the parts at `sent`. */
static int exchange(sb_team_t *team, unsigned call, size_t bytes, char *sent, bool in_place)
{
    char *received = in_place ? sent : job_memory(team->size * bytes);
    sb_stream_t from[RANKS], to[RANKS];
    int failed;

    for (uint32_t i = 0; i < team->size; i++) {
        fill(sent + i * bytes, bytes, team->rank, i, call);
        from[i] = (sb_stream_t){.base = sent + i * bytes, .bytes = bytes};
        to[i] = (sb_stream_t){.base = received + i * bytes, .bytes = bytes};
    }
    sb_parts_t parts = {.in_place = in_place, .send = from, .receive = to};
    failed = sb_alltoall_direct.parts(team, &parts) != SB_OK;
    for (uint32_t i = 0; i < team->size; i++)
        failed += differs(received + i * bytes, bytes, i, team->rank, call);
    if (!in_place)
        free(received);
    return failed;
}

/* One call in which all get the parts of all, or the root does. */
static int collect(sb_team_t *team, const sb_algorithm_t *algorithm, unsigned call, size_t bytes)
{
    bool rooted = algorithm->collective == SB_GATHER;
    uint32_t root = call % team->size;
    char *memory = job_memory((team->size + 1) * bytes);
    sb_stream_t from = {.base = memory, .bytes = bytes}, to[RANKS];
    bool receives = !rooted || team->rank == root;
    int failed;

    fill(memory, bytes, team->rank, 0, call);
    for (uint32_t i = 0; i < team->size; i++)
        to[i] = (sb_stream_t){.base = memory + (i + 1) * bytes, .bytes = bytes};
    sb_parts_t parts = {.root = root, .send = &from, .receive = receives ? to : NULL};
    failed = algorithm->parts(team, &parts) != SB_OK;
    for (uint32_t i = 0; i < team->size && receives; i++)
        failed += differs(to[i].base, bytes, i, 0, call);
    free(memory);
    return failed;
}

static int deal(sb_team_t *team, unsigned call, size_t bytes)
{
    uint32_t root = call % team->size;
    char *memory = job_memory((team->size + 1) * bytes);
    sb_stream_t to = {.base = memory, .bytes = bytes}, from[RANKS];
    int failed;

    for (uint32_t i = 0; i < team->size; i++) {
        from[i] = (sb_stream_t){.base = memory + (i + 1) * bytes, .bytes = bytes};
        fill(from[i].base, bytes, root, i, call);
    }
    sb_parts_t parts = {.root = root, .send = team->rank == root ? from : NULL, .receive = &to};
    failed = sb_scatter_direct.parts(team, &parts) != SB_OK;
    failed += differs(memory, bytes, root, team->rank, call);
    free(memory);
    return failed;
}

static int call_each(sb_team_t *team, unsigned call, size_t bytes)
{
    char *sent = job_memory(team->size * bytes);
    int failed = collect(team, &sb_gather_direct, call, bytes) +
                 collect(team, &sb_allgather_direct, call, bytes) + deal(team, call, bytes) +
                 exchange(team, call, bytes, sent, false);

    free(sent);
    return failed;
}

static sb_team_t *team_with_mesh(rank_context_t *context)
{
    sb_team_t *team = job_team(context);

    return team != NULL && sb_mesh_prepare(team) == SB_OK ? team : NULL;
}

static void leave(const rank_context_t *context, sb_team_t *team)
{
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
}

/* From now on this process may reach into nobody's memory. */
static bool give_up_rights(void)
{
    return refuse_calls(SYS_process_vm_readv, SYS_process_vm_writev);
}

/* Some ranks lose the right to read others: all data is right, and soon nobody tries any more. */
static int run_refused(rank_context_t *context, void *argument)
{
    uint32_t losers = *(const uint32_t *)argument;
    sb_team_t *team = team_with_mesh(context);
    int failures = team == NULL || !sb_mesh(team)->expose.kernel;

    for (unsigned call = 0; call < 12 && failures == 0; call++) {
        if (call == 4 && context->rank < losers)
            failures += !give_up_rights();
        failures += call_each(team, call, call % 3 == 0 ? 70000 : 400000);
    }
    const sb_expose_t *expose = &sb_mesh(team)->expose;
    bool lost = context->rank < losers;
    failures += expose->failed != (lost ? context->size - 1 : 0);
    failures += expose->blind != losers - lost;
    leave(context, team);
    return failures;
}

static sb_status_t take_in(void *context, size_t offset, const void *from, size_t bytes)
{
    memcpy((char *)context + offset, from, bytes);
    return SB_OK;
}

/* One broadcast, taken in by functions at every other rank. */
static int broadcast(sb_team_t *team, const sb_algorithm_t *algorithm, unsigned call, size_t bytes)
{
    uint32_t root = call % team->size;
    char *memory = job_memory(bytes);
    bool plain = team->rank == root || team->rank % 2 == 0;
    sb_stream_t stream = {
        .base = plain ? memory : NULL, .bytes = bytes, .write = take_in, .context = memory};

    if (team->rank == root)
        fill(memory, bytes, root, 0, call);
    int failed = sb_bcast(algorithm, team, root, &stream) != SB_OK;
    failed += differs(memory, bytes, root, 0, call);
    free(memory);
    return failed;
}

/* The same for broadcasts. A root hears of a loser at the first message that this refuses. */
static int run_bcast_refused(rank_context_t *context, void *argument)
{
    static const sb_algorithm_t *const algorithms[] = {&sb_bcast_ring, &sb_bcast_tree};
    uint32_t losers = *(const uint32_t *)argument;
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    for (unsigned call = 0; call < 24 && failures == 0; call++) {
        if (call == 12 && context->rank < losers)
            failures += !give_up_rights();
        failures +=
            broadcast(team, algorithms[call % 2], call, call % 3 == 0 ? 70000 : 400000 + call);
        failures += call == 11 && sb_rings(team)->expose.copied < 8;
    }
    const sb_expose_t *expose = &sb_rings(team)->expose;
    bool lost = context->rank < losers;
    failures += expose->failed != (lost ? context->size - 1 : 0);
    failures += expose->blind != losers - lost;
    leave(context, team);
    return failures;
}

/* One reduce of numbers of 64 bits, every other one in place. */
static int reduce(sb_team_t *team, unsigned call, size_t count)
{
    bool receives = team->rank == call % team->size, in_place = receives && call % 2 == 0;
    uint64_t *memory = (uint64_t *)(void *)job_memory(2 * count * sizeof *memory), wrong = 0;
    uint64_t *result = memory + count, *send = in_place ? result : memory;
    const sb_reduction_t reduction = {.root = call % team->size,
                                      .operation = sb_fold_operator(SB_SUM, SB_UINT64),
                                      .bytes = count * sizeof *memory,
                                      .send = (char *)send,
                                      .receive = receives ? (char *)result : NULL};

    for (size_t i = 0; i < count; i++)
        send[i] = i * (call + 1) + team->rank;
    int failed = sb_algorithm_prepare(&sb_reduce_rings, team, reduction.bytes) != SB_OK ||
                 sb_reduce_rings.reduction(team, &reduction) != SB_OK;
    uint64_t ranks = team->size * (team->size - 1) / 2;
    for (size_t i = 0; receives && i < count; i++)
        wrong += result[i] != team->size * (i * (call + 1)) + ranks;
    if (wrong > 0)
        fprintf(stderr, "call %u: %llu sums are wrong\n", call, (unsigned long long)wrong);
    free(memory);
    return failed + (wrong > 0);
}

/* The same for what is lent to a root: who was refused lends it no more. */
static int run_reduce_refused(rank_context_t *context, void *argument)
{
    uint32_t losers = *(const uint32_t *)argument;
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    for (unsigned call = 0; call < 24 && failures == 0; call++) {
        if (call == 12 && context->rank < losers)
            failures += !give_up_rights();
        failures += reduce(team, call, call % 3 == 0 ? 9000 : 50000 + call);
        failures += call == 11 && sb_workspace(team)->expose.copied < 8;
    }
    const sb_expose_t *expose = &sb_workspace(team)->expose;
    bool lost = context->rank < losers;
    failures += (expose->failed > 0) != lost;
    failures += expose->blind != losers - lost;
    leave(context, team);
    return failures;
}

/* Who gives nothing has nothing to lend, and waits for no answer. */
static int run_reduce_nothing(rank_context_t *context, void *argument)
{
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    (void)argument;
    for (unsigned call = 0; call < 12 && failures == 0; call++)
        failures += reduce(team, call, call % 2 == 0 ? 9000 : 0);
    leave(context, team);
    return failures;
}

/* One scan of numbers of 64 bits. */
static int scan(sb_team_t *team, unsigned call, size_t count, bool in_place)
{
    uint64_t *memory = (uint64_t *)(void *)job_memory(2 * count * sizeof *memory), wrong = 0;
    uint64_t *result = memory + count, *send = in_place ? result : memory;
    const sb_reduction_t reduction = {.operation = sb_fold_operator(SB_SUM, SB_UINT64),
                                      .bytes = count * sizeof *memory,
                                      .send = (char *)send,
                                      .receive = (char *)result};

    for (size_t i = 0; i < count; i++)
        send[i] = i * (call + 1) + team->rank;
    int failed = sb_algorithm_prepare(&sb_scan_rings, team, reduction.bytes) != SB_OK ||
                 sb_scan_rings.reduction(team, &reduction) != SB_OK;
    uint64_t ranks = team->rank + 1;
    for (size_t i = 0; i < count; i++)
        wrong += result[i] != ranks * (i * (call + 1)) + ranks * (ranks - 1) / 2;
    free(memory);
    return failed + (wrong > 0);
}

/* Of two ranks the first lends what it gives to a scan, but in place. */
static int run_scan_lent(rank_context_t *context, void *argument)
{
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    (void)argument;
    for (unsigned call = 0; call < 12 && failures == 0; call++)
        failures += scan(team, call, call % 3 == 0 ? 900 : 50000 + call, call >= 6);
    failures += failures == 0 && sb_workspace(team)->expose.copied < 6 * team->rank;
    leave(context, team);
    return failures;
}

/* What lies in the own block is read by loads, though nothing else may be read. */
static int run_mapped(rank_context_t *context, void *argument)
{
    sb_team_t *team = team_with_mesh(context);
    const size_t bytes = 20000;
    int failures = team == NULL;

    (void)argument;
    if (failures == 0) {
        sb_mesh_t *mesh = sb_mesh(team);
        failures += mesh->expose.kernel || mesh->all.staged.room < RANKS * bytes;
        for (unsigned call = 0; call < 5 && failures == 0; call++)
            failures += exchange(team, call, bytes, mesh->all.area, false);
        failures += mesh->expose.mapped != 5u * (context->size - 1) || mesh->expose.copied != 0;
    }
    leave(context, team);
    return failures;
}

#define LARGE ((size_t)64 << 20)

/* The root leaves a call that failed, while a sender writes into its memory: it does no longer. */
static int run_left(rank_context_t *context, void *argument)
{
    sb_team_t *team = team_with_mesh(context);
    char *memory = calloc(1, LARGE);
    sb_stream_t stream = {.base = memory, .bytes = LARGE};
    int failures = team == NULL || memory == NULL;

    (void)argument;
    memset(memory, context->rank == 0 ? 0 : 7, LARGE);
    if (context->rank == 0)
        sb_invite(team, 1, &stream);
    job_synchronise(context);
    if (context->rank == 0) {
        while (((volatile char *)memory)[0] == 0)
            usleep(10);
        failures += sb_mesh_finish(team, SB_ERR_PEER_DEAD) != SB_ERR_PEER_DEAD;
        memset(memory, 3, LARGE);
    } else if (context->rank == 1) {
        sb_sending_t sending = {.stream = &stream, .prefer = SB_PREFER_PUSHED};
        failures += sb_send(team, &sending, SIZE_MAX, true) != SB_OK;
        failures += sending.route != SB_ROUTE_PUSHED;
    }
    job_synchronise(context);
    for (size_t i = 0; i < LARGE && context->rank == 0 && failures == 0; i++)
        failures += memory[i] != 3;
    free(memory);
    leave(context, team);
    return failures;
}

/* Who is invited by one that has gone already does not write at all. */
static int run_withdrawn(rank_context_t *context, void *argument)
{
    sb_team_t *team = team_with_mesh(context);
    char memory[2000] = {0};
    sb_stream_t stream = {.base = memory, .bytes = sizeof memory};
    int failures = team == NULL;

    (void)argument;
    if (context->rank == 0) {
        sb_invite(team, 1, &stream);
        sb_mesh_finish(team, SB_ERR_PEER_DEAD);
    }
    job_synchronise(context);
    if (context->rank == 1) {
        sb_sending_t sending = {.stream = &stream, .prefer = SB_PREFER_PUSHED};
        memset(memory, 7, sizeof memory);
        failures += sb_send(team, &sending, SIZE_MAX, false) != SB_OK;
        failures += sending.route == SB_ROUTE_PUSHED;
    }
    job_synchronise(context);
    failures += context->rank == 0 && memory[0] != 0;
    leave(context, team);
    return failures;
}

/* A plan that a peer may have made up. */
typedef struct forged {
    const char *what;
    uint32_t note;
    sb_vector_plan_t plan;
    bool to_all; /* on the flow to all */
} forged_t;

static const forged_t forgeries[] = {
    {"fragments of nothing", SB_NOTE_PLAN, {.bytes = 1000}, false},
    {"a length beyond all memory", SB_NOTE_PLAN, {.bytes = UINT64_MAX - 5, .fragment = 64}, false},
    {"a place beyond all areas", SB_NOTE_PLAN, {UINT64_MAX - 63, 1000, {0}, 0, 64, 0}, false},
    {"a time asked for that is nobody's",
     SB_NOTE_PLAN,
     {.bytes = 1000, .fragment = 64, .mode = SB_PLAN_SOLE},
     false},
    {"a window that is not there",
     SB_NOTE_PLAN,
     {.bytes = 1000, .fragment = 64, .mode = SB_PLAN_SWAPPED},
     false},
    {"a push with a question", SB_NOTE_PUSHED, {.bytes = 1000, .mode = SB_PLAN_SOLE}, false},
    {"a short message beyond its slot", 100000, {.bytes = 1000}, false},
    {"a short message to all beyond its slot", SB_SLOT_PAYLOAD + 1, {.bytes = 241}, true},
};

static int run_forged(rank_context_t *context, void *argument)
{
    const forged_t *forged = argument;
    sb_team_t *team = team_with_mesh(context);
    char memory[1000];
    sb_stream_t stream = {.base = memory, .bytes = sizeof memory};
    int failures = team == NULL;

    memset(memory, 0x5a, sizeof memory);
    if (context->rank == 1) {
        sb_mesh_t *mesh = sb_mesh(team);
        const sb_outlet_t *out = forged->to_all ? &mesh->all : &mesh->peer[0].out;
        sb_put_plan(mesh, out, forged->note, &forged->plan);
    }
    job_synchronise(context);
    if (context->rank == 0) {
        sb_receiving_t receiving = {.stream = &stream, .peer = 1, .of_all = forged->to_all};
        /* Who takes such a plan for good is not to wait for what it promises. */
        failures += sb_receive(team, &receiving, SIZE_MAX, false) != SB_ERR_TRUNCATE;
        failures += team->failure != SB_ERR_TRUNCATE;
        for (size_t i = 0; i < sizeof memory; i++)
            failures += memory[i] != 0x5a;
    }
    leave(context, team);
    return failures;
}

/* A chunk that would be longer than its place. */
static int run_forged_chunk(rank_context_t *context, void *argument)
{
    sb_team_t *team = job_team(context);
    char memory[RANKS * 8];
    sb_stream_t streams[RANKS];
    int failures = team == NULL || sb_relays_prepare(team) != SB_OK;

    (void)argument;
    if (context->rank == 1) {
        sb_chunk_t *chunk = sb_relay_chunk(team, 1, 0);
        sb_flag_set_note(&chunk->flag, SB_RELAY_BYTES);
        sb_flag_publish(&chunk->flag, 1);
    } else if (context->rank == 0) {
        for (uint32_t i = 0; i < RANKS; i++)
            streams[i] = (sb_stream_t){.base = memory + i * 8, .bytes = 8};
        sb_parts_t parts = {.in_place = true, .send = streams, .receive = streams};
        failures += sb_allgather_numa_relay.parts(team, &parts) != SB_ERR_TRUNCATE;
    }
    leave(context, team);
    return failures;
}

#define LEARNT_BYTES ((size_t)64 << 10)
#define LATE_NS UINT64_C(20000000)

/* What was learnt of all ways, of either kind of buffers. */
static bool knows_all(const sb_copy_policy_t *policy, size_t bytes, uint8_t ways)
{
    size_t number = sb_copy_class(bytes);
    bool all = true;

    for (uint8_t mode = 0; mode < policy->modes; mode++)
        all = all && policy->of[0][number].ns[mode] + policy->of[1][number].ns[mode] > 0;
    return all && policy->modes == ways;
}

/* The third way is found to be by far the fastest, and no trial is near. */
static void prefer_third(sb_copy_policy_t *policy, size_t bytes)
{
    for (size_t again = 0; again < 2; again++) {
        sb_copy_class_t *class = &policy->of[again][sb_copy_class(bytes)];
        *class = (sb_copy_class_t){.ns = {LATE_NS, LATE_NS, 1}, .rest = 32};
    }
}

/* A part of two ranks whose sender has chosen that it is read where it is, and that its reader is
 * refused, is longer than what messages of an exchange go round in. */
static int run_sole_refused(rank_context_t *context, void *argument)
{
    enum { BYTES = 400000 };
    sb_team_t *team = team_with_mesh(context);
    int failures = team == NULL;

    (void)argument;
    for (unsigned call = 0; call < 12 && failures == 0; call++) {
        if (call == 4 && context->rank == 0)
            failures += !give_up_rights();
        prefer_third(&sb_mesh(team)->sole.policy, BYTES);
        failures += deal(team, call, BYTES);
        prefer_third(&sb_mesh(team)->sole.policy, BYTES);
        failures += collect(team, &sb_gather_direct, call, BYTES);
    }
    if (failures == 0)
        failures += sb_mesh(team)->expose.failed != (context->rank == 0 ? 1 : 0);
    leave(context, team);
    return failures;
}

/* Between two ranks a sender tries all ways, and hears what each takes. */
static int run_learnt(rank_context_t *context, void *argument)
{
    sb_team_t *team = team_with_mesh(context);
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    sb_mesh_t *mesh = sb_mesh(team);
    mesh->sole.policy.floor[2] = 0;
    mesh->sole.policy.touched = NULL;
    for (unsigned call = 0; call < 2400; call++)
        failures +=
            collect(team, &sb_gather_direct, call, LEARNT_BYTES) + deal(team, call, LEARNT_BYTES);
    failures += !mesh->sole.measured || !knows_all(&mesh->sole.policy, LEARNT_BYTES, 4);
    leave(context, team);
    return failures;
}

/* What two ranks swap has pages as far as it is used, and what one of them deals none of those:
 * that goes round in twice as much as what all send each other. */
static int run_paged(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)8 << 10;
    sb_team_t *team = team_with_mesh(context);
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    sb_mesh_t *mesh = sb_mesh(team);
    size_t before = mesh->resource.touched, farthest = 0;
    char *sent = job_memory(2 * bytes);

    mesh->sole.policy.modes = 2; /* none goes far round, through all pages */
    for (unsigned call = 0; call < 80; call++) {
        failures += deal(team, call, bytes);
        farthest = sb_max(farthest, sb_cursor_place(&mesh->peer[1 - team->rank].out.cursor));
    }
    size_t most = sb_window_end(mesh, SB_COPY_CACHED, mesh->sole.measured);
    failures += mesh->resource.touched > sb_max(most, 2 * before);
    failures += sb_mesh_is_wide(mesh) && farthest <= mesh->bytes;
    failures += mesh->swap.touched != 0 || exchange(team, 80, SB_PAGE / 2 + 8, sent, false);
    failures += mesh->swap.touched != SB_PAGE;
    free(sent);
    leave(context, team);
    return failures;
}

/* Who has no window has its part read where it is, and makes no pages of the area. */
static int run_windowless(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)32 << 10;
    sb_team_t *team = team_with_mesh(context);

    (void)argument;
    if (team == NULL)
        return 1;
    sb_mesh_t *mesh = sb_mesh(team);
    size_t before = mesh->resource.touched;
    char *sent = job_memory(2 * bytes);

    mesh->copies.policy.fixed = SB_COPY_CACHED;
    int failures = exchange(team, 0, bytes, sent, false);
    failures += mesh->swap.touched != bytes;
    mesh->swap.count *= team->rank;
    failures += exchange(team, 1, bytes, sent, false) + exchange(team, 2, bytes, sent, false);
    failures += mesh->resource.touched != before;
    free(sent);
    leave(context, team);
    return failures;
}

/* Where ranks share processors parts of an exchange that fit an area are tried staged and exposed.
 */
static int run_exchange_learnt(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)16 << 10, number = sb_copy_class(bytes);
    int failures = 0;

    (void)argument;
    setenv("SOBOR_RING", "512KiB", 1);
    sb_team_t *team = team_with_mesh(context);
    if (team == NULL)
        return 1;
    char *sent = job_memory(team->size * bytes);
    sb_mesh_t *mesh = sb_mesh(team);
    for (unsigned call = 0; call < 200; call++)
        failures += exchange(team, call, bytes, sent, false);
    failures += !mesh->crowded;
    failures += team->rank == 0 && !mesh->exchanged.of[number].compared;
    failures += mesh->bytes < bytes || mesh->expose.copied == 0;
    free(sent);
    leave(context, team);
    return failures;
}

/* What an exchange in place takes says nothing of those that may be read where they are: it has
 * ways of its own. */
static int run_in_place_learnt(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)64 << 10, number = sb_copy_class(bytes);
    sb_team_t *team = team_with_mesh(context);
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    char *sent = job_memory(team->size * bytes);
    sb_mesh_t *mesh = sb_mesh(team);
    mesh->in_place.policy.touched = NULL;
    for (unsigned call = 0; call < 2400; call++)
        failures += exchange(team, call, bytes, sent, true);
    for (unsigned again = 0; again < 2; again++) {
        for (uint8_t mode = 0; mode < mesh->copies.policy.modes; mode++)
            failures += mesh->copies.policy.of[again][number].ns[mode] > 0;
    }
    failures += team->rank == 0 && !knows_all(&mesh->in_place.policy, bytes, 3);
    free(sent);
    leave(context, team);
    return failures;
}

/* There the root of a gather tries both ways of long parts, and the others do as it shows. */
static int run_collecting_learnt(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)16 << 10, number = sb_copy_class(bytes);
    sb_team_t *team = team_with_mesh(context);
    uint64_t copied[RANKS] = {0};
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    sb_mesh_t *mesh = sb_mesh(team);
    for (unsigned call = 0; call < 200 * team->size; call++)
        failures += collect(team, &sb_gather_direct, call, bytes);
    failures += job_allgather(context, &mesh->expose.copied, copied, sizeof *copied) != SB_OK;
    for (unsigned call = 0; call < 200 * team->size; call++)
        failures += deal(team, call, bytes);
    const sb_block_class_t *dealt = &mesh->collecting.dealing.of[number];
    failures += !mesh->crowded || !dealt->compared || !dealt->gaps.told;
    failures +=
        !mesh->collecting.policy.of[number].compared || copied[0] + copied[1] + copied[2] == 0;
    leave(context, team);
    return failures;
}

/* One gather to rank 0 of parts of two lengths: the last rank's is four times as long. */
static int collect_uneven(sb_team_t *team, unsigned call, size_t bytes)
{
    char *memory = job_memory((team->size + 1) * 4 * bytes);
    sb_stream_t from, to[RANKS];
    int failed;

    for (uint32_t i = 0; i < team->size; i++) {
        size_t part = i + 1 == team->size ? 4 * bytes : bytes;
        to[i] = (sb_stream_t){.base = memory + (i + 1) * 4 * bytes, .bytes = part};
    }
    from = (sb_stream_t){.base = memory, .bytes = to[team->rank].bytes};
    fill(memory, from.bytes, team->rank, 0, call);
    sb_parts_t parts = {.send = &from, .receive = team->rank == 0 ? to : NULL};
    failed = sb_gather_direct.parts(team, &parts) != SB_OK;
    for (uint32_t i = 0; i < team->size && team->rank == 0; i++)
        failed += differs(to[i].base, to[i].bytes, i, 0, call);
    free(memory);
    return failed;
}

/*
 * Who is asked to have its part copied by the kernel waits until the root has begun, and copies it
 * itself: of a root that always comes last nothing is left to read. Where the root invites nobody,
 * because of a longer part, who has waited passes its own through the area.
 */
static int run_asked(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)16 << 10, number = sb_copy_class(bytes);
    sb_team_t *team = team_with_mesh(context);
    uint64_t before = 0;
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    sb_mesh_t *mesh = sb_mesh(team);
    mesh->collecting.policy.of[number - 1] = (sb_block_class_t){.compared = true, .usual = 1};
    for (unsigned call = 0; call < 4; call++) {
        job_synchronise(context);
        if (team->rank == 0)
            usleep(2000);
        failures += collect(team, &sb_gather_direct, call * team->size, bytes);
        /* In the first call nobody knows but who comes even later. */
        before = call == 0 && team->rank != 0 ? mesh->expose.copied : before;
    }
    failures += !mesh->crowded || mesh->expose.copied != before + (team->rank == 0 ? 0 : 3);
    failures += collect_uneven(team, 4, bytes);
    failures += mesh->expose.copied != before + (team->rank == 0 ? 0 : 3);
    leave(context, team);
    return failures;
}

/* And that of a reduce how contributions come. On a busy machine more calls than usual are needed
 * until both ways have been compared. */
static int run_crowded_reduce_learnt(rank_context_t *context, void *argument)
{
    enum { COUNT = 2048, MOST = 8000, AT_ONCE = 200 };
    sb_team_t *team = job_team(context);
    const size_t bytes = COUNT * sizeof(uint64_t), number = sb_copy_class(bytes);
    bool knows[RANKS] = {false};
    int failures = team == NULL || !team->oversubscribed;

    (void)argument;
    for (unsigned call = 0; call < MOST && failures == 0 && !knows[0]; call++) {
        failures += reduce(team, team->size * call, COUNT);
        bool own =
            sb_workspace(team)->blocks.of[number].compared && sb_workspace(team)->expose.copied > 0;
        if (call % AT_ONCE == AT_ONCE - 1)
            failures += job_allgather(context, &own, knows, sizeof own) != SB_OK;
    }
    return failures + !knows[0];
}

/* A part that is to be read where it is does not pass through the area because its sender is ahead
 * of the root, which has not invited it yet; nor because it is short. */
static int run_ahead(rank_context_t *context, void *argument)
{
    static const size_t sizes[] = {4 << 10, 8 << 10, 16 << 10, 64 << 10};
    sb_team_t *team = team_with_mesh(context);
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    sb_mesh_t *mesh = sb_mesh(team);
    for (size_t i = 0; i < SB_COUNT_OF(sizes); i++)
        prefer_third(&mesh->sole.policy, sizes[i]);
    for (unsigned call = 0; call < 2 * SB_COUNT_OF(sizes); call++) {
        job_synchronise(context);
        if (team->rank == call % 2)
            usleep(2000);
        failures += collect(team, &sb_gather_direct, call, sizes[call / 2]);
    }
    /* On a busy machine who should have been ahead may have been invited, and has pushed. */
    uint64_t copied[2] = {0};
    failures += job_allgather(context, &mesh->expose.copied, copied, sizeof *copied) != SB_OK;
    failures += !mesh->sole.measured || copied[0] + copied[1] != 2 * SB_COUNT_OF(sizes);
    leave(context, team);
    return failures;
}

/* A root tries all ways in which contributions come, also if `argument` of them could not be read:
 * whose they were lends no more by itself. What its senders have given before they saw what it
 * shows does not count: there is room for as much in the first lap. */
static int run_reduce_learnt(rank_context_t *context, void *argument)
{
    enum { COUNT = 1024 };
    sb_team_t *team = job_team(context);
    const size_t bytes = COUNT * sizeof(uint64_t), number = sb_copy_class(bytes);
    uint32_t warming = 0;
    int failures = team == NULL;

    /* On a busy machine a trial is now and then broken off, and the next one comes 2,000 later. */
    for (unsigned call = 0; call < 10000 && failures == 0; call++) {
        failures += reduce(team, 2 * call, COUNT);
        /* However fast the others are, and slow new memory. */
        sb_workspace(team)->lending.floor[2] = 0;
        sb_workspace(team)->lending.touched = NULL;
        sb_workspace(team)->expose.failed = *(const uint64_t *)argument;
        for (size_t again = 0; again < 2; again++) {
            const sb_copy_class_t *class = &sb_workspace(team)->lending.of[again][number];
            if (class->tried == 2 && class->stage == SB_COPY_FIRST_LAP)
                warming = sb_max(warming, class->trial.left);
        }
    }
    if (failures == 0 && team->rank == 0) {
        failures += !knows_all(&sb_workspace(team)->lending, bytes, 4);
        failures += warming + 1 < sb_workspace(team)->span / bytes;
    }
    leave(context, team);
    return failures;
}

/* A heap in which others find nothing: the kernel copies what is by loads. */
static const char *reach_nothing(int process, uint64_t address, size_t bytes, bool told)
{
    (void)process, (void)address, (void)bytes, (void)told;
    return NULL;
}

static bool shares_all(const void *base, size_t bytes)
{
    (void)base, (void)bytes;
    return true;
}

static const uint64_t *no_number(void)
{
    return NULL;
}

/* The other rank has given its contribution to the root's next message. */
static void wait_given(const sb_team_t *team)
{
    const sb_flag_t *given = &sb_workspace_head(team, 1)->given.flag;

    while (sb_flag_read(given) <= sb_workspace(team)->cursor.position)
        sched_yield();
}

/*
 * Of the two ways that blocks of calls are compared for, the root takes one and the other rank,
 * which is ahead, has gone another: such a call is in no block. The first is after 16 calls or so.
 */
static int run_reduce_behind(rank_context_t *context, void *argument)
{
    enum { COUNT = 1024 };
    static const sb_heap_t heap = {
        .reach = reach_nothing, .shares = shares_all, .may_share = shares_all, .number = no_number};
    const size_t number = sb_copy_class(COUNT * sizeof(uint64_t));
    sb_heap = &heap;
    sb_team_t *team = job_team(context);
    unsigned behind = 0;
    int failures = team == NULL;

    (void)argument;
    if (team != NULL)
        team->settings.loads = SB_COPY_LEAST;
    for (unsigned call = 0; call < 10000 && failures == 0; call++) {
        if (call > 0 && team->rank == 0)
            wait_given(team);
        uint64_t copied = call > 0 ? sb_workspace(team)->expose.copied : 0;
        failures += reduce(team, 2 * call, COUNT);
        const sb_workspace_t *space = sb_workspace(team);
        bool chosen = space->choice.mode == SB_COPY_PULLED;
        if (!space->choice.loads || chosen == (space->expose.copied > copied))
            continue;
        behind++;
        failures += space->lent_by[space->choice.again].of[number].call != 0;
    }
    if (failures > 0 && behind > 0)
        fprintf(stderr, "a call that went otherwise is in a block\n");
    failures += team != NULL && team->rank == 0 && behind == 0;
    leave(context, team);
    return failures;
}

/* In other buffers each time blocks of calls are compared as those of a rank that reads itself: who
 * decides how two ranks exchange does. */
static int run_exchange_reads(rank_context_t *context, void *argument)
{
    enum { BYTES = 64 << 10, PLACES = 4, CALLS = 400 };
    static const sb_heap_t heap = {
        .reach = reach_nothing, .shares = shares_all, .may_share = shares_all, .number = no_number};
    sb_heap = &heap;
    sb_team_t *team = job_team(context);
    char *memory = job_memory((size_t)PLACES * 2 * BYTES);
    int failures = team == NULL;

    (void)argument;
    if (team != NULL)
        team->settings.loads = SB_COPY_LEAST;
    failures += failures == 0 && sb_mesh_prepare(team) != SB_OK;
    for (unsigned call = 0; call < CALLS && failures == 0; call++)
        failures +=
            exchange(team, call, BYTES, memory + (size_t)(call % PLACES) * 2 * BYTES, false);
    if (failures == 0 && team->rank == 0) {
        const sb_block_class_t *class = &sb_mesh(team)->loaded[0].of[sb_copy_class(BYTES)];
        failures += !class->compared || !class->fresh;
        if (failures > 0)
            fprintf(stderr, "blocks of other buffers are compared as of who does not read\n");
    }
    free(memory);
    leave(context, team);
    return failures;
}

/* A broadcast's root says what calls by each way take it where blocks are compared, and they are
 * compared anew when the ring has grown. */
static int run_bcast_weighed(rank_context_t *context, void *argument)
{
    enum { BYTES = 64 << 10, CALLS = 400, LONG_REST = 1 << 20 };
    static const sb_heap_t heap = {
        .reach = reach_nothing, .shares = shares_all, .may_share = shares_all, .number = no_number};
    sb_heap = &heap;
    sb_team_t *team = job_team(context);
    bool said = false;

    (void)argument;
    if (team == NULL)
        return 1;
    team->settings.loads = SB_COPY_LEAST;
    team->settings.grows = 2;
    int failures = broadcast(team, &sb_bcast_ring, 0, BYTES);
    sb_rings_t *rings = sb_rings(team);
    rings->loaded[0].of[0].rest_even = LONG_REST;
    for (unsigned call = 1; call < CALLS; call++)
        failures += broadcast(team, &sb_bcast_ring, 2 * call, BYTES);
    for (int again = 0; again < 2; again++) {
        const uint64_t *own = rings->loaded[again].of[sb_copy_class(BYTES)].own;
        said = said || (own[0] > 0 && own[1] > 0);
    }
    rings->copies.of[0][0].spent = UINT64_MAX / 2;
    for (unsigned call = CALLS; call < CALLS + 8; call++)
        failures += broadcast(team, &sb_bcast_ring, 2 * call, BYTES);
    if (team->rank == 0)
        failures += !said || !rings->whole || rings->loaded[0].of[0].rest_even == LONG_REST;
    leave(context, team);
    return failures;
}

/* The time of who comes late is counted from then, whatever the sender has left in the area. */
static int run_late(rank_context_t *context, void *argument)
{
    sb_team_t *team = team_with_mesh(context);
    size_t number = sb_copy_class(LEARNT_BYTES);
    int failures = 0;

    (void)argument;
    if (team == NULL)
        return 1;
    sb_copy_policy_t *policy = &sb_mesh(team)->sole.policy;
    policy->of[0][number].ns[0] = policy->of[1][number].ns[0] = LATE_NS;
    policy->of[0][number].ns[1] = policy->of[1][number].ns[1] = LATE_NS / 2;
    /* Of the first of a kind of buffers none is timed, and a busy machine spoils others. */
    for (unsigned call = 0; call < 32; call += 2) {
        job_synchronise(context);
        if (team->rank == 1)
            usleep(2 * LATE_NS / 1000);
        failures += deal(team, call, LEARNT_BYTES);
    }
    failures += !sb_mesh(team)->sole.measured;
    if (team->rank == 0)
        failures += sb_min(policy->of[0][number].ns[1], policy->of[1][number].ns[1]) >= LATE_NS / 2;
    leave(context, team);
    return failures;
}

/* Words of what is run; without any, all is. */
static const char *only = "";

static int run_of(uint32_t ranks, const char *what, const char *cma,
                  int (*body)(rank_context_t *, void *), void *argument)
{
    if (strstr(what, only) == NULL)
        return 0;
    setenv("SOBOR_CMA", cma, 1);
    int failures = job_run_on(2, ranks, 60, body, argument);

    printf("%-50s %s\n", what, failures == 0 ? "ok" : "FAILED");
    return failures;
}

/* Two ranks that have a processor each. */
static int run_apart(const char *what, const char *cma, int (*body)(rank_context_t *, void *),
                     void *argument)
{
    if (job_has_room(2))
        return run_of(2, what, cma, body, argument);
    if (strstr(what, only) != NULL)
        printf("%-50s %s\n", what, JOB_NO_ROOM);
    return 0;
}

static int run_pair(const char *what, const char *cma, int (*body)(rank_context_t *, void *))
{
    return run_apart(what, cma, body, NULL);
}

#if defined(__x86_64__)

/* What goes past the caches ends within a line, which stays with its core until something takes it
 * from there: no fence is behind it. */
enum { STREAMED = 1000, STREAMED_WORDS = STREAMED / sizeof(uint64_t) };

static void stream(void *to, uint64_t value)
{
    for (size_t i = 0; i < STREAMED_WORDS; i++)
        __builtin_ia32_movnti64((long long *)to + i, (long long)value);
}

static int holds_others(const char *what, const void *at, uint64_t value)
{
    const uint64_t *words = at;
    uint64_t wrong = 0;

    for (size_t i = 0; i < STREAMED_WORDS; i++)
        wrong += words[i] != value;
    if (wrong > 0)
        fprintf(stderr, "%s: %llu words are not those of call %llu\n", what,
                (unsigned long long)wrong, (unsigned long long)value);
    return wrong > 0;
}

static int stream_bcast(sb_team_t *team, uint32_t root, char *memory, uint64_t value)
{
    const sb_stream_t whole = {.base = memory, .bytes = STREAMED};

    if (team->rank == root)
        stream(memory, value);
    return (sb_bcast(&sb_bcast_ring, team, root, &whole) != SB_OK) +
           holds_others("a broadcast", memory, value);
}

static int stream_exchange(sb_team_t *team, char *memory, uint64_t value)
{
    sb_stream_t from[2], to[2];
    const sb_parts_t parts = {.send = from, .receive = to};

    for (uint32_t i = 0; i < 2; i++) {
        from[i] = (sb_stream_t){.base = memory + i * STREAMED, .bytes = STREAMED};
        to[i] = (sb_stream_t){.base = memory + (2 + i) * STREAMED, .bytes = STREAMED};
        stream(from[i].base, value);
    }
    return (sb_alltoall_direct.parts(team, &parts) != SB_OK) +
           holds_others("an exchange", to[1 - team->rank].base, value);
}

/* The root clears what the other puts its part into. */
static int stream_gather(sb_team_t *team, uint32_t root, char *memory, uint64_t value)
{
    const sb_stream_t from = {.base = memory, .bytes = STREAMED};
    sb_stream_t to[2];
    const sb_parts_t parts = {.root = root, .send = &from, .receive = to};

    for (uint32_t i = 0; i < 2; i++)
        to[i] = (sb_stream_t){.base = memory + (1 + i) * STREAMED, .bytes = STREAMED};
    for (uint32_t i = 0; i < STREAMED_WORDS; i++)
        ((uint64_t *)(void *)memory)[i] = value;
    if (team->rank == root)
        stream(to[1 - root].base, 0);
    int failed = sb_gather_direct.parts(team, &parts) != SB_OK;
    return failed + (team->rank == root ? holds_others("a gather", to[1 - root].base, value) : 0);
}

static int stream_reduce(sb_team_t *team, uint32_t root, char *memory, uint64_t value)
{
    const sb_reduction_t reduction = {.root = root,
                                      .operation = sb_fold_operator(SB_SUM, SB_UINT64),
                                      .bytes = STREAMED,
                                      .send = memory,
                                      .receive = team->rank == root ? memory + STREAMED : NULL};

    stream(memory, value);
    int failed = sb_algorithm_prepare(&sb_reduce_rings, team, STREAMED) != SB_OK ||
                 sb_reduce_rings.reduction(team, &reduction) != SB_OK;
    return failed +
           (team->rank == root ? holds_others("a reduce", reduction.receive, 2 * value) : 0);
}

/* What a program has stored past its caches is there for who reads it where it is, and does not
 * fall upon what others have put there since. */
static int run_streamed(rank_context_t *context, void *argument)
{
    enum { CALLS = 20000 };
    sb_team_t *team = team_with_mesh(context);
    char *memory = aligned_alloc(SB_LINE, sb_round_up((size_t)4 * STREAMED, SB_LINE));
    int failures = team == NULL || memory == NULL;

    (void)argument;
    for (uint64_t call = 0; call < CALLS && failures == 0; call++) {
        uint32_t root = call / 16 % 2;
        failures += stream_bcast(team, root, memory, 4 * call + 1);
        failures += stream_exchange(team, memory, 4 * call + 2);
        failures += stream_gather(team, root, memory, 4 * call + 3);
        failures += stream_reduce(team, root, memory, 4 * call + 4);
    }
    if (failures == 0)
        failures += sb_rings(team)->expose.copied + sb_mesh(team)->expose.copied == 0;
    free(memory);
    leave(context, team);
    return failures;
}

static int run_streams(void)
{
    return run_pair("what was stored past the caches", "on", run_streamed);
}

#else

/* A release orders all stores. */
static int run_streams(void)
{
    return 0;
}

#endif

/* Several that share two processors. */
static int run(const char *what, const char *cma, int (*body)(rank_context_t *, void *),
               void *argument)
{
    return run_of(RANKS, what, cma, body, argument);
}

/* Emulators do not copy between processes. */
static bool kernel_copies(void)
{
    char from = 1, to = 0;

    return sb_pull(sb_process_self(), &to, (uintptr_t)&from, 1) && to == 1;
}

static int run_with_the_kernel(void)
{
    uint32_t losers[] = {1, 2, 3};
    uint64_t failed[] = {0, 1};

    if (!kernel_copies()) {
        printf("%-50s %s\n", "what the kernel copies", "left out: it copies nothing here");
        return 0;
    }
    return run("one rank may not read any more", "on", run_refused, &losers[0]) +
           run("two may not", "on", run_refused, &losers[1]) +
           run("none may", "on", run_refused, &losers[2]) +
           run("broadcasts: one may not read any more", "on", run_bcast_refused, &losers[0]) +
           run("broadcasts: none may", "on", run_bcast_refused, &losers[2]) +
           run("reduces: one may not read any more", "on", run_reduce_refused, &losers[0]) +
           run("reduces: none may", "on", run_reduce_refused, &losers[2]) +
           run("reduces of nothing", "on", run_reduce_nothing, NULL) +
           run_pair("scans of two ranks", "on", run_scan_lent) + run_streams() +
           run("a reader leaves while it is written to", "on", run_left, NULL) +
           run("an invitation that was withdrawn", "on", run_withdrawn, NULL) +
           run_pair("one of two may not read a part any more", "auto", run_sole_refused) +
           run_pair("all ways of one message are tried", "auto", run_learnt) +
           run_pair("messages of two ranks touch few pages", "auto", run_paged) +
           run_pair("who lacks a window makes no area", "auto", run_windowless) +
           run("both ways of an exchange are tried", "auto", run_exchange_learnt, NULL) +
           run_pair("exchanges in place learn of themselves", "auto", run_in_place_learnt) +
           run("both ways to a crowded root are tried", "auto", run_collecting_learnt, NULL) +
           run("who is asked by a crowded root pushes", "auto", run_asked, NULL) +
           run("both ways of a crowded reduce are tried", "auto", run_crowded_reduce_learnt, NULL) +
           run_pair("who is ahead of the root is read", "auto", run_ahead) +
           run_apart("all ways of contributions are tried", "auto", run_reduce_learnt, &failed[0]) +
           run_apart("also after one could not be read", "auto", run_reduce_learnt, &failed[1]) +
           run_pair("who is ahead of a reduce's root counts in no block", "auto",
                    run_reduce_behind) +
           run_pair("who decides on an exchange reads itself", "auto", run_exchange_reads) +
           run_pair("a broadcast's root says what calls take it", "auto", run_bcast_weighed) +
           run_pair("who comes late counts from then", "auto", run_late);
}

int main(int argc, char **argv)
{
    int failures = 0;

    only = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    failures += run_with_the_kernel();
    failures += run("parts in shared memory", "off", run_mapped, NULL);
    for (size_t i = 0; i < SB_COUNT_OF(forgeries); i++)
        failures += run(forgeries[i].what, "off", run_forged, (void *)(uintptr_t)&forgeries[i]);
    failures += run("a chunk beyond its place", "off", run_forged_chunk, NULL);
    return failures == 0 ? 0 : 1;
}
