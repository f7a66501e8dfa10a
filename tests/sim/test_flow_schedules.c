/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows under many schedules, watched by the race checker: one writer with one or several readers,
 * and a rank in between that reads one flow and writes the next, by the forms that do not wait. A
 * writer with too much credit must be found.
 */
#include "../unit/testing.h"

#include "machine/sim/engine.h"
#include "machine/sim/join.h"
#include "team/flow.h"

#include <stdlib.h>
#include <string.h>

#define RANKS 4
#define RING 256
#define BYTES 1500
#define PIECE 96 /* no divisor of the ring */

/* What a rank shows: news of its ring, up to where it has read another's, and the ring. */
typedef struct shown {
    sb_wide_flag_t published;
    sb_wide_flag_t consumed;
    _Alignas(SB_FLAG_STRIDE) char ring[RING];
} shown_t;

typedef struct scene {
    uint32_t ranks;
    bool chain;      /* rank r reads of rank r - 1; else all read of rank 0 */
    bool tries;      /* by the forms that do not wait, where possible */
    bool whole;      /* pieces are not cut */
    uint64_t start;  /* of the positions */
    uint64_t extra;  /* credit that there is not */
    uint64_t window; /* of the ring */
    void *blocks[RANKS];
    bool wrong; /* data that is not what was sent */
} scene_t;

static const sb_waiter_t spinning = {
    .bare_spins = 3, .paused_spins = 3, .progress_every = 16, .sleep_after_ns = UINT64_MAX};

static char pattern(size_t i)
{
    return (char)(i * 7 + i / 256 + 1);
}

/* One end of a flow at this rank, and how far its message has come. */
typedef struct side {
    sb_cursor_t cursor;
    size_t done;
} side_t;

/* The next piece; its bytes. */
static size_t next_piece(const scene_t *scene, side_t *side)
{
    size_t most = sb_min(PIECE, BYTES - side->done);

    if (!scene->whole)
        return sb_cursor_piece(&side->cursor, most);
    sb_cursor_fit(&side->cursor, most);
    return most;
}

/* Writes one piece, if it may. */
static bool write_piece(const scene_t *scene, uint32_t rank, sb_flow_out_t *out, side_t *side,
                        bool wait)
{
    shown_t *own = scene->blocks[rank];
    char piece[PIECE];
    size_t bytes = next_piece(scene, side);
    uint64_t end = side->cursor.position + bytes;

    if (wait)
        assert_int_equal(sb_flow_reserve(out, end, &spinning), SB_OK);
    else if (!sb_flow_try_reserve(out, end))
        return false;
    for (size_t i = 0; i < bytes; i++)
        piece[i] = pattern(side->done + i);
    sb_copy(own->ring + sb_cursor_place(&side->cursor), piece, bytes);
    sb_flow_commit(out, end);
    side->done += bytes;
    sb_cursor_pass(&side->cursor, bytes);
    return true;
}

static bool read_piece(scene_t *scene, uint32_t from, sb_flow_in_t *in, side_t *side, bool wait)
{
    const shown_t *theirs = scene->blocks[from];
    char piece[PIECE];
    size_t bytes = next_piece(scene, side);
    uint64_t end = side->cursor.position + bytes;

    if (wait)
        assert_int_equal(sb_flow_peek(in, end, &spinning), SB_OK);
    else if (!sb_flow_try_peek(in, end))
        return false;
    sb_copy(piece, theirs->ring + sb_cursor_place(&side->cursor), bytes);
    for (size_t i = 0; i < bytes; i++)
        scene->wrong = scene->wrong || piece[i] != pattern(side->done + i);
    side->done += bytes;
    sb_cursor_pass(&side->cursor, bytes);
    sb_flow_consume(in, side->cursor.position);
    return true;
}

/* Its readers: the next rank, or all others. */
static sb_flow_out_t writer_of(scene_t *scene, uint32_t rank)
{
    shown_t *own = scene->blocks[rank];
    sb_peers_t all = {scene->blocks, offsetof(shown_t, consumed), scene->ranks, rank};
    sb_peers_t next = {&scene->blocks[rank + 1], offsetof(shown_t, consumed), 1, 1};

    return (sb_flow_out_t){.readers = scene->chain ? next : all,
                           .published = &own->published.flag,
                           .room = RING + scene->extra,
                           .known = scene->start};
}

/* Reads and writes whatever is possible; waits for what must come next if nothing is. */
static void run_ends(scene_t *scene, uint32_t rank, bool reads, bool writes)
{
    uint32_t from = scene->chain && rank > 0 ? rank - 1 : 0;
    shown_t *own = scene->blocks[rank], *theirs = scene->blocks[from];
    sb_flow_out_t out = writes ? writer_of(scene, rank) : (sb_flow_out_t){0};
    sb_flow_in_t in = {&theirs->published.flag, &own->consumed.flag, scene->start};
    side_t begun = {.cursor = sb_cursor(RING, scene->start)};
    begun.cursor.window = scene->window;
    side_t read = begun, written = begun;

    read.done = reads ? 0 : BYTES;
    written.done = writes ? 0 : BYTES;
    while (read.done < BYTES || written.done < BYTES) {
        bool moved = false;
        if (written.done < BYTES && (!reads || written.done < read.done))
            moved = write_piece(scene, rank, &out, &written, !scene->tries);
        if (read.done < BYTES)
            moved = read_piece(scene, from, &in, &read, !scene->tries) || moved;
        if (!moved && read.done < BYTES && (!writes || read.done == written.done))
            read_piece(scene, from, &in, &read, true);
        else if (!moved)
            write_piece(scene, rank, &out, &written, true);
    }
}

static void run_rank(void *argument, uint32_t rank)
{
    scene_t *scene = argument;
    sb_sim_memory_t memory = sb_sim_take(sizeof(shown_t), -1);
    shown_t *own = (shown_t *)(void *)memory.address;

    scene->blocks[rank] = own;
    sb_flag_publish(&own->published.flag, scene->start);
    sb_flag_publish(&own->consumed.flag, scene->start);
    sb_sim_meet(SB_SIM_ALL);
    sb_sim_guided(true);
    run_ends(scene, rank, rank > 0, rank == 0 || (scene->chain && rank + 1 < scene->ranks));
    sb_sim_guided(false);
    sb_sim_meet(SB_SIM_ALL);
    sb_sim_give(memory.block);
}

static sb_sim_core_t cores[RANKS];
static const uint32_t core[RANKS] = {0, 1, 2, 3};

static sb_sim_machine_t machine(void)
{
    sb_sim_machine_t made = {.nodes = 1,
                             .cores = RANKS,
                             .numa_nodes = 1,
                             .packages = 1,
                             .core = cores,
                             .read_overlap = 1,
                             .page_bytes = 4096,
                             .readahead_pages = 1,
                             .context_switch = 1000,
                             .yield = 1000,
                             .pause = 1000,
                             .slice = 1000000};

    for (uint32_t i = 0; i < RANKS; i++)
        cores[i].unit[SB_NEAR_CORE] = cores[i].unit[SB_NEAR_L2] = i;
    for (int i = 0; i < SB_DISTANCES; i++)
        made.read[i] = made.memory[i] = 1000;
    return made;
}

/* Whether some schedule shows a race, wrong data or ranks that wait for ever. */
static bool is_broken(const scene_t *wish, sb_explore_mode_t mode, bool relaxed)
{
    const sb_explore_options_t explore = {
        .mode = mode, .ranks = wish->ranks, .seed = 5, .schedules = 300, .relaxed = relaxed};
    const char *problem;
    sb_join_t *join = sb_join_new(wish->ranks, &explore, &problem);
    sb_sim_machine_t model = machine();
    sb_sim_options_t options = {.machine = &model,
                                .ranks = wish->ranks,
                                .core = core,
                                .seed = 1,
                                .placed = true,
                                .watch = sb_join_watch(join),
                                .guide = sb_join_guide(join)};
    sb_sim_t *sim = sb_sim_new(&options);
    bool broken = false;

    while (!broken && sb_join_begin(join)) {
        scene_t scene = *wish;
        sb_sim_end_t end = sb_sim_run(sim, run_rank, &scene);
        broken = end != SB_SIM_COMPLETE || scene.wrong || sb_join_endless(join) ||
                 sb_join_violation(join)->kind != SB_VIOLATION_NONE;
        if (broken && wish->extra == 0)
            print_error("%s\n", sb_sim_problem(sim));
    }
    sb_sim_free(sim);
    sb_join_free(join);
    return broken;
}

static const struct {
    sb_explore_mode_t mode;
    bool relaxed;
} modes[] = {{SB_EXPLORE_RANDOM, true}, {SB_EXPLORE_PCT, true}, {SB_EXPLORE_RANDOM, false}};

/* In every form: cut or whole pieces, waiting or not, in all of the ring or a part, over 2^32. */
static void run_forms(uint32_t ranks, bool chain)
{
    static const uint64_t starts[] = {0, RING - 64, ((uint64_t)1 << 32) - 192};

    for (unsigned form = 0; form < 8; form++) {
        for (size_t s = 0; s < SB_COUNT_OF(starts); s++) {
            scene_t scene = {.ranks = ranks,
                             .chain = chain,
                             .tries = (form & 1) != 0,
                             .whole = (form & 2) != 0,
                             .window = (form & 4) != 0 ? RING - 64 : RING,
                             .start = starts[s]};
            for (size_t i = 0; i < SB_COUNT_OF(modes); i++)
                assert_false(is_broken(&scene, modes[i].mode, modes[i].relaxed));
        }
    }
}

static void one_writer_has_many_readers(void **state)
{
    (void)state;
    run_forms(2, false);
    run_forms(4, false);
}

static void a_rank_passes_on_what_it_reads(void **state)
{
    (void)state;
    run_forms(3, true);
}

static void too_much_credit_is_found(void **state)
{
    scene_t scene = {.ranks = 3, .window = RING, .extra = PIECE};

    (void)state;
    for (int form = 0; form < 4; form++) {
        scene.tries = (form & 1) != 0;
        scene.chain = (form & 2) != 0;
        assert_true(is_broken(&scene, SB_EXPLORE_RANDOM, false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_writer_has_many_readers),
        cmocka_unit_test(a_rank_passes_on_what_it_reads),
        cmocka_unit_test(too_much_credit_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
