/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include "../random.h"

#include "data/fold.h"
#include "tools/simulate_parts.h"
#include "tools/simulate_reduction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- maps ---------------------------------------------------------------------------------- */

typedef enum layout { BLOCKS, DEALT, ANYHOW, LAYOUTS } layout_t;

void draw_ground(ground_t *ground, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;
    layout_t layout = (layout_t)draw(&state, LAYOUTS);

    *ground = (ground_t){.nodes = 1 + draw(&state, NODES_MOST)};
    ground->ranks = ground->nodes + draw(&state, RANKS_MOST - ground->nodes + 1);
    for (uint32_t i = 0; i < ground->ranks; i++) {
        if (layout == BLOCKS)
            ground->node[i] = i * ground->nodes / ground->ranks;
        else
            ground->node[i] = layout == DEALT ? i % ground->nodes : draw(&state, ground->nodes);
    }
    for (uint32_t node = 0; node < ground->nodes; node++)
        ground->barren[node] = draw(&state, 8) == 0;
}

/* Ranks change places with others, or stay in blocks. */
static void shuffle(ground_t *ground, uint64_t *state)
{
    if (draw(state, LAYOUTS) == BLOCKS)
        return;
    for (uint32_t i = ground->ranks - 1; i > 0; i--) {
        uint32_t other = draw(state, i + 1), node = ground->node[i];
        ground->node[i] = ground->node[other];
        ground->node[other] = node;
    }
}

void draw_nodes(ground_t *ground, uint64_t seed, uint32_t nodes)
{
    uint64_t state = seed * 2 + 1;

    *ground = (ground_t){.nodes = nodes};
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t ranks = 1 + draw(&state, NODE_MOST);
        for (uint32_t i = 0; i < ranks; i++)
            ground->node[ground->ranks++] = node;
    }
    shuffle(ground, &state);
}

void print_ground(const ground_t *ground)
{
    printf("%u ranks on nodes", ground->ranks);
    for (uint32_t i = 0; i < ground->ranks; i++)
        printf(" %u%s", ground->node[i], ground->barren[ground->node[i]] ? "!" : "");
    printf(" (!: without shared memory)\n");
}

bool check_map(const sb_cluster_t *cluster, const ground_t *ground)
{
    const sb_map_t *map = &cluster->map;
    uint32_t together = 0, local = 0;

    for (uint32_t i = 0; i < ground->ranks; i++) {
        bool with = i == cluster->rank || (ground->node[i] == ground->node[cluster->rank] &&
                                           !ground->barren[ground->node[i]]);
        if (with != (map->node_of[i] == cluster->node))
            return false;
        local += with && i < cluster->rank;
        together += with;
    }
    return local == cluster->local && together == sb_map_size(map, cluster->node) &&
           (cluster->team != NULL) == (together > 1);
}

/* --- calls --------------------------------------------------------------------------------- */

/* One call at one rank. */
typedef struct call {
    sb_cluster_t *cluster;
    const plan_t *plan;
    uint32_t number;
    uint32_t root;
    size_t bytes;
    uint32_t form; /* of the data */
    char *problem;
    size_t room;
} call_t;

static bool complain(const call_t *call, const char *what, size_t place)
{
    snprintf(call->problem, call->room, "rank %u: call %u: %s (%zu bytes, root %u, place %zu)",
             call->cluster->rank, call->number, what, call->bytes, call->root, place);
    return false;
}

static bool call_barrier(const call_t *call)
{
    uint64_t *entered = call->plan->board->entered, mine = entered[call->cluster->rank] + 1;

    __atomic_store_n(&entered[call->cluster->rank], mine, __ATOMIC_RELAXED);
    sb_status_t status = sb_cluster_barrier(call->cluster);
    if (status != SB_OK)
        return complain(call, sb_status_string(status), 0);
    for (uint32_t rank = 0; rank < call->cluster->map.ranks; rank++) {
        uint64_t theirs = __atomic_load_n(&entered[rank], __ATOMIC_RELAXED);
        if (theirs != mine && theirs != mine + 1)
            return complain(call, "left the barrier before all had come", rank);
    }
    return true;
}

static char pattern(const call_t *call, size_t i)
{
    return (char)(i * 31 + (i >> 8) * 7 + call->root * 5 + call->number * 13 + 1);
}

static sb_status_t read_data(void *context, size_t offset, void *to, size_t bytes)
{
    sb_copy_shared(to, (const char *)context + offset, bytes);
    return SB_OK;
}

static sb_status_t write_data(void *context, size_t offset, const void *from, size_t bytes)
{
    sb_copy((char *)context + offset, from, bytes);
    return SB_OK;
}

/* Of form 1 the data of some ranks is not in one piece. */
static bool call_bcast(const call_t *call)
{
    size_t bytes = call->bytes, i = 0;
    bool pieces = call->form == 1 && (call->cluster->rank + call->number) % 3 != 0;
    char *data = malloc(bytes + 1);
    sb_stream_t stream = {.base = pieces ? NULL : data,
                          .bytes = bytes,
                          .read = read_data,
                          .write = write_data,
                          .context = data};

    memset(data, 0xee, bytes + 1);
    for (; call->cluster->rank == call->root && i < bytes; i++)
        data[i] = pattern(call, i);
    sb_status_t status = sb_cluster_bcast(call->cluster, call->root, &stream);
    for (i = 0; i < bytes && data[i] == pattern(call, i);)
        i++;
    bool whole = i == bytes && data[bytes] == (char)0xee;
    free(data);
    if (status != SB_OK)
        return complain(call, sb_status_string(status), 0);
    return whole || complain(call, "a byte of a broadcast is wrong", i);
}

typedef sb_status_t reduce_t(sb_cluster_t *cluster, const sb_reduction_t *reduction);

/* What serves it; NULL: nothing. */
static reduce_t *reducer_of(sb_collective_t collective)
{
    switch (collective) {
    case SB_REDUCE:
        return sb_cluster_reduce;
    case SB_ALLREDUCE:
        return sb_cluster_allreduce;
    case SB_REDUCE_SCATTER:
    case SB_REDUCE_SCATTER_BLOCK:
        return sb_cluster_reduce_scatter;
    case SB_SCAN:
        return sb_cluster_scan;
    case SB_EXSCAN:
        return sb_cluster_exscan;
    default:
        return NULL;
    }
}

/* Of form 1 the operator is not commutative: of maps that are not contiguous that is refused. */
static bool call_reduction(const call_t *call, sb_collective_t collective)
{
    const sb_algorithm_t kind = {.collective = collective, .reorders = call->form != 1};
    sb_reduction_case_t reduced = {.algorithm = &kind,
                                   .ranks = call->cluster->map.ranks,
                                   .root = call->root,
                                   .number = call->number,
                                   .bytes = call->bytes,
                                   .uneven = call->number % 2 == 1,
                                   .in_place = call->number % 3 == 1};
    size_t bytes = sb_reduction_bytes(&reduced), parts[RANKS_MOST], place = 0;
    char *memory = malloc(2 * bytes + 1);

    memory[2 * bytes] = (char)0xee;
    sb_reduction_t reduction =
        sb_reduction_lay(&reduced, call->cluster->rank, memory, memory + bytes, parts);
    bool ordered = !reduction.operation->commutative || collective >= SB_SCAN || call->plan->strict;
    bool refused = ordered && !call->cluster->map.contiguous;
    sb_status_t status = reducer_of(collective)(call->cluster, &reduction);
    bool right =
        refused || (sb_reduction_check(&reduced, call->cluster->rank, &reduction, &place) &&
                    memory[2 * bytes] == (char)0xee);
    free(memory);
    if (status != (refused ? SB_ERR_UNSUPPORTED : SB_OK))
        return complain(call, sb_status_string(status), 0);
    return right || complain(call, "a byte of a reduction is wrong", place);
}

typedef sb_status_t move_t(sb_cluster_t *cluster, const sb_parts_t *parts);

static move_t *mover_of(sb_collective_t collective)
{
    switch (collective) {
    case SB_GATHER:
        return sb_cluster_gather;
    case SB_GATHERV:
        return sb_cluster_gatherv;
    case SB_SCATTER:
        return sb_cluster_scatter;
    case SB_SCATTERV:
        return sb_cluster_scatterv;
    case SB_ALLGATHER:
        return sb_cluster_allgather;
    case SB_ALLGATHERV:
        return sb_cluster_allgatherv;
    case SB_ALLTOALL:
        return sb_cluster_alltoall;
    case SB_ALLTOALLV:
    case SB_ALLTOALLW:
        return sb_cluster_alltoallv;
    default:
        return NULL;
    }
}

/* Streams that are not in one piece, of every second. */
static void cut_up(sb_stream_t *streams, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 2) {
        streams[i].context = streams[i].base;
        streams[i].read = read_data;
        streams[i].write = write_data;
        streams[i].base = NULL;
    }
}

static void mend(sb_stream_t *streams, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 2)
        streams[i].base = streams[i].context;
}

/* What the rank gives itself is where it belongs. */
static void put_in_place(const call_t *call, sb_collective_t collective, sb_parts_t *parts)
{
    uint32_t rank = call->cluster->rank;
    bool scatters = collective == SB_SCATTER || collective == SB_SCATTERV;
    bool rooted = scatters || collective == SB_GATHER || collective == SB_GATHERV;
    const sb_stream_t *send, *receive;

    parts->in_place =
        call->form == 1 && collective < SB_ALLTOALL && (!rooted || rank == call->root);
    if (!parts->in_place)
        return;
    send = scatters ? &parts->send[rank] : parts->send;
    receive = scatters ? parts->receive : &parts->receive[rank];
    memcpy(receive->base, send->base, send->bytes);
}

/* Of form 1 in place; of form 2 data that is not in one piece. */
static bool call_parts(const call_t *call, sb_collective_t collective)
{
    sb_cluster_t *cluster = call->cluster;
    sb_vector_case_t moved = {.collective = collective,
                              .ranks = cluster->map.ranks,
                              .root = call->root,
                              .number = call->number,
                              .bytes = call->bytes / cluster->map.ranks,
                              .counts = (sb_counts_t)(call->number % (SB_COUNTS_HALF + 1))};
    size_t room = sb_parts_room(&moved), place;
    sb_stream_t streams[2 * RANKS_MOST] = {{0}};
    char *memory = malloc(2 * room + 1);
    uint32_t from;

    memory[2 * room] = (char)0xee;
    sb_parts_t parts = sb_parts_lay(&moved, cluster->rank, memory, memory + room, streams);
    put_in_place(call, collective, &parts);
    if (call->form == 2)
        cut_up(streams, 2 * RANKS_MOST);
    sb_status_t status = mover_of(collective)(cluster, &parts);
    if (call->form == 2)
        mend(streams, 2 * RANKS_MOST);
    bool right = sb_parts_check(&moved, cluster->rank, &parts, &from, &place) &&
                 memory[2 * room] == (char)0xee;
    free(memory);
    if (status != SB_OK)
        return complain(call, sb_status_string(status), 0);
    return right || complain(call, "a byte of a part is wrong", place);
}

/* Numbers whose sum depends on the order in which they are added. */
static void draw_numbers(const call_t *call, uint32_t rank, float *numbers, size_t count)
{
    uint64_t state = call->plan->seed * 1000003 + rank + 7 * call->number;

    for (size_t i = 0; i < count; i++)
        numbers[i] = 1.0f / (float)(1 + draw(&state, 100000));
}

static void note_bits(const call_t *call, const sb_reduction_t *reduction)
{
    uint64_t seen = 1469598103934665603u;

    for (size_t i = 0; i < reduction->bytes; i++)
        seen = (seen ^ (unsigned char)reduction->receive[i]) * 1099511628211u;
    __atomic_store_n(&call->plan->board->hash[call->cluster->rank][call->number], seen,
                     __ATOMIC_RELAXED);
}

/* Whether these are the sums, from left to right, that the operation gives this rank. */
static bool is_exact(const call_t *call, sb_collective_t collective, const float *sums,
                     size_t count)
{
    uint32_t rank = call->cluster->rank, ranks = call->cluster->map.ranks;
    uint32_t added = collective == SB_SCAN ? rank + 1 : collective == SB_EXSCAN ? rank : ranks;
    bool scatters = collective == SB_REDUCE_SCATTER || collective == SB_REDUCE_SCATTER_BLOCK;
    size_t part = scatters ? count / ranks : count, first = scatters ? rank * part : 0;
    float *exact = calloc(2 * count, sizeof *exact), *next = exact + count;

    for (uint32_t i = 0; i < added; i++) {
        draw_numbers(call, i, next, count);
        for (size_t k = 0; k < count; k++)
            exact[k] = i == 0 ? next[k] : exact[k] + next[k];
    }
    bool right = sums == NULL || memcmp(exact + first, sums, part * sizeof *sums) == 0;
    free(exact);
    return right;
}

/* On a map where order can be kept it is, if the plan says so; elsewhere that is refused. */
static bool call_float_sum(const call_t *call, sb_collective_t collective)
{
    uint32_t rank = call->cluster->rank, ranks = call->cluster->map.ranks;
    size_t count = (call->bytes / sizeof(float) / ranks + 1) * ranks;
    float *numbers = malloc(2 * count * sizeof *numbers);
    bool nothing =
        (collective == SB_REDUCE && rank != call->root) || (collective == SB_EXSCAN && rank == 0);
    bool in_place = call->number % 2 == 1 && !nothing;
    sb_reduction_t reduction = {.root = call->root,
                                .operation = sb_fold_operator(SB_SUM, SB_FLOAT),
                                .bytes = count * sizeof *numbers,
                                .send = (const char *)numbers,
                                .receive = nothing    ? NULL
                                           : in_place ? (char *)numbers
                                                      : (char *)(numbers + count)};
    size_t parts[RANKS_MOST];

    for (uint32_t i = 0; i < ranks; i++)
        parts[i] = reduction.bytes / ranks;
    reduction.parts = collective == SB_REDUCE_SCATTER ? parts : NULL;
    draw_numbers(call, rank, numbers, count);
    sb_status_t status = reducer_of(collective)(call->cluster, &reduction);
    bool refused = call->plan->strict && !call->cluster->map.contiguous;
    if (collective == SB_ALLREDUCE && !refused)
        note_bits(call, &reduction);
    bool right = !call->plan->strict || refused ||
                 is_exact(call, collective, (const float *)reduction.receive, count);
    free(numbers);
    if (status != (refused ? SB_ERR_UNSUPPORTED : SB_OK))
        return complain(call, sb_status_string(status), 0);
    return right || complain(call, "a sum is not from left to right", 0);
}

bool same_bits(const board_t *board, uint32_t ranks, uint32_t *call)
{
    for (*call = 0; *call < CALLS_MOST; ++*call) {
        for (uint32_t rank = 1; rank < ranks; rank++) {
            if (board->hash[rank][*call] != board->hash[0][*call])
                return false;
        }
    }
    return true;
}

/* One piece, several, many, or none; now and then to the byte. */
static size_t draw_bytes(uint64_t *state, size_t most)
{
    size_t bytes = draw(state, 1 + (uint32_t)(most >> draw(state, 16)));

    return draw(state, 3) == 0 ? bytes : bytes / 8 * 8;
}

static bool make_call(call_t *call, sb_collective_t collective)
{
    if (collective == SB_BARRIER)
        return call_barrier(call);
    if (collective == SB_BCAST)
        return call_bcast(call);
    if (call->form == 2 &&
        (collective == SB_ALLREDUCE || (call->plan->strict && reducer_of(collective) != NULL)))
        return call_float_sum(call, collective);
    if (mover_of(collective) != NULL)
        return call_parts(call, collective);
    return call_reduction(call, collective);
}

static bool is_served(sb_collective_t collective)
{
    return collective == SB_BARRIER || collective == SB_BCAST || reducer_of(collective) != NULL ||
           mover_of(collective) != NULL;
}

bool make_calls(sb_cluster_t *cluster, const plan_t *plan, char *problem, size_t room)
{
    uint64_t state = plan->seed;

    for (uint32_t number = 0; number < plan->calls;) {
        sb_collective_t collective = (sb_collective_t)draw(&state, SB_COLLECTIVES);
        call_t call = {.cluster = cluster, .plan = plan, .problem = problem, .room = room};
        call.root = draw(&state, cluster->map.ranks);
        call.bytes = draw_bytes(&state, plan->most);
        call.form = draw(&state, 3);
        call.number = number;
        if (!is_served(collective) || (plan->only != 0 && (plan->only >> collective & 1) == 0))
            continue;
        if (!make_call(&call, collective))
            return false;
        if (plan->settled != NULL)
            plan->settled();
        number++;
    }
    return true;
}
