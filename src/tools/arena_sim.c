/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena (segment/arena.h) on the simulated machine: each block is a region of its own, named by
 * its number in the key. A block that is given back is dead: who uses it after that is told.
 */
#include "segment/arena.h"

#include "base/config.h"
#include "machine/machine.h"
#include "machine/sim/engine.h"
#include "segment/process.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>

struct sb_attachment {
    char *base;
};

typedef struct usage {
    size_t taken;
    size_t blocks;
    size_t attachments;
} usage_t;

SB_PROCESS_STATE(usage_t, usage, {0})

sb_status_t sb_arena_take(sb_block_t *block, size_t bytes, sb_arena_source_t source, size_t sharers,
                          sb_reason_t *reason)
{
    sb_place_t here;

    (void)source;
    (void)sharers;
    *block = (sb_block_t){0};
    bytes = sb_round_up(bytes, SB_PAGE);
    if (sb_config()->segment.number == SB_SEGMENT_OFF ||
        usage()->taken + bytes > sb_arena_bound()) {
        snprintf(reason->text, sizeof reason->text, "SOBOR_MEMORY of %zu KiB is used up",
                 sb_arena_bound() >> 10);
        return SB_ERR_MEMORY;
    }
    sb_region_t *region = calloc(1, sizeof *region);
    if (region == NULL)
        return SB_ERR_MEMORY;
    sb_place_self(&here);
    int node = sb_config()->placement.number != 0 ? here.numa_node : 0;
    sb_sim_memory_t memory = sb_sim_take(bytes, node);
    region->key = (sb_remote_key_t){.nonce = {memory.block, 0}, .bytes = bytes};
    region->base = memory.address;
    *block = (sb_block_t){region, 0, bytes, memory.address, .settling = true, .touched = bytes};
    usage()->taken += bytes;
    usage()->blocks++;
    return SB_OK;
}

void sb_arena_give(sb_block_t *block)
{
    if (block->region == NULL)
        return;
    sb_sim_give((uint32_t)block->region->key.nonce[0]);
    usage()->taken -= block->bytes;
    usage()->blocks--;
    free(block->region);
    *block = (sb_block_t){0};
}

sb_status_t sb_arena_take_near(sb_block_t *block, size_t bytes, size_t near,
                               sb_arena_source_t source, size_t sharers, sb_reason_t *reason)
{
    (void)near;
    return sb_arena_take(block, bytes, source, sharers, reason);
}

bool sb_arena_pages_cost(void)
{
    return false;
}

void sb_arena_touch(sb_block_t *block, size_t from, size_t to)
{
    (void)block;
    (void)from;
    (void)to;
}

void sb_arena_settle(sb_block_t *block)
{
    block->settling = false;
}

sb_status_t sb_arena_attach(sb_attachment_t **attachment, const sb_remote_key_t *key,
                            sb_reason_t *reason)
{
    (void)reason;
    *attachment = malloc(sizeof **attachment);
    if (*attachment == NULL)
        return SB_ERR_MEMORY;
    (*attachment)->base = sb_sim_address((uint32_t)key->nonce[0]);
    usage()->attachments++;
    return SB_OK;
}

void sb_arena_detach(sb_attachment_t *attachment)
{
    usage()->attachments--;
    free(attachment);
}

char *sb_attachment_base(const sb_attachment_t *attachment)
{
    return attachment->base;
}

bool sb_attachment_owner_lost(const sb_attachment_t *attachment)
{
    (void)attachment;
    return false;
}

void sb_arena_depart(void)
{
}

void sb_arena_usage(sb_arena_usage_t *used)
{
    *used = (sb_arena_usage_t){sb_arena_bound(), usage()->taken, usage()->taken, usage()->blocks,
                               usage()->attachments};
}

uint64_t sb_process_node(void)
{
    return sb_sim_node();
}
