/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather over nodes: in step k every node sends what it has of the 2^k nodes up to itself to the
 * node 2^k further; in the last step no more than is missing there. Blocks stay where they belong
 * in the packed bytes, and may be of any size. Cost: ceil(log2 N) a + (N - 1) / N m b for m bytes
 * of all. Memory: those. Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for
 * all-to-all communications in multiport message-passing systems", 1997, without its rotation.
 */
#include "cluster/program.h"

bool sb_net_bruck(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint64_t nodes = program->nodes, distance = (uint64_t)1 << number;

    if (distance >= nodes)
        return false;
    uint32_t count = (uint32_t)sb_min(distance, nodes - distance), self = program->self;
    uint32_t before = (uint32_t)((self + nodes - distance) % nodes);
    sb_step_blocks(program, step, before, true, before, count);
    sb_step_blocks(program, step, (uint32_t)((self + distance) % nodes), false, self, count);
    return true;
}
