/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/arena.h"

#include "base/config.h"
#include "base/log.h"
#include "segment/huge.h"
#include "segment/limits.h"
#include "topology/topology.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first region; each further one adds a quarter to what there is, up to the bound. */
#define FIRST_REGION ((size_t)512 << 10)
#define REGIONS_MOST 64

typedef struct owned {
    sb_region_t region;
    sb_extents_t free_space;
    size_t blocks;   /* taken of it */
    size_t settling; /* of these: other threads may be setting up others */
    size_t new_from; /* nothing behind this was ever taken: it is zero, as the kernel gave it */
    bool fresh;      /* made for the occasion: goes with its last block */
} owned_t;

static struct {
    pthread_mutex_t lock;
    owned_t *owned[REGIONS_MOST];
    size_t owned_count;
    size_t owned_bytes;
    size_t taken_bytes;
    bool swept;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Half of what is left must hold this region once for each sharer, and what earlier ones miss. */
static sb_status_t check_limits(size_t bytes, size_t sharers, sb_reason_t *reason)
{
    sb_limits_t limits;

    sb_limits_read("", &limits);
    uint64_t available = sb_limits_available(&limits);
    size_t missing = 0;
    for (size_t i = 0; i < arena.owned_count; i++)
        missing += sb_region_missing(&arena.owned[i]->region);
    if (available / 2 / sharers >= bytes + missing)
        return SB_OK;
    return sb_region_fail(
        reason, SB_ERR_MEMORY,
        "%zu ranks need %zu KiB each, but the control group or machine has %llu KiB left", sharers,
        bytes >> 10, (unsigned long long)available >> 10);
}

/* How large the next region is to be, for a block of `bytes`; 0 if the bound forbids it. */
static size_t next_region_bytes(size_t bytes)
{
    size_t page = page_bytes(), need = sb_round_up(bytes + SB_REGION_HEADER, page);
    size_t most = sb_arena_bound() / page * page;
    size_t left = sb_max(most, arena.owned_bytes) - arena.owned_bytes;
    size_t wish = sb_round_up(sb_max(FIRST_REGION, arena.owned_bytes / 4), page);

    if (need > left || arena.owned_count == REGIONS_MOST)
        return 0;
    return sb_min(sb_max(need, wish), left);
}

static sb_region_kind_t next_region_kind(sb_arena_source_t source)
{
    bool named = source == SB_ARENA_FRESH_NAMED || sb_config()->segment.number == SB_SEGMENT_NAMED;

    return named ? SB_REGION_NAMED : SB_REGION_MEMFD;
}

/* Pages that are not on the node, of all that are anywhere. False: nobody can say. */
static bool count_pages(const sb_region_t *region, int node, size_t *wrong, size_t *all)
{
    size_t nodes = sb_topology_numa_nodes(), elsewhere;
    size_t *counts = calloc(nodes, sizeof *counts);
    bool known = counts != NULL && sb_topology_pages(region->base, region->key.bytes, counts, nodes,
                                                     &elsewhere) == SB_OK;

    *wrong = *all = 0;
    for (size_t i = 0; known && i < nodes; i++) {
        *all += counts[i];
        *wrong += i == (size_t)node ? 0 : counts[i];
    }
    free(counts);
    return known;
}

/* Looks where the pages really are, for those who ask, or ask how teams are set up. */
static void verify(const sb_region_t *region, int node)
{
    bool asked = sb_config()->placement_check.number != 0;
    size_t wrong, all;

    if (asked && node < 0)
        sb_log("shared memory has no place: its rank may run on several NUMA nodes");
    if ((!asked && sb_config()->verbose.number < 2) || node < 0 ||
        !count_pages(region, node, &wrong, &all))
        return;
    if (wrong > 0)
        sb_log("%zu pages of shared memory are not on NUMA node %d of their rank", wrong, node);
    else if (asked)
        sb_log("all %zu pages of shared memory are on NUMA node %d of their rank", all, node);
}

/* Tells those who ask what became of a region that huge pages would fit. */
static void tell_huge(const sb_region_t *region)
{
    sb_huge_mode_t mode;
    size_t bytes = region->key.bytes;

    if (sb_config()->verbose.number < 2)
        return;
    sb_huge_read("", &mode);
    if (sb_huge_possible(&mode) && bytes >= mode.page)
        sb_log("%zu of %zu KiB of shared memory that are there so far are on huge pages",
               sb_huge_mapped(region->base, bytes) >> 10,
               (bytes - sb_region_missing(region)) >> 10);
}

static sb_status_t create_region(owned_t *owned, sb_region_kind_t kind, size_t bytes,
                                 sb_reason_t *reason)
{
    sb_place_t here;

    if (kind == SB_REGION_NAMED && !arena.swept) {
        sb_region_sweep();
        arena.swept = true;
    }
    sb_place_self(&here);
    int node = sb_config()->placement.number != 0 ? here.numa_node : 0;
    sb_status_t status = sb_region_create(&owned->region, kind, bytes, node, reason);
    if (status == SB_OK) {
        verify(&owned->region, here.numa_node);
        tell_huge(&owned->region);
    }
    if (status == SB_OK &&
        !sb_extents_init(&owned->free_space, SB_REGION_HEADER, bytes - SB_REGION_HEADER)) {
        sb_region_close(&owned->region);
        status = SB_ERR_MEMORY;
    }
    return status;
}

static sb_status_t grow(size_t bytes, sb_arena_source_t source, size_t sharers, sb_reason_t *reason)
{
    size_t region_bytes = next_region_bytes(bytes);

    if (region_bytes == 0)
        return sb_region_fail(reason, SB_ERR_MEMORY, "SOBOR_MEMORY of %zu KiB is used up",
                              sb_arena_bound() >> 10);
    if (check_limits(region_bytes, sharers, reason) != SB_OK)
        return SB_ERR_MEMORY;
    owned_t *owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return SB_ERR_MEMORY;
    sb_region_kind_t kind = next_region_kind(source);
    sb_status_t status = create_region(owned, kind, region_bytes, reason);
    if (status == SB_ERR_SYSTEM && kind == SB_REGION_MEMFD &&
        sb_config()->segment.number == SB_SEGMENT_AUTO) /* the system forbids memfd */
        status = create_region(owned, SB_REGION_NAMED, region_bytes, reason);
    if (status != SB_OK) {
        free(owned);
        return status;
    }
    owned->fresh = source == SB_ARENA_FRESH_NAMED;
    arena.owned[arena.owned_count++] = owned;
    arena.owned_bytes += region_bytes;
    return SB_OK;
}

static size_t grain(size_t bytes)
{
    return bytes <= SB_ARENA_SMALL ? SB_ARENA_GRAIN : page_bytes();
}

/* Short blocks are touched with what comes behind them. */
#define TOUCHED_TOGETHER ((size_t)64 << 10)

/* Its beginning is touched, cleared where others had it; to clear new memory doubled the time. */
static void open_block(owned_t *owned, sb_block_t *block, size_t near)
{
    size_t begin = block->offset, end = begin + sb_min(near, block->bytes);
    size_t unit = block->bytes <= SB_ARENA_SMALL ? TOUCHED_TOGETHER : 1;

    sb_region_touch(&owned->region, begin, sb_round_up(end, unit));
    if (begin < owned->new_from)
        memset(block->address, 0, sb_min(end, owned->new_from) - begin);
    owned->new_from = sb_max(owned->new_from, begin + block->bytes);
    block->touched = sb_max(owned->region.touched, begin) - begin;
    block->page_ns = sb_region_page_ns();
}

static bool take_from(owned_t *owned, size_t bytes, sb_block_t *block)
{
    if (!sb_extents_take(&owned->free_space, bytes, grain(bytes), &block->offset))
        return false;
    block->region = &owned->region;
    block->bytes = bytes;
    block->address = owned->region.base + block->offset;
    block->settling = true;
    owned->blocks++;
    owned->settling++;
    arena.taken_bytes += bytes;
    return true;
}

static bool take_from_kind(bool fresh, size_t bytes, sb_block_t *block)
{
    for (size_t i = 0; i < arena.owned_count; i++) {
        if (arena.owned[i]->fresh == fresh && take_from(arena.owned[i], bytes, block))
            return true;
    }
    return false;
}

/*
 * Where regions were made for the occasion, peers cannot open the others: such as ranks in user
 * namespaces of their own. Those who have such a one mapped need no name for what else is in it, as
 * all further communicators of the same ranks.
 */
static sb_status_t take_locked(sb_block_t *block, size_t bytes, sb_arena_source_t source,
                               size_t sharers, sb_reason_t *reason)
{
    if (source == SB_ARENA_ANY &&
        (take_from_kind(true, bytes, block) || take_from_kind(false, bytes, block)))
        return SB_OK;
    sb_status_t status = grow(bytes, source, sharers, reason);
    if (status != SB_OK)
        return status;
    return take_from(arena.owned[arena.owned_count - 1], bytes, block) ? SB_OK : SB_ERR_MEMORY;
}

static owned_t *owner_of(const sb_block_t *block)
{
    return (owned_t *)((char *)block->region - offsetof(owned_t, region));
}

sb_status_t sb_arena_take_near(sb_block_t *block, size_t bytes, size_t near,
                               sb_arena_source_t source, size_t sharers, sb_reason_t *reason)
{
    *block = (sb_block_t){0};
    if (sb_config()->segment.number == SB_SEGMENT_OFF)
        return sb_region_fail(reason, SB_ERR_MEMORY, "SOBOR_SEGMENT=off");
    sb_region_fail(reason, SB_ERR_MEMORY, "private memory exhausted");
    pthread_mutex_lock(&arena.lock);
    sb_status_t status =
        take_locked(block, sb_round_up(bytes, grain(bytes)), source, sharers, reason);
    if (status == SB_OK)
        open_block(owner_of(block), block, near);
    pthread_mutex_unlock(&arena.lock);
    return status;
}

sb_status_t sb_arena_take(sb_block_t *block, size_t bytes, sb_arena_source_t source, size_t sharers,
                          sb_reason_t *reason)
{
    return sb_arena_take_near(block, bytes, SIZE_MAX, source, sharers, reason);
}

bool sb_arena_pages_cost(void)
{
    return true;
}

void sb_arena_touch(sb_block_t *block, size_t from, size_t to)
{
    pthread_mutex_lock(&arena.lock);
    sb_region_touch(&owner_of(block)->region, block->offset + from, block->offset + to);
    block->page_ns = sb_region_page_ns();
    pthread_mutex_unlock(&arena.lock);
}

static void settle_locked(sb_block_t *block)
{
    owned_t *owned = owner_of(block);

    if (block->settling && --owned->settling == 0)
        sb_region_unlink(&owned->region);
    block->settling = false;
}

void sb_arena_settle(sb_block_t *block)
{
    if (block->region == NULL)
        return;
    pthread_mutex_lock(&arena.lock);
    settle_locked(block);
    pthread_mutex_unlock(&arena.lock);
}

static void drop_region(owned_t *owned)
{
    size_t i = 0;

    while (arena.owned[i] != owned)
        i++;
    arena.owned[i] = arena.owned[--arena.owned_count];
    arena.owned_bytes -= owned->region.key.bytes;
    free(owned->free_space.list);
    sb_region_end(&owned->region);
    sb_region_close(&owned->region);
    free(owned);
}

void sb_arena_give(sb_block_t *block)
{
    if (block->region == NULL)
        return;
    pthread_mutex_lock(&arena.lock);
    owned_t *owned = owner_of(block);
    settle_locked(block);
    if (sb_extents_give(&owned->free_space, block->offset, block->bytes))
        arena.taken_bytes -= block->bytes;
    /* Whoever comes needs one that is fresh again: its name is gone. */
    if (--owned->blocks == 0 && owned->fresh)
        drop_region(owned);
    pthread_mutex_unlock(&arena.lock);
    *block = (sb_block_t){0};
}

void sb_arena_depart(void)
{
    pthread_mutex_lock(&arena.lock);
    for (size_t i = 0; i < arena.owned_count; i++)
        sb_region_depart(&arena.owned[i]->region);
    pthread_mutex_unlock(&arena.lock);
}

void sb_arena_usage(sb_arena_usage_t *usage)
{
    pthread_mutex_lock(&arena.lock);
    *usage = (sb_arena_usage_t){sb_arena_bound(), arena.owned_bytes, arena.taken_bytes,
                                arena.owned_count, sb_arena_attached()};
    pthread_mutex_unlock(&arena.lock);
}

const sb_region_t *sb_arena_region(size_t index)
{
    pthread_mutex_lock(&arena.lock);
    const sb_region_t *region = index < arena.owned_count ? &arena.owned[index]->region : NULL;
    pthread_mutex_unlock(&arena.lock);
    return region;
}
