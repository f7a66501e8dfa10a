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
#define CLEAR_BY_HAND ((size_t)64 << 10)

/* The range outlives a simulation: there is one at a time. */
static struct {
    char *base;
    size_t open; /* bytes that may be used */
    size_t used;
    uint32_t *block_of_page;
    size_t pages;
} range;

static bool open_range(size_t bytes)
{
    if (range.base == NULL) {
        char *base = mmap(NULL, 2 * RANGE_BYTES, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return false;
        range.base = base;
    }
    if (bytes <= range.open)
        return true;
    size_t open = (bytes + GROW_BYTES - 1) / GROW_BYTES * GROW_BYTES;
    if (open > RANGE_BYTES || mprotect(range.base, open, PROT_READ | PROT_WRITE) != 0)
        return false;
    uint32_t *pages = realloc(range.block_of_page, open / SB_SIM_PAGE * sizeof *pages);
    if (pages == NULL)
        return false;
    range.block_of_page = pages;
    range.pages = open / SB_SIM_PAGE;
    range.open = open;
    return true;
}

static void free_block(sb_memory_block_t *block)
{
    uint64_t pages = block->bytes / SB_SIM_PAGE;

    for (uint64_t i = 0; block->pages != NULL && i < pages; i++)
        free(block->pages[i]);
    free(block->pages);
    free(block->own);
    free(block->numa);
    free(block->file);
    block->file = NULL;
    block->pages = NULL;
    block->own = NULL;
    block->numa = NULL;
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
    range.used = 0;
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
    if (sim->block != NULL)
        munmap(sim->block, BLOCKS_MOST * sizeof *sim->block);
    free(sim->records);
}

_Noreturn static void no_memory(void)
{
    sb_sim_stop("the simulator is out of memory");
}

/* Blocks stay where they are: ranks hold on to one while others take more. */
static bool reserve_blocks(sb_sim_t *sim)
{
    void *room = mmap(NULL, BLOCKS_MOST * sizeof *sim->block, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    sim->block = room == MAP_FAILED ? NULL : room;
    return sim->block != NULL;
}

static uint32_t new_block(uint64_t bytes, bool shared)
{
    sb_sim_t *sim = sb_sim;
    const sb_rank_t *self = sim->running;

    bytes = sb_round_up(bytes == 0 ? 1 : bytes, SB_SIM_PAGE);
    if (!open_range(range.used + bytes))
        no_memory();
    if (sim->block == NULL && !reserve_blocks(sim))
        no_memory();
    if (sim->blocks == BLOCKS_MOST)
        sb_sim_stop("more than %u blocks of memory in one run", BLOCKS_MOST);
    sb_memory_block_t *block = &sim->block[sim->blocks];
    *block = (sb_memory_block_t){.base = range.base + range.used,
                                 .bytes = bytes,
                                 .owner = self->number,
                                 .node = self->node,
                                 .shared = shared};
    uint64_t pages = bytes / SB_SIM_PAGE;
    block->numa = malloc(pages);
    if (shared)
        block->pages = calloc(pages, sizeof *block->pages);
    else
        block->own = calloc(pages, sizeof *block->own);
    if (block->numa == NULL || (block->pages == NULL && block->own == NULL))
        no_memory();
    memset(block->numa, NO_NUMA, pages);
    for (uint64_t i = 0; i < pages; i++)
        range.block_of_page[range.used / SB_SIM_PAGE + i] = sim->blocks;
    range.used += bytes;
    return sim->blocks++;
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
        block->numa[page] = sim->ahead_numa;
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
        memset(block->numa, numa, block->bytes / SB_SIM_PAGE);
    if (watch != NULL)
        watch->take(watch->context, sim->running->number, number, block->bytes, sim->running->site);
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
        for (unsigned i = 0; block->pages[page] != NULL && i < SB_SIM_PAGE_LINES; i++) {
            if (block->pages[page]->line[i].waiting != NOBODY)
                sb_sim_stop("rank %u gives back block %u, on which rank %u waits",
                            sb_sim->running->number, number, block->pages[page]->line[i].waiting);
        }
    }
}

void sb_sim_give(uint32_t block)
{
    sb_sim_t *sim = sb_sim;
    const sb_sim_watch_t *watch = sim->options.watch;

    if (watch != NULL) {
        watch->give(watch->context, sim->running->number, block, sim->running->site);
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
    sb_memory_block_t *cooled = &sb_sim->block[block];

    memset(cooled->own, 0, cooled->bytes / SB_SIM_PAGE * sizeof *cooled->own);
}

bool sb_sim_is_view(const void *address)
{
    return (uintptr_t)address - (uintptr_t)range.base - SB_SIM_VIEW < range.used;
}

char *sb_sim_address(uint32_t block)
{
    return sb_sim->block[block].base;
}

sb_memory_block_t *sb_sim_find(const void *address, uint32_t *number, uint64_t *offset)
{
    uintptr_t at = (uintptr_t)address - (uintptr_t)range.base;

    if (at >= range.used)
        return NULL;
    *number = range.block_of_page[at / SB_SIM_PAGE];
    sb_memory_block_t *block = &sb_sim->block[*number];
    *offset = (uint64_t)((const char *)address - block->base);
    if (SB_UNLIKELY(block->dead) && sb_sim->options.watch == NULL) {
        const sb_rank_t *self = sb_sim->running;
        sb_sim_stop("rank %u uses block %u of rank %u, which was given back (%s:%d)", self->number,
                    *number, block->owner, self->site == NULL ? "?" : self->site->file,
                    self->site == NULL ? 0 : self->site->line);
    }
    return block;
}

bool sb_sim_locate(const void *address, uint32_t *block, uint64_t *offset)
{
    uintptr_t at = (uintptr_t)address - (uintptr_t)range.base;

    if (at >= range.used)
        return false;
    *block = range.block_of_page[at / SB_SIM_PAGE];
    *offset = (uint64_t)((const char *)address - sb_sim->block[*block].base);
    return true;
}

int sb_sim_numa_of(const void *address)
{
    uint32_t number;
    uint64_t offset;

    if (!sb_sim_locate(address, &number, &offset) || sb_sim->block[number].dead)
        return -1;
    uint8_t numa = sb_sim->block[number].numa[offset / SB_SIM_PAGE];
    return numa == NO_NUMA ? -1 : numa;
}

/* The first touch of a page places it, and those that the kernel maps with it. */
void sb_sim_touch(sb_memory_block_t *block, uint64_t offset, const sb_rank_t *rank)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;

    if (SB_LIKELY(block->numa[offset / SB_SIM_PAGE] != NO_NUMA))
        return;
    uint64_t unit = machine->page_bytes;
    if (block->shared && machine->readahead_pages > 1)
        unit *= machine->readahead_pages;
    uint64_t begin = offset / unit * unit;
    for (uint64_t at = begin; at < begin + unit && at < block->bytes; at += SB_SIM_PAGE) {
        if (block->numa[at / SB_SIM_PAGE] == NO_NUMA)
            block->numa[at / SB_SIM_PAGE] = (uint8_t)machine->core[rank->core].unit[SB_NEAR_NUMA];
    }
}

static sb_page_t *new_page(void)
{
    size_t words = sb_sim->words + sb_lines_queues();
    sb_page_t *page = calloc(1, sizeof *page + SB_SIM_PAGE_LINES * words * sizeof(uint64_t));

    if (page == NULL)
        no_memory();
    for (unsigned i = 0; i < SB_SIM_PAGE_LINES; i++)
        page->line[i].owner = page->line[i].waiting = NOBODY;
    return page;
}

bool sb_sim_line(sb_memory_block_t *block, uint64_t offset, sb_line_place_t *place)
{
    if (!block->shared || block->dead)
        return false;
    sb_sim_touch(block, offset, sb_sim->running);
    sb_page_t **page = &block->pages[offset / SB_SIM_PAGE];
    if (*page == NULL)
        *page = new_page();
    uint64_t index = offset % SB_SIM_PAGE / SB_LINE;
    uint32_t queues = sb_lines_queues();
    uint64_t *served = &(*page)->holders[(uint64_t)SB_SIM_PAGE_LINES * sb_sim->words];
    *place = (sb_line_place_t){.block = block,
                               .line = &(*page)->line[index],
                               .holders = &(*page)->holders[index * sb_sim->words],
                               .served = queues == 0 ? NULL : &served[index * queues],
                               .numa = block->numa[offset / SB_SIM_PAGE]};
    return true;
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
