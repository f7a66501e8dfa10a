/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One algorithm on the simulated machine: ranks make a team, or a cluster, call the collective a
 * number of times, and check what they get: every byte of a broadcast, and that nobody leaves a
 * barrier before all have come.
 */
#include "tools/simulate.h"

#include "baseline/bcast_ideal.h"
#include "machine/sim/net.h"
#include "machine/sim/random.h"
#include "select/tuning.h"
#include "team/hello.h"
#include "tools/self_sim.h"
#include "tools/simulate_answer.h"
#include "tools/simulate_check.h"
#include "tools/simulate_parts.h"
#include "tools/simulate_reduction.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_STRAGGLER 5
#define PATTERNS 251

typedef struct run {
    const sb_simulate_t *options;
    const sb_algorithm_t *algorithm;
    const sb_spanning_t *spanning; /* over several nodes; or NULL */
    const uint32_t *nodes;         /* of each rank */
    size_t bytes;
    uint64_t call_cost; /* picoseconds */
    uint32_t ranks;
    sb_profile_t *profiles; /* of each rank */
    uint32_t *entered;      /* calls, by each rank */
    unsigned char *pattern; /* call c sends the bytes from place c mod PATTERNS on */
    bool counts;            /* what follows is counted */
    uint32_t judged;        /* after so many calls, */
    bool enough;            /* so: no more are made */
    sb_timed_run_t timed;
} run_t;

static sb_status_t allgather(void *context, const void *mine, void *all, size_t bytes)
{
    (void)context;
    sb_sim_allgather(SB_SIM_ALL, mine, all, bytes);
    return SB_OK;
}

static bool reduces(const run_t *run)
{
    return run->spanning != NULL ? run->spanning->reduction != NULL
                                 : run->algorithm->reduction != NULL;
}

static sb_reduction_case_t reduction_call(const run_t *run, uint32_t call, uint32_t root)
{
    return (sb_reduction_case_t){.algorithm = run->algorithm,
                                 .ranks = run->ranks,
                                 .root = root,
                                 .number = call,
                                 .bytes = run->bytes,
                                 .uneven = run->options->counts != SB_COUNTS_EQUAL};
}

/* As wished, or so many that all parts are alike where they have to be. */
static size_t message_bytes(const run_t *run)
{
    sb_reduction_case_t reduced = reduction_call(run, 0, 0);

    return reduces(run) ? sb_reduction_bytes(&reduced) : run->bytes;
}

static const sb_profile_t *profile_of(void *context, uint32_t rank)
{
    return &((const run_t *)context)->profiles[rank];
}

/* A rank for each core would else copy what all say of themselves: most of a short run's time. */
static sb_front_t front_of(const run_t *run, uint32_t rank)
{
    const sb_rules_t *rules = sb_tuning_self();

    sb_profile_self(&run->profiles[rank]);
    run->profiles[rank].rules = rules == NULL ? 0 : rules->count;
    sb_sim_meet(SB_SIM_ALL);
    return (sb_front_t){.allgather = allgather,
                        .rules = rules,
                        .profile = profile_of,
                        .profile_context = (void *)(uintptr_t)run};
}

static sb_team_t *make_team(const run_t *run, uint32_t rank)
{
    sb_front_t front = front_of(run, rank);
    sb_team_t *team;
    sb_refusal_t refusal;
    sb_reason_t reason;
    sb_status_t status = sb_team_create(&team, &front, rank, run->ranks, &refusal, &reason);

    if (status != SB_OK)
        sb_sim_stop("rank %u: no team: %s %s", rank, sb_status_string(status), reason.text);
    if (sb_algorithm_prepare(run->algorithm, team, message_bytes(run)) != SB_OK)
        sb_sim_stop("rank %u: no rings: SOBOR_MEMORY leaves no room for them", rank);
    return team;
}

/* For a flat algorithm every rank is alone. */
static sb_cluster_t *make_cluster(const run_t *run, uint32_t rank)
{
    sb_front_t front = {.allgather = allgather, .rules = sb_tuning_self()};
    sb_net_t net = sb_sim_net();
    sb_cluster_t *cluster;
    sb_status_t status =
        sb_cluster_create(&cluster, &front, &net, run->spanning->flat ? rank : run->nodes[rank]);

    if (status != SB_OK)
        sb_sim_stop("rank %u: no cluster: %s", rank, sb_status_string(status));
    return cluster;
}

/* What serves a rank. */
typedef struct server {
    uint32_t rank;
    sb_team_t *team; /* or */
    sb_cluster_t *cluster;
} server_t;

static server_t make_server(const run_t *run, uint32_t rank)
{
    server_t server = {.rank = rank};

    if (run->spanning == NULL)
        server.team = make_team(run, rank);
    else
        server.cluster = make_cluster(run, rank);
    return server;
}

static void destroy_server(const server_t *server)
{
    if (server->team != NULL)
        sb_team_destroy(server->team);
    else
        sb_cluster_destroy(server->cluster);
}

static uint64_t delay(const run_t *run, uint32_t rank, uint32_t call)
{
    const sb_simulate_t *options = run->options;
    uint64_t state = sb_random_stream(options->seed, STREAM_STRAGGLER, call);

    if (options->arrival.kind == SB_ARRIVE_STRAGGLER)
        return sb_random_below(&state, run->ranks) == rank ? options->arrival.width : 0;
    return sb_arrival_delay(&options->arrival, options->seed, rank, call);
}

/* Who comes first, or last, of the node to the present call of the rank. */
static uint32_t head_of(void *context, uint32_t rank, uint32_t node, bool last)
{
    const run_t *run = context;
    uint32_t call = run->entered[rank] - 1, head = UINT32_MAX;
    uint64_t time = 0;

    for (uint32_t i = 0; i < run->ranks; i++) {
        if (run->nodes[i] != node)
            continue;
        uint64_t late = delay(run, i, call);
        if (head == UINT32_MAX || (last ? late > time : late < time)) {
            time = late;
            head = i;
        }
    }
    return head;
}

static void note_call(run_t *run, uint32_t rank, uint32_t call, uint64_t entry, uint64_t leaving)
{
    sb_timed_call_t *noted = &run->timed.calls[call];

    if (call >= run->options->warmup)
        run->timed.spent[rank] += leaving - entry;
    noted->last_entry = entry > noted->last_entry ? entry : noted->last_entry;
    noted->last_exit = leaving > noted->last_exit ? leaving : noted->last_exit;
    noted->longest = leaving - entry > noted->longest ? leaving - entry : noted->longest;
}

static void check_entered(const run_t *run, uint32_t rank, uint32_t call)
{
    for (uint32_t i = 0; i < run->ranks; i++) {
        if (run->entered[i] <= call)
            sb_sim_stop("%s: rank %u left barrier %u, which rank %u has not entered",
                        run->algorithm->name, rank, call, i);
    }
}

static void check_bytes(const run_t *run, const char *data, uint32_t rank, uint32_t root,
                        uint32_t call)
{
    const unsigned char *expected = run->pattern + call % PATTERNS;

    if (memcmp(data, expected, run->bytes) == 0)
        return;
    for (size_t i = 0; i < run->bytes; i++) {
        if ((unsigned char)data[i] != expected[i])
            sb_sim_stop("%s: call %u, root %u: byte %zu of %zu is wrong on rank %u",
                        run->algorithm->name, call, root, i, run->bytes, rank);
    }
}

/* A rank's own memory: the message of a broadcast, or what it sends, and what it receives. */
typedef struct buffers {
    sb_sim_memory_t data;
    sb_sim_memory_t received;
    sb_stream_t *streams;
    size_t *parts;
} buffers_t;

static bool moves_parts(const run_t *run)
{
    return run->spanning != NULL ? run->spanning->parts != NULL : run->algorithm->parts != NULL;
}

static sb_vector_case_t parts_call(const run_t *run, uint32_t call, uint32_t root)
{
    return (sb_vector_case_t){.collective = run->algorithm->collective,
                              .ranks = run->ranks,
                              .root = root,
                              .number = call,
                              .bytes = run->bytes,
                              .counts = run->options->counts};
}

static size_t room_needed(const run_t *run)
{
    sb_vector_case_t moved = parts_call(run, 0, 0);

    return moves_parts(run) ? sb_parts_room(&moved) : message_bytes(run);
}

static buffers_t make_buffers(const run_t *run)
{
    size_t bytes = room_needed(run);
    buffers_t buffers = {.data = sb_sim_buffer(bytes)};

    if (!moves_parts(run) && !reduces(run))
        return buffers;
    buffers.received = sb_sim_buffer(bytes);
    buffers.streams = calloc(2 * (size_t)run->ranks, sizeof *buffers.streams);
    buffers.parts = calloc(run->ranks, sizeof *buffers.parts);
    if (buffers.streams == NULL || buffers.parts == NULL)
        sb_sim_stop("private memory is exhausted");
    return buffers;
}

static void free_buffers(const run_t *run, buffers_t *buffers)
{
    sb_sim_buffer_free(buffers->data.block);
    if (moves_parts(run) || reduces(run))
        sb_sim_buffer_free(buffers->received.block);
    free(buffers->streams);
    free(buffers->parts);
}

/* Fills what is sent, and cools what is to be cold. */
static void fill_buffers(const run_t *run, const buffers_t *buffers, bool is_root, uint32_t call)
{
    if (run->bytes == 0)
        return;
    if (run->options->cold)
        sb_sim_buffer_cool(buffers->data.block);
    if (run->options->cold && (moves_parts(run) || reduces(run)))
        sb_sim_buffer_cool(buffers->received.block);
    if (moves_parts(run) || reduces(run))
        return;
    if (is_root)
        memcpy(buffers->data.address, run->pattern + call % PATTERNS, run->bytes);
    else
        memset(buffers->data.address, 0xee, run->bytes);
}

static sb_status_t serve_over_nodes(const run_t *run, sb_cluster_t *cluster,
                                    const sb_stream_t *stream, const sb_parts_t *parts,
                                    const sb_reduction_t *reduction, uint32_t root)
{
    const sb_spanning_t *spanning = run->spanning;

    if (spanning->barrier != NULL)
        return spanning->barrier(cluster);
    if (spanning->parts != NULL)
        return spanning->parts(cluster, parts);
    if (spanning->reduction != NULL)
        return spanning->reduction(cluster, reduction);
    return spanning->bcast(cluster, root, stream);
}

static sb_status_t serve(const run_t *run, const server_t *server, const buffers_t *buffers,
                         const sb_parts_t *parts, const sb_reduction_t *reduction, uint32_t root)
{
    sb_stream_t stream = {.base = buffers->data.address, .bytes = run->bytes};
    sb_team_t *team = server->team;

    if (run->spanning != NULL)
        return serve_over_nodes(run, server->cluster, &stream, parts, reduction, root);
    if (run->algorithm->collective == SB_BARRIER)
        return run->algorithm->barrier(team);
    if (moves_parts(run))
        return run->algorithm->parts(team, parts);
    if (reduces(run))
        return run->algorithm->reduction(team, reduction);
    return run->bytes == 0 ? SB_OK : run->algorithm->bcast(team, root, &stream);
}

/* What sobor bench does before it times a call. */
static void come_from_barrier(const server_t *server)
{
    sb_team_t *team = server->team;

    if (server->cluster != NULL && sb_cluster_barrier(server->cluster) != SB_OK)
        sb_sim_stop("rank %u: the barrier before the call failed", server->rank);
    if (server->cluster != NULL)
        return;
    sb_shape_t shape = sb_team_shape(team);
    sb_choice_t choice = sb_choose(SB_BARRIER, &shape, &team->settings, 0, false);

    if (choice.algorithm == NULL)
        sb_sim_stop("the barrier before each call is left to the host MPI (%s), which is not "
                    "simulated",
                    choice.reason);
    if (choice.algorithm->barrier(team) != SB_OK)
        sb_sim_stop("rank %u: the barrier before the call failed", team->rank);
}

static void check_parts(const run_t *run, const sb_vector_case_t *call, uint32_t rank,
                        const sb_parts_t *parts)
{
    uint32_t from;
    size_t place;

    if (!sb_parts_check(call, rank, parts, &from, &place))
        sb_sim_stop("%s: call %u, root %u: byte %zu of the part from rank %u is wrong on rank %u",
                    run->algorithm->name, call->number, call->root, place, from, rank);
}

static void check_reduction(const run_t *run, const sb_reduction_case_t *call, uint32_t rank,
                            const sb_reduction_t *reduction)
{
    size_t place;

    if (!sb_reduction_check(call, rank, reduction, &place))
        sb_sim_stop("%s: call %u, root %u: byte %zu of the result is wrong on rank %u",
                    run->algorithm->name, call->number, call->root, place, rank);
}

static void call_once(run_t *run, const server_t *server, uint32_t call, const buffers_t *buffers)
{
    const sb_simulate_t *options = run->options;
    uint32_t rank = server->rank;
    uint32_t root = options->rotate ? (options->root + call) % run->ranks : options->root;
    sb_vector_case_t moved = parts_call(run, call, root);
    sb_reduction_case_t reduced = reduction_call(run, call, root);
    sb_parts_t parts = {0};
    sb_reduction_t reduction = {0};

    fill_buffers(run, buffers, rank == root, call);
    if (moves_parts(run))
        parts = sb_parts_lay(&moved, rank, buffers->data.address, buffers->received.address,
                             buffers->streams);
    else if (reduces(run))
        reduction = sb_reduction_lay(&reduced, rank, buffers->data.address,
                                     buffers->received.address, buffers->parts);
    if (options->barriers)
        come_from_barrier(server);
    /* After the barrier, which would wait for who is late. */
    sb_sim_compute(delay(run, rank, call));
    run->entered[rank]++;
    uint64_t entry = sb_sim_clock();
    sb_sim_compute(run->call_cost);
    sb_status_t status = serve(run, server, buffers, &parts, &reduction, root);
    if (status != SB_OK)
        sb_sim_stop("%s: call %u on rank %u: %s", run->algorithm->name, call, rank,
                    sb_status_string(status));
    if (options->barriers)
        sb_now_ns();
    note_call(run, rank, call, entry, sb_sim_clock());
    if (run->algorithm->collective == SB_BARRIER)
        check_entered(run, rank, call);
    else if (moves_parts(run))
        check_parts(run, &moved, rank, &parts);
    else if (reduces(run))
        check_reduction(run, &reduced, rank, &reduction);
    else if (run->bytes > 0)
        check_bytes(run, buffers->data.address, rank, root, call);
}

/* By whoever first comes out of the meeting: nobody has done anything of the call then. In a chain
 * there is no such moment, and rank 0's is taken. */
static void begin_to_count(run_t *run, uint32_t rank)
{
    if (run->counts || (run->options->chained && rank != 0))
        return;
    run->counts = true;
    sb_sim_lines(&run->timed.before);
    sb_sim_messages(&run->timed.sent_before);
    sb_sim_records_clear();
}

/* All have met: whoever is first looks, and all find the same. */
static bool is_enough(run_t *run, uint32_t made)
{
    if (run->judged != made)
        run->enough = sb_simulate_enough(run->options, &run->timed, made);
    run->judged = made;
    return run->enough;
}

static void body(void *argument, uint32_t rank)
{
    run_t *run = argument;
    const sb_simulate_t *options = run->options;
    server_t server = make_server(run, rank);
    buffers_t buffers = make_buffers(run);

    uint32_t call = 0;
    for (; call < options->warmup + options->calls; call++) {
        if (!options->chained || call == 0)
            sb_sim_meet(SB_SIM_ALL);
        if (is_enough(run, call))
            break;
        if (call == options->warmup)
            begin_to_count(run, rank);
        call_once(run, &server, call, &buffers);
    }
    sb_sim_meet(SB_SIM_ALL);
    if (rank == 0) {
        run->timed.made = call;
        sb_sim_lines(&run->timed.after);
        sb_sim_messages(&run->timed.sent_after);
    }
    sb_sim_meet(SB_SIM_ALL);
    free_buffers(run, &buffers);
    destroy_server(&server);
    sb_sim_meet(SB_SIM_ALL);
    if (sb_team_deferred() != 0)
        sb_sim_stop("%s: rank %u keeps memory after all have left", run->algorithm->name, rank);
}

static void fill_pattern(unsigned char *pattern, size_t bytes)
{
    uint64_t state = 1;

    for (size_t i = 0; i < bytes; i++)
        pattern[i] = (unsigned char)(sb_random_next(&state) % 251);
}

static json_t *simulate(run_t *run, const sb_simulated_t *machine, const uint32_t *cores)
{
    const sb_simulate_t *options = run->options;
    sb_join_t *join = options->check ? sb_simulate_watch(run->ranks) : NULL;
    sb_sim_options_t engine = {
        .machine = &machine->model,
        .ranks = run->ranks,
        .node = run->nodes,
        .core = cores,
        .seed = options->seed,
        .noise = options->noise,
        .placed = options->placement,
        .segment = options->segment,
        .records = options->timeline != NULL,
        .watch = join == NULL ? NULL : sb_join_watch(join),
    };
    sb_sim_t *sim = sb_sim_new(&engine);

    if (sim == NULL)
        sb_tool_fail("out of memory");
    bool complete = sb_sim_run(sim, body, run) == SB_SIM_COMPLETE;
    if (!complete && join == NULL)
        sb_tool_fail("%s", sb_sim_problem(sim));
    json_t *result = sb_simulate_describe(options, machine, run->algorithm, run->bytes);
    if (complete)
        sb_simulate_add_timed(result, options, &run->timed);
    if (join != NULL)
        sb_simulate_watched(result, join, complete ? NULL : sb_sim_problem(sim));
    if (complete && options->timeline != NULL)
        sb_simulate_timeline(options, result);
    sb_sim_free(sim);
    sb_join_free(join);
    return result;
}

json_t *sb_simulate_run(const sb_simulate_t *options, const sb_simulated_t *machine,
                        const sb_algorithm_t *algorithm, const sb_spanning_t *spanning,
                        size_t bytes)
{
    uint32_t ranks = options->ranks, calls = options->warmup + options->calls;
    uint32_t *nodes = sb_tool_take(ranks, sizeof *nodes);
    uint32_t *cores = sb_tool_take(ranks, sizeof *cores);
    sb_place_t *places = sb_tool_take(ranks, sizeof *places);
    run_t run = {.options = options,
                 .algorithm = algorithm,
                 .spanning = spanning,
                 .nodes = nodes,
                 .bytes = bytes,
                 .ranks = ranks,
                 .call_cost = machine->model.call,
                 .profiles = sb_tool_take(ranks, sizeof *run.profiles),
                 .entered = sb_tool_take(ranks, sizeof *run.entered),
                 .pattern = sb_tool_take(bytes + PATTERNS, sizeof *run.pattern),
                 .timed = {.calls = sb_tool_take(calls, sizeof *run.timed.calls),
                           .spent = sb_tool_take(ranks, sizeof *run.timed.spent)}};

    fill_pattern(run.pattern, bytes + PATTERNS);
    sb_ideal_tell(head_of, &run);
    sb_simulate_place(options, machine, places, nodes, cores);
    sb_topology_simulate(machine->topology, places);
    json_t *result = simulate(&run, machine, cores);
    free(nodes);
    free(places);
    free(cores);
    free(run.profiles);
    free(run.entered);
    free(run.timed.spent);
    free(run.timed.calls);
    free(run.pattern);
    return result;
}
