/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather over nodes by exchanges of all that the partner lacks (baseline/exchanges.h), one
 * message each way: blocks that do not lie in a row are packed. For any number of nodes and blocks
 * of any size. Cost: log2 N a + (N - 1) / N m b for m bytes of all where N is a power of two; else
 * more stages, and up to 2.3 times the bytes of a ring, one after the other. Memory: a segment, for
 * what is packed. Source: see baseline/exchanges.c.
 */
#include "baseline/exchanges.h"
#include "cluster/cluster.h"

typedef enum way { COUNT, PACK, UNPACK } way_t;

static size_t block_bytes(const sb_packing_t *packing, uint32_t node)
{
    const sb_map_t *map = packing->map;
    size_t bytes = 0;

    for (uint32_t i = map->begin[node]; i < map->begin[node + 1]; i++)
        bytes += sb_packed_bytes(packing, map->member[i]);
    return bytes;
}

/* All blocks that come or go in a stage, at `room` one behind the other. Returns their bytes. */
static size_t pass(const sb_program_t *program, uint32_t stage, bool comes, way_t way, char *room)
{
    const sb_bagds_t *bagds = program->context;
    char *block = program->bytes_at;
    size_t passed = 0;

    for (uint32_t node = 0; node < program->nodes; node++) {
        size_t bytes = block_bytes(&program->packing, node);
        bool moves = bytes > 0 && sb_bagds_moves(bagds, stage, node, comes);
        if (moves && way != COUNT)
            sb_copy(way == PACK ? room + passed : block, way == PACK ? block : room + passed,
                    bytes);
        passed += moves ? bytes : 0;
        block += bytes;
    }
    return passed;
}

/* What came in a stage goes where it belongs. */
static void end_stage(const sb_program_t *program, uint32_t stage)
{
    const sb_bagds_t *bagds = program->context;
    size_t sent = 0;

    if (sb_bagds_partner(bagds, stage) == program->nodes)
        return;
    sent = pass(program, stage, false, COUNT, NULL);
    pass(program, stage, true, UNPACK, program->scratch + sent);
}

static bool write_step(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    const sb_bagds_t *bagds = program->context;

    if (number > 0)
        end_stage(program, number - 1);
    if (number >= bagds->stages)
        return false;
    uint32_t partner = sb_bagds_partner(bagds, number);
    if (partner == program->nodes)
        return true;
    size_t sent = pass(program, number, false, PACK, program->scratch);
    size_t taken = pass(program, number, true, COUNT, NULL);
    if (taken > 0)
        sb_step_receive(step, partner, program->scratch + sent, taken);
    if (sent > 0)
        sb_step_send(step, partner, program->scratch, sent);
    return true;
}

static void *make(uint32_t nodes, uint32_t self)
{
    return sb_bagds_new(nodes, self);
}

const sb_named_allgather_t sb_cluster_bagds = {"bagds", write_step, make};
