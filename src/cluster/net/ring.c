/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes in a ring: the bytes are cut into N parts. In N - 1 steps each part goes
 * round, and every node adds what it has to it; in N - 1 more the finished parts go round. Cost:
 * 2 (N - 1) (a + m/N b): the fewest bytes that a node can send. Memory: a part of at most a
 * segment. Precondition: a commutative operator, since each part begins at another node. Every node
 * gets the bits of the one that finished the part. Source: Patarasuk, Yuan, "Bandwidth optimal
 * all-reduce algorithms for clusters of workstations", 2009.
 */
#include "cluster/program.h"

static size_t part_begins(const sb_program_t *program, uint32_t part)
{
    size_t element = program->operation->element;

    return program->bytes / element * part / program->nodes * element;
}

bool sb_net_ring(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint32_t nodes = program->nodes, self = program->self;
    bool gathers = number >= nodes - 1;
    uint32_t round = gathers ? number - (nodes - 1) : number;
    uint32_t given = (self + nodes + gathers - round) % nodes;
    uint32_t taken = (given + nodes - 1) % nodes;
    size_t from = part_begins(program, taken), to = part_begins(program, taken + 1);

    if (number >= 2 * (nodes - 1))
        return false;
    if (gathers)
        sb_step_receive(step, (self + nodes - 1) % nodes, program->bytes_at + from, to - from);
    else
        sb_step_fold(program, step, (self + nodes - 1) % nodes, program->bytes_at + from, to - from,
                     SB_FOLD_LEFT);
    from = part_begins(program, given);
    to = part_begins(program, given + 1);
    sb_step_send(step, (self + 1) % nodes, program->bytes_at + from, to - from);
    return true;
}
