/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the four prices of the broadcast's model between forked processes, bound to cores as a
 * launcher would bind them, by the same flags, counters and copies that the algorithms use. Each
 * price is the median of many rounds.
 *
 *   t     one process copies fragments into a shared ring, another copies them out: the time of one
 *         copy for each byte, both sides taken together
 *   t_W   two processes notify each other in turn: half of the time there and back
 *   t_A   all processes add to one counter at the same time: one addition
 *   t_WO  all but one leave a set, the last of them says so, the one opens it again: until the
 *         others see it, less t_A
 *
 * And down each of the published trees of all processes: t_W until the last has been told, t_WO
 * until all have left a set after that and the root has seen it.
 */
#include "tools/model.h"

#include "base/log.h"
#include "base/middle.h"
#include "machine/machine.h"
#include "tools/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAGMENT ((size_t)16 << 10)
#define SLOTS 256 /* 4 MiB: more than a core's own cache */
#define ROUNDS 2000
#define TREE_ROUNDS 400
#define RANKS_LEAST 2

typedef struct board {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t ready;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t ping;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t pong;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t emptied;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t opened;
    _Alignas(SB_FLAG_STRIDE) sb_counter_t met;
    _Alignas(SB_FLAG_STRIDE) sb_counter_t left;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t met_flag;
    double byte[ROUNDS];
    double back[ROUNDS]; /* copying out, by the reader */
    double notify[ROUNDS];
    double release[ROUNDS];
    double open[ROUNDS];
    _Alignas(SB_FLAG_STRIDE) sb_counter_t gone;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t all_gone;
    double told[SB_MODEL_TREES][TREE_ROUNDS];
    double reopened[SB_MODEL_TREES][TREE_ROUNDS];
    _Alignas(4096) char ring[SLOTS * FRAGMENT];
} board_t;

/* What one process is told, and when it was. */
typedef struct seat {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t news;
    uint64_t seen;
} seat_t;

/* One measuring process. */
typedef struct worker {
    board_t *board;
    seat_t *seats; /* of all */
    uint32_t rank;
    uint32_t ranks;
    sb_waiter_t waiter;
    uint64_t meetings;
} worker_t;

static void wait_for(worker_t *worker, sb_flag_t *flag, uint64_t value)
{
    if (sb_flag_wait(flag, value, &worker->waiter) != SB_OK)
        _exit(1);
}

/* All meet, so that the next part begins for all at once. */
static void meet(worker_t *worker)
{
    uint64_t number = ++worker->meetings;

    if (sb_counter_add(&worker->board->met, 1) + 1 == number * worker->ranks)
        sb_flag_publish(&worker->board->met_flag, number);
    else
        wait_for(worker, &worker->board->met_flag, number);
}

static void measure_copies(worker_t *worker, char *buffer)
{
    board_t *board = worker->board;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        char *place = board->ring + i % SLOTS * FRAGMENT;
        char *mine = buffer + i % SLOTS * FRAGMENT;
        if (worker->rank == 0) {
            uint64_t began = sb_now_ns();
            sb_copy(place, mine, FRAGMENT);
            board->byte[i] = (double)(sb_now_ns() - began) / (double)FRAGMENT;
            sb_flag_publish(&board->ready, i + 1);
        } else if (worker->rank == 1) {
            wait_for(worker, &board->ready, i + 1);
            uint64_t began = sb_now_ns();
            sb_copy(mine, place, FRAGMENT);
            board->back[i] = (double)(sb_now_ns() - began) / (double)FRAGMENT;
        }
    }
}

static void measure_notices(worker_t *worker)
{
    board_t *board = worker->board;

    for (uint64_t i = 0; i < ROUNDS && worker->rank < 2; i++) {
        if (worker->rank == 1) {
            wait_for(worker, &board->ping, i + 1);
            sb_flag_publish(&board->pong, i + 1);
            continue;
        }
        uint64_t began = sb_now_ns();
        sb_flag_publish(&board->ping, i + 1);
        wait_for(worker, &board->pong, i + 1);
        board->notify[i] = (double)(sb_now_ns() - began) / 2;
    }
}

/* Rank 0 is the root that opens sets, the others are readers. */
static void measure_sets(worker_t *worker)
{
    board_t *board = worker->board;
    uint32_t readers = worker->ranks - 1;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (worker->rank == 0) {
            wait_for(worker, &board->emptied, i + 1);
            sb_flag_publish(&board->opened, i + 1);
            continue;
        }
        uint64_t began = sb_now_ns();
        bool last = sb_counter_add(&board->left, 1) + 1 == (i + 1) * readers;
        uint64_t added = sb_now_ns();
        if (last)
            sb_flag_publish(&board->emptied, i + 1);
        wait_for(worker, &board->opened, i + 1);
        if (worker->rank == 1) {
            board->release[i] = (double)(added - began);
            board->open[i] = (double)(sb_now_ns() - added);
        }
    }
}

/* One turn of a set without data: rank 0 gives news, all pass it on and leave. */
static void pass_news(worker_t *worker, const uint32_t *children, uint32_t count, uint64_t number,
                      double *told, double *reopened)
{
    board_t *board = worker->board;
    seat_t *mine = &worker->seats[worker->rank];
    uint64_t began = sb_now_ns(), last = began;

    if (worker->rank > 0)
        wait_for(worker, &mine->news, number);
    for (uint32_t i = 0; i < count; i++)
        sb_flag_publish(&worker->seats[children[i]].news, number);
    if (worker->rank > 0) {
        mine->seen = sb_now_ns();
        if (sb_counter_add(&board->gone, 1) + 1 == number * (worker->ranks - 1))
            sb_flag_publish(&board->all_gone, number);
        return;
    }
    wait_for(worker, &board->all_gone, number);
    *reopened = (double)(sb_now_ns() - began);
    for (uint32_t rank = 1; rank < worker->ranks; rank++)
        last = worker->seats[rank].seen > last ? worker->seats[rank].seen : last;
    *told = (double)(last - began);
}

static void measure_trees(worker_t *worker)
{
    uint32_t *room = calloc(2 * (size_t)worker->ranks, sizeof *room);
    uint32_t *children = room + worker->ranks;
    board_t *board = worker->board;
    uint64_t number = 0;

    if (room == NULL)
        _exit(1);
    for (unsigned tree = 0; tree < SB_MODEL_TREES; tree++) {
        uint32_t count = sb_model_tree_children(&sb_model_trees[tree], worker->rank, worker->ranks,
                                                room, children);
        for (unsigned i = 0; i < TREE_ROUNDS; i++)
            pass_news(worker, children, count, ++number, &board->told[tree][i],
                      &board->reopened[tree][i]);
    }
    free(room);
}

static void work(worker_t *worker)
{
    char *buffer = malloc(SLOTS * FRAGMENT);

    if (buffer == NULL)
        _exit(1);
    memset(buffer, (int)worker->rank + 1, SLOTS * FRAGMENT);
    meet(worker);
    measure_copies(worker, buffer);
    meet(worker);
    measure_notices(worker);
    meet(worker);
    measure_sets(worker);
    meet(worker);
    measure_trees(worker);
    meet(worker);
    free(buffer);
}

/* The first tenth warms up. */
static double median_of(double *values, size_t count)
{
    size_t first = count / 10;

    return sb_middle_of_many(values + first, count - first);
}

static double median(double *values)
{
    return median_of(values, ROUNDS);
}

/* What two readings of the clock cost, which every measured time contains. */
static double clock_price(void)
{
    double values[ROUNDS];

    for (size_t i = 0; i < ROUNDS; i++) {
        uint64_t began = sb_now_ns();
        values[i] = (double)(sb_now_ns() - began);
    }
    return median(values);
}

static double at_least(double value, double least)
{
    return value > least ? value : least;
}

static sb_model_prices_t conclude(board_t *board)
{
    double clock = clock_price();

    return (sb_model_prices_t){
        .byte = at_least((median(board->byte) + median(board->back)) / 2 - clock / (double)FRAGMENT,
                         0.001),
        .notify = at_least(median(board->notify) - clock / 2, 1),
        .open = at_least(median(board->open) - clock, 1),
        .release = at_least(median(board->release) - clock, 1),
    };
}

/* The prices with what was measured down the trees. */
static void conclude_trees(board_t *board, sb_model_measured_t *measured)
{
    double clock = clock_price();

    for (unsigned i = 0; i < SB_MODEL_TREES; i++) {
        sb_model_prices_t *prices = &measured->tree[i];
        *prices = measured->prices;
        prices->notify = at_least(median_of(board->told[i], TREE_ROUNDS) - clock, 1);
        prices->open = at_least(median_of(board->reopened[i], TREE_ROUNDS) - clock, 1);
    }
}

static sb_waiter_t make_waiter(bool shared)
{
    return (sb_waiter_t){
        .bare_spins = shared ? 10 : 1000,
        .progress_every = 16,
        .yield = shared,
        .sleep_after_ns = 100000000,
        .sleep_longest_ns = 1000000,
    };
}

/* Starts the processes and waits for them; false if one failed. */
static bool run_workers(board_t *board, seat_t *seats, const sb_place_t *places, uint32_t ranks,
                        bool shared)
{
    bool good = true;
    int status;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        pid_t child = fork();
        if (child == 0) {
            worker_t worker = {board, seats, rank, ranks, make_waiter(shared), 0};
            alarm(60);
            /* Unbound processes are measured too, if it must be. */
            (void)sb_place_bind(&places[rank]);
            sb_machine_start();
            work(&worker);
            _exit(0);
        }
        if (child < 0)
            sb_tool_fail("sobor-model: starting a measuring process: %s", strerror(errno));
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        good = wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && good;
    return good;
}

sb_model_measured_t sb_model_measure(uint32_t ranks)
{
    ranks = (uint32_t)sb_max(ranks, RANKS_LEAST);
    size_t bytes = sizeof(board_t) + ranks * sizeof(seat_t);
    board_t *board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sb_place_t *places = sb_tool_take(ranks, sizeof *places);
    if (board == MAP_FAILED)
        sb_tool_fail("sobor-model: out of memory");
    if (sb_places_map(places, ranks, sb_topology_self(), SB_MAP_CORE) != SB_OK)
        sb_tool_fail("sobor-model: the machine shows no core for a rank");
    bool shared = sb_places_oversubscribed(places, ranks);
    if (!run_workers(board, (seat_t *)(void *)(board + 1), places, ranks, shared))
        sb_tool_fail("sobor-model: a measuring process failed");
    sb_model_measured_t measured = {.prices = conclude(board), .ranks = ranks, .shared = shared};
    conclude_trees(board, &measured);
    munmap(board, bytes);
    free(places);
    return measured;
}
