/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clusters of forked processes that take themselves to be on several nodes: random maps and calls
 * on the real machine. Nothing may be left in the network, and the bits of sums must be the same on
 * all ranks.
 *
 * usage: cluster_nodes [MAPS [SEED]]
 */
#include "calls.h"
#include "mailbox.h"

#include "../fork/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CALLS 20

typedef struct trial {
    ground_t ground;
    mailbox_t *box;
    plan_t plan;
} trial_t;

static int run_rank(rank_context_t *context, void *argument)
{
    const trial_t *trial = argument;
    uint32_t node = trial->ground.node[context->rank];
    sb_net_t net = mailbox_net(trial->box, context->rank);
    char problem[256] = "the map is wrong";
    sb_cluster_t *cluster;

    context->front.objection = trial->ground.barren[node];
    if (sb_cluster_create(&cluster, &context->front, &net, node + 5) != SB_OK)
        return 1;
    bool right = check_map(cluster, &trial->ground) &&
                 make_calls(cluster, &trial->plan, problem, sizeof problem);
    if (right) {
        job_synchronise(context);
        snprintf(problem, sizeof problem, "rank %u: something is left in the network",
                 context->rank);
        right = mailbox_is_empty(trial->box);
    }
    if (!right)
        fprintf(stderr, "%s\n", problem);
    sb_cluster_destroy(cluster);
    return !right;
}

static bool run_map(uint64_t seed, board_t *board)
{
    trial_t trial = {.plan = {.seed = seed, .calls = CALLS, .most = 3000000, .board = board}};
    uint32_t call;

    draw_ground(&trial.ground, seed);
    memset(board, 0, sizeof *board);
    trial.box = mailbox_new(trial.ground.ranks);
    bool right = job_run(trial.ground.ranks, 100, run_rank, &trial) == 0;
    mailbox_free(trial.box);
    if (right && !same_bits(board, trial.ground.ranks, &call)) {
        printf("call %u: a sum has different bits on different ranks\n", call);
        right = false;
    }
    if (!right) {
        printf("map %lu: ", (unsigned long)seed);
        print_ground(&trial.ground);
    }
    return right;
}

int main(int argc, char **argv)
{
    uint64_t maps = argc > 1 ? strtoull(argv[1], NULL, 10) : 12;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    board_t *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (board == MAP_FAILED)
        return 1;
    setenv("SOBOR_WAIT", "sleep", 1);
    for (uint64_t i = 0; i < maps; i++) {
        if (!run_map(seed + i, board))
            return 1;
    }
    printf("%lu maps from seed %lu: ok\n", (unsigned long)maps, (unsigned long)seed);
    return 0;
}
