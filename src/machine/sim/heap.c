/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Users' memory that others read by loads, as the heap makes it: a reader has a mapping of its own
 * of the owner's file. Here that is a second range of addresses, each so far behind the owner's,
 * that nobody can use but through sb_sim_seen(). When the owner forks, what it has written stays in
 * the file, which is kept beside the block, and what it writes from then on goes to the block
 * alone.
 *
 * A rank that has not opened a heap shares all it has for good: so in timed runs.
 */
#include "machine/sharing.h"
#include "machine/sim/state.h"

#include <stdlib.h>
#include <string.h>

/* Values of the owner's word. */
enum { NONE, SHARED, PARTED };

static sb_heap_words_t *words_of(uint32_t rank)
{
    return sb_sim->rank[rank].heap.words;
}

static bool is_heaps(uint32_t rank, const sb_memory_block_t *block)
{
    return block != NULL && block->heaped && block->owner == rank && words_of(rank) != NULL;
}

void sb_sim_heap_open(uint32_t room)
{
    sb_rank_t *self = sb_sim->running;
    sb_sim_memory_t memory = sb_sim_take(sizeof(sb_heap_words_t), -1);

    self->heap.words = (sb_heap_words_t *)(void *)memory.address;
    self->heap.room = room;
    if (room > 0)
        sb_store32(&self->heap.words->own, SHARED, SB_RELEASE);
}

sb_sim_memory_t sb_sim_heap_take(uint64_t bytes)
{
    sb_rank_t *self = sb_sim->running;
    sb_sim_memory_t memory = sb_sim_take(bytes, -1);

    if (self->heap.words == NULL || self->heap.room == 0 ||
        sb_load32(&self->heap.words->own, SB_ACQUIRE) != SHARED)
        return memory;
    self->heap.room -= self->heap.room != UINT32_MAX;
    sb_sim->block[memory.block].heaped = true;
    return memory;
}

/* The kernel stops what would write meanwhile, and lets it go on with the new mapping. */
static void keep_file(void *context)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    uint32_t owner = *(const uint32_t *)context;

    sb_store32(&words_of(owner)->mapped, 1, SB_RELEASE);
    for (uint32_t i = 0; i < sb_sim->blocks; i++) {
        sb_memory_block_t *block = &sb_sim->block[i];
        if (block->dead || !is_heaps(owner, block))
            continue;
        block->file = malloc(block->bytes);
        if (block->file == NULL)
            sb_sim_stop("the simulator is out of memory");
        memcpy(block->file, block->base, block->bytes);
    }
    uint32_t *clock = watch == NULL || watch->send == NULL
                          ? NULL
                          : watch->send(watch->context, sb_sim->running->number);
    if (clock != NULL)
        watch->receive(watch->context, owner, clock);
    free(clock);
}

void sb_sim_heap_part(uint32_t owner)
{
    sb_heap_words_t *words = words_of(owner);

    if (sb_load32(&words->own, SB_ACQUIRE) == SHARED)
        sb_sharing_end(&words->ended, &words->own, PARTED, keep_file, &owner);
}

bool sb_sim_shares(const void *base)
{
    const sb_rank_t *self = sb_sim->running;
    uint32_t number;
    uint64_t offset;

    if (!sb_sim->options.loads || self->heap.words == NULL)
        return sb_sim->options.loads;
    return is_heaps(self->number, sb_sim_find(base, &number, &offset)) &&
           sb_load32(&self->heap.words->own, SB_ACQUIRE) == SHARED;
}

const uint64_t *sb_sim_shared_number(void)
{
    static const uint64_t number = 1;
    const sb_heap_words_t *words = sb_sim->running->heap.words;
    bool shared = words == NULL || sb_load32(&words->own, SB_ACQUIRE) == SHARED;

    return sb_sim->options.loads && shared ? &number : NULL;
}

const char *sb_sim_reach_by_loads(uint64_t process, uint64_t address, bool told)
{
    const char *there = (const char *)(uintptr_t)address;
    sb_memory_block_t *block;
    uint32_t number;
    uint64_t offset;

    if (!sb_sim->options.loads)
        return NULL;
    block = sb_sim_find(there, &number, &offset);
    if (words_of((uint32_t)process) == NULL || block == NULL)
        return there;
    if (!is_heaps((uint32_t)process, block) ||
        (!told && !sb_sharing_lasts(&words_of((uint32_t)process)->ended)))
        return NULL;
    return there + SB_SIM_VIEW;
}

const void *sb_sim_seen(const void *address, const void **owners)
{
    const char *there = (const char *)address - SB_SIM_VIEW;
    const sb_memory_block_t *block;
    uint32_t number;
    uint64_t offset;

    *owners = address;
    if (SB_LIKELY(!sb_sim_is_view(address)))
        return address;
    *owners = there;
    block = sb_sim_find(there, &number, &offset);
    return block == NULL || block->file == NULL ? there : block->file + offset;
}
