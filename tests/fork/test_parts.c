/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of the operations that move parts of data, over forked processes, with regular
 * and irregular counts, mixed with barriers and broadcasts. Now and then a rank expects another
 * number of bytes than is sent to it: it has what there is, is told if it lacks room for that, its
 * memory is safe, and the team goes on.
 * usage: fork_parts [SEED [NAME]]: those of one algorithm's name, "fresh" or "rows".
 */
#include "../random.h"
#include "../refuse.h"
#include "plan.h"

#include "baseline/baseline.h"
#include "coll/alltoall/rows.h"
#include "coll/vector/mesh.h"
#include "coll/vector/vector.h"
#include "select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANKS_MOST 8

typedef enum counts { EQUAL, LINEAR, HEAVY, RANDOM, HALF_ZERO, COUNTS } counts_t;

/* What all ranks know of a call. */
typedef struct call {
    sb_collective_t collective;
    const sb_algorithm_t *algorithm;
    uint64_t number;
    uint32_t root;
    counts_t counts;
    size_t bytes; /* from which the parts' sizes follow */
    bool in_place;
    uint32_t victim; /* the rank that expects other sizes; size of the team: nobody */
} call_t;

/* One end of a part, with a byte behind it that nobody may write to. */
typedef struct end {
    sb_stream_t stream;
    unsigned char *data;
    size_t step; /* 2: only every second byte is data */
    size_t true_bytes;
} end_t;

static uint64_t number_of(uint32_t from, uint32_t to, const call_t *call)
{
    return from * 7 + to * 101 + call->number * 13 + 1;
}

static bool is_regular(sb_collective_t collective)
{
    return collective == SB_SCATTER || collective == SB_GATHER || collective == SB_ALLGATHER ||
           collective == SB_ALLTOALL;
}

static bool is_scatter(sb_collective_t collective)
{
    return collective == SB_SCATTER || collective == SB_SCATTERV;
}

static bool is_gather(sb_collective_t collective)
{
    return collective == SB_GATHER || collective == SB_GATHERV;
}

static bool is_allgather(sb_collective_t collective)
{
    return collective == SB_ALLGATHER || collective == SB_ALLGATHERV;
}

/* Bytes of part number i of a call. */
static size_t size_of(const call_t *call, uint32_t i)
{
    uint64_t state = call->number * 77 + i * 1000003u + call->bytes;

    switch (call->counts) {
    case LINEAR:
        return call->bytes * i;
    case HEAVY:
        return i == call->number % 3 ? call->bytes * 4 : 1 + call->bytes / 16;
    case RANDOM:
        draw(&state, 2);
        return draw(&state, 2 * (uint32_t)call->bytes + 1);
    case HALF_ZERO:
        return i % 2 == call->number % 2 ? call->bytes : 0;
    default:
        return call->bytes;
    }
}

/* Bytes that go from one rank to the other. In place, both directions are alike. */
static size_t bytes_between(const call_t *call, uint32_t from, uint32_t to)
{
    if (is_scatter(call->collective))
        return size_of(call, to);
    if (is_gather(call->collective) || is_allgather(call->collective))
        return size_of(call, from);
    return size_of(call, from < to || !call->in_place ? from * 3 + to : to * 3 + from);
}

static end_t make_end(size_t bytes, bool is_sparse)
{
    end_t end = {.step = is_sparse ? 2 : 1, .true_bytes = bytes};

    end.data = job_memory(bytes * end.step + 1);
    memset(end.data, 0xee, bytes * end.step + 1);
    end.stream = job_stream(end.data, end.step, bytes);
    return end;
}

static void fill(const end_t *end, uint32_t from, uint32_t to, const call_t *call)
{
    job_fill(end->data, end->step, end->stream.bytes, number_of(from, to, call));
}

static int check(const end_t *end, size_t sent, uint32_t from, uint32_t to, const call_t *call)
{
    size_t count = sb_min(end->stream.bytes, sent);
    size_t wrong = job_mismatch(end->data, end->step, count, number_of(from, to, call));

    if (wrong < count) {
        fprintf(stderr, "rank %u: byte %zu of %zu from rank %u is wrong\n", to, wrong, count, from);
        return 1;
    }
    for (size_t i = count * end->step; i <= end->stream.bytes * end->step; i++) {
        if (end->data[i] != 0xee) {
            fprintf(stderr, "rank %u: %zu bytes from rank %u, and more was written\n", to, count,
                    from);
            return 1;
        }
    }
    return 0;
}

/* What a rank gives or takes: none, one part or one for each rank. */
static uint32_t sending_ends(const call_t *call, uint32_t rank, uint32_t size)
{
    if (is_scatter(call->collective))
        return rank == call->root ? size : 0;
    return is_gather(call->collective) || is_allgather(call->collective) ? 1 : size;
}

static uint32_t receiving_ends(const call_t *call, uint32_t rank, uint32_t size)
{
    if (is_gather(call->collective))
        return rank == call->root ? size : 0;
    return is_scatter(call->collective) ? 1 : size;
}

/* For whom the bytes of a sent part are marked: allgather has them for all. */
static uint32_t marked_for(const call_t *call, uint32_t to)
{
    return is_allgather(call->collective) ? 0 : to;
}

static uint32_t receiver_of(const call_t *call, uint32_t i)
{
    return is_gather(call->collective) ? call->root : i;
}

static uint32_t sender_of(const call_t *call, uint32_t i)
{
    return is_scatter(call->collective) ? call->root : i;
}

/* A victim expects more or less than is sent, but never nothing and never something for nothing; of
 * its own part, unless that lies in place, never less. */
static size_t expected(const call_t *call, uint32_t rank, uint32_t from, size_t sent)
{
    bool more = call->number % 2 != 0;

    if (rank != call->victim || sent < 2 || (from == rank && (call->in_place || !more)))
        return sent;
    return more ? sent + 9 : sent / 2;
}

static void make_ends(const call_t *call, uint32_t rank, uint32_t size, end_t *send, end_t *receive,
                      uint64_t *own)
{
    for (uint32_t i = 0; i < sending_ends(call, rank, size); i++) {
        uint32_t to = receiver_of(call, i);
        send[i] = make_end(bytes_between(call, rank, to), draw(own, 4) == 0);
        fill(&send[i], rank, marked_for(call, to), call);
    }
    for (uint32_t i = 0; i < receiving_ends(call, rank, size); i++) {
        uint32_t from = sender_of(call, i);
        size_t bytes = bytes_between(call, from, rank);
        receive[i] = make_end(expected(call, rank, from, bytes), draw(own, 4) == 0);
    }
}

/* Puts what is sent in place where it is received. */
static void move_in_place(const call_t *call, uint32_t rank, uint32_t size, end_t *send,
                          end_t *receive)
{
    uint32_t senders = sending_ends(call, rank, size), receivers = receiving_ends(call, rank, size);

    for (uint32_t i = 0; i < size && receivers == size && senders == size; i++)
        fill(&receive[i], rank, marked_for(call, i), call);
    if (receivers == size && senders == 1)
        fill(&receive[rank], rank, marked_for(call, rank), call);
    (void)send;
}

static sb_status_t outcome_wanted(const call_t *call, uint32_t rank, uint32_t size)
{
    for (uint32_t i = 0; i < receiving_ends(call, rank, size); i++) {
        uint32_t from = sender_of(call, i);
        size_t bytes = bytes_between(call, from, rank);
        if (expected(call, rank, from, bytes) < bytes)
            return SB_ERR_TRUNCATE;
    }
    return SB_OK;
}

static int check_ends(const call_t *call, uint32_t rank, uint32_t size, const end_t *receive)
{
    int failed = 0;

    for (uint32_t i = 0; i < receiving_ends(call, rank, size) && failed == 0; i++) {
        uint32_t from = sender_of(call, i);
        bool nothing = is_scatter(call->collective) && call->in_place && from == rank;
        if (!nothing)
            failed = check(&receive[i], bytes_between(call, from, rank), from,
                           marked_for(call, rank), call);
    }
    return failed;
}

static int move_parts(sb_team_t *team, const call_t *call, uint64_t *own)
{
    end_t send[RANKS_MOST], receive[RANKS_MOST];
    sb_stream_t from[RANKS_MOST], to[RANKS_MOST];
    uint32_t rank = team->rank, size = team->size;
    uint32_t senders = sending_ends(call, rank, size), receivers = receiving_ends(call, rank, size);

    make_ends(call, rank, size, send, receive, own);
    if (call->in_place)
        move_in_place(call, rank, size, send, receive);
    for (uint32_t i = 0; i < senders; i++)
        from[i] = send[i].stream;
    for (uint32_t i = 0; i < receivers; i++)
        to[i] = receive[i].stream;
    bool alltoall = senders == size && receivers == size && size > 1;
    sb_parts_t parts = {.root = call->root,
                        .in_place = call->in_place,
                        .send = senders == 0 ? NULL : from,
                        .receive = receivers == 0 ? NULL : to};
    if (call->in_place && alltoall)
        parts.send = to;
    sb_status_t status = sb_algorithm_prepare(call->algorithm, team, call->bytes);
    if (status == SB_OK)
        status = call->algorithm->parts(team, &parts);
    int failed =
        status != outcome_wanted(call, rank, size) || check_ends(call, rank, size, receive);
    if (failed)
        fprintf(stderr,
                "%s %s: rank %u of %u, root %u, counts %d of %zu bytes, call %lu%s, victim %u: "
                "%s\n",
                sb_collective_name(call->collective), call->algorithm->name, rank, size, call->root,
                (int)call->counts, call->bytes, (unsigned long)call->number,
                call->in_place ? ", in place" : "", call->victim, sb_status_string(status));
    for (uint32_t i = 0; i < senders; i++)
        free(send[i].data);
    for (uint32_t i = 0; i < receivers; i++)
        free(receive[i].data);
    return failed;
}

static size_t draw_bytes(uint64_t *state, size_t most)
{
    static const size_t corners[] = {1,    8,    47,   48,    49,    239,   240,   241,  1024,
                                     4096, 8191, 8192, 16383, 16384, 16385, 40000, 70000};

    if (draw(state, 40) == 0)
        return most;
    if (draw(state, 3) == 0)
        return sb_min(corners[draw(state, (uint32_t)SB_COUNT_OF(corners))], most);
    return sb_min(1 + draw(state, 1u << draw(state, 16)), most);
}

static call_t draw_call(const sb_algorithm_t *algorithm, uint64_t number, size_t most,
                        uint32_t size, uint64_t *state)
{
    call_t call = {.number = number, .algorithm = algorithm};

    call.collective = call.algorithm->collective;
    call.root = draw(state, size);
    call.bytes = draw_bytes(state, most);
    call.counts = is_regular(call.collective) ? EQUAL : (counts_t)draw(state, COUNTS);
    call.in_place = draw(state, 5) == 0;
    call.victim = draw(state, 12) == 0 ? draw(state, size) : size;
    if (call.in_place || call.algorithm->on_request)
        call.victim = size;
    return call;
}

static int move_bcast(sb_team_t *team, const call_t *call)
{
    end_t end = make_end(call->bytes, false);

    if (team->rank == call->root)
        fill(&end, call->root, 0, call);
    sb_status_t status = sb_algorithm_prepare(call->algorithm, team, call->bytes);
    if (status == SB_OK)
        status = call->algorithm->bcast(team, call->root, &end.stream);
    int failed = status != SB_OK || check(&end, call->bytes, call->root, 0, call);
    free(end.data);
    return failed;
}

static int make_call(rank_context_t *context, sb_team_t *team, const sb_algorithm_t *algorithm,
                     uint64_t number, size_t most, uint64_t *common, uint64_t *own)
{
    const call_t call = draw_call(algorithm, number, most, context->size, common);

    return call.collective == SB_BCAST ? move_bcast(team, &call) : move_parts(team, &call, own);
}

static bool moves_parts(const sb_algorithm_t *algorithm)
{
    return algorithm->parts != NULL;
}

static bool may_be_mixed(const sb_algorithm_t *algorithm)
{
    return algorithm->levels == 0 && algorithm->reduction == NULL;
}

static program_t program = {.name = "fork_parts",
                            .seed = 1,
                            .is_about = moves_parts,
                            .mixes = may_be_mixed,
                            .call = make_call,
                            .calls = 150,
                            .most = 300000,
                            .mixed_calls = 600,
                            .mixed_most = 60000};

/* The system call that reads another process's memory. */
static bool refuse_reading(void)
{
    return refuse_calls(SYS_process_vm_readv, SYS_process_vm_readv);
}

/* One rank may not read: then none does, and all else is as ever. */
static int run_unread(rank_context_t *context, void *argument)
{
    uint64_t state = program.seed, own = program_own(&program, context->rank);
    bool refused = context->rank == 1 && refuse_reading();
    sb_team_t *team = job_team(context);
    int failures = team == NULL || (context->rank == 1 && !refused);

    for (uint32_t i = 0; i < 20 && failures == 0; i++) {
        failures += make_call(context, team, argument, i, 100000, &state, &own);
        failures += sb_mesh(team)->expose.kernel;
    }
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static int run_unreadable(void)
{
    if (!can_refuse_calls()) {
        printf("%-12s %-24s left out: no filters of system calls here\n", "alltoall",
               "reading refused");
        return 0;
    }
    int failures = job_run(3, 60, run_unread, (void *)&sb_alltoall_direct);

    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "reading refused", 3,
           failures == 0 ? "ok" : "FAILED");
    return failures;
}

/* A part no longer than a turn goes in one fragment, of which nobody is told but by its plan. */
static int run_turn(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    int failures = team == NULL || algorithm->prepare(team) != SB_OK;
    size_t bytes = failures == 0 ? sb_mesh(team)->step : 1;
    char *sent = calloc(2, bytes), *received = calloc(2, bytes);
    sb_stream_t send[2], receive[2];

    for (size_t i = 0; i < 2; i++) {
        send[i] = (sb_stream_t){.base = sent + i * bytes, .bytes = bytes};
        receive[i] = (sb_stream_t){.base = received + i * bytes, .bytes = bytes};
    }
    const sb_parts_t parts = {.send = send, .receive = receive};
    for (uint32_t i = 0; i < 4 && failures == 0; i++)
        failures += algorithm->parts(team, &parts) != SB_OK;
    if (failures == 0) {
        sb_mesh_t *mesh = sb_mesh(team);
        failures += sb_flag_read(mesh->all.staged.published) != 0 ||
                    sb_flag_read(mesh->peer[1 - team->rank].out.staged.published) != 0;
    }
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    free(sent);
    free(received);
    return failures;
}

static int run_turns(void)
{
    const sb_algorithm_t *const exchanges[] = {&sb_allgather_direct, &sb_alltoall_direct};
    int failures = 0;

    setenv("SOBOR_CMA", "off", 1);
    for (size_t i = 0; i < SB_COUNT_OF(exchanges); i++) {
        int failed = job_run(2, 60, run_turn, (void *)exchanges[i]);
        printf("%-12s %-24s %2u ranks: %s\n", sb_collective_name(exchanges[i]->collective),
               "one turn", 2, failed == 0 ? "ok" : "FAILED");
        failures += failed;
    }
    return failures;
}

/* One of two that sends to a root again and again takes the next lines ahead, for which it looks in
 * time how far the root is: here when its slots are half full. */
static int run_again(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    int failures = team == NULL || algorithm->prepare(team) != SB_OK;
    uint32_t half = failures == 0 ? sb_mesh(team)->slots / 2 : 0;
    char sent[8] = {0}, received[2][8];
    sb_stream_t send = {.base = sent, .bytes = sizeof sent}, receive[2];

    for (size_t i = 0; i < 2; i++)
        receive[i] = (sb_stream_t){.base = received[i], .bytes = sizeof sent};
    const sb_parts_t parts = {.send = &send, .receive = context->rank == 0 ? receive : NULL};
    for (uint32_t i = 0; i <= half && failures == 0; i++) {
        if (i == half)
            job_synchronise(context);
        failures += algorithm->parts(team, &parts) != SB_OK;
    }
    if (failures == 0 && context->rank == 1)
        failures += team->oversubscribed || sb_mesh(team)->peer[0].out.slots.known != half;
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

/* Bytes of a part whose value follows from the call. */
static void fill_part(char *part, size_t bytes, uint32_t call)
{
    for (size_t i = 0; i < bytes; i++)
        part[i] = (char)(call * 31 + i);
}

/* Parts that are too long for a slot and not for its annex pass without an area, more of them in
 * a row than there are slots; longer ones between them do not. */
static int run_annexes(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    int failures = team == NULL || algorithm->prepare(team) != SB_OK;
    size_t most = failures == 0 ? sb_mesh(team)->slot_most + 1 : 1;
    uint32_t calls = failures == 0 ? 5 * sb_mesh(team)->slots : 0, self = context->rank;
    char *sent = malloc(most), *received = malloc(2 * most), *expected = malloc(most);

    for (uint32_t call = 1; call <= calls && failures == 0; call++) {
        size_t bytes = call % 4 == 0 ? most : SB_SLOT_PAYLOAD + 1 + call * 97 % (most - 241);
        const sb_outlet_t *out = &sb_mesh(team)->peer[1 - self].out;
        uint64_t before = out->cursor.position;
        bool scatters = algorithm->collective == SB_SCATTER, gets = scatters == (self == 1);
        sb_stream_t send[2] = {{.base = sent, .bytes = bytes}, {.base = sent, .bytes = bytes}};
        sb_stream_t receive[2] = {{.base = received, .bytes = bytes},
                                  {.base = received + most, .bytes = bytes}};
        const sb_parts_t parts = {.send = send, .receive = receive};
        fill_part(sent, bytes, call);
        fill_part(expected, bytes, call);
        failures += algorithm->parts(team, &parts) != SB_OK;
        failures += memcmp(received + (gets && !scatters ? most : 0), expected,
                           gets || scatters ? bytes : 0) != 0;
        failures += !gets && (out->cursor.position > before) != (bytes == most);
    }
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    free(sent);
    free(received);
    free(expected);
    return failures;
}

/* Slots begin at multiples of their length, so that none goes over the end of a page. */
static int run_places(rank_context_t *context, void *argument)
{
    sb_team_t *team = job_team(context);
    int failures = team == NULL || sb_alltoall_direct.prepare(team) != SB_OK;

    (void)argument;
    for (uint32_t i = 0; failures == 0 && i < team->size; i++) {
        const sb_mesh_peer_t *peer = &sb_mesh(team)->peer[i];
        const sb_slot_t *const slots[] = {peer->out.slot, peer->one.slot, peer->all.slot};
        for (size_t k = 0; k < SB_COUNT_OF(slots); k++)
            failures +=
                (uintptr_t)slots[k] % SB_SLOT_BYTES != 0 || (slots[k] == NULL) != (i == team->rank);
    }
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static int run_short(void)
{
    const sb_algorithm_t *const rooted[] = {&sb_scatter_direct, &sb_gather_direct};
    int failures = job_run(3, 60, run_places, NULL);

    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "places of slots", 3,
           failures == 0 ? "ok" : "FAILED");

    for (size_t i = 0; i < SB_COUNT_OF(rooted); i++) {
        int failed = job_run(2, 60, run_annexes, (void *)rooted[i]);
        printf("%-12s %-24s %2u ranks: %s\n", sb_collective_name(rooted[i]->collective),
               "in annexes", 2, failed == 0 ? "ok" : "FAILED");
        failures += failed;
    }
    return failures;
}

/* Of two ranks that have a processor each. */
static int run_pair(const sb_algorithm_t *algorithm, const char *what,
                    int (*body)(rank_context_t *context, void *argument))
{
    bool roomy = job_has_room(2);
    int failures = roomy ? job_run_on(2, 2, 60, body, (void *)(uintptr_t)algorithm) : 0;

    printf("%-12s %-24s %2u ranks: %s\n", sb_collective_name(algorithm->collective), what, 2,
           !roomy          ? JOB_NO_ROOM
           : failures == 0 ? "ok"
                           : "FAILED");
    return failures;
}

/* A team whose ranks share processors, so that its alltoall has rows. */
static bool is_ready(sb_team_t *team, const sb_algorithm_t *algorithm)
{
    return team != NULL && team->oversubscribed && algorithm->prepare(team) == SB_OK &&
           sb_rows(team) != NULL;
}

#define ONE_WAY_MOST 100 /* words: more than a row's near cells hold */

/* Parts of one rank alone, who never hears of the others by theirs: it waits for those that are
 * behind before it writes over what they have not read. */
static int run_one_way(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    bool ready = is_ready(team, algorithm);
    int failures = !ready;
    uint64_t sent[ONE_WAY_MOST] = {0}, received[ONE_WAY_MOST] = {0};
    sb_stream_t send[3] = {{.base = NULL}}, receive[3] = {{.base = NULL}};
    const sb_parts_t parts = {.send = send, .receive = receive};

    for (uint32_t i = 1; i <= 96 && ready; i++) {
        size_t bytes = (i <= 48 ? 1 : ONE_WAY_MOST) * sizeof *sent;
        for (uint32_t to = 1; context->rank == 0 && to < 3; to++)
            send[to] = (sb_stream_t){.base = (char *)sent, .bytes = bytes};
        if (context->rank != 0)
            receive[0] = (sb_stream_t){.base = (char *)received, .bytes = bytes};
        sent[0] = i;
        if (context->rank == 2 && i % 12 == 0)
            usleep(20000);
        failures += algorithm->parts(team, &parts) != SB_OK;
        failures += context->rank != 0 && received[0] != i;
    }
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

/* The end of a test that has made a team, or could not, and the data that it sends. */
static void leave(rank_context_t *context, sb_team_t *team, char *sent)
{
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    free(sent);
}

/* Parts of which it is tried how they go best: each way brings what was sent. */
static int run_tried(rank_context_t *context, void *argument)
{
    enum { RANKS = 3, BYTES = 20000, CALLS = 400 };
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    int failures = !is_ready(team, algorithm);
    char *sent = malloc(2 * RANKS * BYTES), *received = sent + RANKS * BYTES;
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.send = send, .receive = receive};
    uint32_t seen = 0;

    for (uint32_t i = 0; i < RANKS; i++) {
        send[i] = (sb_stream_t){.base = sent + i * BYTES, .bytes = BYTES};
        receive[i] = (sb_stream_t){.base = received + i * BYTES, .bytes = BYTES};
    }
    for (uint32_t call = 0; call < CALLS && failures == 0; call++) {
        for (uint32_t i = 0; i < RANKS; i++)
            memset(send[i].base, (int)(call * 9 + context->rank * RANKS + i), BYTES);
        failures += algorithm->parts(team, &parts) != SB_OK;
        for (uint32_t i = 0; i < RANKS * BYTES; i++)
            failures += received[i] != (char)(call * 9 + i / BYTES * RANKS + context->rank);
        seen |= 1u << sb_rows(team)->mode;
    }
    const uint32_t all = 1u << SB_COPY_CACHED | 1u << SB_COPY_NON_TEMPORAL | 1u << SB_COPY_PULLED;
    if (failures == 0 && sb_mesh(team)->expose.kernel)
        failures += context->rank == 0 && seen != all;
    leave(context, team, sent);
    return failures;
}

static void lay_out_parts(sb_stream_t *parts, char *base, uint32_t ranks, size_t bytes)
{
    for (uint32_t i = 0; i < ranks; i++)
        parts[i] = (sb_stream_t){.base = base + i * bytes, .bytes = bytes};
}

/* Long parts of a program that sends few of them: the kernel copies them, and no rank waits for
 * pages of the rows. */
static int run_few(rank_context_t *context, void *argument)
{
    enum { RANKS = 3, BYTES = 64 << 10 };
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    bool ready = is_ready(team, algorithm);
    int failures = !ready;
    char *sent = malloc(2 * RANKS * BYTES), *received = sent + RANKS * BYTES;
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.send = send, .receive = receive};

    memset(sent, (int)context->rank + 1, RANKS * BYTES);
    lay_out_parts(send, sent, RANKS, BYTES);
    lay_out_parts(receive, received, RANKS, BYTES);
    for (uint32_t call = 0; call < 4 && ready; call++) {
        failures += algorithm->parts(team, &parts) != SB_OK;
        for (uint32_t i = 0; i < RANKS * BYTES; i++)
            failures += received[i] != (char)(i / BYTES + 1);
        if (sb_mesh(team)->expose.kernel)
            failures += sb_rows(team)->mode != SB_COPY_PULLED || sb_rows(team)->touched[0] != 0;
    }
    leave(context, team, sent);
    return failures;
}

/* What is tried first of parts that are staged at first. */
static int try_first(rank_context_t *context, const sb_algorithm_t *algorithm, size_t bytes,
                     sb_copy_mode_t expected)
{
    enum { RANKS = 3 };
    sb_team_t *team = job_team(context);
    bool ready = is_ready(team, algorithm);
    int failures = !ready;
    char *sent = calloc(2 * RANKS, bytes);
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.send = send, .receive = receive};
    sb_copy_mode_t first = SB_COPY_CACHED;

    lay_out_parts(send, sent, RANKS, bytes);
    lay_out_parts(receive, sent + RANKS * bytes, RANKS, bytes);
    for (uint32_t call = 0; call < 60 && ready; call++) {
        failures += algorithm->parts(team, &parts) != SB_OK;
        if (first == SB_COPY_CACHED)
            first = sb_rows(team)->mode;
    }
    /* Rank 0 decides. */
    if (ready && team->rank == 0 && sb_mesh(team)->expose.kernel)
        failures += first != expected;
    leave(context, team, sent);
    return failures;
}

/* Of three ways the kernel's copy is tried before the other kind of stores: programs that make a
 * hundred calls try one. */
static int run_rival(rank_context_t *context, void *argument)
{
    return try_first(context, argument, 20 << 10, SB_COPY_PULLED);
}

/* The longest parts of a class that is not pulled are none that are, though they come first. */
static int run_class_end(rank_context_t *context, void *argument)
{
    return try_first(context, argument, 16 << 10, SB_COPY_NON_TEMPORAL);
}

/* As long as the memory of rows is awaited, here for ever, flows choose how long parts go that have
 * room in them. They do so too once it is there, until another way is found to be better. */
static int run_awaited(rank_context_t *context, void *argument)
{
    enum { RANKS = 3, BYTES = 64 << 10 };
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    bool ready = is_ready(team, algorithm);
    int failures = !ready;
    char *sent = calloc(2 * RANKS, BYTES);
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.send = send, .receive = receive};

    lay_out_parts(send, sent, RANKS, BYTES);
    lay_out_parts(receive, sent + RANKS * BYTES, RANKS, BYTES);
    if (ready && sb_mesh(team)->expose.kernel) {
        const sb_sending_t *sending = &sb_mesh(team)->sending[(context->rank + 1) % RANKS];
        for (uint32_t call = 0; call < 4; call++) {
            sb_rows(team)->resource.block.page_ns = call < 2 ? 1000000000 : 0;
            failures += algorithm->parts(team, &parts) != SB_OK;
            failures += sb_rows(team)->mode != SB_COPY_PULLED;
            failures += sending->prefer == SB_PREFER_EXPOSED;
        }
    }
    leave(context, team, sent);
    return failures;
}

/* Where parts of two ranks come to lie may be in no cache, unless that was one of the last places.
 */
static int run_elsewhere(rank_context_t *context, void *argument)
{
    enum { RANKS = 2, BYTES = 64 << 10, PLACES = 4, CALLS = 8 };
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    int failures = team == NULL || team->oversubscribed || algorithm->prepare(team) != SB_OK;
    char *sent = calloc(1 + PLACES, RANKS * BYTES), *received = sent + RANKS * BYTES;
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.send = send, .receive = receive};

    lay_out_parts(send, sent, RANKS, BYTES);
    memset(sent, (int)context->rank + 1, RANKS * BYTES);
    for (uint32_t call = 0; failures == 0 && call < CALLS; call++) {
        uint32_t place = call < PLACES ? call : 0;
        sb_landed_t *own = &sb_mesh(team)->landed[SB_LANDED_OWN];
        bool fresh = call <= PLACES;
        lay_out_parts(receive, received + place * RANKS * BYTES, RANKS, BYTES);
        failures += algorithm->parts(team, &parts) != SB_OK;
        failures += sb_mesh(team)->receiving->fresh != fresh;
        failures += fresh && own->last[sb_copy_class(BYTES)][0] != receive[context->rank].base;
        failures += sb_lands_fresh(team, own, &receive[context->rank]);
        /* All that comes in a call is more than its caches hold. */
        size_t most = sb_mesh(team)->cached_most;
        sb_mesh(team)->cached_most = RANKS * BYTES - 1;
        failures += !sb_lands_fresh(team, own, &receive[context->rank]);
        sb_mesh(team)->cached_most = most;
        for (size_t i = 0; i < RANKS * BYTES; i++)
            failures += receive[0].base[i] != (char)(i / BYTES + 1);
        memset(receive[0].base, 0, RANKS * BYTES);
    }
    leave(context, team, sent);
    return failures;
}

static int run_fresh(void)
{
    setenv("SOBOR_CMA", "off", 1);
    setenv("SOBOR_STORES", "auto", 1);
    setenv("SOBOR_WAIT", "auto", 1);
    return run_pair(&sb_alltoall_direct, "places that may be far", run_elsewhere);
}

/* Rows of eight ranks have room for parts of 64 KiB in a ring of 1 MiB. */
static int run_room(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);

    if (team != NULL)
        team->settings.ring_bytes = 1 << 20;
    int failures = !is_ready(team, algorithm) || !sb_rows_serve(team, 64 << 10);
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

/* What a rank puts into the areas has pages, where ranks share processors, and no more: of a gather
 * in that to the root what a turn is worth, or two parts. */
static int run_narrow(rank_context_t *context, void *argument)
{
    enum { RANKS = 3, BYTES = 12 << 10, CALLS = 8 };
    const uint32_t *parts_a_turn = argument, most = *parts_a_turn < 2 ? 2 : *parts_a_turn;
    const sb_algorithm_t *algorithm = &sb_gather_direct;
    sb_team_t *team = job_team(context);
    bool ready = team != NULL && team->oversubscribed && algorithm->prepare(team) == SB_OK;
    int failures = !ready;
    char *sent = malloc((1 + RANKS) * BYTES), *received = sent + BYTES;
    const sb_stream_t own = {.base = sent, .bytes = BYTES};
    sb_stream_t receive[RANKS];
    const sb_parts_t parts = {.send = &own, .receive = receive};

    if (ready) {
        /* A fifth of a turn is a switch. */
        team->settings.prices.process_switch = *parts_a_turn * BYTES / 5.0;
        team->settings.prices.byte = 1;
    }
    lay_out_parts(receive, received, RANKS, BYTES);
    for (uint32_t call = 0; call < CALLS && ready; call++) {
        memset(sent, (int)(call + context->rank + 1), BYTES);
        if (call == 1 && context->rank != 0)
            failures += sb_mesh(team)->peer[0].out.touched != BYTES;
        failures += algorithm->parts(team, &parts) != SB_OK;
        for (uint32_t i = 0; context->rank == 0 && i < RANKS * BYTES; i++)
            failures += received[i] != (char)(call + i / BYTES + 1);
    }
    if (ready) {
        const sb_mesh_t *mesh = sb_mesh(team);
        for (uint32_t i = 0; i < RANKS; i++)
            failures += mesh->peer[i].out.touched !=
                        (i == 0 && context->rank != 0 ? (size_t)most * BYTES : 0);
        failures += mesh->resource.touched > mesh->areas;
    }
    leave(context, team, sent);
    return failures;
}

/* What rank 1 receives: the others see it. */
static volatile char *shown;

static bool is_announced(const sb_team_t *team, const sb_stream_t *part)
{
    const sb_receiving_t receiving = {.stream = part, .peer = 0};

    return sb_announced(team, &receiving);
}

/* One that comes late holds up nothing that is between others: rank 1 comes when rank 0 has said
 * where its part is, and rank 2 when rank 1 has that. */
static int run_late(rank_context_t *context, void *argument)
{
    enum { RANKS = 3, BYTES = 64 << 10, LOOKS = 10000 };
    const sb_algorithm_t *algorithm = argument;
    sb_team_t *team = job_team(context);
    bool ready = is_ready(team, algorithm);
    int failures = !ready;
    char *sent = malloc(2 * RANKS * BYTES);
    char *received = context->rank == 1 ? (char *)shown : sent + RANKS * BYTES;
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.send = send, .receive = receive};

    memset(sent, (int)context->rank + 1, RANKS * BYTES);
    lay_out_parts(send, sent, RANKS, BYTES);
    lay_out_parts(receive, received, RANKS, BYTES);
    bool waits = ready && sb_mesh(team)->expose.kernel;
    while (waits && context->rank == 1 && !is_announced(team, &receive[0]))
        usleep(1000);
    for (uint32_t i = 0; waits && context->rank == 2 && shown[BYTES - 1] == 0 && i < LOOKS; i++)
        usleep(1000);
    failures += waits && context->rank == 2 && shown[BYTES - 1] == 0;
    failures += ready && algorithm->parts(team, &parts) != SB_OK;
    for (uint32_t i = 0; i < RANKS * BYTES; i++)
        failures += received[i] != (char)(i / BYTES + 1);
    leave(context, team, sent);
    return failures;
}

static int run_beside_late(void)
{
    size_t bytes = (size_t)3 * (64 << 10);

    shown = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failures = shown == MAP_FAILED;
    if (failures == 0) {
        failures = job_run_on(2, 3, 60, run_late, (void *)&sb_alltoall_direct);
        munmap((void *)shown, bytes);
    }
    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "beside one that is late", 3,
           failures == 0 ? "ok" : "FAILED");
    return failures;
}

static int run_pages(void)
{
    int failures = 0;

    for (uint32_t parts_a_turn = 1; parts_a_turn <= 4; parts_a_turn++)
        failures += job_run_on(1, 3, 60, run_narrow, &parts_a_turn);
    printf("%-12s %-24s %2u ranks: %s\n", "gather", "pages of the areas", 3,
           failures == 0 ? "ok" : "FAILED");
    return failures;
}

static int run_ways(void)
{
    int failures = job_run_on(2, 3, 60, run_tried, (void *)&sb_alltoall_direct);
    int few = job_run_on(2, 3, 60, run_few, (void *)&sb_alltoall_direct);
    int rival = job_run_on(2, 3, 60, run_rival, (void *)&sb_alltoall_direct) +
                job_run_on(2, 3, 60, run_class_end, (void *)&sb_alltoall_direct);
    int awaited = job_run_on(2, 3, 60, run_awaited, (void *)&sb_alltoall_direct);
    int room = job_run_on(2, 8, 60, run_room, (void *)&sb_alltoall_direct);

    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "while rows are awaited", 3,
           awaited == 0 ? "ok" : "FAILED");
    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "room of rows", 8,
           room == 0 ? "ok" : "FAILED");
    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "ways that are tried", 3,
           failures == 0 ? "ok" : "FAILED");
    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "few long parts", 3,
           few == 0 ? "ok" : "FAILED");
    printf("%-12s %-24s %2u ranks: %s\n", "alltoall", "what is tried first", 3,
           rival == 0 ? "ok" : "FAILED");
    return failures + few + rival + awaited + room + run_pages() + run_beside_late();
}

static int run_rows(void)
{
    setenv("SOBOR_CMA", "auto", 1);
    setenv("SOBOR_STORES", "auto", 1);
    setenv("SOBOR_WAIT", "auto", 1);
    int failures = job_run_on(2, 3, 60, run_one_way, (void *)&sb_alltoallv_direct);

    printf("%-12s %-24s %2u ranks: %s\n", "alltoallv", "of one rank alone", 3,
           failures == 0 ? "ok" : "FAILED");
    return failures + run_ways();
}

int main(int argc, char **argv)
{
    static const char *const rings[] = {"16KiB", "auto"}, *const pulls[] = {"off", "on"};
    static const char *const groups[] = {"3", "0"}, *const stores[] = {"cached", "auto"};
    const char *only = argc > 2 ? argv[2] : NULL;
    int failures = 0;

    sb_baselines_add();
    setvbuf(stdout, NULL, _IOLBF, 0);
    program.seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    for (size_t r = 0; r < SB_COUNT_OF(rings); r++) {
        setenv("SOBOR_RING", rings[r], 1);
        setenv("SOBOR_CMA", pulls[r], 1);
        setenv("SOBOR_BARRIER_ARITY", groups[r], 1);
        if (r > 0)
            setenv("SOBOR_WAIT", "sleep", 1);
        for (uint32_t ranks = 1; ranks <= RANKS_MOST; ranks += ranks < 5 ? 1 : 3) {
            setenv("SOBOR_STORES", ranks % 2 == 0 ? "streaming" : stores[r], 1);
            failures += program_run(&program, ranks, only);
        }
    }
    if (only == NULL)
        failures += run_unreadable() + run_turns() + run_short() +
                    run_pair(&sb_gather_direct, "a line taken ahead", run_again);
    if (only == NULL || strcmp(only, "fresh") == 0)
        failures += run_fresh();
    if (only == NULL || strcmp(only, "rows") == 0)
        failures += run_rows();
    return failures == 0 ? 0 : 1;
}
