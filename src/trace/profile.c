/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sums of a profile. A cell is found by the hash of what its calls have in common; the memory
 * for cells is bounded, and what comes when it is full is summed by operation alone.
 *
 * Waiting is told from the entry times of one call on all of its ranks. So that memory stays
 * bounded too, times are kept of the first calls of each communicator, and of ever fewer of the
 * later ones: of those up to twice as many, each time half. Which ones follows from the call's
 * number alone, as all ranks must keep the same, and irregularly, as programs repeat themselves.
 */
#include "trace/trace.h"

#include "base/log.h"
#include "base/pages.h"
#include "trace/clock.h"

#include <pthread.h>

enum { PLACES = 1 << 16, CELLS = PLACES / 2, CELLS_TOUCHED = 1 << 9, ALL_KEPT_LOG2 = 9 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool sb_trace_begin_sums(void)
{
    size_t cells = CELLS * sizeof(sb_trace_cell_t), places = PLACES * sizeof(uint16_t);
    void *memory = sb_pages_take(cells + places);

    if (memory == NULL) {
        sb_log("SOBOR_PROFILE: no memory for %zu bytes; calls are not recorded", cells + places);
        return false;
    }
    sb_trace_self.cells = memory;
    sb_trace_self.cell_at = (uint16_t *)(void *)((char *)memory + cells);
    sb_trace_touch(memory, CELLS_TOUCHED * sizeof(sb_trace_cell_t));
    sb_trace_touch(sb_trace_self.cell_at, places);
    return true;
}

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    return value ^ value >> 31;
}

bool sb_trace_samples(uint64_t number)
{
    uint64_t beyond = number >> ALL_KEPT_LOG2;
    int halvings = beyond == 0 ? 0 : 64 - __builtin_clzll(beyond);

    return (mixed(number) & ((UINT64_C(1) << halvings) - 1)) == 0;
}

static sb_trace_cell_t cell_of(const sb_trace_record_t *record)
{
    return (sb_trace_cell_t){
        .comm = record->comm,
        .collective = record->collective,
        .size = (uint8_t)(record->bytes == 0 ? 0 : 64 - __builtin_clzll(record->bytes)),
        .served = record->algorithm != 0,
    };
}

static bool is_alike(const sb_trace_cell_t *cell, const sb_trace_cell_t *other)
{
    return cell->comm == other->comm && cell->collective == other->collective &&
           cell->size == other->size && cell->served == other->served;
}

/* The cell like this one, which is made if there is room; NULL: there is none. */
static sb_trace_cell_t *find(const sb_trace_cell_t *like)
{
    sb_trace_t *trace = &sb_trace_self;
    uint64_t key = (uint64_t)like->comm << 24 | (uint64_t)like->collective << 16 |
                   (uint64_t)like->size << 8 | like->served;
    size_t place = mixed(mixed(key + 1)) % PLACES;

    for (; trace->cell_at[place] != 0; place = (place + 1) % PLACES) {
        sb_trace_cell_t *cell = &trace->cells[trace->cell_at[place] - 1];
        if (is_alike(cell, like))
            return cell;
    }
    /* The last are for what has only the operation in common. */
    if (trace->header.cells >= CELLS - (like->comm == 0 ? 0 : 2 * SB_COLLECTIVES))
        return NULL;
    trace->cell_at[place] = (uint16_t)(trace->header.cells + 1);
    trace->cells[trace->header.cells] = *like;
    return &trace->cells[trace->header.cells++];
}

/* As above; where there is no more room, the one that has only the operation in common. */
static sb_trace_cell_t *find_or_share(const sb_trace_cell_t *like)
{
    sb_trace_cell_t shared = {.collective = like->collective, .served = like->served};
    sb_trace_cell_t *cell = find(like);

    return cell != NULL ? cell : find(&shared);
}

uint64_t sb_trace_sum(const sb_trace_record_t *record)
{
    bool is_shared = sb_trace_self.is_shared;
    sb_trace_cell_t like = cell_of(record);

    if (is_shared)
        pthread_mutex_lock(&lock);
    sb_trace_cell_t *cell = sb_trace_last[like.collective].cell;
    if (SB_UNLIKELY(cell == NULL || !is_alike(cell, &like)))
        cell = sb_trace_last[like.collective].cell = find_or_share(&like);
    /* What comes where there is no room at all is lost here. */
    sb_trace_cell_t lost = {.calls = 0}, *to = cell != NULL ? cell : &lost;
    to->calls++;
    to->bytes += record->bytes;
    uint64_t left = sb_trace_left();
    to->time += left - record->entered;
    if (is_shared)
        pthread_mutex_unlock(&lock);
    return left;
}
