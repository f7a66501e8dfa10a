/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by halving: in round k the nodes whose numbers differ in digit k each give
 * the other half of the bytes that they still combine; then the finished parts go the same way
 * back. Where the last rounds have little left to halve they double: all of a group give each other
 * what they have, which is one message in place of two. Without any halving that is recursive
 * doubling. A round of several digits is among all that differ in them: where it halves, each gives
 * every other its share, which takes one latency and no byte more; where it doubles, it has fewer
 * latencies and more bytes. The order of nodes is kept, and all get the same bits. Cost, of h
 * halvings, s in a round, and d digits doubled in one: (2 h / s + (log2 N - h) / d) a + (2 + ((2^d
 * - 1) (log2 N - h) / d - 2) / 2^h) m b, and 2 (a + m b) more where N is no power of two (cube.h).
 * Memory: 2^d - 1 times the bytes that are doubled. Source: Rabenseifner's algorithm: Thakur,
 * Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005; with
 * several digits: Ruefenacht, Bull, Booth, "Generalisation of recursive doubling for AllReduce",
 * 2017.
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

/* In which the nodes of a round that halves differ. */
static uint32_t digits_of(const sb_program_t *program, uint32_t first)
{
    return (uint32_t)sb_min(program->split_digits, program->halvings - first);
}

static void halve(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step,
                  uint32_t first)
{
    uint32_t digits = digits_of(program, first), end = first + digits;

    sb_cube_folds(program, cube, step, first, digits, kept_by(program, cube->place, end));
    for (uint32_t by = 1; by < 1u << digits; by++) {
        uint32_t other = sb_cube_beside(cube->place, first, by);
        give(program, step, sb_cube_node(cube, other), kept_by(program, other, end));
    }
}

static void give_back(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step,
                      uint32_t first)
{
    uint32_t digits = digits_of(program, first), end = first + digits;

    for (uint32_t by = 1; by < 1u << digits; by++) {
        uint32_t other = sb_cube_beside(cube->place, first, by);
        uint32_t partner = sb_cube_node(cube, other);
        sb_range_t theirs = kept_by(program, other, end);
        if (theirs.from < theirs.to)
            sb_step_receive(step, partner, program->bytes_at + theirs.from,
                            theirs.to - theirs.from);
        give(program, step, partner, kept_by(program, cube->place, end));
    }
}

/* What is left is combined whole, by nodes that differ in the other digits alone. Each begins with
 * another, so that no link has all messages at once. */
static void double_up(const sb_program_t *program, const sb_cube_t *cube, sb_step_t *step,
                      uint32_t first)
{
    uint32_t digits = (uint32_t)sb_min(program->digits, cube->rounds - first);
    sb_range_t kept = kept_by(program, cube->place, program->halvings);

    sb_cube_folds(program, cube, step, first, digits, kept);
    for (uint32_t by = 1; by < 1u << digits; by++)
        give(program, step, sb_cube_node(cube, sb_cube_beside(cube->place, first, by)), kept);
}

bool sb_net_halving(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    sb_cube_t cube = sb_cube(program);
    uint32_t split = program->split_digits, digits = program->digits;
    uint32_t halvings = (program->halvings + split - 1) / split;
    uint32_t doublings = (cube.rounds - program->halvings + digits - 1) / digits;
    uint32_t last = 2 * halvings + doublings + 1;

    if (number == 0)
        sb_cube_begins(program, &cube, step);
    else if (number == last)
        sb_cube_ends(program, &cube, step);
    else if (number < last && !cube.idle) {
        if (number <= halvings)
            halve(program, &cube, step, (number - 1) * split);
        else if (number <= halvings + doublings)
            double_up(program, &cube, step, program->halvings + (number - halvings - 1) * digits);
        else
            give_back(program, &cube, step, (last - 1 - number) * split);
    }
    return number <= last;
}
