/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Plain bytes are looked up by pages of so many; an interval does not cross a page. */
#define PAGE 256u
#define NOTHING UINT32_MAX

/* Bytes of a page with the same past. */
typedef struct interval {
    uint32_t begin; /* in the page */
    uint32_t end;
    uint32_t next;  /* the interval that follows; NOTHING: none */
    uint32_t reads; /* number of the reads since the write; NOTHING: none */
    sb_stamp_t write;
} interval_t;

typedef struct page {
    uint32_t run; /* the page is empty unless this is the present run */
    uint32_t first;
} page_t;

typedef struct block {
    uint64_t bytes; /* 0: not there */
    bool given;
    sb_stamp_t taken; /* zeroed by its owner */
    sb_stamp_t gone;
    page_t *pages;
    uint64_t page_count;
} block_t;

struct sb_check {
    uint32_t ranks;
    uint32_t run;
    sb_history_t *history;
    block_t *blocks;
    uint32_t block_count;
    interval_t *intervals;
    uint32_t interval_count;
    uint32_t interval_capacity;
    sb_stamp_t *reads; /* ranks stamps for each number */
    uint32_t read_count;
    uint32_t read_capacity;
    sb_violation_t violation;
};

/* The access that is being checked. */
typedef struct access {
    uint32_t rank;
    sb_where_t where;
    uint64_t bytes;
    const sb_site_t *site;
    bool writes;
} access_t;

static void *grown(void *memory, size_t bytes)
{
    void *more = realloc(memory, bytes);

    /* The checker of a test tool has nothing to fall back to. */
    if (more == NULL)
        abort();
    return more;
}

sb_check_t *sb_check_new(uint32_t ranks)
{
    sb_check_t *check = calloc(1, sizeof *check);

    if (check == NULL)
        return NULL;
    check->ranks = ranks;
    check->history = sb_history_new(ranks);
    if (check->history != NULL)
        return check;
    sb_check_free(check);
    return NULL;
}

void sb_check_free(sb_check_t *check)
{
    if (check == NULL)
        return;
    sb_history_free(check->history);
    for (uint32_t i = 0; i < check->block_count; i++)
        free(check->blocks[i].pages);
    free(check->blocks);
    free(check->intervals);
    free(check->reads);
    free(check);
}

void sb_check_begin(sb_check_t *check, sb_choose_value_t *choose, void *context)
{
    sb_history_begin(check->history, choose, context);
    check->run++;
    check->interval_count = check->read_count = 0;
    check->violation.kind = SB_VIOLATION_NONE;
    for (uint32_t i = 0; i < check->block_count; i++)
        check->blocks[i].bytes = 0;
}

static sb_stamp_t stamp(const sb_check_t *check, uint32_t rank, const sb_site_t *site)
{
    return (sb_stamp_t){rank, sb_history_epoch(check->history, rank), site};
}

/* Keeps the first violation. */
static void report(sb_check_t *check, sb_violation_kind_t kind, const char *first_did,
                   const sb_stamp_t *first, const char *second_does, const access_t *access)
{
    if (check->violation.kind != SB_VIOLATION_NONE)
        return;
    check->violation = (sb_violation_t){
        .kind = kind,
        .first_did = first_did,
        .second_does = second_does,
        .first = *first,
        .second = stamp(check, access->rank, access->site),
        .where = access->where,
        .bytes = access->bytes,
    };
}

static bool before(const sb_check_t *check, const sb_stamp_t *stamp, uint32_t rank)
{
    return sb_history_before(check->history, stamp, rank);
}

static void make_blocks(sb_check_t *check, uint32_t block)
{
    if (block < check->block_count)
        return;
    uint32_t count = block + block / 2 + 16;
    check->blocks = grown(check->blocks, count * sizeof *check->blocks);
    memset(check->blocks + check->block_count, 0,
           (count - check->block_count) * sizeof *check->blocks);
    check->block_count = count;
}

void sb_check_take(sb_check_t *check, uint32_t rank, uint32_t block, uint64_t bytes,
                   const sb_site_t *site)
{
    uint64_t pages = (bytes + PAGE - 1) / PAGE;

    make_blocks(check, block);
    sb_history_block(check->history, block, bytes);
    block_t *taken = &check->blocks[block];
    if (taken->page_count < pages) {
        taken->pages = grown(taken->pages, pages * sizeof *taken->pages);
        memset(taken->pages + taken->page_count, 0,
               (pages - taken->page_count) * sizeof *taken->pages);
        taken->page_count = pages;
    }
    taken->bytes = bytes;
    taken->given = false;
    taken->taken = stamp(check, rank, site);
}

/* The block of an access that may be made; NULL after reporting one that may not. */
static block_t *usable_block(sb_check_t *check, const access_t *access, const char *does)
{
    static const sb_stamp_t never = {0};
    sb_where_t where = access->where;

    if (SB_UNLIKELY(where.block >= check->block_count || check->blocks[where.block].bytes == 0 ||
                    where.offset + access->bytes > check->blocks[where.block].bytes)) {
        report(check, SB_VIOLATION_BOUNDS, "", &never, does, access);
        return NULL;
    }
    block_t *block = &check->blocks[where.block];
    if (SB_UNLIKELY(block->given)) {
        report(check, SB_VIOLATION_DEAD, "gave back", &block->gone, does, access);
        return NULL;
    }
    if (SB_UNLIKELY(!before(check, &block->taken, access->rank)))
        report(check, SB_VIOLATION_RACE, "zeroed", &block->taken, does, access);
    return block;
}

static uint32_t new_interval(sb_check_t *check, const interval_t *like)
{
    if (check->interval_count == check->interval_capacity) {
        check->interval_capacity = check->interval_capacity * 2 + 256;
        check->intervals =
            grown(check->intervals, check->interval_capacity * sizeof *check->intervals);
    }
    check->intervals[check->interval_count] = *like;
    return check->interval_count++;
}

/* A new array of reads: a copy of `like`, or empty. */
static uint32_t new_reads(sb_check_t *check, uint32_t like)
{
    size_t bytes = check->ranks * sizeof *check->reads;

    if (check->read_count == check->read_capacity) {
        check->read_capacity = check->read_capacity * 2 + 64;
        check->reads = grown(check->reads, check->read_capacity * bytes);
    }
    sb_stamp_t *made = check->reads + (size_t)check->read_count * check->ranks;
    if (like == NOTHING)
        memset(made, 0, bytes);
    else
        memcpy(made, check->reads + (size_t)like * check->ranks, bytes);
    return check->read_count++;
}

/* Makes an interval begin at `at`, inside of interval `number`. */
static void split(sb_check_t *check, uint32_t number, uint32_t at)
{
    interval_t rest = check->intervals[number];

    rest.begin = at;
    if (rest.reads != NOTHING)
        rest.reads = new_reads(check, rest.reads);
    uint32_t made = new_interval(check, &rest);
    check->intervals[number].end = at;
    check->intervals[number].next = made;
}

static page_t *fresh_page(sb_check_t *check, block_t *block, uint64_t number)
{
    page_t *page = &block->pages[number];

    if (page->run == check->run)
        return page;
    page->run = check->run;
    page->first = new_interval(
        check,
        &(interval_t){.end = PAGE, .next = NOTHING, .reads = NOTHING, .write = block->taken});
    return page;
}

/* The first interval of the page that begins at `begin`, split off if need be; some interval ends
 * at `end`. */
static uint32_t cut(sb_check_t *check, const page_t *page, uint32_t begin, uint32_t end)
{
    uint32_t number = page->first;

    while (check->intervals[number].end <= begin)
        number = check->intervals[number].next;
    if (check->intervals[number].begin < begin) {
        split(check, number, begin);
        number = check->intervals[number].next;
    }
    uint32_t last = number;
    while (check->intervals[last].end < end)
        last = check->intervals[last].next;
    if (check->intervals[last].end > end)
        split(check, last, end);
    return number;
}

static void check_reads(sb_check_t *check, const interval_t *interval, const access_t *access,
                        sb_violation_kind_t kind, const char *does)
{
    const sb_stamp_t *reads = check->reads + (size_t)interval->reads * check->ranks;

    for (uint32_t rank = 0; interval->reads != NOTHING && rank < check->ranks; rank++) {
        if (SB_UNLIKELY(!before(check, &reads[rank], access->rank)))
            report(check, kind, "read", &reads[rank], does, access);
    }
}

static void read_interval(sb_check_t *check, uint32_t number, const access_t *access)
{
    interval_t *interval = &check->intervals[number];

    if (SB_UNLIKELY(!before(check, &interval->write, access->rank)))
        report(check, SB_VIOLATION_RACE, "wrote", &interval->write, "reads", access);
    if (interval->reads == NOTHING)
        interval->reads = new_reads(check, NOTHING);
    check->reads[(size_t)interval->reads * check->ranks + access->rank] =
        stamp(check, access->rank, access->site);
}

/* The intervals from `number` up to `end` become one, written by this access. */
static void write_intervals(sb_check_t *check, uint32_t number, uint32_t end,
                            const access_t *access)
{
    interval_t *first = &check->intervals[number];
    uint32_t at = number;

    for (;;) {
        const interval_t *interval = &check->intervals[at];
        if (SB_UNLIKELY(!before(check, &interval->write, access->rank)))
            report(check, SB_VIOLATION_RACE, "wrote", &interval->write, "writes", access);
        check_reads(check, interval, access, SB_VIOLATION_RACE, "writes");
        if (interval->end == end)
            break;
        at = interval->next;
    }
    first->next = check->intervals[at].next;
    first->end = end;
    if (first->reads != NOTHING)
        memset(check->reads + (size_t)first->reads * check->ranks, 0,
               check->ranks * sizeof *check->reads);
    first->write = stamp(check, access->rank, access->site);
}

static void look_at_page(sb_check_t *check, const page_t *page, uint32_t begin, uint32_t end,
                         const access_t *access)
{
    uint32_t number = cut(check, page, begin, end);

    if (access->writes) {
        write_intervals(check, number, end, access);
        return;
    }
    for (; number != NOTHING && check->intervals[number].begin < end;
         number = check->intervals[number].next)
        read_interval(check, number, access);
}

static void plain(sb_check_t *check, const access_t *access)
{
    block_t *block = access->bytes == 0
                         ? NULL
                         : usable_block(check, access, access->writes ? "writes" : "reads");

    if (block == NULL)
        return;
    uint64_t end = access->where.offset + access->bytes;
    for (uint64_t at = access->where.offset; at < end;) {
        uint64_t number = at / PAGE, stop = sb_min(end, (number + 1) * PAGE);
        page_t *page = fresh_page(check, block, number);
        look_at_page(check, page, (uint32_t)(at % PAGE), (uint32_t)(stop - number * PAGE), access);
        at = stop;
    }
}

void sb_check_read(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t bytes,
                   const sb_site_t *site)
{
    plain(check, &(access_t){rank, where, bytes, site, false});
}

void sb_check_write(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t bytes,
                    const sb_site_t *site)
{
    plain(check, &(access_t){rank, where, bytes, site, true});
}

typedef struct giving {
    sb_check_t *check;
    access_t access;
} giving_t;

static bool word_is_done_with(void *context, sb_where_t where, const sb_stamp_t *last)
{
    giving_t *giving = context;

    if (before(giving->check, last, giving->access.rank))
        return true;
    giving->access.where = where;
    giving->access.bytes = 4;
    report(giving->check, SB_VIOLATION_DEAD, "used", last, "gives back", &giving->access);
    return false;
}

/* All that was done to the block must have happened before its end. */
static void check_last_uses(sb_check_t *check, block_t *block, access_t *access)
{
    for (uint64_t number = 0; number * PAGE < block->bytes; number++) {
        if (block->pages[number].run != check->run)
            continue;
        for (uint32_t i = block->pages[number].first; i != NOTHING; i = check->intervals[i].next) {
            const interval_t *interval = &check->intervals[i];
            access->where.offset = number * PAGE + interval->begin;
            access->bytes = interval->end - interval->begin;
            if (!before(check, &interval->write, access->rank))
                report(check, SB_VIOLATION_DEAD, "wrote", &interval->write, "gives back", access);
            check_reads(check, interval, access, SB_VIOLATION_DEAD, "gives back");
        }
    }
}

void sb_check_give(sb_check_t *check, uint32_t rank, uint32_t number, const sb_site_t *site)
{
    giving_t giving = {check, {rank, {number, 0}, 0, site, true}};
    block_t *block = usable_block(check, &giving.access, "gives back");

    if (block == NULL)
        return;
    check_last_uses(check, block, &giving.access);
    sb_history_visit(check->history, number, word_is_done_with, &giving);
    block->given = true;
    block->gone = stamp(check, rank, site);
}

uint64_t sb_check_load(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t now,
                       memory_order order, const sb_site_t *site)
{
    access_t access = {rank, where, 4, site, false};

    if (usable_block(check, &access, "reads") == NULL)
        return now;
    return sb_history_load(check->history, rank, where, now, order, site);
}

/* One writer at a time, and a number that grows; the same number again is no news to anybody. */
static void check_writer(sb_check_t *check, const access_t *access, uint64_t now, uint64_t value)
{
    sb_stamp_t last = sb_history_last_store(check->history, access->where);
    bool ordered = before(check, &last, access->rank);
    bool grows = value > now || (value == now && (last.epoch == 0 || last.rank == access->rank));

    if (SB_LIKELY(ordered && grows))
        return;
    bool first = check->violation.kind == SB_VIOLATION_NONE;
    report(check, SB_VIOLATION_WRITERS, "stored", &last, "stores", access);
    if (first) {
        check->violation.before = now;
        check->violation.value = value;
    }
}

void sb_check_store(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t now,
                    uint64_t value, memory_order order, const sb_site_t *site)
{
    access_t access = {rank, where, 4, site, true};

    if (usable_block(check, &access, "stores") == NULL)
        return;
    check_writer(check, &access, now, value);
    sb_history_store(check->history, rank, where, now, value, order, site);
}

void sb_check_add(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t now, uint64_t amount,
                  memory_order order, const sb_site_t *site)
{
    access_t access = {rank, where, 4, site, true};

    if (usable_block(check, &access, "adds") == NULL)
        return;
    sb_history_add(check->history, rank, where, now, amount, order, site);
}

void sb_check_fence(sb_check_t *check, uint32_t rank)
{
    sb_history_fence(check->history, rank);
}

void sb_check_fence_all(sb_check_t *check)
{
    sb_history_fence_all(check->history);
}

void sb_check_meet(sb_check_t *check)
{
    sb_history_meet(check->history);
}

uint32_t *sb_check_send(sb_check_t *check, uint32_t rank)
{
    return sb_history_send(check->history, rank);
}

void sb_check_receive(sb_check_t *check, uint32_t rank, const uint32_t *clock)
{
    sb_history_receive(check->history, rank, clock);
}

const sb_violation_t *sb_check_violation(const sb_check_t *check)
{
    return &check->violation;
}

static const char *meaning(sb_violation_kind_t kind)
{
    switch (kind) {
    case SB_VIOLATION_RACE:
        return "race: nothing orders two accesses to the same bytes";
    case SB_VIOLATION_WRITERS:
        return "two writers of one flag, or a flag that does not grow";
    case SB_VIOLATION_DEAD:
        return "memory is given back while it is still used";
    case SB_VIOLATION_BOUNDS:
        return "access outside of all blocks";
    default:
        return "none";
    }
}

static void add_line(char *text, size_t size, const char *verb, const sb_stamp_t *access)
{
    size_t length = strlen(text);
    const sb_site_t *site = access->site;

    snprintf(text + length, size - length, "  rank %" PRIu32 " %s at %s:%d\n", access->rank, verb,
             site == NULL ? "?" : site->file, site == NULL ? 0 : site->line);
}

char *sb_violation_text(const sb_violation_t *violation, const sb_sim_watch_t *watch, char *text,
                        size_t size)
{
    char place[128];

    snprintf(place, sizeof place, "block %" PRIu32 ", offset %" PRIu64, violation->where.block,
             violation->where.offset);
    if (watch != NULL && watch->describe != NULL)
        watch->describe(watch->context, violation->where.block, violation->where.offset, place,
                        sizeof place);
    snprintf(text, size, "%s\n  memory: %s, %" PRIu64 " bytes\n", meaning(violation->kind), place,
             violation->bytes);
    if (violation->first.epoch != 0)
        add_line(text, size, violation->first_did, &violation->first);
    add_line(text, size, violation->second_does, &violation->second);
    size_t length = strlen(text);
    if (violation->kind == SB_VIOLATION_WRITERS)
        snprintf(text + length, size - length, "  value before %" PRIu64 ", stored %" PRIu64 "\n",
                 violation->before, violation->value);
    return text;
}
