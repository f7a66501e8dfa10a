/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/simulate_explore.h"

#include "base/config.h"
#include "baseline/barriers.h"
#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"
#include "coll/resources.h"
#include "machine/sim/engine.h"
#include "machine/sim/join.h"
#include "machine/sim/random.h"
#include "select/tuning.h"
#include "team/copy_policy.h"
#include "tools/machines.h"
#include "tools/self_sim.h"
#include "tools/simulate_parts.h"
#include "tools/simulate_reduction.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 8192

/* Where a rank's memory is, for reports. */
typedef struct memory {
    const char *control;
    const char *ring;
} memory_t;

/* A buffer that a rank uses in several calls. */
typedef struct kept {
    sb_sim_memory_t memory;
    size_t room;
} kept_t;

#define KEPT_LEAST ((size_t)32 << 10)

/* What all runs of an exploration share. */
typedef struct trial {
    const sb_exploration_t *wish;
    sb_join_t *join;
    sb_sim_t *sim;
    uint64_t *entered;     /* barriers, of each rank */
    memory_t *memory;      /* of each rank's last team */
    kept_t *kept;          /* of each rank */
    sb_word64_t **calling; /* of each rank: the call that it has begun, counted from 1 */
} trial_t;

static sb_status_t allgather(void *context, const void *mine, void *all, size_t bytes)
{
    (void)context;
    sb_sim_allgather(sb_sim_node(), mine, all, bytes);
    return SB_OK;
}

static unsigned char pattern(size_t i, uint32_t root, uint32_t call)
{
    return (unsigned char)(i * 31 + (i >> 8) + root * 7 + call * 13 + 1);
}

#define SLICES_BYTE_DEAR 1.0 /* ns */

static sb_team_t *make_team(trial_t *trial, uint32_t rank)
{
    const sb_exploration_t *wish = trial->wish;
    sb_front_t front = {.allgather = allgather, .rules = sb_tuning_self()};
    sb_refusal_t refusal;
    sb_reason_t reason;
    sb_team_t *team;

    if (sb_team_create(&team, &front, rank, wish->ranks, &refusal, &reason) != SB_OK)
        sb_sim_stop("rank %" PRIu32 " gets no team: %s", rank, reason.text);
    if (wish->ring_bytes != 0)
        team->settings.ring_bytes = wish->ring_bytes;
    if (wish->fragment_bytes != 0)
        team->settings.fragment_bytes = team->settings.queue_fragment = wish->fragment_bytes;
    if (wish->tree_arity != 0)
        team->settings.tree_arity = wish->tree_arity;
    if (wish->pulls)
        team->settings.cma = SB_CMA_ON;
    team->settings.grows = wish->grows;
    team->settings.loads = wish->loads;
    if (wish->combine_whole)
        team->settings.windows_mode = SB_COPY_WHOLE;
    if (wish->halves)
        team->settings.windows_mode = SB_COPY_HALVED;
    if (wish->streams)
        team->settings.windows_mode =
            wish->half && rank % 2 == 1 ? SB_COPY_CACHED : SB_COPY_NON_TEMPORAL;
    /* Results of few bytes are placed then, see placed.h. */
    if (wish->loads)
        team->settings.prices.slices_byte = SLICES_BYTE_DEAR;
    if (wish->sleepy) {
        team->waiter.bare_spins = team->waiter_near.bare_spins = 1;
        team->waiter.paused_spins = team->waiter_near.paused_spins = 0;
        team->waiter.sleep_after_ns = team->waiter_near.sleep_after_ns = 0;
    }
    trial->memory[rank].control = (const char *)team->self;
    return team;
}

static void set_barrier_block(sb_barrier_block_t *block, uint64_t start)
{
    sb_flag_publish(&block->meeting.flag, start);
    for (uint32_t i = 0; i < SB_CHILDREN; i++)
        sb_flag_publish(&block->children.flag[i], start);
    for (uint32_t round = 0; round < SB_ROUNDS; round++)
        sb_flag_publish(&block->signal[round].flag, start);
}

/* Flags keep up with the numbers: one that lagged behind by 2^32 would show sleepers the same half.
 */
static void set_flags(sb_team_t *team, uint64_t start)
{
    sb_control_t *control = team->self;
    sb_flag_t *const flags[] = {&control->arrived.flag, &control->released.flag,
                                &control->woken.flag, &control->done.flag};

    for (size_t i = 0; i < SB_COUNT_OF(flags); i++)
        sb_flag_publish(flags[i], start);
    for (uint64_t use = start - team->slots; use < start; use++)
        sb_flag_publish(&control->slot[use & (team->slots - 1)].flag, use + 1);
    if (team->resource[SB_RESOURCE_BARRIERS] != NULL)
        set_barrier_block(sb_barrier_block(team, team->rank), start);
    if (sb_rings(team) == NULL)
        return;
    sb_ring_head_t *head = sb_ring_head(sb_rings(team), team->rank);
    sb_flag_publish(&head->published.flag, sb_rings(team)->cursor.position);
    sb_flag_publish(&head->consumed.flag, sb_rings(team)->cursor.position);
}

/* As if so many calls had been made before. All members set the same. */
static void set_numbers(sb_team_t *team, uint64_t start)
{
    team->barriers = start;
    team->slot_uses = start;
    sb_team_all_arrived(team);
    if (sb_rings(team) != NULL)
        sb_rings_set(team, sb_rings(team)->cursor.ring, start & ~(uint64_t)(SB_LINE - 1));
    if (start > UINT32_MAX / 2)
        set_flags(team, start);
}

static const sb_algorithm_t *algorithm_of(const sb_exploration_t *wish, uint32_t call)
{
    return wish->algorithms[call % wish->algorithm_count];
}

static size_t bytes_of(const sb_exploration_t *wish, uint32_t call)
{
    return wish->byte_count == 0 ? 0 : wish->bytes[call % wish->byte_count];
}

/* A walk stays where it is, takes a step up, or goes anywhere. */
static uint32_t walk_to(uint64_t walk, uint32_t root, uint32_t ranks, uint32_t call)
{
    uint64_t state = walk;

    for (uint32_t i = 0; i < call; i++) {
        uint64_t step = sb_random_below(&state, 3);
        root += step < 2 ? (uint32_t)step : (uint32_t)sb_random_below(&state, ranks);
    }
    return root % ranks;
}

static uint32_t root_of(const sb_exploration_t *wish, uint32_t call)
{
    uint32_t roots = wish->roots == 0 ? wish->ranks : wish->roots;

    if (wish->walk != 0)
        return walk_to(wish->walk, wish->first_root, wish->ranks, call);
    return (wish->first_root + call % roots) % wish->ranks;
}

/* What the call needs beside the team. A ring may be used in part, so that few bytes fill it. */
static void prepare_call(trial_t *trial, sb_team_t *team, uint32_t call)
{
    const sb_exploration_t *wish = trial->wish;
    const sb_algorithm_t *algorithm = algorithm_of(wish, call);
    size_t bytes = algorithm->collective == SB_BARRIER ? 0 : bytes_of(wish, call);

    if (sb_algorithm_prepare(algorithm, team, bytes) != SB_OK)
        sb_sim_stop("rank %" PRIu32 " gets no memory for %s", team->rank, algorithm->name);
    const sb_rings_t *rings = sb_rings(team);
    if (rings == NULL)
        return;
    if (wish->ring_bytes != 0 && wish->ring_bytes < rings->cursor.ring)
        sb_rings_set(team, (size_t)wish->ring_bytes, rings->cursor.position);
    trial->memory[team->rank].ring = rings->resource.bases[team->rank];
}

/* Nobody leaves a barrier before everybody has come. */
static void call_barrier(trial_t *trial, sb_team_t *team, const sb_algorithm_t *algorithm)
{
    uint64_t mine = ++trial->entered[team->rank];
    sb_status_t status = algorithm->barrier(team);

    if (status != SB_OK)
        sb_sim_stop("rank %" PRIu32 ": %s", team->rank, sb_status_string(status));
    for (uint32_t rank = 0; rank < team->size; rank++) {
        if (trial->entered[rank] < mine || trial->entered[rank] > mine + 1)
            sb_sim_stop("rank %" PRIu32 " leaves barrier %" PRIu64 " while rank %" PRIu32
                        " has entered barrier %" PRIu64,
                        team->rank, mine, rank, trial->entered[rank]);
    }
}

static void check_data(const unsigned char *data, size_t bytes, uint32_t rank, uint32_t root,
                       uint32_t call)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != pattern(i, root, call))
            sb_sim_stop("rank %" PRIu32 ": byte %zu of %zu from root %" PRIu32 " is wrong in call "
                        "%" PRIu32,
                        rank, i, bytes, root, call);
    }
    if (data[bytes] != 0xee)
        sb_sim_stop("rank %" PRIu32 ": a byte behind the buffer was written", rank);
}

/* What a rank goes on using, so that it writes to it also after a fork. */
static sb_sim_memory_t kept_buffers(kept_t *kept, size_t bytes)
{
    if (kept->room >= bytes)
        return kept->memory;
    if (kept->room > 0)
        sb_sim_give(kept->memory.block);
    kept->room = sb_max(bytes, KEPT_LEAST);
    kept->memory = sb_sim_heap_take(kept->room);
    return kept->memory;
}

static bool keeps_buffers(const sb_exploration_t *wish, uint32_t call)
{
    return wish->forks && call % 3 != 2;
}

/*
 * A user's memory. If others pull from it, it is watched like what is shared, and given back after
 * the call: but for some calls, where ranks fork.
 */
static sb_sim_memory_t take_buffers(trial_t *trial, uint32_t rank, uint32_t call, size_t bytes)
{
    const sb_exploration_t *wish = trial->wish;
    sb_sim_memory_t memory = {.block = UINT32_MAX};

    if (keeps_buffers(wish, call))
        return kept_buffers(&trial->kept[rank], bytes);
    if (wish->pulls)
        return wish->loads ? sb_sim_heap_take(bytes) : sb_sim_take(bytes, -1);
    memory.address = malloc(bytes);
    if (memory.address == NULL)
        sb_sim_stop("private memory is exhausted");
    return memory;
}

static void give_buffers(const trial_t *trial, uint32_t call, const sb_sim_memory_t *memory)
{
    if (keeps_buffers(trial->wish, call))
        return;
    if (memory->block != UINT32_MAX)
        sb_sim_give(memory->block);
    else
        free(memory->address);
}

/* The user writes what was laid there: so it is shown to those who watch. */
static void show_written(const sb_sim_memory_t *memory, size_t bytes)
{
    char *laid = memory->block != UINT32_MAX ? malloc(bytes) : NULL;

    if (laid == NULL)
        return;
    memcpy(laid, memory->address, bytes);
    sb_copy(memory->address, laid, bytes);
    free(laid);
}

static void call_bcast(trial_t *trial, sb_team_t *team, const sb_algorithm_t *algorithm,
                       uint32_t call)
{
    const sb_exploration_t *wish = trial->wish;
    size_t bytes = bytes_of(wish, call);
    uint32_t root = root_of(wish, call);
    sb_sim_memory_t memory = take_buffers(trial, team->rank, call, bytes + 1);
    unsigned char *data = (unsigned char *)memory.address;
    sb_stream_t stream = {.base = memory.address, .bytes = bytes};

    memset(data, 0xee, bytes + 1);
    for (size_t i = 0; team->rank == root && i < bytes; i++)
        data[i] = pattern(i, root, call);
    show_written(&memory, bytes + 1);
    sb_status_t status = bytes == 0 ? SB_OK : sb_bcast(algorithm, team, root, &stream);
    if (status != SB_OK)
        sb_sim_stop("rank %" PRIu32 ": %s", team->rank, sb_status_string(status));
    check_data(data, bytes, team->rank, root, call);
    give_buffers(trial, call, &memory);
}

/* Sizes of parts differ from call to call, in each way in turn. */
static void call_parts(trial_t *trial, sb_team_t *team, const sb_algorithm_t *algorithm,
                       uint32_t call)
{
    const sb_exploration_t *wish = trial->wish;
    sb_vector_case_t moved = {.collective = algorithm->collective,
                              .ranks = team->size,
                              .root = root_of(wish, call),
                              .number = call,
                              .bytes = bytes_of(wish, call),
                              .counts = (sb_counts_t)(call % (SB_COUNTS_HALF + 1))};
    size_t room = sb_parts_room(&moved), place;
    sb_sim_memory_t memory = take_buffers(trial, team->rank, call, 2 * room);
    sb_stream_t streams[2 * team->size];
    uint32_t from;

    sb_parts_t parts =
        sb_parts_lay(&moved, team->rank, memory.address, memory.address + room, streams);
    show_written(&memory, 2 * room);
    sb_status_t status = algorithm->parts(team, &parts);
    if (status != SB_OK)
        sb_sim_stop("rank %" PRIu32 ": %s", team->rank, sb_status_string(status));
    if (!sb_parts_check(&moved, team->rank, &parts, &from, &place))
        sb_sim_stop("rank %" PRIu32 ": byte %zu of the part from rank %" PRIu32
                    " is wrong in call %" PRIu32,
                    team->rank, place, from, call);
    give_buffers(trial, call, &memory);
}

/* In place now and then, and parts uneven, in turn. */
static void call_reduction(trial_t *trial, sb_team_t *team, const sb_algorithm_t *algorithm,
                           uint32_t call)
{
    const sb_exploration_t *wish = trial->wish;
    sb_reduction_case_t reduced = {.algorithm = algorithm,
                                   .ranks = team->size,
                                   .root = root_of(wish, call),
                                   .number = call,
                                   .bytes = bytes_of(wish, call),
                                   .uneven = call % 2 == 1,
                                   .in_place = call % 3 == 1};
    size_t bytes = sb_reduction_bytes(&reduced), parts[team->size], place;
    sb_sim_memory_t taken = take_buffers(trial, team->rank, call, 2 * bytes + 1);
    char *memory = taken.address;

    memory[2 * bytes] = (char)0xee;
    sb_reduction_t reduction =
        sb_reduction_lay(&reduced, team->rank, memory, memory + bytes, parts);
    show_written(&taken, 2 * bytes + 1);
    sb_status_t status = algorithm->reduction(team, &reduction);
    if (status != SB_OK)
        sb_sim_stop("rank %" PRIu32 ": %s", team->rank, sb_status_string(status));
    if (!sb_reduction_check(&reduced, team->rank, &reduction, &place))
        sb_sim_stop("rank %" PRIu32 ": byte %zu of the result is wrong in call %" PRIu32,
                    team->rank, place, call);
    if (memory[2 * bytes] != (char)0xee)
        sb_sim_stop("rank %" PRIu32 ": a byte behind the buffer was written", team->rank);
    give_buffers(trial, call, &taken);
}

static void make_calls(trial_t *trial, sb_team_t *team)
{
    const sb_exploration_t *wish = trial->wish;

    for (uint32_t call = 0; call < wish->calls; call++) {
        const sb_algorithm_t *algorithm = algorithm_of(wish, call);
        if (wish->forks)
            sb_store64(trial->calling[team->rank], call + 1, SB_RELEASE);
        if (algorithm->collective == SB_BARRIER) {
            call_barrier(trial, team, algorithm);
            continue;
        }
        if (wish->whole)
            prepare_call(trial, team, call);
        if (algorithm->parts != NULL)
            call_parts(trial, team, algorithm, call);
        else if (algorithm->reduction != NULL)
            call_reduction(trial, team, algorithm, call);
        else
            call_bcast(trial, team, algorithm, call);
    }
}

static void run_team(trial_t *trial, uint32_t rank)
{
    const sb_exploration_t *wish = trial->wish;

    if (wish->whole)
        sb_sim_guided(true);
    sb_team_t *team = make_team(trial, rank);
    for (uint32_t call = 0; !wish->whole && call < wish->calls; call++)
        prepare_call(trial, team, call);
    set_numbers(team, wish->start);
    if (!wish->whole)
        sb_sim_guided(true);
    make_calls(trial, team);
    if (!wish->whole)
        sb_sim_guided(false);
    sb_team_destroy(team);
}

/* A heap for each rank, and a word by which its thread knows when to fork. */
static void open_heap(trial_t *trial, uint32_t rank)
{
    const sb_exploration_t *wish = trial->wish;
    uint32_t room = wish->heap_room == 0 ? UINT32_MAX : wish->heap_room;

    sb_sim_heap_open(wish->half && rank % 2 == 1 ? 0 : room);
    trial->calling[rank] = (sb_word64_t *)(void *)sb_sim_take(sizeof **trial->calling, -1).address;
}

/*
 * Of each process the thread that forks: in the first call of rank 0's, in the next of rank 1's,
 * after so many steps of its own, so that it comes at any place of the call.
 */
static void fork_all(trial_t *trial)
{
    const sb_exploration_t *wish = trial->wish;
    static const uint32_t pauses[] = {0, 12, 4, 30};

    sb_sim_meet(SB_SIM_ALL);
    sb_sim_guided(true);
    for (uint32_t i = 0; i < wish->ranks; i++) {
        uint32_t rank = (wish->first_root + i) % wish->ranks, call = i % wish->calls + 1;
        while (sb_spin(trial->calling[rank], call, 1, false) < call)
            ;
        for (uint32_t pause = pauses[i % SB_COUNT_OF(pauses)]; pause > 0; pause--)
            sb_load64(trial->calling[rank], SB_RELAXED);
        sb_sim_heap_part(rank);
    }
    sb_sim_guided(false);
    sb_sim_meet(SB_SIM_ALL);
}

static void run_rank(void *argument, uint32_t rank)
{
    trial_t *trial = argument;
    uint32_t teams = trial->wish->teams == 0 ? 1 : trial->wish->teams;

    if (rank == trial->wish->ranks) {
        fork_all(trial);
        return;
    }
    if (trial->wish->loads)
        open_heap(trial, rank);
    for (uint32_t i = 0; i < teams; i++) {
        sb_sim_meet(SB_SIM_ALL);
        run_team(trial, rank);
    }
    sb_sim_meet(SB_SIM_ALL);
    if (sb_team_deferred() != 0)
        sb_sim_stop("rank %" PRIu32 " keeps memory of a team that all have left", rank);
}

/* A part of a control block; `each`: bytes of an element, if it is an array. */
typedef struct field {
    const char *name;
    size_t offset;
    size_t bytes;
    size_t each;
} field_t;

#define FIELD(name, each)                                                                          \
    {                                                                                              \
#name, offsetof(sb_control_t, name), sizeof(((sb_control_t *)0)->name), each               \
    }

static const field_t fields[] = {
    FIELD(arrived, 0),
    FIELD(released, 0),
    FIELD(done, 0),
    FIELD(entered, 0),
    FIELD(closed, 0),
    FIELD(box, sizeof(sb_box_t)),
    {"slot", offsetof(sb_control_t, slot), SB_SLOTS_CROWDED * sizeof(sb_slot_t), sizeof(sb_slot_t)},
};

static void describe_control(uint32_t rank, size_t offset, char *text, size_t size)
{
    for (size_t i = 0; i < SB_COUNT_OF(fields); i++) {
        const field_t *field = &fields[i];
        size_t in = offset - field->offset;
        if (offset < field->offset || in >= field->bytes)
            continue;
        int length = snprintf(text, size, "%s", field->name);
        if (field->each > 0)
            length += snprintf(text + length, size - (size_t)length, "[%zu]", in / field->each);
        if (field->each > 0)
            in %= field->each;
        if (in > 0)
            length += snprintf(text + length, size - (size_t)length, " byte %zu", in);
        snprintf(text + length, size - (size_t)length, " of rank %" PRIu32, rank);
        return;
    }
}

static void describe_ring(uint32_t rank, size_t offset, char *text, size_t size)
{
    static const char *const flags[] = {"published", "consumed", "relayed", "timed"};
    size_t flag = offset / sizeof(sb_wide_flag_t);

    if (flag < SB_COUNT_OF(flags))
        snprintf(text, size, "%s of rank %" PRIu32, flags[flag], rank);
    else
        snprintf(text, size, "ring of rank %" PRIu32 " at byte %zu", rank, offset - SB_RING_AT);
}

/* Which flag of which rank a place is, or which part of a ring. */
static void describe(void *context, uint32_t block, uint64_t place, char *text, size_t size)
{
    const trial_t *trial = context;
    const char *address = sb_sim_address(block);

    for (uint32_t rank = 0; rank < trial->wish->ranks; rank++) {
        const memory_t *memory = &trial->memory[rank];
        if (address == memory->control)
            describe_control(rank, (size_t)place, text, size);
        else if (address == memory->ring)
            describe_ring(rank, (size_t)place, text, size);
    }
}

/* What ended a run that is not as it should be; NULL: nothing. To be freed. */
static char *violation_of(trial_t *trial, sb_sim_end_t end)
{
    const sb_violation_t *violation = sb_join_violation(trial->join);
    bool endless = sb_join_endless(trial->join);

    if (violation->kind == SB_VIOLATION_NONE && !endless && end == SB_SIM_COMPLETE)
        return NULL;
    char *text = malloc(TEXT_BYTES);
    if (text == NULL)
        abort();
    if (violation->kind != SB_VIOLATION_NONE) {
        sb_violation_text(violation, sb_join_watch(trial->join), text, TEXT_BYTES);
    } else if (endless) {
        snprintf(text, TEXT_BYTES, "ranks run in circles: the run does not end\n");
    } else {
        const char *problem = sb_sim_problem(trial->sim);
        bool ended = problem[0] != '\0' && problem[strlen(problem) - 1] == '\n';
        snprintf(text, TEXT_BYTES, "%s%s", problem, ended ? "" : "\n");
    }
    return text;
}

static bool run_schedules(trial_t *trial, sb_finding_t *finding)
{
    const sb_explore_t *explore = sb_join_explore(trial->join);

    while (finding->violation == NULL && sb_join_begin(trial->join)) {
        memset(trial->memory, 0, trial->wish->ranks * sizeof *trial->memory);
        memset(trial->entered, 0, trial->wish->ranks * sizeof *trial->entered);
        memset(trial->kept, 0, trial->wish->ranks * sizeof *trial->kept);
        sb_sim_end_t end = sb_sim_run(trial->sim, run_rank, trial);
        finding->steps += sb_join_steps(trial->join);
        finding->violation = violation_of(trial, end);
    }
    finding->schedules = sb_explore_count(explore);
    finding->complete = sb_explore_complete(explore);
    if (finding->violation != NULL)
        finding->replay = sb_explore_text(explore);
    return true;
}

/* Ranks find themselves on two packages of two NUMA nodes; the cores are otherwise alike. */
#define PACKAGES 2
#define NODES 4

typedef struct ground {
    sb_exploration_ground_t given; /* what of the following is used, or what the caller gave */
    sb_sim_machine_t machine;
    sb_sim_core_t *cores;
    uint32_t *core;
    uint32_t *node;
    sb_place_t *places;
} ground_t;

/* The thread that forks runs as one rank more, on a node of its own: the ranks' set-up is theirs.
 */
static uint32_t runners(const sb_exploration_t *wish)
{
    return wish->ranks + wish->forks;
}

/* Prices but for the least: nothing here depends on time. */
static void set_prices(sb_sim_machine_t *machine)
{
    for (int i = 0; i < SB_DISTANCES; i++)
        machine->read[i] = machine->memory[i] = 1000;
    machine->context_switch = machine->yield = machine->pause = 1000;
    machine->futex_wait = machine->futex_wake = 1000;
    machine->slice = 1000000;
}

/* The ranks share `cores` of the machine's, dealt over all nodes. */
static void place_rank(ground_t *ground, uint32_t rank, uint32_t cores, uint32_t ranks)
{
    uint32_t place = rank % cores, each = ground->machine.cores / NODES;
    uint32_t core = (uint32_t)((uint64_t)place * ground->machine.cores / cores);
    sb_place_t *placed = &ground->places[rank];

    ground->core[rank] = core;
    placed->cpus[core / 64] = UINT64_C(1) << (core % 64);
    placed->numa_node = (int32_t)(core / each);
    placed->local_ranks = ranks;
    placed->allowed_cpus = ground->machine.cores;
}

static void describe_machine(ground_t *ground, uint32_t cores)
{
    for (uint32_t i = 0; i < cores; i++) {
        uint32_t *unit = ground->cores[i].unit;
        unit[SB_NEAR_CORE] = unit[SB_NEAR_L2] = i;
        unit[SB_NEAR_L3] = unit[SB_NEAR_NUMA] = i / (cores / NODES);
        unit[SB_NEAR_PACKAGE] = i / (cores / PACKAGES);
    }
    ground->machine = (sb_sim_machine_t){.nodes = 2,
                                         .cores = cores,
                                         .numa_nodes = NODES,
                                         .packages = PACKAGES,
                                         .core = ground->cores,
                                         .read_overlap = 1,
                                         .page_bytes = 4096,
                                         .readahead_pages = 1};
    set_prices(&ground->machine);
}

#define EACH_MOST (64 * SB_CPU_WORDS / NODES)

/* Kept to the end of the process: hwloc takes longer to describe it than many explorations. */
static sb_topology_t *describe_to_hwloc(uint32_t each)
{
    static sb_topology_t *described[EACH_MOST + 1];
    char text[64], error[256];

    snprintf(text, sizeof text, "package:%d numa:%d core:%" PRIu32 " pu:1", PACKAGES,
             NODES / PACKAGES, each);
    if (described[each] == NULL)
        described[each] = sb_topology_open(text, error, sizeof error);
    return described[each];
}

static bool make_ground(ground_t *ground, const sb_exploration_t *wish, const char **problem)
{
    uint32_t shared = wish->cores == 0 ? wish->ranks : wish->cores;
    uint32_t each = (shared + NODES - 1) / NODES;

    *problem = "private memory is exhausted";
    ground->cores = calloc((size_t)each * NODES, sizeof *ground->cores);
    ground->core = calloc(wish->ranks + 1, sizeof *ground->core);
    ground->node = calloc(wish->ranks + 1, sizeof *ground->node);
    ground->places = calloc(wish->ranks, sizeof *ground->places);
    if (ground->cores == NULL || ground->core == NULL || ground->node == NULL ||
        ground->places == NULL)
        return false;
    ground->node[wish->ranks] = 1;
    *problem = "an exploration takes at most 1024 cores";
    if (each > EACH_MOST)
        return false;
    describe_machine(ground, each * NODES);
    for (uint32_t rank = 0; rank < wish->ranks; rank++)
        place_rank(ground, rank, shared, wish->ranks);
    *problem = "the cores could not be described to hwloc";
    ground->given = (sb_exploration_ground_t){&ground->machine, ground->core, ground->places,
                                              describe_to_hwloc(each), ground->node};
    return ground->given.topology != NULL;
}

static bool open_ground(ground_t *ground, const sb_exploration_t *wish, const char **problem)
{
    if (wish->ground != NULL)
        ground->given = *wish->ground;
    else if (!make_ground(ground, wish, problem))
        return false;
    sb_topology_simulate(ground->given.topology, ground->given.places);
    return true;
}

static void close_ground(ground_t *ground)
{
    free(ground->cores);
    free(ground->core);
    free(ground->node);
    free(ground->places);
}

static bool prepare(trial_t *trial, const ground_t *ground, const char **problem)
{
    const sb_exploration_t *wish = trial->wish;
    sb_explore_options_t explore = wish->explore;

    explore.ranks = runners(wish);
    trial->entered = calloc(wish->ranks, sizeof *trial->entered);
    trial->memory = calloc(wish->ranks, sizeof *trial->memory);
    trial->calling = calloc(wish->ranks, sizeof(sb_word64_t *));
    trial->kept = calloc(wish->ranks, sizeof *trial->kept);
    trial->join = sb_join_new(runners(wish), &explore, problem);
    if (trial->join == NULL)
        return false;
    sb_join_describe(trial->join, describe, trial);
    *problem = "private memory is exhausted";
    if (trial->entered == NULL || trial->memory == NULL || trial->calling == NULL ||
        trial->kept == NULL)
        return false;
    sb_sim_options_t options = {
        .machine = ground->given.machine,
        .ranks = runners(wish),
        .node = ground->given.node,
        .core = ground->given.core,
        .seed = 1, /* of set-up alone: a replay text need not name it */
        .placed = true,
        .watch = sb_join_watch(trial->join),
        .guide = sb_join_guide(trial->join),
        .reaches = wish->reaches,
        .loads = wish->loads,
    };
    trial->sim = sb_sim_new(&options);
    return trial->sim != NULL;
}

bool sb_exploration_run(const sb_exploration_t *exploration, sb_finding_t *finding,
                        const char **problem)
{
    trial_t trial = {.wish = exploration};
    ground_t ground = {0};

    *finding = (sb_finding_t){0};
    bool done = open_ground(&ground, exploration, problem) && prepare(&trial, &ground, problem) &&
                run_schedules(&trial, finding);
    if (trial.sim != NULL)
        sb_sim_free(trial.sim);
    sb_join_free(trial.join);
    free(trial.entered);
    free(trial.memory);
    free(trial.calling);
    free(trial.kept);
    close_ground(&ground);
    return done;
}

void sb_finding_free(sb_finding_t *finding)
{
    free(finding->violation);
    free(finding->replay);
}
