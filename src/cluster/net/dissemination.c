/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination over nodes: in step k every node tells the one 2^k further that it, and all that it
 * has heard of, are there. Cost: ceil(log2 N) messages of no bytes, one latency each. Memory: none.
 * Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
 */
#include "cluster/program.h"

bool sb_net_dissemination(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint64_t nodes = program->nodes, distance = (uint64_t)1 << number;

    if (distance >= nodes)
        return false;
    sb_step_receive(step, (uint32_t)((program->self + nodes - distance) % nodes), program->scratch,
                    0);
    sb_step_send(step, (uint32_t)((program->self + distance) % nodes), program->scratch, 0);
    return true;
}
