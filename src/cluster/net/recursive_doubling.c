/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by recursive doubling: in each round the nodes whose numbers differ in some
 * digits alone, one or several, send each other what they have, and all combine it in the order of
 * nodes: so all get the same bits, and the order is kept. More digits a round are fewer latencies
 * and more bytes. Cost, of d digits: ceil(log2 N / d) (a + (2^d - 1) m b), and 2 (a + m b) more
 * where N is no power of two (cube.h). Memory: 2^d - 1 times the bytes. Source: Thakur,
 * Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005; with
 * several digits: Ruefenacht, Bull, Booth, "Generalisation of recursive doubling for AllReduce",
 * 2017.
 */
#include "cluster/net/cube.h"

bool sb_net_recursive_doubling(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    sb_cube_t cube = sb_cube(program);
    uint32_t first = number == 0 ? 0 : (number - 1) * program->digits;

    if (number == 0)
        sb_cube_begins(program, &cube, step);
    else if (first >= cube.rounds + program->digits)
        return false;
    else if (first >= cube.rounds)
        sb_cube_ends(program, &cube, step);
    if (number == 0 || first >= cube.rounds || cube.idle)
        return true;
    sb_cube_exchanges(program, &cube, step, first, (sb_range_t){0, program->bytes});
    return true;
}
