/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clusters on the simulated machine under many schedules: random maps, random calls, each under
 * several interleavings, watched by the race checker and by the network. The bits of sums must be
 * the same on all ranks and under all schedules.
 *
 * usage: cluster_schedules [--maps N] [--schedules N] [--seed N] [--bytes N] [--only COLLECTIVE]
 *                          [--nodes N] [--timed yes] [--usual N]
 *
 * --nodes: so many, each of one to three ranks; without it all is drawn. --usual: so many maps, and
 * two fifths of them if the form is not the long one.
 */
#include "../long_form.h"

#include "calls.h"
#include "ground.h"

#include "base/config.h"
#include "baseline/baseline.h"
#include "machine/sim/engine.h"
#include "machine/sim/join.h"
#include "machine/sim/net.h"
#include "tools/machines.h"
#include "tools/self_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wish {
    uint64_t maps, schedules, seed, bytes;
    uint32_t only;
    uint32_t nodes; /* 0: drawn */
    bool timed;
} wish_t;

/* What the runs on one ground share. */
typedef struct trial {
    ground_t ground;
    board_t board;
    plan_t plan;
    bool crowded; /* ranks that lose patience go the whole way of a wait */
    bool explored;
} trial_t;

static sb_status_t allgather(void *context, const void *mine, void *all, size_t bytes)
{
    (void)context;
    sb_sim_allgather(SB_SIM_ALL, mine, all, bytes);
    return SB_OK;
}

static void run_rank(void *argument, uint32_t rank)
{
    trial_t *trial = argument;
    uint32_t node = trial->ground.node[rank];
    sb_front_t front = {.allgather = allgather, .objection = trial->ground.barren[node]};
    sb_net_t net = sb_sim_net();
    sb_settings_t settings;
    sb_cluster_t *cluster;
    char problem[256];

    sb_settings_self(&settings);
    if (trial->plan.strict)
        settings.reproducible = SB_REPRODUCIBLE_STRICT;
    if (trial->plan.exchanges)
        strcpy(settings.algorithm[SB_ALLGATHER], "bagds"),
            strcpy(settings.algorithm[SB_ALLGATHERV], "bagds");
    if (trial->plan.named)
        strcpy(settings.algorithm[SB_REDUCE_SCATTER], "k-ary-tree");
    settings.bcast_form = (uint32_t)(trial->plan.seed / 6 % SB_FORMS);
    settings.scatter_by = trial->plan.seed % 4 < 2 ? SB_SCATTER_FIRST : SB_SCATTER_AUTO;
    front.settings = &settings;
    sb_status_t status = sb_cluster_create(&cluster, &front, &net, UINT64_C(7777) * (node + 1));
    if (status != SB_OK)
        sb_sim_stop("rank %u gets no cluster: %s", rank, sb_status_string(status));
    if (!check_map(cluster, &trial->ground))
        sb_sim_stop("rank %u: the map is wrong", rank);
    if (trial->explored)
        sb_sim_guided(true);
    if (!make_calls(cluster, &trial->plan, problem, sizeof problem))
        sb_sim_stop("%s", problem);
    if (trial->explored)
        sb_sim_guided(false);
    sb_sim_meet(SB_SIM_ALL);
    sb_cluster_destroy(cluster);
    sb_sim_meet(SB_SIM_ALL);
    if (sb_team_deferred() != 0)
        sb_sim_stop("rank %u keeps memory of a team that all have left", rank);
}

/* --- runs ---------------------------------------------------------------------------------- */

/* False, with words, if the run is not as it should be. */
static bool judge(const trial_t *trial, sb_sim_t *sim, sb_join_t *join, sb_sim_end_t end)
{
    static char text[16384];
    const sb_violation_t *violation = sb_join_violation(join);
    uint32_t call;

    if (violation->kind != SB_VIOLATION_NONE)
        printf("%s\n", sb_violation_text(violation, sb_join_watch(join), text, sizeof text));
    else if (sb_join_endless(join))
        printf("ranks run in circles: the run does not end\n");
    else if (end != SB_SIM_COMPLETE)
        printf("%s\n", sb_sim_problem(sim));
    else if (!same_bits(&trial->board, trial->ground.ranks, &call))
        printf("call %u: a sum has different bits on different ranks\n", call);
    else
        return true;
    return false;
}

/* The same bits under every schedule. */
static bool compare_runs(const trial_t *trial, const board_t *first)
{
    if (memcmp(trial->board.hash, first->hash, sizeof first->hash) == 0)
        return true;
    printf("a sum has different bits under different schedules\n");
    return false;
}

static bool run_schedules(trial_t *trial, sb_sim_t *sim, sb_join_t *join, uint64_t schedules)
{
    board_t first;
    bool right = true;

    for (uint64_t i = 0; i < schedules && right && sb_join_begin(join); i++) {
        memset(&trial->board, 0, sizeof trial->board);
        right = judge(trial, sim, join, sb_sim_run(sim, run_rank, trial));
        if (i == 0)
            first = trial->board;
        right = right && compare_runs(trial, &first);
    }
    const sb_explore_t *explore = sb_join_explore(join);
    char *text = right || explore == NULL ? NULL : sb_explore_text(explore);
    if (text != NULL)
        printf("schedule: %s\n", text);
    free(text);
    return right;
}

/* Who is where, and what they call. */
static void draw(trial_t *trial, const wish_t *wish, uint64_t seed)
{
    if (wish->nodes > 0)
        draw_nodes(&trial->ground, seed, wish->nodes);
    else
        draw_ground(&trial->ground, seed);
    trial->plan = (plan_t){.seed = seed,
                           .calls = 4,
                           .most = (size_t)wish->bytes >> (seed % 5 * 2),
                           .only = wish->only,
                           .strict = seed % 3 == 1,
                           .exchanges = seed % 2 == 1,
                           .named = seed / 3 % 3 == 1,
                           .board = &trial->board,
                           .settled = sb_sim_net_settled};
}

/* Of short messages and long ones, each is where one schedule gives way to another. */
static void draw_rate(sb_sim_network_t *network, uint64_t seed)
{
    network->kib <<= seed % 7 % 4 * 2;
    network->injection_kib = network->kib;
}

static bool run_map(const wish_t *wish, uint64_t seed)
{
    static trial_t trial;
    static machine_t machine;
    sb_explore_options_t explore = {.mode = seed % 3 == 0 ? SB_EXPLORE_PCT : SB_EXPLORE_RANDOM,
                                    .seed = seed,
                                    .schedules = wish->schedules,
                                    .relaxed = seed % 2 == 0};
    const char *problem;

    trial = (trial_t){.explored = !wish->timed};
    machine = (machine_t){.core = {0}};
    draw(&trial, wish, seed);
    machine_build(&machine, &trial.ground, seed % 4 == 0 ? 0 : 512);
    draw_rate(&machine.model.network, seed);
    sb_topology_t *topology = sb_topology_open("package:2 core:2 pu:1", (char[256]){0}, 256);
    sb_topology_simulate(topology, machine.places);
    explore.ranks = trial.ground.ranks;
    sb_join_t *join = sb_join_new(trial.ground.ranks, wish->timed ? NULL : &explore, &problem);
    sb_sim_options_t options = {.machine = &machine.model,
                                .ranks = trial.ground.ranks,
                                .node = trial.ground.node,
                                .core = machine.core,
                                .seed = seed,
                                .placed = true,
                                .watch = sb_join_watch(join),
                                .guide = sb_join_guide(join)};
    sb_sim_t *sim = sb_sim_new(&options);
    bool right = run_schedules(&trial, sim, join, wish->timed ? 2 : wish->schedules);
    if (!right) {
        printf("map %lu: ", (unsigned long)seed);
        print_ground(&trial.ground);
    }
    sb_sim_free(sim);
    sb_join_free(join);
    sb_topology_close(topology);
    return right;
}

static bool read_options(wish_t *wish, int count, char **words)
{
    for (int i = 1; i + 1 < count; i += 2) {
        uint64_t number = strtoull(words[i + 1], NULL, 10);
        if (strcmp(words[i], "--maps") == 0)
            wish->maps = number;
        else if (strcmp(words[i], "--usual") == 0)
            wish->maps = is_long_form() ? number : number * 2 / 5;
        else if (strcmp(words[i], "--schedules") == 0)
            wish->schedules = number;
        else if (strcmp(words[i], "--seed") == 0)
            wish->seed = number;
        else if (strcmp(words[i], "--bytes") == 0)
            wish->bytes = number;
        else if (strcmp(words[i], "--nodes") == 0)
            wish->nodes = (uint32_t)sb_min(number, RANKS_MOST / NODE_MOST);
        else if (strcmp(words[i], "--timed") == 0)
            wish->timed = true;
        else if (strcmp(words[i], "--only") == 0)
            wish->only = sb_collectives_among(words[i + 1]);
        else
            return false;
    }
    return count % 2 == 1;
}

int main(int argc, char **argv)
{
    wish_t wish = {.maps = 200, .schedules = 10, .seed = 1, .bytes = 300000};

    if (!read_options(&wish, argc, argv)) {
        printf("expected --maps, --schedules, --seed, --bytes, --only, --nodes, --timed or "
               "--usual, with a value\n");
        return 2;
    }
    sb_baselines_add();
    for (uint64_t i = 0; i < wish.maps; i++) {
        if (!run_map(&wish, wish.seed + i))
            return 1;
    }
    printf("%lu maps from seed %lu, %lu schedules each: ok\n", (unsigned long)wish.maps,
           (unsigned long)wish.seed, (unsigned long)wish.schedules);
    return 0;
}
