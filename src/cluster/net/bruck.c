/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather over nodes: in step k every node sends what it has of the 2^k nodes up to itself to the
 * node 2^k further; in the last step no more than is missing there. Blocks stay where they belong
 * in the packed bytes, and may be of any size. Cost: ceil(log2 N) a + (N - 1) / N m b for m bytes
 * of all. Memory: those. Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for
 * all-to-all communications in multiport message-passing systems", 1997, without its rotation.
 */
#include "cluster/map.h"
#include "cluster/program.h"

size_t sb_packed_bytes(const sb_packing_t *packing, uint32_t rank)
{
    size_t bytes = packing->part[rank].bytes;

    return bytes > packing->from ? sb_min(bytes - packing->from, packing->most) : 0;
}

size_t sb_packed_before(const sb_packing_t *packing, uint32_t members)
{
    size_t bytes = 0;

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

/* So many blocks up to that of the node `last`, which may begin behind the end. */
static void add_blocks(const sb_program_t *program, sb_step_t *step, uint32_t peer, bool receives,
                       uint32_t last, uint32_t count)
{
    uint32_t nodes = program->nodes;

    if (count > last + 1) {
        add(program, step, peer, receives, last + 1 + nodes - count, nodes);
        count = last + 1;
    }
    add(program, step, peer, receives, last + 1 - count, last + 1);
}

bool sb_net_bruck(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    uint64_t nodes = program->nodes, distance = (uint64_t)1 << number;

    if (distance >= nodes)
        return false;
    uint32_t count = (uint32_t)sb_min(distance, nodes - distance), self = program->self;
    uint32_t before = (uint32_t)((self + nodes - distance) % nodes);
    add_blocks(program, step, before, true, before, count);
    add_blocks(program, step, (uint32_t)((self + distance) % nodes), false, self, count);
    return true;
}
