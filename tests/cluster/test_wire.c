/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes over the network, to the byte, and how long it takes there, on the simulated machine:
 * figures that are the same wherever the test runs. What the same schedules take without nodes,
 * every rank for itself, stands for flat algorithms: they are what a host MPI does that knows of no
 * nodes, without the cost of its matching.
 */
#include "../unit/testing.h"

#include "calls.h"

#include "base/forms.h"
#include "ground.h"

#include "data/fold.h"
#include "machine/sim/net.h"
#include "tools/machines.h"
#include "tools/self_sim.h"

#include <stdlib.h>
#include <string.h>

typedef enum operation {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    GATHER,
    SCATTER,
    ALLGATHER,
    GATHERV,
    SCATTERV,
    ALLTOALL,
    ALLTOALLV,
    SCAN,
    EXSCAN,
    OPERATIONS
} operation_t;

static const char *const names[OPERATIONS] = {
    "barrier",   "bcast",   "reduce",   "allreduce", "reduce_scatter", "gather", "scatter",
    "allgather", "gatherv", "scatterv", "alltoall",  "alltoallv",      "scan",   "exscan"};

typedef struct measured {
    uint64_t messages;
    uint64_t bytes;
    uint64_t most_messages; /* of one node, */
    uint64_t most_bytes;    /* and of one */
    uint64_t nanoseconds;   /* of the slowest rank */
} measured_t;

typedef struct run {
    const ground_t *ground;
    operation_t operation;
    size_t bytes;
    bool apart; /* all other operations are left to the host */
    sb_sim_messages_t before;
    sb_sim_messages_t sent[NODES_MOST];
    measured_t measured;
} run_t;

static sb_status_t allgather(void *context, const void *mine, void *all, size_t bytes)
{
    (void)context;
    sb_sim_allgather(SB_SIM_ALL, mine, all, bytes);
    return SB_OK;
}

static sb_status_t call_parts(const run_t *run, sb_cluster_t *cluster, char *data)
{
    sb_stream_t one = {.base = data, .bytes = run->bytes}, all[2 * RANKS_MOST];

    for (uint32_t i = 0; i < 2 * RANKS_MOST; i++)
        all[i] = (sb_stream_t){.base = data + (i + 1) * run->bytes, .bytes = run->bytes};
    sb_parts_t gathers = {.send = &one, .receive = all};
    sb_parts_t scatters = {.send = all, .receive = &one};
    sb_parts_t exchanges = {.send = all, .receive = all + RANKS_MOST};
    switch (run->operation) {
    case GATHER:
        return sb_cluster_gather(cluster, &gathers);
    case GATHERV:
        return sb_cluster_gatherv(cluster, &gathers);
    case SCATTER:
        return sb_cluster_scatter(cluster, &scatters);
    case SCATTERV:
        return sb_cluster_scatterv(cluster, &scatters);
    case ALLTOALL:
        return sb_cluster_alltoall(cluster, &exchanges);
    case ALLTOALLV:
        return sb_cluster_alltoallv(cluster, &exchanges);
    default:
        return sb_cluster_allgather(cluster, &gathers);
    }
}

static sb_status_t call(const run_t *run, sb_cluster_t *cluster, char *data)
{
    sb_stream_t stream = {.base = data, .bytes = run->bytes};
    sb_reduction_t reduction = {.operation = sb_fold_operator(SB_SUM, SB_FLOAT),
                                .bytes = run->bytes,
                                .send = data,
                                .receive = data + run->bytes};

    if (run->operation >= GATHER && run->operation < SCAN)
        return call_parts(run, cluster, data);
    switch (run->operation) {
    case BARRIER:
        return sb_cluster_barrier(cluster);
    case BCAST:
        return sb_cluster_bcast(cluster, 0, &stream);
    case REDUCE:
        reduction.receive = cluster->rank == 0 ? reduction.receive : NULL;
        return sb_cluster_reduce(cluster, &reduction);
    case SCAN:
        return sb_cluster_scan(cluster, &reduction);
    case EXSCAN:
        reduction.receive = cluster->rank > 0 ? reduction.receive : NULL;
        return sb_cluster_exscan(cluster, &reduction);
    case REDUCE_SCATTER:
        return sb_cluster_reduce_scatter(cluster, &reduction);
    default:
        return sb_cluster_allreduce(cluster, &reduction);
    }
}

static void note_before(run_t *run)
{
    sb_sim_messages(&run->before);
    for (uint32_t node = 0; node < run->ground->nodes; node++)
        sb_sim_sent(node, &run->sent[node]);
}

static void note_after(run_t *run)
{
    measured_t *measured = &run->measured;
    sb_sim_messages_t after;

    sb_sim_messages(&after);
    measured->messages = after.count - run->before.count;
    measured->bytes = after.bytes - run->before.bytes;
    for (uint32_t node = 0; node < run->ground->nodes; node++) {
        sb_sim_sent(node, &after);
        measured->most_messages =
            sb_max(measured->most_messages, after.count - run->sent[node].count);
        measured->most_bytes = sb_max(measured->most_bytes, after.bytes - run->sent[node].bytes);
    }
}

/* The third call counts: memory is there, and choices are made. */
static void run_rank(void *argument, uint32_t rank)
{
    run_t *run = argument;
    uint32_t node = run->ground->node[rank];
    sb_settings_t settings;
    sb_front_t front = {
        .allgather = allgather, .objection = run->ground->barren[node], .settings = &settings};
    sb_net_t net = sb_sim_net();
    sb_sim_memory_t memory = sb_sim_buffer((2 * RANKS_MOST + 1) * run->bytes + 1);
    sb_cluster_t *cluster;
    uint64_t began = 0;

    /* Without the words by which leaders are found. */
    sb_settings_self(&settings);
    settings.bcast_form = SB_FORM_FIXED;
    for (sb_collective_t other = 0; run->apart && other < SB_COLLECTIVES; other++)
        strcpy(settings.algorithm[other], "host");
    settings.collectives = run->apart ? 0 : settings.collectives;
    assert_int_equal(sb_cluster_create(&cluster, &front, &net, node), SB_OK);
    for (unsigned i = 0; i < 3; i++) {
        sb_sim_meet(SB_SIM_ALL);
        note_before(run);
        began = sb_sim_clock();
        sb_sim_meet(SB_SIM_ALL);
        assert_int_equal(call(run, cluster, memory.address), SB_OK);
    }
    uint64_t took = (sb_sim_clock() - began) / 1000;
    run->measured.nanoseconds = sb_max(run->measured.nanoseconds, took);
    sb_sim_meet(SB_SIM_ALL);
    note_after(run);
    sb_sim_meet(SB_SIM_ALL);
    sb_cluster_destroy(cluster);
    sb_sim_meet(SB_SIM_ALL);
    assert_int_equal(sb_team_deferred(), 0);
    sb_sim_buffer_free(memory.block);
}

/* Runs the ranks on their nodes. */
static void simulate(const ground_t *ground, void (*body)(void *argument, uint32_t rank),
                     void *argument)
{
    machine_t machine = {.core = {0}};
    char error[256];

    machine_build(&machine, ground, 8192);
    sb_topology_t *topology = sb_topology_open("package:2 core:2 pu:1", error, sizeof error);
    sb_topology_simulate(topology, machine.places);
    sb_sim_options_t options = {.machine = &machine.model,
                                .ranks = ground->ranks,
                                .node = ground->node,
                                .core = machine.core,
                                .placed = true};
    sb_sim_t *sim = sb_sim_new(&options);
    sb_sim_end_t end = sb_sim_run(sim, body, argument);
    if (end != SB_SIM_COMPLETE)
        print_error("%s\n", sb_sim_problem(sim));
    assert_int_equal(end, SB_SIM_COMPLETE);
    sb_sim_free(sim);
    sb_topology_close(topology);
}

static measured_t measure(const ground_t *ground, operation_t operation, size_t bytes)
{
    run_t run = {.ground = ground, .operation = operation, .bytes = bytes};

    simulate(ground, run_rank, &run);
    return run.measured;
}

/* So many nodes of four ranks, in blocks or dealt out; without shared memory all are flat. */
static ground_t lay(uint32_t nodes, bool dealt, bool flat)
{
    ground_t ground = {.nodes = nodes, .ranks = nodes * CORES};

    for (uint32_t i = 0; i < ground.ranks; i++)
        ground.node[i] = dealt ? i % nodes : i / CORES;
    for (uint32_t i = 0; i < nodes; i++)
        ground.barren[i] = flat;
    return ground;
}

#define MIB ((size_t)1 << 20)

static const struct {
    operation_t operation;
    uint32_t nodes;
    size_t bytes;
    uint64_t messages;
    uint64_t sent;
} traffic[] = {
    {BARRIER, 3, 0, 3 * 2, 0},
    {BARRIER, 4, 0, 4 * 2, 0},
    {BCAST, 4, 1000, 3, 3 * 1000},
    {BCAST, 4, MIB, 3 * 32, 3 * MIB},
    {REDUCE, 4, MIB, 3 * 32, 3 * MIB},
    {ALLREDUCE, 4, 1000, 4 * 4 * 3, 4 * 3 * 1000}, /* two digits in one round */
    {ALLREDUCE, 3, 1000, 4 * (2 + 2), 4 * 1000},
    {REDUCE_SCATTER, 4, MIB, 16 * 2 * 3, 3 * MIB},
    {GATHER, 4, 8, 3, 16 * 8},
    {SCATTER, 4, 8, 3, 16 * 8},
    {ALLGATHER, 4, 8, 4 + 4 + 1, 16 * 8 * 3},
    {ALLGATHER, 4, 3000, 2 * 9, 16 * 3000 * 3},
    {ALLREDUCE, 4, MIB, 8 * 16 * 2 * 2, 2 * 3 * MIB},
    {ALLREDUCE, 4, 16384, 4 * 4 * 3 * 2, 2 * 3 * 16384}, /* partners, four segments */
    {ALLREDUCE, 3, 4096, 2 * 3 * 2 * 2, 2 * 2 * 4096},
    {GATHERV, 4, 8, 3, 12 * 8},
    {GATHERV, 4, 8192, 12, 12 * 8192},
    {GATHERV, 4, MIB, 12 * 16, 12 * MIB},
    {SCATTERV, 4, 8, 3, 12 * (8 + 4)},
    {SCATTERV, 4, 8192, 12 + 3, 12 * (8192 + 4)},
    {ALLTOALL, 4, 8, 4 * 3, 16 * 12 * 8},
    {ALLTOALL, 4, 256, 4 * 3, 16 * 12 * 256},
    {ALLTOALL, 4, 8192, 16 * 12, 16 * 12 * 8192},
    {ALLTOALLV, 4, 8, 4 * 3, 16 * 12 * (8 + 2)},
    {ALLTOALLV, 4, 8192, 4 * 3 + 16 * 12, 16 * 12 * (8192 + 2)},
};

/* Of N nodes: each message's bytes once over each edge of a tree, a ring's parts 2 (N - 1) times.
 */
static void nothing_goes_over_the_network_twice(void **state)
{
    (void)state;
    for (unsigned dealt = 0; dealt < 2; dealt++) {
        for (unsigned i = 0; i < SB_COUNT_OF(traffic); i++) {
            ground_t ground = lay(traffic[i].nodes, dealt, false);
            measured_t seen = measure(&ground, traffic[i].operation, traffic[i].bytes);
            print_message("%s %zu: %lu messages, %lu bytes\n", names[traffic[i].operation],
                          traffic[i].bytes, (unsigned long)seen.messages,
                          (unsigned long)seen.bytes);
            assert_int_equal(seen.bytes, traffic[i].sent);
            assert_int_equal(seen.messages, traffic[i].messages);
        }
    }
}

/* Nodes of 5, 3, 4 and 2 ranks, one after the other or mixed. */
static ground_t lay_unequal(bool mixed)
{
    static const uint32_t ordered[] = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3};
    static const uint32_t dealt[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0, 2, 0};
    ground_t ground = {.nodes = 4, .ranks = SB_COUNT_OF(ordered)};

    for (uint32_t i = 0; i < ground.ranks; i++)
        ground.node[i] = mixed ? dealt[i] : ordered[i];
    return ground;
}

/* What leaves the busiest node, however ranks are placed. Of p ranks, at least 2 on each node. */
static void the_busiest_node_sends_no_more_than_it_must(void **state)
{
    static const struct {
        operation_t operation;
        size_t bytes;
        uint64_t sent; /* 0: more than bytes count here */
        uint64_t messages;
    } cases[] = {
        {ALLGATHER, 65536, (14 - 2) * 65536, 0},
        {REDUCE_SCATTER, 14 * 65536, (14 - 2) * 65536, 0},
        {ALLREDUCE, MIB, 2 * 3 * MIB / 4, 0},
        {ALLREDUCE, 16384, 2 * 3 * 16384 / 4, 0},
        {ALLTOALL, 8, 0, 3},
        {ALLTOALL, 256, 0, 3},
        {ALLTOALLV, 64, 0, 3},
        {BARRIER, 0, 0, 2},
    };

    (void)state;
    for (unsigned mixed = 0; mixed < 2; mixed++) {
        for (unsigned i = 0; i < SB_COUNT_OF(cases); i++) {
            ground_t ground = lay_unequal(mixed);
            measured_t seen = measure(&ground, cases[i].operation, cases[i].bytes);
            print_message("%s %zu: at most %lu messages, %lu bytes of a node\n",
                          names[cases[i].operation], cases[i].bytes,
                          (unsigned long)seen.most_messages, (unsigned long)seen.most_bytes);
            if (cases[i].sent > 0)
                assert_in_range(seen.most_bytes, cases[i].sent, cases[i].sent + 64);
            else
                assert_int_equal(seen.most_messages, cases[i].messages);
        }
    }
}

static const struct {
    operation_t operation;
    size_t bytes;
    double in_blocks, dealt, alone; /* at most so many times their time */
} timed[] = {
    {BARRIER, 0, 0.75, 0.9, 1.2},
    {BCAST, 8, 0.9, 0.9, 1.2},
    {BCAST, 4096, 1.0, 0.5, 1.3},
    {BCAST, MIB / 4, 1.05, 0.4, 1.15},
    {BCAST, 2 * MIB, 1.05, 0.3, 1.1},
    {REDUCE, 8, 0.9, 0.9, 1.25},
    {REDUCE, MIB / 4, 1.05, 0.4, 1.25},
    {REDUCE, 2 * MIB, 1.05, 0.3, 1.1},
    {ALLREDUCE, 8, 0.75, 0.75, 1.3},
    {ALLREDUCE, 4096, 0.65, 0.45, 1.2},
    {ALLREDUCE, MIB / 4, 1.0, 0.3, 1.1},
    {ALLREDUCE, 2 * MIB, 1.05, 0.3, 1.1},
    {REDUCE_SCATTER, 128, 0.85, 0.85, 1.45},
    {REDUCE_SCATTER, 4096, 0.65, 0.45, 1.1},
    {REDUCE_SCATTER, 32768, 0.6, 0.5, 1.8},
    {REDUCE_SCATTER, MIB, 0.65, 0.3, 1.35},
    {GATHER, 8, 0.95, 0.95, 1.25},
    {GATHER, 65536, 1.05, 1.05, 1.05},
    {SCATTER, 8, 0.9, 0.9, 1.2},
    {SCATTER, 65536, 1.05, 1.05, 1.05},
    {ALLGATHER, 8, 0.85, 1.0, 1.5},
    {ALLGATHER, 2048, 0.45, 1.3, 1.5},
    {ALLGATHER, 65536, 0.85, 0.3, 1.1},
    {SCAN, 8, 0.9, 0, 1.25},
    {SCAN, 4096, 0.45, 0, 1.35},
    {SCAN, MIB, 1.25, 0, 1.3},
    {EXSCAN, 8, 0.9, 0, 1.4},
    {GATHERV, 8, 0.75, 0.75, 1.5},
    {GATHERV, 2048, 1.05, 1.05, 1.25},
    {GATHERV, 65536, 1.05, 1.05, 1.05},
    {SCATTERV, 8, 0.55, 0.55, 1.25},
    {SCATTERV, 65536, 1.05, 1.05, 1.05},
    {ALLTOALL, 8, 0.4, 0.4, 1.5},
    {ALLTOALL, 64, 0.65, 0.7, 2.5},
    {ALLTOALL, 2048, 1.05, 1.05, 4},
    {ALLTOALL, 65536, 1.05, 1.1, 4.6},
    {ALLTOALLV, 8, 0.5, 0.5, 2},
    {ALLTOALLV, 64, 0.75, 0.8, 3},
    {ALLTOALLV, 65536, 1.05, 1.1, 4.6},
};

/* Beside flat algorithms, and beside what the network alone takes: one rank on each node. There is
 * some room, since the algorithms inside the node are chosen by prices. */
static void nodes_save_time(void **state)
{
    ground_t alone = {.nodes = 4, .ranks = 4, .node = {0, 1, 2, 3}};

    (void)state;
    for (unsigned i = 0; i < SB_COUNT_OF(timed); i++) {
        /* The same bytes of each node. */
        size_t of_node = timed[i].bytes *
                         (timed[i].operation >= GATHER && timed[i].operation < SCAN ? CORES : 1);
        uint64_t least = measure(&alone, timed[i].operation, of_node).nanoseconds;
        /* Scans are not served where ranks are dealt. */
        for (unsigned dealt = 0; dealt < (timed[i].operation < SCAN ? 2 : 1); dealt++) {
            ground_t nodes = lay(4, dealt, false), flat = lay(4, dealt, true);
            uint64_t took = measure(&nodes, timed[i].operation, timed[i].bytes).nanoseconds;
            uint64_t others = measure(&flat, timed[i].operation, timed[i].bytes).nanoseconds;
            double most = dealt ? timed[i].dealt : timed[i].in_blocks;
            print_message("%s %zu: %lu ns, flat %lu, one rank a node %lu\n",
                          names[timed[i].operation], timed[i].bytes, (unsigned long)took,
                          (unsigned long)others, (unsigned long)least);
            assert_true((double)took <= most * (double)others);
            assert_true((double)took <= timed[i].alone * (double)least);
        }
    }
}

/* What a node does in one operation is of another, which its users may have left to the host. */
static void a_node_is_not_left_to_the_host(void **state)
{
    static const operation_t operations[] = {BCAST,          REDUCE,    ALLREDUCE,
                                             REDUCE_SCATTER, ALLGATHER, SCAN};
    ground_t ground = lay(4, false, false);

    (void)state;
    for (unsigned i = 0; i < SB_COUNT_OF(operations); i++) {
        run_t usual = {.ground = &ground, .operation = operations[i], .bytes = 65536};
        run_t apart = usual;
        apart.apart = true;
        simulate(&ground, run_rank, &usual);
        simulate(&ground, run_rank, &apart);
        print_message("%s: %lu ns, where others are the host's %lu\n", names[operations[i]],
                      (unsigned long)usual.measured.nanoseconds,
                      (unsigned long)apart.measured.nanoseconds);
        assert_int_equal(apart.measured.nanoseconds, usual.measured.nanoseconds);
    }
}

/* What ranks of a cluster took messages to cost: of this machine, and what they all went by. */
typedef struct trial {
    const ground_t *ground;
    bool pings;
    sb_net_prices_t noted; /* what rank 0 found before, for another cluster */
    sb_net_prices_t machine;
    sb_cluster_t seen[RANKS_MOST]; /* of each, what is told of prices */
    uint64_t sent;
} trial_t;

static void try_network(void *argument, uint32_t rank)
{
    trial_t *trial = argument;
    sb_settings_t settings;
    sb_front_t front = {.allgather = allgather, .settings = &settings};
    sb_net_t net = sb_sim_net();
    sb_sim_messages_t messages;
    sb_cluster_t *cluster;

    trial->machine = net.prices;
    if (rank == 0) { /* it has no file; the others' say something else */
        net.prices = (sb_net_prices_t){0};
        net.seen = trial->noted;
    }
    sb_settings_self(&settings);
    settings.pings = trial->pings;
    assert_int_equal(sb_cluster_create(&cluster, &front, &net, trial->ground->node[rank]), SB_OK);
    trial->seen[rank].prices = cluster->prices;
    trial->seen[rank].seen = cluster->seen;
    sb_sim_meet(SB_SIM_ALL);
    sb_sim_sent(0, &messages);
    trial->sent = messages.bytes;
    sb_cluster_destroy(cluster);
    sb_sim_meet(SB_SIM_ALL);
    assert_int_equal(sb_team_deferred(), 0);
}

static bool same_prices(const sb_net_prices_t *one, const sb_net_prices_t *other)
{
    return one->latency == other->latency && one->overhead == other->overhead &&
           one->byte == other->byte && one->eager == other->eager;
}

/* All ranks go by what rank 0 saw; what bits depend on stays as it is. */
static void check_agreement(const trial_t *trial)
{
    for (uint32_t rank = 0; rank < trial->ground->ranks; rank++) {
        assert_true(same_prices(&trial->seen[rank].seen, &trial->seen[0].seen));
        assert_true(same_prices(&trial->seen[rank].prices, &sb_net_prices_standard));
    }
}

static void all_go_by_what_messages_took(void **state)
{
    static trial_t trial;
    const sb_net_prices_t *found = &trial.seen[0].seen, *is = &trial.machine;

    (void)state;
    for (unsigned mixed = 0; mixed < 2; mixed++) {
        ground_t ground = lay(4, mixed, false);
        trial = (trial_t){.ground = &ground, .pings = true};
        simulate(&ground, try_network, &trial);
        print_message("a message %g ns, is %g; an end %g ns, is %g; a byte %g ns, is %g\n",
                      found->latency, is->latency, found->overhead, is->overhead, found->byte,
                      is->byte);
        check_agreement(&trial);
        assert_true(trial.sent >= 5 * 80 * 1024);
        assert_in_range(100 * found->latency / is->latency, 90, 115);
        assert_in_range(100 * found->overhead / is->overhead, 90, 115);
        assert_in_range(100 * found->byte / is->byte, 90, 115);
        /* For the next cluster they are known, and with the switch off they are not. */
        sb_net_prices_t noted = trial.noted = *found;
        simulate(&ground, try_network, &trial);
        check_agreement(&trial);
        assert_true(same_prices(found, &noted) && trial.sent < 5 * 80 * 1024);
        trial = (trial_t){.ground = &ground};
        simulate(&ground, try_network, &trial);
        check_agreement(&trial);
        assert_true(same_prices(found, &sb_net_prices_standard));
        assert_true(trial.sent < 5 * 80 * 1024);
    }
}

/* Short broadcasts in a row, whose leaders come late to the first ones, or none does. */
#define ROW 20
#define LATE_CALLS 4
#define LATE_PS UINT64_C(300000000)

typedef struct row {
    const ground_t *ground;
    bool late;
    uint64_t messages[ROW]; /* of each */
} row_t;

static void broadcast_in_a_row(void *argument, uint32_t rank)
{
    row_t *row = argument;
    uint32_t node = row->ground->node[rank];
    sb_settings_t settings;
    sb_front_t front = {.allgather = allgather, .settings = &settings};
    sb_net_t net = sb_sim_net();
    sb_sim_memory_t memory = sb_sim_buffer(64);
    sb_stream_t stream = {.base = memory.address, .bytes = 64};
    sb_cluster_t *cluster;

    sb_settings_self(&settings);
    assert_int_equal(settings.bcast_form, SB_FORM_AUTO);
    assert_int_equal(sb_cluster_create(&cluster, &front, &net, node), SB_OK);
    bool leads = node > 0 && cluster->local == 0;
    for (unsigned call = 0; call < ROW; call++) {
        sb_sim_messages_t before, after;
        sb_sim_meet(SB_SIM_ALL);
        sb_sim_messages(&before);
        sb_sim_meet(SB_SIM_ALL);
        if (row->late && call < LATE_CALLS && leads)
            sb_sim_compute(LATE_PS);
        assert_int_equal(sb_cluster_bcast(cluster, 0, &stream), SB_OK);
        sb_sim_meet(SB_SIM_ALL);
        sb_sim_messages(&after);
        row->messages[call] = after.count - before.count;
    }
    sb_sim_meet(SB_SIM_ALL);
    sb_cluster_destroy(cluster);
    sb_sim_meet(SB_SIM_ALL);
    assert_int_equal(sb_team_deferred(), 0);
    sb_sim_buffer_free(memory.block);
}

/* All agree after calls 4 and 16 on whether they wait too long for fixed leaders. */
static void leaders_are_asked_for_while_ranks_suffer(void **state)
{
    ground_t ground = lay(4, false, false);

    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        row_t row = {.ground = &ground, .late = late};
        simulate(&ground, broadcast_in_a_row, &row);
        for (unsigned call = 0; call < ROW; call++)
            print_message("%lu ", (unsigned long)row.messages[call]);
        print_message("messages\n");
        assert_int_equal(row.messages[LATE_CALLS - 1], 3);
        if (late)
            assert_true(row.messages[LATE_CALLS + 1] >= 3 + 2 * 3);
        else
            assert_int_equal(row.messages[LATE_CALLS + 1], 3);
        assert_int_equal(row.messages[ROW - 1], 3);
    }
}

/* Three nodes: a segment of thirds of elements is no whole number of lines. The simulator notices
 * when a lane's part does not fit its window, which others receive into. */
static void parts_of_lanes_fit_their_windows(void **state)
{
    ground_t ground = lay(3, false, false);

    (void)state;
    for (size_t bytes = MIB - 4 * 4096; bytes <= MIB; bytes += 4096)
        measure(&ground, ALLREDUCE, bytes);
}

/* One long broadcast to nodes that come one by one. */
#define APART_PS UINT64_C(5000000000)

typedef struct late_nodes {
    const ground_t *ground;
    uint64_t apart; /* ps */
    uint64_t sent[NODES_MOST];
    uint64_t segments[2]; /* that rank 0 sent in either way: until they are met, or as usual */
    uint64_t alone;       /* of the second, before all were there */
} late_nodes_t;

/* The root's network: which way each segment goes. Words are shorter. */
static late_nodes_t *watched;
static sb_net_t unwatched;

static sb_status_t send_watched(void *context, uint32_t to, uint32_t tag, const void *data,
                                size_t bytes, bool met, sb_net_request_t **request)
{
    bool segment = !met && bytes > 1024;

    watched->segments[0] += met;
    watched->segments[1] += segment;
    watched->alone += segment && sb_sim_clock() < (watched->ground->nodes - 1) * watched->apart;
    return unwatched.send(context, to, tag, data, bytes, met, request);
}

static sb_net_t watched_net(late_nodes_t *late)
{
    sb_net_t net = sb_sim_net();

    watched = late;
    unwatched = net;
    net.send = send_watched;
    return net;
}

static void broadcast_to_late_nodes(void *argument, uint32_t rank)
{
    late_nodes_t *late = argument;
    uint32_t node = late->ground->node[rank];
    sb_settings_t settings;
    sb_front_t front = {.allgather = allgather, .settings = &settings};
    sb_net_t net = rank == 0 ? watched_net(late) : sb_sim_net();
    sb_sim_memory_t memory = sb_sim_buffer(MIB / 4);
    sb_stream_t stream = {.base = memory.address, .bytes = MIB / 4};
    sb_sim_messages_t before, after;
    sb_cluster_t *cluster;

    sb_settings_self(&settings);
    settings.bcast_form = SB_FORM_cp_chain;
    assert_int_equal(sb_cluster_create(&cluster, &front, &net, node), SB_OK);
    sb_sim_meet(SB_SIM_ALL);
    sb_sim_sent(node, &before);
    sb_sim_meet(SB_SIM_ALL);
    if (rank == 0) /* messages were measured */
        late->segments[0] = late->segments[1] = late->alone = 0;
    sb_sim_compute(node * late->apart);
    assert_int_equal(sb_cluster_bcast(cluster, 0, &stream), SB_OK);
    sb_sim_meet(SB_SIM_ALL);
    sb_sim_sent(node, &after);
    late->sent[node] = after.bytes - before.bytes;
    sb_sim_meet(SB_SIM_ALL);
    sb_cluster_destroy(cluster);
    sb_sim_meet(SB_SIM_ALL);
    assert_int_equal(sb_team_deferred(), 0);
    sb_sim_buffer_free(memory.block);
}

static void each_node_sends_a_long_message_once(void **state)
{
    ground_t ground = lay(4, false, false);
    late_nodes_t late = {.ground = &ground, .apart = APART_PS};

    (void)state;
    simulate(&ground, broadcast_to_late_nodes, &late);
    for (uint32_t node = 0; node < ground.nodes; node++) {
        print_message("node %u sends %lu bytes\n", node, (unsigned long)late.sent[node]);
        assert_in_range(late.sent[node], 0, MIB / 4 + 1024);
    }
}

/* What a host has taken and not sent yet lies before the words to those who come. */
static void a_root_sends_until_it_is_met_while_a_node_is_missing(void **state)
{
    ground_t ground = lay(4, false, false);
    late_nodes_t late = {.ground = &ground, .apart = APART_PS}, even = {.ground = &ground};

    (void)state;
    simulate(&ground, broadcast_to_late_nodes, &late);
    simulate(&ground, broadcast_to_late_nodes, &even);
    print_message("until met and as usual: %lu, %lu; when all are there %lu, %lu\n",
                  (unsigned long)late.segments[0], (unsigned long)late.segments[1],
                  (unsigned long)even.segments[0], (unsigned long)even.segments[1]);
    assert_true(late.segments[0] > 2);
    assert_int_equal(late.alone, 0);
    assert_true(even.segments[1] > even.segments[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_not_left_to_the_host),
        cmocka_unit_test(a_root_sends_until_it_is_met_while_a_node_is_missing),
        cmocka_unit_test(all_go_by_what_messages_took),
        cmocka_unit_test(leaders_are_asked_for_while_ranks_suffer),
        cmocka_unit_test(each_node_sends_a_long_message_once),
        cmocka_unit_test(parts_of_lanes_fit_their_windows),
        cmocka_unit_test(nodes_save_time),
        cmocka_unit_test(nothing_goes_over_the_network_twice),
        cmocka_unit_test(the_busiest_node_sends_no_more_than_it_must),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
