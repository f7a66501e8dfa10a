/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the simulated machine. All blocks lie in one range of addresses, one after another, and
 * no address is used twice in a run, so that an access to memory that was given back is found. What
 * is decided depends on block number and offset, never on an address.
 */
#include "machine/primitive.h"
#include "machine/sim/state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RANGE_BYTES SB_SIM_VIEW
#define GROW_BYTES ((size_t)64 << 20)
#define BLOCKS_MOST (1u << 22)
#define CLEAR_BY_HAND ((size_t)256 << 10)

/* What is known of pages lies behind the second view of the memory. */
#define TABLE_BYTES (RANGE_BYTES / SB_SIM_PAGE * sizeof(sb_page_t))

sb_range_t sb_sim_range;

static bool open_memory(char *base, size_t from, size_t to)
{
    return mprotect(base + from, to - from, PROT_READ | PROT_WRITE) == 0;
}

static bool open_range(size_t bytes)
{
    sb_range_t *range = &sb_sim_range;

    if (range->base == NULL) {
        char *base = mmap(NULL, 2 * RANGE_BYTES + TABLE_BYTES, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return false;
        range->base = base;
        range->page = (sb_page_t *)(void *)(base + 2 * RANGE_BYTES);
    }
    if (bytes <= range->open)
        return true;
    size_t open = (bytes + GROW_BYTES - 1) / GROW_BYTES * GROW_BYTES;
    size_t each = sizeof *range->page;
    if (open > RANGE_BYTES || !open_memory(range->base, range->open, open) ||
        !open_memory((char *)range->page, range->open / SB_SIM_PAGE * each,
                     open / SB_SIM_PAGE * each))
        return false;
    range->open = open;
    return true;
}

static void free_block(sb_memory_block_t *block)
{
    for (uint64_t i = 0; block->shared && i < block->bytes / SB_SIM_PAGE; i++) {
        free(block->pages[i].lines);
        block->pages[i].lines = NULL;
    }
    free(block->file);
    block->file = NULL;
}

static bool is_large(const sb_memory_block_t *block)
{
    return block->bytes > CLEAR_BY_HAND;
}

/* What was large and is dead was cleared then. */
static void clear_block(const sb_memory_block_t *block)
{
    if (!is_large(block))
        memset(block->base, 0, block->bytes);
    else if (!block->dead)
        madvise(block->base, block->bytes, MADV_DONTNEED);
}

void sb_sim_memory_begin(sb_sim_t *sim)
{
    for (uint32_t i = 0; i < sim->blocks; i++) {
        clear_block(&sim->block[i]);
        free_block(&sim->block[i]);
    }
    sim->blocks = 0;
    sim->segment_pages = sim->ahead = 0;
    sb_sim_range.used = 0;
    for (uint32_t i = 0; i < sim->ranks; i++) {
        for (sb_own_state_t *own = sim->rank[i].own; own != NULL;) {
            sb_own_state_t *next = own->next;
            free(own->state);
            free(own);
            own = next;
        }
        sim->rank[i].own = NULL;
        sim->rank[i].heap = (sb_heap_state_t){0};
    }
}

void sb_sim_memory_free(sb_sim_t *sim)
{
    if (sim->rank != NULL)
        sb_sim_memory_begin(sim);
    free(sim->records);
}

_Noreturn static void no_memory(void)
{
    sb_sim_stop("the simulator is out of memory");
}

/* Blocks stay where they are: ranks hold on to one while others take more. The room is kept for the
 * next machine, as the range is. */
static bool reserve_blocks(sb_sim_t *sim)
{
    static void *room = MAP_FAILED;

    if (room == MAP_FAILED)
        room = mmap(NULL, BLOCKS_MOST * sizeof *sim->block, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sim->block = room == MAP_FAILED ? NULL : room;
    return sim->block != NULL;
}

static uint32_t new_block(uint64_t bytes, bool shared)
{
    sb_sim_t *sim = sb_sim;
    const sb_rank_t *self = sim->running;
    sb_range_t *range = &sb_sim_range;

    bytes = sb_round_up(bytes == 0 ? 1 : bytes, SB_SIM_PAGE);
    if (!open_range(range->used + bytes))
        no_memory();
    if (sim->block == NULL && !reserve_blocks(sim))
        no_memory();
    if (sim->blocks == BLOCKS_MOST)
        sb_sim_stop("more than %u blocks of memory in one run", BLOCKS_MOST);
    sb_memory_block_t *block = &sim->block[sim->blocks];
    *block = (sb_memory_block_t){.base = range->base + range->used,
                                 .bytes = bytes,
                                 .pages = &range->page[range->used / SB_SIM_PAGE],
                                 .owner = self->number,
                                 .node = self->node,
                                 .shared = shared};
    for (uint32_t i = 0; i < bytes / SB_SIM_PAGE; i++)
        block->pages[i] = (sb_page_t){.block = sim->blocks, .place = i, .numa = NO_NUMA};
    range->used += bytes;
    return sim->blocks++;
}

static void place_all(const sb_memory_block_t *block, int numa)
{
    for (uint64_t i = 0; i < block->bytes / SB_SIM_PAGE; i++)
        block->pages[i].numa = (uint8_t)numa;
}

/* The block is the next part of the one segment; its owner touches its pages at once. */
static void place_in_segment(const sb_memory_block_t *block)
{
    sb_sim_t *sim = sb_sim;
    const sb_sim_machine_t *machine = &sim->machine;
    uint8_t here = (uint8_t)machine->core[sim->running->core].unit[SB_NEAR_NUMA];
    uint64_t unit = machine->page_bytes / SB_SIM_PAGE * sb_max(machine->readahead_pages, 1);

    for (uint64_t page = 0; page < block->bytes / SB_SIM_PAGE; page++, sim->segment_pages++) {
        if (sim->segment_pages >= sim->ahead) {
            sim->ahead_numa = here;
            sim->ahead = sim->segment_pages + 1;
            if (sim->options.segment == SB_SIM_SEGMENT_AHEAD)
                sim->ahead = sb_round_up(sim->ahead, unit);
        }
        block->pages[page].numa = sim->ahead_numa;
    }
}

sb_sim_memory_t sb_sim_take(uint64_t bytes, int numa_node)
{
    sb_sim_t *sim = sb_sim;
    const sb_sim_watch_t *watch = sim->options.watch;
    uint32_t number = new_block(bytes, true);
    sb_memory_block_t *block = &sim->block[number];
    int numa = sim->options.placed ? numa_node : 0;

    if (sim->options.segment != SB_SIM_SEGMENT_OF_EACH)
        place_in_segment(block);
    else if (numa >= 0)
        place_all(block, numa);
    if (watch != NULL)
        watch->take(watch->context, sim->running->number, number, block->bytes,
                    sim->running->spot.site);
    return (sb_sim_memory_t){number, block->base};
}

static void drop(sb_memory_block_t *block)
{
    block->dead = true;
    if (is_large(block))
        madvise(block->base, block->bytes, MADV_DONTNEED);
    free_block(block);
}

/* Nobody spins on a line of memory that is given back, unless the program is wrong. */
static void refuse_spinners(const sb_memory_block_t *block, uint32_t number)
{
    for (uint64_t page = 0; page < block->bytes / SB_SIM_PAGE; page++) {
        const char *lines = block->pages[page].lines;
        for (unsigned i = 0; lines != NULL && i < SB_SIM_PAGE_LINES; i++) {
            const sb_line_t *line = (const void *)(lines + (size_t)i * sb_sim->line_bytes);
            if (line->waiting != NOBODY)
                sb_sim_stop("rank %u gives back block %u, on which rank %u waits",
                            sb_sim->running->number, number, line->waiting);
        }
    }
}

void sb_sim_give(uint32_t block)
{
    sb_sim_t *sim = sb_sim;
    const sb_sim_watch_t *watch = sim->options.watch;

    if (watch != NULL) {
        watch->give(watch->context, sim->running->number, block, sim->running->spot.site);
        sb_sim_check_failed();
    }
    refuse_spinners(&sim->block[block], block);
    drop(&sim->block[block]);
}

sb_sim_memory_t sb_sim_buffer(uint64_t bytes)
{
    uint32_t number = new_block(bytes, false);

    return (sb_sim_memory_t){number, sb_sim->block[number].base};
}

void sb_sim_buffer_free(uint32_t block)
{
    drop(&sb_sim->block[block]);
}

void sb_sim_buffer_cool(uint32_t block)
{
    const sb_memory_block_t *cooled = &sb_sim->block[block];

    for (uint64_t i = 0; i < cooled->bytes / SB_SIM_PAGE; i++) {
        cooled->pages[i].held = 0;
        cooled->pages[i].stamp_core = cooled->pages[i].stamp_group = 0;
    }
}

bool sb_sim_is_view(const void *address)
{
    return (uintptr_t)address - (uintptr_t)sb_sim_range.base - SB_SIM_VIEW < sb_sim_range.used;
}

char *sb_sim_address(uint32_t block)
{
    return sb_sim->block[block].base;
}

void sb_sim_refuse_dead(const sb_memory_block_t *block, uint32_t number)
{
    const sb_rank_t *self = sb_sim->running;

    sb_sim_stop("rank %u uses block %u of rank %u, which was given back (%s:%d)", self->number,
                number, block->owner, self->spot.site == NULL ? "?" : self->spot.site->file,
                self->spot.site == NULL ? 0 : self->spot.site->line);
}

bool sb_sim_locate(const void *address, uint32_t *block, uint64_t *offset)
{
    const sb_page_t *page = sb_sim_page_of(address);

    if (page == NULL)
        return false;
    *block = page->block;
    *offset = sb_sim_offset_of(page, address);
    return true;
}

int sb_sim_numa_of(const void *address)
{
    const sb_page_t *page = sb_sim_page_of(address);

    if (page == NULL || sb_sim->block[page->block].dead)
        return -1;
    return page->numa == NO_NUMA ? -1 : page->numa;
}

/* Places the page at `offset`, and those that the kernel maps with it. */
void sb_sim_place_pages(sb_memory_block_t *block, uint64_t offset, const sb_rank_t *rank)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    uint64_t unit = machine->page_bytes;

    if (block->shared && machine->readahead_pages > 1)
        unit *= machine->readahead_pages;
    uint64_t begin = offset / unit * unit;
    for (uint64_t at = begin; at < begin + unit && at < block->bytes; at += SB_SIM_PAGE) {
        sb_page_t *page = &block->pages[at / SB_SIM_PAGE];
        if (page->numa == NO_NUMA)
            page->numa = (uint8_t)machine->core[rank->core].unit[SB_NEAR_NUMA];
    }
}

void sb_sim_make_lines(sb_page_t *page)
{
    size_t each = sb_sim->line_bytes, bytes = SB_SIM_PAGE_LINES * each;

    page->lines = aligned_alloc(SB_LINE, bytes);
    if (page->lines == NULL)
        no_memory();
    memset(page->lines, 0, bytes);
    for (unsigned i = 0; i < SB_SIM_PAGE_LINES; i++) {
        sb_line_t *line = (sb_line_t *)(void *)(page->lines + i * each);
        line->owner = line->waiting = NOBODY;
    }
}

void *sb_sim_process_state(const void *start, size_t bytes)
{
    sb_rank_t *self = sb_sim->running;

    for (sb_own_state_t *own = self->own; own != NULL; own = own->next) {
        if (own->key == start)
            return own->state;
    }
    sb_own_state_t *own = malloc(sizeof *own);
    void *state = malloc(bytes);
    if (own == NULL || state == NULL)
        no_memory();
    memcpy(state, start, bytes);
    *own = (sb_own_state_t){start, state, self->own};
    self->own = own;
    return state;
}
