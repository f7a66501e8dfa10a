/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by halving: in round k the nodes whose numbers differ in digit k each give
 * the other half of the bytes that they still combine; then the finished parts go the same way
 * back. Where the last rounds have little left to halve they double: all of a group give each other
 * what they have, which is one message in place of two. What is combined with what is as in
 * recursive doubling with one digit, so the order of nodes is kept, and all get the same bits.
 * Cost, of h halvings: (log2 N + h) a + (2 + (log2 N - h - 2) / 2^h) m b, and 2 (a + m b) more
 * where N is no power of two (cube.h). Memory: half of the bytes. Source: Rabenseifner's algorithm:
 * Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
 * 2005.
 */
#include "cluster/net/cube.h"

/* What a corner combines after so many halvings. */
static sb_range_t kept_by(const sb_program_t *program, uint32_t place, uint32_t halvings)
{
    size_t element = program->operation->element;
    sb_range_t kept = {0, program->bytes};

    for (uint32_t k = 0; k < halvings; k++) {
        size_t middle = kept.from + (kept.to - kept.from) / element / 2 * element;
        if ((place >> k & 1) != 0)
            kept.from = middle;
        else
            kept.to = middle;
    }
    return kept;
}

/* Of half a range of few elements nothing may be left. */
static void give(const sb_program_t *program, sb_step_t *step, uint32_t partner, sb_range_t range)
{
    if (range.from < range.to)
        sb_step_send(step, partner, program->bytes_at + range.from, range.to - range.from);
}

static void halve(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step, uint32_t k)
{
    uint32_t other = cube->place ^ (1u << k), partner = sb_cube_node(cube, other);
    sb_range_t kept = kept_by(program, cube->place, k + 1);

    if (kept.from < kept.to)
        sb_step_fold(program, step, partner, program->bytes_at + kept.from, kept.to - kept.from,
                     partner < program->self ? SB_FOLD_LEFT : SB_FOLD_RIGHT);
    give(program, step, partner, kept_by(program, other, k + 1));
}

static void give_back(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step,
                      uint32_t k)
{
    uint32_t other = cube->place ^ (1u << k), partner = sb_cube_node(cube, other);
    sb_range_t theirs = kept_by(program, other, k + 1);

    if (theirs.from < theirs.to)
        sb_step_receive(step, partner, program->bytes_at + theirs.from, theirs.to - theirs.from);
    give(program, step, partner, kept_by(program, cube->place, k + 1));
}

/* What is left is combined whole, by nodes that differ in the other digits alone. */
static void double_up(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step,
                      uint32_t first)
{
    sb_range_t kept = kept_by(program, cube->place, program->halvings);

    sb_cube_exchanges(program, cube, step, first, kept);
}

bool sb_net_halving(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    sb_cube_t cube = sb_cube(program);
    uint32_t halvings = program->halvings, digits = program->digits;
    uint32_t doublings = (cube.rounds - halvings + digits - 1) / digits;
    uint32_t last = 2 * halvings + doublings + 1;

    if (number == 0)
        sb_cube_begins(program, &cube, step);
    else if (number == last)
        sb_cube_ends(program, &cube, step);
    else if (number < last && !cube.idle) {
        if (number <= halvings)
            halve(program, &cube, step, number - 1);
        else if (number <= halvings + doublings)
            double_up(program, &cube, step, halvings + (number - halvings - 1) * digits);
        else
            give_back(program, &cube, step, last - 1 - number);
    }
    return number <= last;
}
