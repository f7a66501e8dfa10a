/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather over nodes in a ring: in step k every node passes on to the next one what it got in the
 * step before, at first its own block. Blocks stay where they belong in the packed bytes, and may
 * be of any size, or empty. Cost: (N - 1) a + (1 - s) m b for m bytes of all, s the share of the
 * node behind: no node sends a block twice, as it may where distances are doubled. Memory: those.
 * Source: folklore; see Thakur, Rabenseifner, Gropp, 2005.
 */
#include "cluster/program.h"

bool sb_net_ring_blocks(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint32_t nodes = program->nodes, self = program->self;

    if (number + 1 >= nodes)
        return false;
    uint32_t given = (self + nodes - number) % nodes, taken = (given + nodes - 1) % nodes;
    sb_step_blocks(program, step, (self + nodes - 1) % nodes, true, taken, 1);
    sb_step_blocks(program, step, (self + 1) % nodes, false, given, 1);
    return true;
}
