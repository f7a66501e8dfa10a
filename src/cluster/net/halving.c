/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by halving: in round k the nodes whose numbers differ in digit k each give
 * the other half of the bytes that they still combine; then the finished parts go the same way
 * back. What is combined with what is as in recursive doubling with one digit, so the order of
 * nodes is kept, and all get the same bits. Cost: 2 log2 N a + 2 (N - 1) / N m b, and 2 (a + m b)
 * more where N is no power of two (cube.h). Memory: half of the bytes. Source: Rabenseifner's
 * algorithm: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
 * MPICH", 2005.
 */
#include "cluster/net/cube.h"
#include "coll/reduction/reduction.h"

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

bool sb_net_halving(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    sb_cube_t cube = sb_cube(program);

    if (number == 0)
        sb_cube_begins(program, &cube, step);
    else if (number == 2 * cube.rounds + 1)
        sb_cube_ends(program, &cube, step);
    else if (number <= cube.rounds && !cube.idle)
        halve(program, &cube, step, number - 1);
    else if (number <= 2 * cube.rounds && !cube.idle)
        give_back(program, &cube, step, 2 * cube.rounds - number);
    return number <= 2 * cube.rounds + 1;
}
