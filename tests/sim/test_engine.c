/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of the simulated machine in cases small enough to be worked out by hand. */
#include "../unit/testing.h"

#include "machine/machine.h"
#include "machine/sim/engine.h"
#include "machine/sim/net.h"

#include <stdlib.h>
#include <string.h>

#define NS 1000u
#define CORES 8

/* Two packages of two NUMA nodes of two cores; a node's cores share a third-level cache. */
static const sb_sim_core_t cores[CORES] = {
    {{0, 0, 0, 0, 0, 0}, 1}, {{1, 1, 0, 0, 0, 0}, 1}, {{2, 2, 1, 1, 0, 0}, 1},
    {{3, 3, 1, 1, 0, 0}, 1}, {{4, 4, 2, 2, 1, 0}, 1}, {{5, 5, 2, 2, 1, 0}, 1},
    {{6, 6, 3, 3, 1, 0}, 1}, {{7, 7, 3, 3, 1, 0}, 1},
};

/* All cores share one cache. */
static const sb_sim_core_t together[CORES] = {
    {{0, 0, 0, 0, 0, 0}, 1}, {{1, 1, 0, 0, 0, 0}, 1}, {{2, 2, 0, 0, 0, 0}, 1},
    {{3, 3, 0, 0, 0, 0}, 1}, {{4, 4, 0, 0, 0, 0}, 1}, {{5, 5, 0, 0, 0, 0}, 1},
    {{6, 6, 0, 0, 0, 0}, 1}, {{7, 7, 0, 0, 0, 0}, 1},
};

static sb_sim_machine_t machine(void)
{
    return (sb_sim_machine_t){
        .nodes = 1,
        .cores = CORES,
        .numa_nodes = 4,
        .packages = 2,
        .core = cores,
        .read = {1 * NS, 10 * NS, 20 * NS, 30 * NS, 60 * NS, 100 * NS},
        .memory = {0, 0, 0, 80 * NS, 120 * NS, 160 * NS},
        .invalidate = {0, 10 * NS, 20 * NS, 30 * NS, 60 * NS, 100 * NS},
        .line_service = {10 * NS, 10 * NS, 10 * NS, 10 * NS, 10 * NS, 10 * NS},
        .store = 1 * NS,
        .atomic_extra = 5 * NS,
        .read_overlap = 1,
        .copy_kib = {64 * NS, 128 * NS, 128 * NS, 256 * NS, 384 * NS, 512 * NS},
        .controller_kib = 256 * NS,
        .l2_bytes = 1 << 20,
        .l3_bytes = 4 << 20,
        .page_bytes = 4096,
        .readahead_pages = 1,
        .context_switch = 1000 * NS,
        .yield = 300 * NS,
        .slice = 3000000 * (uint64_t)NS,
        .futex_wait = 500 * NS,
        .futex_wake = 2000 * NS,
        .pause = 5 * NS,
    };
}

/* What the ranks of a test share. */
typedef struct scene {
    sb_flag_t *flag[CORES];
    sb_counter_t *counter;
    char *data;
    uint64_t began[CORES];
    uint64_t ended[CORES];
    uint64_t seen[CORES];
    uint32_t ranks;
    int rounds;
    const sb_waiter_t *waiter;
} scene_t;

static const sb_waiter_t spinning = {
    .bare_spins = 100, .paused_spins = 200, .progress_every = 16, .sleep_after_ns = UINT64_MAX};

static const uint32_t in_order[CORES] = {0, 1, 2, 3, 4, 5, 6, 7};

static sb_sim_end_t run(const sb_sim_machine_t *model, const uint32_t *core, uint32_t ranks,
                        sb_sim_body_t *body, scene_t *scene)
{
    sb_sim_options_t options = {
        .machine = model, .ranks = ranks, .core = core, .seed = 1, .placed = true};
    sb_sim_t *sim = sb_sim_new(&options);

    assert_non_null(sim);
    scene->ranks = ranks;
    if (scene->waiter == NULL)
        scene->waiter = &spinning;
    sb_sim_end_t end = sb_sim_run(sim, body, scene);
    sb_sim_free(sim);
    return end;
}

/* A flag of each rank, on its own page in its own NUMA node. */
static void make_flags(scene_t *scene, uint32_t rank)
{
    sb_sim_memory_t memory = sb_sim_take(4096, -1);

    scene->flag[rank] = (sb_flag_t *)(void *)memory.address;
    sb_sim_meet(SB_SIM_ALL);
}

/* --- lines --------------------------------------------------------------------------------- */

static void ping_pong(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    uint64_t half = 0;

    make_flags(scene, rank);
    for (int i = 1; i <= scene->rounds; i++) {
        if (i == scene->rounds / 2 + 1)
            half = sb_sim_clock();
        if (rank == 0)
            sb_flag_publish(scene->flag[0], (uint64_t)i);
        sb_flag_wait(scene->flag[1 - rank], (uint64_t)i, scene->waiter);
        if (rank == 1)
            sb_flag_publish(scene->flag[1], (uint64_t)i);
    }
    scene->began[rank] = half;
    scene->ended[rank] = sb_sim_clock();
}

/* There: the store takes the line from the reader, who then reads it; and back. */
static void two_cores_pass_a_flag(void **state)
{
    static const struct {
        uint32_t core[2];
        uint64_t one_way; /* to take the line away, and to read it */
    } cases[] = {{{0, 1}, 20 + 20}, {{0, 2}, 60 + 60}, {{0, 7}, 100 + 100}};
    sb_sim_machine_t model = machine();

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(cases); i++) {
        scene_t scene = {.rounds = 100};
        assert_int_equal(run(&model, cases[i].core, 2, ping_pong, &scene), SB_SIM_COMPLETE);
        assert_int_equal(scene.ended[0] - scene.began[0], 50 * 2 * cases[i].one_way * NS);
    }
}

static void wait_for_one(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    make_flags(scene, rank);
    if (rank == 0) {
        sb_sim_compute(1000 * NS);
        scene->began[0] = sb_sim_clock();
        sb_flag_publish(scene->flag[0], 1);
        return;
    }
    sb_flag_wait(scene->flag[0], 1, scene->waiter);
    scene->ended[rank] = sb_sim_clock();
}

/* All readers ask when the line has changed; it serves one in 10 ns. */
static void readers_of_a_line_queue_up(void **state)
{
    sb_sim_machine_t model = machine();

    (void)state;
    model.core = together;
    model.numa_nodes = 1;
    model.packages = 1;
    for (uint32_t readers = 1; readers < CORES; readers++) {
        scene_t scene = {0};
        uint64_t last = 0, sum = 0;
        assert_int_equal(run(&model, in_order, readers + 1, wait_for_one, &scene), SB_SIM_COMPLETE);
        for (uint32_t rank = 1; rank <= readers; rank++) {
            uint64_t after = scene.ended[rank] - scene.began[0];
            last = after > last ? after : last;
            sum += after;
        }
        assert_int_equal(last, (20 + (readers - 1) * 10 + 20) * NS);
        assert_int_equal(sum, (readers * 40 + readers * (readers - 1) / 2 * 10) * NS);
    }
}

/* Two packages of four cores that share a third-level cache. */
static const sb_sim_core_t two_caches[CORES] = {
    {{0, 0, 0, 0, 0, 0}, 1}, {{1, 1, 0, 0, 0, 0}, 1}, {{2, 2, 0, 0, 0, 0}, 1},
    {{3, 3, 0, 0, 0, 0}, 1}, {{4, 4, 1, 1, 1, 0}, 1}, {{5, 5, 1, 1, 1, 0}, 1},
    {{6, 6, 1, 1, 1, 0}, 1}, {{7, 7, 1, 1, 1, 0}, 1},
};

/* A cache's cores are served in 40 ns each, beside those of the other; the first of them asks the
 * line's home. */
static void caches_serve_their_own_cores(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};
    uint64_t near = 0, far = 0;

    (void)state;
    model.core = two_caches;
    model.numa_nodes = model.packages = 2;
    model.share_service = 40 * NS;
    assert_int_equal(run(&model, in_order, CORES, wait_for_one, &scene), SB_SIM_COMPLETE);
    for (uint32_t rank = 1; rank < CORES; rank++) {
        uint64_t *last = rank < 4 ? &near : &far, after = scene.ended[rank] - scene.began[0];
        *last = after > *last ? after : *last;
    }
    assert_int_equal(near, (100 + 2 * 40 + 20) * NS);
    assert_int_equal(far, (100 + 100 + 2 * 40 + 20) * NS);
}

/* An agent takes 50 ns for each request: that of the line's home has those of its own four cores
 * and one of the other cache, whose other three cores ask there. */
static void far_caches_spare_the_home(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};
    uint64_t last = 0;

    (void)state;
    model.core = two_caches;
    model.numa_nodes = model.packages = 2;
    model.share_service = 1;
    model.home_service = 50 * NS;
    assert_int_equal(run(&model, in_order, CORES, wait_for_one, &scene), SB_SIM_COMPLETE);
    for (uint32_t rank = 1; rank < CORES; rank++) {
        uint64_t after = scene.ended[rank] - scene.began[0];
        last = after > last ? after : last;
    }
    assert_in_range(last, (100 + 3 * 50 + 20) * NS, (100 + 3 * 50 + 100) * NS);
}

static void store_twice(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    make_flags(scene, rank);
    sb_sim_meet(SB_SIM_ALL);
    sb_flag_read(scene->flag[0]);
    sb_sim_meet(SB_SIM_ALL);
    scene->began[rank] = sb_sim_clock();
    if (rank == 0) {
        sb_flag_set_note(scene->flag[0], 7);
        sb_sim_compute(5 * NS);
        sb_flag_publish(scene->flag[0], 1);
    } else {
        sb_sim_compute(2 * NS);
        assert_int_equal(sb_flag_wait(scene->flag[0], 1, scene->waiter), SB_OK);
    }
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
}

/* Who asks for a line between two stores gets it once, with both. */
static void stores_to_one_line_come_together(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    assert_int_equal(run(&model, in_order, 2, store_twice, &scene), SB_SIM_COMPLETE);
    uint64_t way = model.invalidate[SB_NEAR_L3] + model.read[SB_NEAR_L3];
    assert_in_range(scene.ended[1], way, way + 4 * NS);
}

static void add_one(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    if (rank == 0)
        scene->counter = (sb_counter_t *)(void *)sb_sim_take(4096, 0).address;
    sb_sim_meet(SB_SIM_ALL);
    uint64_t begin = sb_sim_clock();
    uint64_t place = sb_counter_add(scene->counter, 1);
    scene->ended[place] = sb_sim_clock() - begin;
}

/* The first fetches the line from memory, each other takes it from the one before. */
static void additions_follow_one_another(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.core = together;
    model.numa_nodes = 1;
    model.packages = 1;
    assert_int_equal(run(&model, in_order, 4, add_one, &scene), SB_SIM_COMPLETE);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(scene.ended[i], (80 + 5 + i * (20 + 5)) * NS);
}

static void read_far_memory(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    for (int node = 0; node < 4; node++) {
        const sb_counter_t *word = (const sb_counter_t *)(void *)sb_sim_take(4096, node).address;
        uint64_t begin = sb_sim_clock();
        sb_counter_read(word);
        scene->ended[node] = sb_sim_clock() - begin;
        scene->seen[node] = (uint64_t)sb_sim_numa_of(word);
    }
    (void)rank;
}

static void memory_costs_by_where_it_is(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    assert_int_equal(run(&model, in_order, 1, read_far_memory, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.ended[0], 80 * NS);
    assert_int_equal(scene.ended[1], 120 * NS);
    assert_int_equal(scene.ended[2], 160 * NS);
    assert_int_equal(scene.ended[3], 160 * NS);
    for (unsigned node = 0; node < 4; node++)
        assert_int_equal(scene.seen[node], node);
}

/* Without placement all shared memory is on node 0, whoever owns it. */
static void memory_may_be_misplaced(void **state)
{
    static const uint32_t last_core[1] = {7};
    sb_sim_machine_t model = machine();

    (void)state;
    for (unsigned placed = 0; placed < 2; placed++) {
        scene_t scene = {0};
        sb_sim_options_t options = {
            .machine = &model, .ranks = 1, .core = last_core, .placed = placed != 0};
        sb_sim_t *sim = sb_sim_new(&options);
        assert_int_equal(sb_sim_run(sim, read_far_memory, &scene), SB_SIM_COMPLETE);
        sb_sim_free(sim);
        assert_int_equal(scene.seen[3], placed ? 3 : 0);
        assert_int_equal(scene.ended[3], (placed ? 80 : 160) * NS);
    }
}

/* Who waits for more than one addition begins again in the middle of it. */
static void additions_of_many_get_in_each_others_way(void **state)
{
    static const uint64_t after[4] = {85, 85 + 25, 110 + 25 + 50, 185 + 25 + 50};
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.core = together;
    model.numa_nodes = 1;
    model.packages = 1;
    model.atomic_crowded = 50 * NS;
    assert_int_equal(run(&model, in_order, 4, add_one, &scene), SB_SIM_COMPLETE);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(scene.ended[i], after[i] * NS);
}

static void take_three_pages(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    char *memory = NULL;

    for (uint32_t turn = 0; turn < scene->ranks; turn++) {
        sb_sim_meet(SB_SIM_ALL);
        if (turn == rank)
            memory = sb_sim_take(3 * 4096, 2).address;
    }
    for (int page = 0; page < 3; page++)
        scene->seen[rank * 3 + page] = (uint64_t)sb_sim_numa_of(memory + page * 4096);
}

/* In one segment owners place their pages, but for those that are read ahead with another's. */
static void parts_of_one_segment(void **state)
{
    static const uint64_t expected[][6] = {
        [SB_SIM_SEGMENT_OF_EACH] = {2, 2, 2, 2, 2, 2},
        [SB_SIM_SEGMENT_ONE] = {0, 0, 0, 3, 3, 3},
        [SB_SIM_SEGMENT_AHEAD] = {0, 0, 0, 0, 3, 3},
    };
    static const uint32_t far_apart[2] = {0, 7};
    sb_sim_machine_t model = machine();

    (void)state;
    model.readahead_pages = 4;
    for (unsigned segment = 0; segment < SB_COUNT_OF(expected); segment++) {
        scene_t scene = {.ranks = 2};
        sb_sim_options_t options = {.machine = &model,
                                    .ranks = 2,
                                    .core = far_apart,
                                    .seed = 1,
                                    .placed = true,
                                    .segment = (sb_sim_segment_t)segment};
        sb_sim_t *sim = sb_sim_new(&options);
        assert_int_equal(sb_sim_run(sim, take_three_pages, &scene), SB_SIM_COMPLETE);
        sb_sim_free(sim);
        for (unsigned page = 0; page < 6; page++)
            assert_int_equal(scene.seen[page], expected[segment][page]);
    }
}

static void touch_one_page(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    if (rank == 0)
        scene->data = sb_sim_take(16 * 4096, -1).address;
    sb_sim_meet(SB_SIM_ALL);
    if (rank == 1)
        sb_counter_read((const sb_counter_t *)(void *)(scene->data + 2 * 4096));
    sb_sim_meet(SB_SIM_ALL);
    if (rank == 0)
        sb_counter_read((const sb_counter_t *)(void *)(scene->data + 12 * 4096));
    sb_sim_meet(SB_SIM_ALL);
    for (int page = 0; rank == 0 && page < 4; page++)
        scene->seen[page] = (uint64_t)(sb_sim_numa_of(scene->data + 4 * 4096 * page) + 1);
}

/* Readahead places the pages around the first one that is touched. */
static void first_touch_places_pages(void **state)
{
    static const uint32_t far_apart[2] = {0, 7};
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.readahead_pages = 4;
    assert_int_equal(run(&model, far_apart, 2, touch_one_page, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.seen[0], 3 + 1);
    assert_int_equal(scene.seen[1], 0);
    assert_int_equal(scene.seen[2], 0);
    assert_int_equal(scene.seen[3], 0 + 1);
}

static void read_three(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    const char *memory = sb_sim_take(4096, 0).address;
    uint64_t begin = sb_sim_clock();

    for (unsigned i = 0; i < 3; i++)
        sb_counter_read((const sb_counter_t *)(const void *)(memory + i * 128));
    scene->ended[rank] = sb_sim_clock() - begin;
}

/* One after the other, or all under way at once: then the controller's 16 ns a line count. */
static void loads_overlap(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    assert_int_equal(run(&model, in_order, 1, read_three, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.ended[0], 3 * 80 * NS);
    model.read_overlap = 4;
    assert_int_equal(run(&model, in_order, 1, read_three, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.ended[0], (80 + 16 + 16) * NS);
    model.read_gap = 30 * NS;
    assert_int_equal(run(&model, in_order, 1, read_three, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.ended[0], (80 + 30 + 30) * NS);
}

static void fetch_three(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    char *memory = sb_sim_take(4096, 0).address;

    scene->began[rank] = sb_sim_clock();
    sb_fetch_ahead(memory, (size_t)3 * SB_LINE);
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
}

/* Nothing depends on these loads: as many are under way as lines for stores. */
static void fetches_overlap(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.write_overlap = 2;
    assert_int_equal(run(&model, in_order, 1, fetch_three, &scene), SB_SIM_COMPLETE);
    assert_in_range(scene.ended[0], 2 * 80 * NS, (2 * 80 + 20) * NS);
    model.write_overlap = 3;
    assert_int_equal(run(&model, in_order, 1, fetch_three, &scene), SB_SIM_COMPLETE);
    assert_in_range(scene.ended[0], 80 * NS, (80 + 40) * NS);
}

static void own_and_store(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    make_flags(scene, rank);
    sb_flag_read(scene->flag[0]);
    sb_sim_meet(SB_SIM_ALL);
    scene->began[rank] = sb_sim_clock();
    if (rank == 0) {
        if (scene->rounds > 0)
            sb_fetch_to_write(scene->flag[0], sizeof *scene->flag[0]);
        scene->seen[0] = sb_sim_clock() - scene->began[0];
        sb_sim_compute(1000 * NS);
        sb_flag_publish(scene->flag[0], 1);
    } else {
        sb_sim_compute(1005 * NS);
        assert_int_equal(sb_flag_wait(scene->flag[0], 1, scene->waiter), SB_OK);
    }
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
}

/* A line that was taken ahead has not to be taken from anybody when it is written. */
static void lines_are_owned_ahead(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t late = {0}, ahead = {.rounds = 1};

    (void)state;
    model.write_overlap = 4;
    assert_int_equal(run(&model, in_order, 2, own_and_store, &late), SB_SIM_COMPLETE);
    assert_int_equal(run(&model, in_order, 2, own_and_store, &ahead), SB_SIM_COMPLETE);
    assert_int_equal(ahead.seen[0], 0);
    assert_in_range(late.ended[1], (1000 + 40) * NS, (1000 + 44) * NS);
    assert_in_range(ahead.ended[1], (1005 + 20) * NS, (1005 + 24) * NS);
}

/* --- copies -------------------------------------------------------------------------------- */

#define BIG ((size_t)64 << 10)

static void copy_from_memory(void *argument, uint32_t rank)
{
    static char target[CORES][BIG];
    scene_t *scene = argument;
    const char *source = sb_sim_take(BIG, 0).address;

    sb_sim_meet(SB_SIM_ALL);
    scene->began[rank] = sb_sim_clock();
    sb_copy(target[rank], source, BIG);
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
    scene->began[rank] = sb_sim_clock();
    sb_copy(target[rank], source, BIG);
    scene->seen[rank] = sb_sim_clock() - scene->began[rank];
}

/* One core gets all that the controller gives; two get half each. */
static void copies_share_a_controller(void **state)
{
    static const uint32_t neighbours[2] = {0, 1};
    sb_sim_machine_t model = machine();
    scene_t alone = {0}, both = {0};

    (void)state;
    assert_int_equal(run(&model, neighbours, 1, copy_from_memory, &alone), SB_SIM_COMPLETE);
    assert_int_equal(alone.ended[0], (64 * 256 + 80) * NS);
    assert_int_equal(alone.seen[0], 64 * 64 * NS); /* now from the core's own cache */
    model.copy_start = 300 * NS;
    assert_int_equal(run(&model, neighbours, 1, copy_from_memory, &alone), SB_SIM_COMPLETE);
    assert_int_equal(alone.ended[0], (64 * 256 + 80 + 300) * NS);
    assert_int_equal(alone.seen[0], 64 * 64 * NS);
    model.copy_start = 0;
    assert_int_equal(run(&model, neighbours, 2, copy_from_memory, &both), SB_SIM_COMPLETE);
    for (unsigned rank = 0; rank < 2; rank++)
        assert_in_range(both.ended[rank], 2 * 64 * 256 * NS * 94 / 100, (2 * 64 * 256 + 200) * NS);
}

#define SHORT 4 * SB_LINE /* of which each line is a load as any other */

static void copy_short_from_far(void *argument, uint32_t rank)
{
    static char target[CORES][SHORT];
    scene_t *scene = argument;
    /* Of each rank its own, all on the first node. */
    const char *source = sb_sim_take(SHORT, 0).address;

    sb_sim_meet(SB_SIM_ALL);
    scene->began[rank] = sb_sim_clock();
    sb_copy(target[rank], source, SHORT);
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
}

/* Four loads of 160 ns, one after the other. What they ask the link for later holds up nobody who
 * comes before: eight lines pass it in 64 ns each. */
static void lines_of_a_copy_leave_the_link_to_others(void **state)
{
    static const uint32_t far[2] = {4, 5};
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.link_machine_kib = 1024 * NS;
    assert_int_equal(run(&model, far, 2, copy_short_from_far, &scene), SB_SIM_COMPLETE);
    uint64_t first = scene.ended[0], second = scene.ended[1];
    assert_int_equal(first < second ? first : second, 4 * 160 * NS);
    assert_int_equal(first < second ? second : first, (4 * 64 + 4 * 160) * NS);
}

static void stream_to_memory(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    char *source = sb_sim_buffer(BIG).address, *target = sb_sim_buffer(BIG).address;

    source[BIG - 1] = (char)(rank + 5);

    sb_sim_meet(SB_SIM_ALL);
    scene->began[rank] = sb_sim_clock();
    if (scene->rounds == 0)
        sb_copy(target, source, BIG);
    else
        sb_copy_streaming(target, source, BIG);
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
    assert_int_equal(target[BIG - 1], rank + 5);
    scene->began[rank] = sb_sim_clock();
    sb_copy(source, target, BIG);
    scene->seen[rank] = sb_sim_clock() - scene->began[rank];
}

/* What is streamed passes the controller once, and is in no cache afterwards. */
static void streaming_spares_the_controller(void **state)
{
    static const uint32_t neighbours[2] = {0, 1};
    sb_sim_machine_t model = machine();
    scene_t cached = {0}, streamed = {.rounds = 1}, alone = {.rounds = 1};

    (void)state;
    assert_int_equal(run(&model, neighbours, 2, stream_to_memory, &cached), SB_SIM_COMPLETE);
    assert_int_equal(run(&model, neighbours, 2, stream_to_memory, &streamed), SB_SIM_COMPLETE);
    assert_int_equal(run(&model, neighbours, 1, stream_to_memory, &alone), SB_SIM_COMPLETE);
    for (unsigned rank = 0; rank < 2; rank++) {
        /* 64 KiB come, 64 KiB go, of two ranks; cached ones also come before they are written. */
        assert_in_range(cached.ended[rank], 6 * 64 * 256 * NS * 94 / 100,
                        (6 * 64 * 256 + 200) * NS);
        assert_in_range(streamed.ended[rank], 4 * 64 * 256 * NS * 94 / 100,
                        (4 * 64 * 256 + 200) * NS);
        assert_int_equal(cached.seen[rank], 64 * 64 * NS);
        assert_true(streamed.seen[rank] > 64 * 200 * NS);
    }
    assert_in_range(alone.ended[0], 2 * 64 * 256 * NS * 94 / 100, (2 * 64 * 256 + 200) * NS);
}

/* The ends of what is streamed are ordinary stores. */
static void stream_in_between(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    char *source = sb_sim_buffer(4096).address, *target = sb_sim_buffer(4096).address;

    memset(source, 7, 200);
    sb_copy_streaming(target + 60, source, 200);
    scene->seen[rank] = 0;
    for (size_t i = 0; i < 4096; i++)
        scene->seen[rank] += target[i] == 7 ? 1 : 0;
    scene->began[rank] = sb_sim_clock();
    sb_copy(source, target, 64); /* was stored in the cache */
    scene->ended[rank] = sb_sim_clock() - scene->began[rank];
    scene->began[rank] = sb_sim_clock();
    sb_copy(source, target + 64, 64); /* was not */
    scene->data = (char *)(uintptr_t)(sb_sim_clock() - scene->began[rank]);
}

static void ends_of_a_stream_stay_near(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    assert_int_equal(run(&model, in_order, 1, stream_in_between, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.seen[0], 200);
    assert_int_equal(scene.ended[0], 4 * NS);
    assert_int_equal((uintptr_t)scene.data, 16 * NS);
}

static sb_status_t add_up(const sb_operator_t *self, void *to, const void *const from[], uint32_t n,
                          size_t bytes)
{
    (void)self;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum = (unsigned char)(sum + ((const unsigned char *)from[k])[i]);
        ((unsigned char *)to)[i] = sum;
    }
    return SB_OK;
}

static void combine_from_memory(void *argument, uint32_t rank)
{
    static const sb_operator_t operation = {.element = 1, .fold = add_up};
    static char target[BIG];
    scene_t *scene = argument;
    char *first = sb_sim_take(BIG, 0).address, *second = sb_sim_take(BIG, 0).address;
    const void *const from[] = {first, second};

    first[BIG - 1] = 3;
    second[BIG - 1] = 4;
    for (int round = 0; round < 2; round++) {
        scene->began[rank] = sb_sim_clock();
        sb_combine(&operation, target, from, 2, BIG);
        scene->seen[round] = sb_sim_clock() - scene->began[rank];
    }
    scene->ended[rank] = (uint64_t)target[BIG - 1];
}

/* All sources are read; what is near is combined as fast as the core computes. */
static void combining_reads_all_sources(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.combine_kib = 128 * NS;
    assert_int_equal(run(&model, in_order, 1, combine_from_memory, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.ended[0], 7);
    assert_int_equal(scene.seen[0], (2 * 64 * 256 + 2 * 80) * NS);
    assert_int_equal(scene.seen[1], (2 * 64 * 128 + 2 * 1) * NS);
}

/* --- processors ---------------------------------------------------------------------------- */

static void ranks_of_one_core_take_turns(void **state)
{
    static const uint32_t one_core[2] = {3, 3};
    static const sb_waiter_t yielding = {
        .bare_spins = 10, .progress_every = 8, .yield = 1, .sleep_after_ns = UINT64_MAX};
    sb_sim_machine_t model = machine();
    scene_t scene = {.rounds = 100, .waiter = &yielding};

    (void)state;
    assert_int_equal(run(&model, one_core, 2, ping_pong, &scene), SB_SIM_COMPLETE);
    uint64_t hop = (scene.ended[0] - scene.began[0]) / 100;
    assert_in_range(hop, (1000 + 300) * NS, (1000 + 300 + 100) * NS);
}

/* Nobody gives the core away: each hop waits for the end of a slice. */
static void spinning_on_one_core_costs_slices(void **state)
{
    static const uint32_t one_core[2] = {3, 3};
    sb_sim_machine_t model = machine();
    scene_t scene = {.rounds = 10};

    (void)state;
    assert_int_equal(run(&model, one_core, 2, ping_pong, &scene), SB_SIM_COMPLETE);
    uint64_t hop = (scene.ended[0] - scene.began[0]) / 10;
    assert_in_range(hop, model.slice / 2, model.slice + 10000 * NS);
}

/* The sleeper is woken long before its time limit. */
static void a_publish_wakes_a_sleeper(void **state)
{
    static const sb_waiter_t sleeping = {
        .bare_spins = 1, .progress_every = 1, .sleep_longest_ns = 1600000000};
    sb_sim_machine_t model = machine();
    scene_t scene = {.waiter = &sleeping};

    (void)state;
    assert_int_equal(run(&model, in_order, 2, wait_for_one, &scene), SB_SIM_COMPLETE);
    uint64_t after = scene.ended[1] - scene.began[0];
    assert_in_range(after, (300 + 2000) * NS, (300 + 2000 + 200) * NS);
}

static void compute_long(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    for (int i = 0; i < 1000; i++)
        sb_sim_compute(10000 * NS);
    scene->ended[rank] = sb_sim_clock();
}

static void noise_takes_time_by_the_seed(void **state)
{
    uint64_t ended[3];
    sb_sim_machine_t model = machine();
    scene_t scene = {0};

    (void)state;
    model.noise_every = 10000 * NS;
    model.noise_length = 100 * NS;
    for (unsigned i = 0; i < 3; i++) {
        sb_sim_options_t options = {
            .machine = &model, .ranks = 1, .core = in_order, .seed = i / 2, .noise = true};
        sb_sim_t *sim = sb_sim_new(&options);
        assert_int_equal(sb_sim_run(sim, compute_long, &scene), SB_SIM_COMPLETE);
        ended[i] = scene.ended[0];
        sb_sim_free(sim);
    }
    assert_int_equal(ended[0], ended[1]);
    assert_int_not_equal(ended[0], ended[2]);
    assert_in_range(ended[0], 10050000 * (uint64_t)NS, 10150000 * (uint64_t)NS);
}

/* --- errors -------------------------------------------------------------------------------- */

static void wait_in_vain(void *argument, uint32_t rank)
{
    scene_t *scene = argument;

    make_flags(scene, rank);
    if (rank == 1)
        sb_flag_wait(scene->flag[0], 7, scene->waiter);
}

static void use_after_return(void *argument, uint32_t rank)
{
    sb_sim_memory_t memory = sb_sim_take(4096, 0);

    (void)argument;
    (void)rank;
    sb_sim_give(memory.block);
    sb_counter_read((const sb_counter_t *)(void *)memory.address);
}

static void errors_are_told(void **state)
{
    static const struct {
        sb_sim_body_t *body;
        sb_sim_end_t end;
        const char *words[3];
    } cases[] = {
        {wait_in_vain, SB_SIM_STUCK, {"deadlock", "rank 1", "waits for 7"}},
        {use_after_return, SB_SIM_STOPPED, {"given back", "rank", "test_engine.c"}},
    };
    sb_sim_machine_t model = machine();

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(cases); i++) {
        scene_t scene = {.waiter = &spinning};
        sb_sim_options_t options = {
            .machine = &model, .ranks = 2, .core = in_order, .limit_ns = 1000000};
        sb_sim_t *sim = sb_sim_new(&options);
        assert_int_equal(sb_sim_run(sim, cases[i].body, &scene), cases[i].end);
        for (size_t w = 0; w < 3; w++)
            assert_non_null(strstr(sb_sim_problem(sim), cases[i].words[w]));
        sb_sim_free(sim);
    }
}

static void take_much(void *argument, uint32_t rank)
{
    (void)argument;
    (void)rank;
    memset(sb_sim_take(8 << 20, 0).address, 1, 8 << 20);
}

static void look_whether_zero(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    const char *memory = sb_sim_take(8 << 20, 0).address;

    for (size_t i = 0; i < 8 << 20; i += 512)
        scene->seen[rank] += memory[i] != 0;
}

/* Memory is empty at each run's start, whatever the run before has left in it. */
static void runs_begin_empty(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {0};
    sb_sim_options_t options = {.machine = &model, .ranks = 1, .core = in_order};
    sb_sim_t *sim = sb_sim_new(&options);

    (void)state;
    assert_int_equal(sb_sim_run(sim, take_much, &scene), SB_SIM_COMPLETE);
    assert_int_equal(sb_sim_run(sim, look_whether_zero, &scene), SB_SIM_COMPLETE);
    assert_int_equal(scene.seen[0], 0);
    sb_sim_free(sim);
}

static void records_say_what_ranks_did(void **state)
{
    sb_sim_machine_t model = machine();
    scene_t scene = {.waiter = &spinning};
    sb_sim_options_t options = {
        .machine = &model, .ranks = 2, .core = in_order, .placed = true, .records = true};
    sb_sim_t *sim = sb_sim_new(&options);
    size_t count, waits = 0, notes = 0;

    (void)state;
    assert_int_equal(sb_sim_run(sim, wait_for_one, &scene), SB_SIM_COMPLETE);
    const sb_sim_record_t *records = sb_sim_records(&count);
    for (size_t i = 0; i < count; i++) {
        assert_true(records[i].begin < records[i].end);
        waits += records[i].activity == SB_SIM_WAITS && records[i].rank == 1 &&
                 records[i].end == scene.ended[1];
        notes += records[i].activity == SB_SIM_NOTIFIES && records[i].rank == 0;
    }
    assert_int_equal(waits, 1);
    assert_int_equal(notes, 1);
    sb_sim_free(sim);
}

/* --- the network --------------------------------------------------------------------------- */

#define NODES 4
#define BYTES 100

static const uint32_t each_node[NODES] = {0, 1, 2, 3};
static const uint32_t first_core[NODES] = {0, 0, 0, 0};

/* 4 us and 10 ns a byte: 100 bytes take 5 us. */
static sb_sim_machine_t cluster(bool star, uint64_t injection_ns_per_byte)
{
    sb_sim_machine_t model = machine();

    model.nodes = NODES;
    model.network = (sb_sim_network_t){.latency = 4000 * NS,
                                       .kib = 10 * 1024 * NS,
                                       .injection_kib = injection_ns_per_byte * 1024 * NS,
                                       .star = star};
    return model;
}

static void run_cluster(const sb_sim_machine_t *model, sb_sim_body_t *body, scene_t *scene)
{
    sb_sim_options_t options = {
        .machine = model, .ranks = NODES, .node = each_node, .core = first_core};
    sb_sim_t *sim = sb_sim_new(&options);

    assert_int_equal(sb_sim_run(sim, body, scene), SB_SIM_COMPLETE);
    sb_sim_free(sim);
}

typedef struct look {
    sb_net_t *net;
    sb_net_request_t **request;
    sb_net_news_t *news;
    sb_status_t status;
} look_t;

static bool is_done(void *context)
{
    look_t *look = context;
    bool done;

    look->status = look->net->test(look->net->context, look->request, &done, look->news);
    return done;
}

static sb_status_t wait_done(sb_net_t *net, sb_net_request_t **request, sb_net_news_t *news)
{
    look_t look = {.net = net, .request = request, .news = news};

    assert_int_equal(sb_wait_for(is_done, &look, &spinning), SB_OK);
    return look.status;
}

static void receive_one(sb_net_t *net, scene_t *scene, uint32_t from, uint64_t *when)
{
    char data[BYTES];
    sb_net_request_t *request;
    sb_net_news_t news;

    net->receive(net->context, from, 1, data, sizeof data, &request);
    assert_int_equal(wait_done(net, &request, &news), SB_OK);
    assert_null(request);
    assert_int_equal(news.bytes, BYTES);
    assert_int_equal(data[0], (char)news.from);
    assert_int_equal(data[BYTES - 1], (char)news.from);
    scene->seen[news.from]++;
    *when = sb_sim_clock();
}

/* What each rank sends: its number, in every byte. */
static char outgoing[NODES][BYTES];

static void send_one(sb_net_t *net, uint32_t to, sb_net_request_t **request)
{
    char *data = outgoing[net->rank];

    memset(data, (int)net->rank, BYTES);
    assert_int_equal(net->send(net->context, to, 1, data, BYTES, false, request), SB_OK);
}

static void pass_round(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request;

    send_one(&net, (rank + 1) % net.ranks, &request);
    receive_one(&net, scene, (rank + net.ranks - 1) % net.ranks, &scene->ended[rank]);
    assert_int_equal(wait_done(&net, &request, NULL), SB_OK);
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Through a crossbar all pass at once; a star lets one message's bytes pass at a time. */
static void a_ring_through_both_switches(void **state)
{
    (void)state;
    for (unsigned star = 0; star < 2; star++) {
        sb_sim_machine_t model = cluster(star, 0);
        scene_t scene = {0};
        run_cluster(&model, pass_round, &scene);
        qsort(scene.ended, NODES, sizeof scene.ended[0], ascending);
        for (unsigned i = 0; i < NODES; i++)
            assert_int_equal(scene.ended[i], (5000 + star * i * 1000) * NS);
    }
}

static void scatter(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request[NODES];

    for (uint32_t to = 1; rank == 0 && to < net.ranks; to++)
        send_one(&net, to, &request[to]);
    for (uint32_t to = 1; rank == 0 && to < net.ranks; to++)
        wait_done(&net, &request[to], NULL);
    if (rank != 0)
        receive_one(&net, scene, 0, &scene->ended[rank]);
    else
        scene->ended[0] = sb_sim_clock();
}

/* A node sends 100 bytes in 1 us, one message after the other. */
static void a_scatter_is_limited_by_injection(void **state)
{
    sb_sim_machine_t model = cluster(false, 10);
    scene_t scene = {0};

    (void)state;
    run_cluster(&model, scatter, &scene);
    assert_int_equal(scene.ended[0], 3000 * NS);
    for (unsigned i = 1; i < NODES; i++)
        assert_int_equal(scene.ended[i], (4000 + i * 1000) * NS);
}

static void gather(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request;

    if (rank != 0) {
        /* The highest rank sends first. */
        sb_sim_compute((net.ranks - rank) * 100 * NS);
        send_one(&net, 0, &request);
        wait_done(&net, &request, NULL);
        return;
    }
    for (unsigned i = 1; i < net.ranks; i++)
        receive_one(&net, scene, SB_NET_ANY, &scene->ended[i]);
}

/* From any source: in the order of arrival, as fast as the node takes them in. */
static void any_source_takes_what_comes_first(void **state)
{
    sb_sim_machine_t model = cluster(false, 10);
    scene_t scene = {0};

    (void)state;
    run_cluster(&model, gather, &scene);
    for (unsigned i = 1; i < NODES; i++) {
        assert_int_equal(scene.seen[i], 1);
        assert_int_equal(scene.ended[i], (100 + 4000 + i * 1000) * NS);
    }
}

static void send_past_a_queue(void *argument, uint32_t rank)
{
    static const uint64_t asks[NODES] = {0, 0, 100 * NS, 2500 * NS};
    scene_t *scene = argument;
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request[NODES];

    if (rank == 0) {
        receive_one(&net, scene, 2, &scene->ended[2]);
        receive_one(&net, scene, 1, &scene->ended[1]);
        receive_one(&net, scene, 3, &scene->ended[3]);
        return;
    }
    sb_sim_compute(asks[rank]);
    for (uint32_t to = NODES - 1; rank == 1 && to > 1; to--)
        send_one(&net, to, &request[to]);
    send_one(&net, 0, &request[0]);
    for (uint32_t to = NODES - 1; rank == 1 && to > 1; to--)
        wait_done(&net, &request[to], NULL);
    wait_done(&net, &request[0], NULL);
    if (rank > 1)
        receive_one(&net, scene, 1, &scene->began[rank]);
}

/* Rank 1's third message leaves behind its others and is there from 6 to 7 us. Rank 2's, which it
 * sends later, is there before; that of rank 3 has no room before, and is behind. */
static void a_message_that_leaves_late_holds_up_none_before_it(void **state)
{
    sb_sim_machine_t model = cluster(false, 10);
    scene_t scene = {0};

    (void)state;
    run_cluster(&model, send_past_a_queue, &scene);
    assert_int_equal(scene.ended[2], (100 + 5000) * NS);
    assert_int_equal(scene.ended[1], (2000 + 5000) * NS);
    assert_int_equal(scene.ended[3], 8000 * NS);
}

static void look_for_mail(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request;
    char data[BYTES];
    bool done = false;

    if (rank == 1) {
        send_one(&net, 0, &request);
        wait_done(&net, &request, NULL);
    }
    if (rank != 0)
        return;
    net.receive(net.context, 1, 1, data, sizeof data, &request);
    while (!done) {
        scene->began[0] = sb_sim_clock();
        sb_sim_compute(300 * NS);
        assert_int_equal(net.test(net.context, &request, &done, NULL), SB_OK);
        scene->rounds++;
    }
    scene->ended[0] = sb_sim_clock();
}

/* A look in vain costs 1 ns, and each comes 300 ns after the one before; the message is there at
 * 5000 ns. */
static void test_finds_a_message_when_it_is_there(void **state)
{
    sb_sim_machine_t model = cluster(false, 0);
    scene_t scene = {0};

    (void)state;
    run_cluster(&model, look_for_mail, &scene);
    assert_int_equal(scene.rounds, 17);
    assert_int_equal(scene.ended[0], (16 * 301 + 300) * NS);
}

static void send_too_much(void *argument, uint32_t rank)
{
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request;
    char small[10];

    (void)argument;
    if (rank == 1) {
        send_one(&net, 0, &request);
        wait_done(&net, &request, NULL);
    } else if (rank == 0) {
        net.receive(net.context, 1, 1, small, sizeof small, &request);
        assert_int_equal(wait_done(&net, &request, NULL), SB_ERR_TRUNCATE);
    }
}

static void a_message_that_is_too_long_is_told(void **state)
{
    sb_sim_machine_t model = cluster(false, 0);
    scene_t scene = {0};

    (void)state;
    run_cluster(&model, send_too_much, &scene);
}

/* --- rendezvous ---------------------------------------------------------------------------- */

#define LONG 50 /* more than is sent unasked */

static sb_sim_machine_t handshaking(void)
{
    sb_sim_machine_t model = cluster(false, 10);

    model.network.eager = LONG;
    return model;
}

/* The receiver begins late, and the sender looks again later still. */
static void send_to_late(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request;
    bool done;

    if (rank == 1) {
        send_one(&net, 0, &request);
        sb_sim_compute(scene->began[1]);
        assert_int_equal(net.test(net.context, &request, &done, NULL), SB_OK);
        assert_false(done);
        assert_int_equal(wait_done(&net, &request, NULL), SB_OK);
        scene->ended[1] = sb_sim_clock();
    } else if (rank == 0) {
        sb_sim_compute(scene->began[0]);
        receive_one(&net, scene, 1, &scene->ended[0]);
    }
}

/* A word takes 4 us each way, the bytes 1 us to leave and 4 + 1 us to come. */
static void long_messages_wait_for_both(void **state)
{
    static const struct {
        uint64_t receiver, sender, received, sent;
    } cases[] = {
        {0, 0, 4000 + 4000 + 5000, 4000 + 4000 + 1000},
        {20000, 0, 20000 + 4000 + 5000, 20000 + 4000 + 1000},
        {0, 30000, 30000 + 5000, 30000 + 1000},
    };
    sb_sim_machine_t model = handshaking();

    (void)state;
    for (unsigned i = 0; i < SB_COUNT_OF(cases); i++) {
        scene_t scene = {.began = {cases[i].receiver * NS, cases[i].sender * NS}};
        run_cluster(&model, send_to_late, &scene);
        assert_int_equal(scene.ended[0], cases[i].received * NS);
        assert_in_range(scene.ended[1], cases[i].sent * NS, (cases[i].sent + 5) * NS);
    }
}

/* A long message, and a short one behind it which has its bytes with it. */
static void send_long_and_short(void *argument, uint32_t rank)
{
    sb_net_t net = sb_sim_net();
    sb_net_request_t *request[2];
    sb_net_news_t news;
    char data[2][BYTES];

    (void)argument;
    if (rank > 1)
        return;
    memset(data, 1, sizeof data);
    for (unsigned i = 0; i < 2 && rank == 1; i++)
        net.send(net.context, 0, 1, data[i], i == 0 ? BYTES : 1, false, &request[i]);
    for (unsigned i = 0; i < 2 && rank == 0; i++)
        net.receive(net.context, i == 0 ? SB_NET_ANY : 1, 1, data[i], BYTES, &request[i]);
    for (unsigned i = 2; i-- > 0;) {
        assert_int_equal(wait_done(&net, &request[i], &news), SB_OK);
        if (rank == 0)
            assert_int_equal(news.bytes, i == 0 ? BYTES : 1);
    }
}

static void messages_do_not_overtake(void **state)
{
    sb_sim_machine_t model = handshaking();

    (void)state;
    run_cluster(&model, send_long_and_short, NULL);
}

/* --- wrong programs ------------------------------------------------------------------------ */

typedef enum wrong {
    CHANGES_SENT,
    COPIES_TO_SENT,
    READS_EARLY,
    WRITES_EARLY,
    COPIES_EARLY,
    LEAVES_SEND,
    LEAVES_RECEIVE,
    LEAVES_CALL,
    SENDS_TOO_MANY,
    WRONGS,
} wrong_t;

static const char *const told[WRONGS] = {
    [CHANGES_SENT] = "bytes that were being sent have changed",
    [COPIES_TO_SENT] = "bytes that are being sent are written",
    [READS_EARLY] = "bytes that are being received are read",
    [WRITES_EARLY] = "bytes that were being received have changed",
    [COPIES_EARLY] = "bytes that are being received are written",
    [LEAVES_SEND] = "a send is left under way",
    [LEAVES_RECEIVE] = "a receive is left under way",
    [LEAVES_CALL] = "a receive is left under way",
    [SENDS_TOO_MANY] = "a message that nobody received",
};

static void send_wrongly(sb_net_t *net, wrong_t wrong)
{
    sb_net_request_t *request;

    send_one(net, 0, &request);
    if (wrong == CHANGES_SENT)
        outgoing[net->rank][7]++;
    if (wrong == COPIES_TO_SENT)
        sb_copy(outgoing[net->rank], told, 8);
    if (wrong == LEAVES_SEND)
        return;
    wait_done(net, &request, NULL);
    if (wrong == SENDS_TOO_MANY) {
        send_one(net, 0, &request);
        wait_done(net, &request, NULL);
    }
}

static void receive_wrongly(sb_net_t *net, wrong_t wrong)
{
    sb_net_request_t *request;
    char data[BYTES], elsewhere[BYTES];

    net->receive(net->context, 1, 1, data, sizeof data, &request);
    if (wrong == READS_EARLY)
        sb_copy(elsewhere, data + BYTES - 1, 1);
    if (wrong == COPIES_EARLY)
        sb_copy(data, elsewhere, 1);
    if (wrong == WRITES_EARLY)
        data[BYTES - 1] = 0;
    if (wrong == LEAVES_CALL)
        sb_sim_net_settled();
    if (wrong != LEAVES_RECEIVE)
        wait_done(net, &request, NULL);
}

static void do_wrong(void *argument, uint32_t rank)
{
    sb_net_t net = sb_sim_net();

    if (rank == 0)
        receive_wrongly(&net, *(const wrong_t *)argument);
    if (rank == 1)
        send_wrongly(&net, *(const wrong_t *)argument);
}

static void wrong_programs_are_found(void **state)
{
    sb_sim_machine_t model = cluster(false, 10);
    sb_sim_options_t options = {
        .machine = &model, .ranks = NODES, .node = each_node, .core = first_core};

    (void)state;
    for (unsigned eager = 0; eager < 2; eager++) {
        model.network.eager = eager == 0 ? LONG : 0;
        for (wrong_t wrong = 0; wrong < WRONGS; wrong++) {
            if (eager == 0 && wrong == SENDS_TOO_MANY)
                continue; /* it waits for ever */
            sb_sim_t *sim = sb_sim_new(&options);
            assert_int_equal(sb_sim_run(sim, do_wrong, &wrong), SB_SIM_STOPPED);
            assert_non_null(strstr(sb_sim_problem(sim), told[wrong]));
            sb_sim_free(sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_cores_pass_a_flag),
        cmocka_unit_test(readers_of_a_line_queue_up),
        cmocka_unit_test(caches_serve_their_own_cores),
        cmocka_unit_test(far_caches_spare_the_home),
        cmocka_unit_test(stores_to_one_line_come_together),
        cmocka_unit_test(additions_follow_one_another),
        cmocka_unit_test(additions_of_many_get_in_each_others_way),
        cmocka_unit_test(memory_costs_by_where_it_is),
        cmocka_unit_test(memory_may_be_misplaced),
        cmocka_unit_test(parts_of_one_segment),
        cmocka_unit_test(first_touch_places_pages),
        cmocka_unit_test(loads_overlap),
        cmocka_unit_test(fetches_overlap),
        cmocka_unit_test(lines_are_owned_ahead),
        cmocka_unit_test(copies_share_a_controller),
        cmocka_unit_test(lines_of_a_copy_leave_the_link_to_others),
        cmocka_unit_test(streaming_spares_the_controller),
        cmocka_unit_test(ends_of_a_stream_stay_near),
        cmocka_unit_test(combining_reads_all_sources),
        cmocka_unit_test(ranks_of_one_core_take_turns),
        cmocka_unit_test(spinning_on_one_core_costs_slices),
        cmocka_unit_test(a_publish_wakes_a_sleeper),
        cmocka_unit_test(noise_takes_time_by_the_seed),
        cmocka_unit_test(errors_are_told),
        cmocka_unit_test(runs_begin_empty),
        cmocka_unit_test(records_say_what_ranks_did),
        cmocka_unit_test(a_ring_through_both_switches),
        cmocka_unit_test(a_scatter_is_limited_by_injection),
        cmocka_unit_test(any_source_takes_what_comes_first),
        cmocka_unit_test(a_message_that_leaves_late_holds_up_none_before_it),
        cmocka_unit_test(test_finds_a_message_when_it_is_there),
        cmocka_unit_test(a_message_that_is_too_long_is_told),
        cmocka_unit_test(long_messages_wait_for_both),
        cmocka_unit_test(messages_do_not_overtake),
        cmocka_unit_test(wrong_programs_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
