/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a reduction from left to right, of one message each: what is combined up to a node
 * goes to the next one; the last node's result goes to the root. Cost: a + m b each. Memory: none.
 */
#include "cluster/program.h"

static bool pass(const sb_program_t *program, uint32_t number, sb_step_t *step, uint32_t from,
                 uint32_t to)
{
    if (number == 0)
        sb_step_pass(program, step, from, to);
    return number == 0;
}

bool sb_net_from_before(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    return pass(program, number, step, program->self - 1, program->self);
}

bool sb_net_to_next(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    return pass(program, number, step, program->self, program->self + 1);
}

bool sb_net_last_to_root(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    return pass(program, number, step, program->nodes - 1, program->root_node);
}
