/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of nodes in packed bytes, and their way up and down a binomial tree of nodes: in a gather
 * a node gives its parent the blocks of all below it, in a scatter it gets them. Nodes are counted
 * from the root's on, so what is below a node is one interval that may go round the end. Cost:
 * ceil(log2 N) a + (N - 1) / N m b at the root, for m bytes of all. Memory: those. Source:
 * folklore; Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
 * MPICH", 2005.
 */
#include "cluster/map.h"
#include "cluster/program.h"

size_t sb_packed_bytes(const sb_packing_t *packing, uint32_t rank)
{
    size_t bytes = packing->each > 0 ? packing->each : packing->part[rank].bytes;

    return bytes > packing->from ? sb_min(bytes - packing->from, packing->most) : 0;
}

size_t sb_packed_before(const sb_packing_t *packing, uint32_t members)
{
    size_t bytes = 0;

    if (packing->each > 0)
        return members * sb_packed_bytes(packing, 0);
    for (uint32_t i = 0; i < members; i++)
        bytes += sb_packed_bytes(packing, packing->map->member[i]);
    return bytes;
}

/* The blocks of nodes [first, end), if there is anything in them. */
static void add(const sb_program_t *program, sb_step_t *step, uint32_t peer, bool receives,
                uint32_t first, uint32_t end)
{
    const uint32_t *begin = program->packing.map->begin;
    size_t from = sb_packed_before(&program->packing, begin[first]);
    size_t to = sb_packed_before(&program->packing, begin[end]);

    if (from < to)
        sb_step_add(step, peer, program->bytes_at + from, to - from)->receives = receives;
}

void sb_step_blocks(const sb_program_t *program, sb_step_t *step, uint32_t peer, bool receives,
                    uint32_t last, uint32_t count)
{
    uint32_t nodes = program->nodes;

    if (count > last + 1) {
        add(program, step, peer, receives, last + 1 + nodes - count, nodes);
        count = last + 1;
    }
    add(program, step, peer, receives, last + 1 - count, last + 1);
}

/* The block of the node that is so many places behind the root, and those below it. */
static void add_below(const sb_program_t *program, sb_step_t *step, uint32_t peer, bool receives,
                      uint32_t place, uint32_t digit)
{
    uint32_t nodes = program->nodes, count = (uint32_t)sb_min(digit, nodes - place);
    uint64_t last = (uint64_t)program->root_node + place + count - 1;

    sb_step_blocks(program, step, (uint32_t)(((uint64_t)program->root_node + peer) % nodes),
                   receives, (uint32_t)(last % nodes), count);
}

/* The edges of one digit; `up`: towards the root. */
static void pass(const sb_program_t *program, sb_step_t *step, uint32_t round, bool up)
{
    uint32_t nodes = program->nodes, digit = 1u << round;
    uint32_t place = (program->self + nodes - program->root_node) % nodes;

    if ((place & (digit - 1)) != 0)
        return;
    if ((place & digit) != 0)
        add_below(program, step, place - digit, !up, place, digit);
    else if (digit < nodes - place)
        add_below(program, step, place + digit, up, place + digit, digit);
}

bool sb_net_gather(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    if (number >= sb_rounds(program->nodes))
        return false;
    pass(program, step, number, true);
    return true;
}

bool sb_net_scatter(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint32_t rounds = sb_rounds(program->nodes);

    if (number >= rounds)
        return false;
    pass(program, step, rounds - 1 - number, false);
    return true;
}
