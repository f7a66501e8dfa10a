/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every reduction over forked processes: sums of numbers, an operator that is not commutative, sums
 * of doubles, which must be the same bits on all ranks (and those of a sum from left to right where
 * the algorithm says so), elements of odd sizes; in place at all ranks, at some or at none,
 * misaligned, empty, with parts of any size. Now and then the operator fails on some rank: it is
 * told, and the team goes on. Mixed with barriers, broadcasts and each other. usage:
 * fork_reductions [SEED [NAME]]: those of one algorithm's name, or "ahead".
 */
#include "../random.h"
#include "plan.h"

#include "baseline/baseline.h"
#include "coll/reduction/workspace.h"
#include "select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MOST 8
#define MOST_BYTES 300000
#define GUARD 0xee

typedef enum kind { SUM, MAPS, DOUBLES, ODD, KINDS } kind_t;

/* What all ranks know of a call. */
typedef struct call {
    const sb_algorithm_t *algorithm;
    uint64_t number;
    uint32_t root;
    kind_t kind;
    size_t element;
    size_t bytes;
    bool in_place;
    bool uneven;
    uint32_t victim; /* the rank whose operator fails; size of the team: nobody's */
    size_t parts[RANKS_MOST];
} call_t;

/* Of this process's present call. */
typedef struct state {
    kind_t kind;
    bool fails;
    bool ragged; /* was given a part of an element */
    bool called;
} state_t;

/* The map x -> slope x + shift. */
typedef struct map {
    uint32_t slope;
    uint32_t shift;
} map_t;

static void combine_maps(char *to, const void *const from[], uint32_t n)
{
    map_t all, next;

    memcpy(&all, from[0], sizeof all);
    for (uint32_t i = 1; i < n; i++) {
        memcpy(&next, from[i], sizeof next);
        all.shift += all.slope * next.shift;
        all.slope *= next.slope;
    }
    memcpy(to, &all, sizeof all);
}

static void combine_doubles(char *to, const void *const from[], uint32_t n)
{
    double all, next;

    memcpy(&all, from[0], sizeof all);
    for (uint32_t i = 1; i < n; i++) {
        memcpy(&next, from[i], sizeof next);
        all += next;
    }
    memcpy(to, &all, sizeof all);
}

static void combine_words(char *to, const void *const from[], uint32_t n)
{
    uint64_t all = 0, next;

    for (uint32_t i = 0; i < n; i++) {
        memcpy(&next, from[i], sizeof next);
        all += next;
    }
    memcpy(to, &all, sizeof all);
}

/* Bytes of an odd element are added each to the one behind it, so that cuts would show. */
static void combine_odd(char *to, const void *const from[], uint32_t n, size_t element)
{
    unsigned char all[SB_ELEMENT_MOST];

    memcpy(all, from[0], element);
    for (uint32_t i = 1; i < n; i++) {
        for (size_t k = 0; k < element; k++)
            all[k] = (unsigned char)(all[k] + ((const unsigned char *)from[i])[k]);
    }
    memcpy(to, all, element);
}

static void combine_element(kind_t kind, size_t element, char *to, const void *const from[],
                            uint32_t n)
{
    if (kind == MAPS)
        combine_maps(to, from, n);
    else if (kind == DOUBLES)
        combine_doubles(to, from, n);
    else if (kind == SUM)
        combine_words(to, from, n);
    else
        combine_odd(to, from, n, element);
}

static sb_status_t fold(const sb_operator_t *self, void *to, const void *const from[], uint32_t n,
                        size_t bytes)
{
    state_t *state = self->context;

    state->called = true;
    state->ragged = state->ragged || bytes % self->element != 0 || n == 0;
    if (state->fails)
        return SB_ERR_DATA;
    for (size_t at = 0; at < bytes; at += self->element) {
        const void *element[n];
        for (uint32_t i = 0; i < n; i++)
            element[i] = (const char *)from[i] + at;
        combine_element(state->kind, self->element, (char *)to + at, element, n);
    }
    return SB_OK;
}

/* Element i of what a rank gives. */
static void give(const call_t *call, uint32_t rank, size_t i, char *to)
{
    uint64_t word = i * 2654435761u + rank * 40503u + call->number * 977u;
    double real = (double)(word % 100003) * (rank % 3 == 0 ? 1e9 : 1e-7);
    map_t map = {2 * (uint32_t)word + 3, (uint32_t)(word >> 7)};

    if (call->kind == MAPS)
        memcpy(to, &map, sizeof map);
    else if (call->kind == DOUBLES)
        memcpy(to, &real, sizeof real);
    else if (call->kind == SUM)
        memcpy(to, &word, sizeof word);
    else
        for (size_t k = 0; k < call->element; k++)
            to[k] = (char)(word + k * 7);
}

static bool scatters(const call_t *call)
{
    return call->algorithm->collective == SB_REDUCE_SCATTER ||
           call->algorithm->collective == SB_REDUCE_SCATTER_BLOCK;
}

/* How many ranks' contributions a rank receives the combination of, and where it begins. */
static uint32_t expects(const call_t *call, uint32_t rank, uint32_t size, size_t *from, size_t *to)
{
    *from = 0;
    *to = call->bytes;
    switch (call->algorithm->collective) {
    case SB_REDUCE:
        return rank == call->root ? size : 0;
    case SB_SCAN:
        return rank + 1;
    case SB_EXSCAN:
        return rank;
    case SB_ALLREDUCE:
        return size;
    default:
        for (uint32_t i = 0; i < rank; i++)
            *from += call->parts[i];
        *to = *from + call->parts[rank];
        return size;
    }
}

static int complain(const call_t *call, uint32_t rank, uint32_t size, const char *what, size_t at)
{
    fprintf(stderr,
            "%s %s: rank %u of %u, root %u, call %lu, %zu bytes of elements of %zu, kind %d%s: %s "
            "at byte %zu\n",
            sb_collective_name(call->algorithm->collective), call->algorithm->name, rank, size,
            call->root, (unsigned long)call->number, call->bytes, call->element, (int)call->kind,
            call->in_place ? ", in place" : "", what, at);
    return 1;
}

/* Each element against one that is combined here from left to right. */
static int check(const call_t *call, uint32_t rank, uint32_t size, const char *received)
{
    size_t from, to;
    uint32_t sources = expects(call, rank, size, &from, &to);
    char given[RANKS_MOST][SB_ELEMENT_MOST], expected[SB_ELEMENT_MOST];
    const void *operands[RANKS_MOST];
    bool exact = call->kind != DOUBLES || !(call->algorithm->brackets || call->algorithm->reorders);

    for (size_t at = from; at < to && sources > 0 && exact; at += call->element) {
        for (uint32_t i = 0; i < sources; i++) {
            give(call, i, at / call->element, given[i]);
            operands[i] = given[i];
        }
        combine_element(call->kind, call->element, expected, operands, sources);
        if (memcmp(expected, received + (at - from), call->element) != 0)
            return complain(call, rank, size, "wrong", at - from);
    }
    return 0;
}

static uint64_t hash_of(const char *data, size_t bytes)
{
    uint64_t hash = 1469598103934665603u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)data[i]) * 1099511628211u;
    return hash;
}

/* All ranks have the same bits. */
static int compare(rank_context_t *context, const call_t *call, const char *received)
{
    uint64_t mine = hash_of(received, call->bytes), all[RANKS_MOST];

    job_allgather(context, &mine, all, sizeof mine);
    for (uint32_t i = 0; i < context->size; i++) {
        if (all[i] != mine)
            return complain(call, context->rank, context->size, "other bits than elsewhere", 0);
    }
    return 0;
}

typedef struct memory {
    char *base;
    char *data;
    size_t bytes;
} memory_t;

static memory_t take_memory(size_t bytes, size_t shift)
{
    memory_t memory = {.base = job_memory(bytes + shift + 1), .bytes = bytes};

    memory.data = memory.base + shift;
    memset(memory.base, GUARD, bytes + shift + 1);
    return memory;
}

static int reduce(rank_context_t *context, sb_team_t *team, const call_t *call, uint64_t *own)
{
    uint32_t rank = team->rank, size = team->size;
    size_t from, to;
    uint32_t sources = expects(call, rank, size, &from, &to);
    state_t state = {.kind = call->kind, .fails = rank == call->victim};
    const sb_operator_t operation = {.element = call->element,
                                     .commutative = call->kind != MAPS,
                                     .fold = fold,
                                     .context = &state};
    memory_t send = take_memory(call->bytes, draw(own, 3)),
             receive = take_memory(call->bytes, draw(own, 2) * 5);
    /* A rank whose elements have gaps is not in place where others are. */
    bool in_place = call->in_place && sources > 0 && draw(own, 3) > 0;

    for (size_t at = 0; at < call->bytes; at += call->element)
        give(call, rank, at / call->element, (in_place ? receive.data : send.data) + at);
    bool listed = call->algorithm->collective == SB_REDUCE_SCATTER || call->number % 2 == 0;
    sb_reduction_t reduction = {.root = call->root,
                                .operation = &operation,
                                .bytes = call->bytes,
                                .parts = scatters(call) && listed ? call->parts : NULL,
                                .send = in_place ? receive.data : send.data,
                                .receive = sources > 0 ? receive.data : NULL};
    sb_status_t status = sb_algorithm_prepare(call->algorithm, team, call->bytes);
    if (status == SB_OK)
        status = call->algorithm->reduction(team, &reduction);
    int failed = 0;
    if (status != SB_OK && !(state.fails && status == SB_ERR_DATA))
        failed = complain(call, rank, size, sb_status_string(status), 0);
    if (state.ragged)
        failed = complain(call, rank, size, "an element was cut", 0);
    /* What rank 0 of a scan gets is copied as long as it is, not window by window. */
    if (call->algorithm == &sb_scan_rings && rank == 0 && state.called)
        failed = complain(call, rank, size, "an operator was asked to copy", 0);
    if (receive.data[call->bytes] != (char)GUARD || send.data[call->bytes] != (char)GUARD)
        failed = complain(call, rank, size, "more was written", call->bytes);
    if (failed == 0 && call->victim == size)
        failed = check(call, rank, size, receive.data);
    if (call->victim == size && call->algorithm->collective == SB_ALLREDUCE &&
        call->kind == DOUBLES)
        failed += compare(context, call, receive.data);
    free(send.base);
    free(receive.base);
    return failed;
}

static bool may_be_mixed(const sb_algorithm_t *algorithm)
{
    return algorithm->levels == 0 && algorithm->parts == NULL;
}

static size_t draw_bytes(uint64_t *state, size_t most)
{
    static const size_t corners[] = {0, 1, 8, 48, 239, 240, 241, 1024, 4096, 16384, 40000, 70000};

    if (draw(state, 30) == 0)
        return most;
    if (draw(state, 3) == 0)
        return sb_min(corners[draw(state, (uint32_t)SB_COUNT_OF(corners))], most);
    return sb_min(1 + draw(state, 1u << draw(state, 16)), most);
}

/* Parts of any size, that together are as many elements. */
static void draw_parts(call_t *call, uint32_t size, uint64_t *state)
{
    size_t left = call->bytes / call->element;

    for (uint32_t i = 0; i < size; i++) {
        size_t even = call->bytes / call->element / size;
        size_t part = call->uneven ? draw(state, (uint32_t)left + 1) : even;
        if (i + 1 == size)
            part = left;
        call->parts[i] = part * call->element;
        left -= part;
    }
}

static call_t draw_call(const sb_algorithm_t *algorithm, uint64_t number, size_t most,
                        uint32_t size, uint64_t *state)
{
    call_t call = {.number = number, .algorithm = algorithm};

    call.root = draw(state, size);
    call.kind = (kind_t)draw(state, KINDS);
    if (call.kind == MAPS && call.algorithm->reorders)
        call.kind = SUM;
    call.element = call.kind == ODD ? 1 + draw(state, SB_ELEMENT_MOST) : 8;
    size_t whole = call.element;
    if (call.algorithm->collective == SB_REDUCE_SCATTER_BLOCK)
        whole *= size;
    call.bytes = draw_bytes(state, most) / whole * whole;
    call.in_place = draw(state, 3) == 0;
    call.uneven = call.algorithm->collective == SB_REDUCE_SCATTER && draw(state, 2) == 0;
    call.victim = draw(state, 15) == 0 ? draw(state, size) : size;
    draw_parts(&call, size, state);
    return call;
}

static int broadcast(sb_team_t *team, const call_t *call)
{
    memory_t memory = take_memory(call->bytes, 0);
    sb_stream_t stream = {.base = memory.data, .bytes = call->bytes};
    sb_status_t status = SB_OK;
    int failed = 0;

    if (team->rank == call->root)
        memset(memory.data, (int)(call->number % 200), call->bytes);
    if (call->bytes > 0)
        status = sb_algorithm_prepare(call->algorithm, team, call->bytes);
    if (status == SB_OK && call->bytes > 0)
        status = call->algorithm->bcast(team, call->root, &stream);
    for (size_t i = 0; i < call->bytes && failed == 0; i++)
        failed = memory.data[i] != (char)(call->number % 200);
    if (failed || status != SB_OK)
        failed = complain(call, team->rank, team->size, "broadcast", 0);
    free(memory.base);
    return failed;
}

static int make_call(rank_context_t *context, sb_team_t *team, const sb_algorithm_t *algorithm,
                     uint64_t number, size_t most, uint64_t *common, uint64_t *own)
{
    const call_t call = draw_call(algorithm, number, most, context->size, common);

    return algorithm->collective == SB_BCAST ? broadcast(team, &call)
                                             : reduce(context, team, &call, own);
}

static bool reduces(const sb_algorithm_t *algorithm)
{
    return algorithm->reduction != NULL;
}

static program_t program = {.name = "fork_reductions",
                            .seed = 1,
                            .is_about = reduces,
                            .mixes = may_be_mixed,
                            .call = make_call,
                            .calls = 100,
                            .most = MOST_BYTES,
                            .mixed_calls = 300,
                            .mixed_most = 60000};

/* Whose part is empty goes on for as many calls as there are slots, before anybody else comes. */
static int run_without_part(rank_context_t *context, void *argument)
{
    const size_t parts[RANKS_MOST] = {sizeof(uint64_t)};
    state_t state = {.kind = SUM};
    const sb_operator_t operation = {
        .element = sizeof(uint64_t), .commutative = true, .fold = fold, .context = &state};
    uint64_t send = 1, received = 0;
    const sb_reduction_t reduction = {.operation = &operation,
                                      .bytes = sizeof send,
                                      .parts = parts,
                                      .send = (const char *)&send,
                                      .receive = (char *)&received};
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    (void)argument;
    if (context->rank == 0)
        job_synchronise(context);
    for (uint32_t i = 0; failures == 0 && i < team->slots; i++) {
        failures += sb_reduce_scatter_slots.reduction(team, &reduction) != SB_OK;
        failures += received != (context->rank == 0 ? context->size : 0);
    }
    if (context->rank != 0)
        job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

/* Two ranks combine halves in rings that hold no more than is usual: messages of any element's
 * length fit, also the longest that goes in one piece. */
static int run_halves(rank_context_t *context, void *argument)
{
    enum { RING = 1024, SHORTER = 400 };
    uint64_t own = program_own(&program, context->rank);
    call_t call = {
        .algorithm = &sb_allreduce_rings, .kind = ODD, .victim = context->size, .element = 1};
    sb_team_t *team = job_team(context);
    int failures = team == NULL || team->oversubscribed;

    (void)argument;
    if (team != NULL) {
        team->settings.ring_bytes = RING;
        team->settings.windows_mode = SB_COPY_HALVED;
    }
    for (; call.element <= SB_ELEMENT_MOST && failures == 0; call.element++) {
        call.bytes = (RING - SHORTER) / call.element * call.element;
        for (; call.bytes < 2 * RING && failures == 0; call.bytes += call.element, call.number++)
            failures += reduce(context, team, &call, &own);
    }
    failures += failures == 0 && sb_workspace(team)->usual != RING;
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static int run_short_rings(void)
{
    bool roomy = job_has_room(2);
    int failures = roomy ? job_run_on(2, 2, 90, run_halves, NULL) : 0;

    printf("halves in short rings: %s\n", !roomy ? JOB_NO_ROOM : failures == 0 ? "ok" : "FAILED");
    return failures;
}

static int run_ahead(uint32_t ranks)
{
    int failures = job_run(ranks, 10, run_without_part, NULL);

    printf("who has no part goes on    %2u ranks: %s\n", ranks, failures == 0 ? "ok" : "FAILED");
    return failures;
}

int main(int argc, char **argv)
{
    static const char *const rings[] = {"16KiB", "auto"}, *const stores[] = {"streaming", "auto"};
    const char *only = argc > 2 ? argv[2] : NULL;
    int failures = 0;

    sb_baselines_add();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (only == NULL || strcmp(only, "ahead") == 0)
        failures += run_ahead(2) + run_ahead(5);
    failures += only == NULL ? run_short_rings() : 0;
    program.seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    for (size_t r = 0; r < SB_COUNT_OF(rings); r++) {
        setenv("SOBOR_RING", rings[r], 1);
        setenv("SOBOR_STORES", stores[r], 1);
        if (r > 0)
            setenv("SOBOR_WAIT", "sleep", 1);
        for (uint32_t ranks = 1; ranks <= RANKS_MOST; ranks += ranks < 3 ? 1 : ranks < 5 ? 2 : 3)
            failures += program_run(&program, ranks, only);
    }
    return failures == 0 ? 0 : 1;
}
