/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a copy costs. A core moves so many bytes in a second from its own cache, fewer from farther
 * away; the slower of reading and writing counts. What passes a memory controller, or a link
 * between NUMA nodes or packages, queues there behind what others have sent before: many who copy
 * at the same time share it. A copy is done in pieces of at most a page, so that those who copy at
 * the same time take turns.
 */
#include "machine/sim/state.h"

/* So few lines are a handful of loads or stores, as any others; more are a stream. */
#define FEW_LINES 4

/* One side of a piece. */
typedef struct side {
    uint64_t time;   /* the stream has come so far */
    uint64_t latest; /* shared parts of the machine are done with it */
    bool first;      /* no line was missed so far */
} side_t;

/* The shared parts of the machine that bytes from a NUMA node, from memory or a cache there, pass.
 */
static void charge(const sb_rank_t *rank, uint32_t numa, sb_source_t source, uint64_t bytes,
                   uint64_t now, side_t *side)
{
    side->latest = sb_later(side->latest, sb_links_pass(rank, numa, source, bytes, now).done);
}

static void use_memory(const sb_rank_t *rank, uint32_t numa, uint64_t bytes, uint64_t now,
                       side_t *side)
{
    sb_source_t memory = {sb_lines_memory_distance(rank, numa), true};

    charge(rank, numa, memory, bytes, now, side);
}

static void read_line(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now, side_t *side)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;

    if (sb_lines_holds(rank, place))
        return;
    sb_source_t source = sb_lines_source(rank, place);
    uint64_t start = sb_lines_turn(rank, place, source, sb_later(side->time, place->line->commit));
    if (side->first)
        start += (source.memory ? machine->memory : machine->read)[source.near];
    side->first = false;
    side->time = start + sb_bytes_time(machine->copy_kib[source.near], SB_LINE);
    charge(rank, sb_lines_origin(place, source), source, SB_LINE, now, side);
    sb_lines_fetched(rank, place, source, side->time);
}

static void write_line(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now, side_t *side)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    sb_line_t *line = place->line;
    uint32_t rivals;
    sb_source_t source = sb_lines_rivals(rank, place, &rivals);

    if (source.memory || source.near != SB_NEAR_CORE) {
        uint64_t start = sb_later(side->time, sb_later(line->commit, line->free));
        side->time = start + sb_bytes_time(machine->copy_kib[source.near], SB_LINE);
        line->free = side->time;
        charge(rank, sb_lines_origin(place, source), source, SB_LINE, now, side);
        sb_lines_moved(rank, 1);
        if (source.memory)
            sb_sim->lines.memory++;
        else
            sb_sim->lines.moved[source.near]++;
        /* The last lines of the stream are visible when they have come. */
        rank->drain = sb_later(rank->drain, side->time + machine->invalidate[source.near]);
    }
    sb_lines_owned(rank, place, side->time);
    sb_sim_wake_line(line, side->time);
}

/* The line goes to memory, past the caches, and out of those that had it. */
static void stream_line(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now, side_t *side)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    sb_line_t *line = place->line;
    sb_distance_t near = sb_lines_memory_distance(rank, place->numa);
    uint64_t start = sb_later(side->time, sb_later(line->commit, line->free));

    side->time = start + sb_bytes_time(machine->copy_kib[near], SB_LINE);
    line->free = line->commit = side->time;
    use_memory(rank, place->numa, SB_LINE, now, side);
    sb_sim->lines.memory++;
    sb_lines_forgotten(place);
    rank->drain = sb_later(rank->drain, side->time + machine->memory[near]);
    sb_sim_wake_line(line, side->time);
}

/* What a rank's caches still hold of a page of its own buffer, and where the rest comes from. */
static sb_distance_t own_distance(const sb_rank_t *rank, const sb_page_t *page, bool *memory)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    uint32_t group = rank->node * sb_sim->groups + machine->core[rank->core].unit[SB_NEAR_L3];
    uint64_t core_age = sb_sim->traffic_core[sb_sim_core_index(rank)] - page->stamp_core;
    uint64_t group_age = sb_sim->traffic_group[group] - page->stamp_group;

    *memory = false;
    if (machine->l2_bytes == 0 || core_age * SB_LINE <= machine->l2_bytes)
        return SB_NEAR_CORE;
    *memory = machine->l3_bytes == 0 || group_age * SB_LINE > machine->l3_bytes;
    return SB_NEAR_L3;
}

static uint64_t lines_between(uint64_t offset, uint64_t bytes)
{
    uint64_t first = offset % SB_SIM_PAGE / SB_LINE;
    uint64_t last = (offset + bytes - 1) % SB_SIM_PAGE / SB_LINE;
    uint64_t upto = last == 63 ? UINT64_MAX : (UINT64_C(1) << (last + 1)) - 1;

    return upto & ~((UINT64_C(1) << first) - 1);
}

/*
 * Whole lines of a user's buffer that are written past the caches: they go to memory, and nothing
 * comes from there. A core writes them no faster than it copies.
 */
static void stream_own(sb_rank_t *rank, sb_memory_block_t *block, uint64_t offset, uint64_t bytes,
                       uint64_t now, side_t *side)
{
    sb_page_t *page = sb_sim_touch(block, offset, rank);
    uint32_t numa = page->numa;
    sb_distance_t near = sb_lines_memory_distance(rank, numa);

    side->time += sb_bytes_time(sb_sim->machine.copy_kib[near], bytes);
    use_memory(rank, numa, bytes, now, side);
    sb_sim->lines.memory += bytes / SB_LINE;
    page->held &= ~lines_between(offset, bytes);
}

/* A piece of a user's buffer, within one page. Written lines come from memory and go back to it. */
static void use_own(sb_rank_t *rank, sb_memory_block_t *block, uint64_t offset, uint64_t bytes,
                    bool written, uint64_t now, side_t *side)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    sb_page_t *page = sb_sim_touch(block, offset, rank);
    uint32_t group = rank->node * sb_sim->groups + machine->core[rank->core].unit[SB_NEAR_L3];
    uint64_t lines = lines_between(offset, bytes);
    bool memory;
    sb_distance_t near = own_distance(rank, page, &memory);

    if (memory)
        page->held = 0;
    uint64_t missing = (uint64_t)__builtin_popcountll(lines & ~page->held) * SB_LINE;
    uint64_t held = (uint64_t)__builtin_popcountll(lines & page->held) * SB_LINE;
    uint32_t numa = page->numa;
    if (near != SB_NEAR_CORE)
        side->time += sb_bytes_time(machine->copy_kib[near], held);
    if (missing > 0) {
        side->time +=
            sb_bytes_time(machine->copy_kib[sb_lines_memory_distance(rank, numa)], missing);
        use_memory(rank, numa, written ? 2 * missing : missing, now, side);
        sb_sim->lines.memory += missing / SB_LINE;
    }
    sb_lines_moved(rank, (uint32_t)((near == SB_NEAR_CORE ? missing : missing + held) / SB_LINE));
    page->held |= lines;
    page->stamp_core = sb_sim->traffic_core[sb_sim_core_index(rank)];
    page->stamp_group = sb_sim->traffic_group[group];
}

/* Of a piece that is written past the caches, the ends are ordinary stores. */
static void write_around(sb_rank_t *rank, sb_memory_block_t *block, uint64_t offset, uint64_t bytes,
                         uint64_t now, side_t *side)
{
    uint64_t head = sb_min(-offset % SB_LINE, bytes), tail = (bytes - head) % SB_LINE;
    uint64_t whole = bytes - head - tail;

    if (head > 0)
        use_own(rank, block, offset, head, true, now, side);
    if (whole > 0)
        stream_own(rank, block, offset + head, whole, now, side);
    if (tail > 0)
        use_own(rank, block, offset + head + whole, tail, true, now, side);
}

/* What is read of another rank's buffer: its caches may have it, and are not disturbed. */
static void use_others(sb_rank_t *rank, sb_memory_block_t *block, uint64_t offset, uint64_t bytes,
                       uint64_t now, side_t *side)
{
    const sb_rank_t *owner = &sb_sim->rank[block->owner];
    const sb_page_t *page = sb_sim_touch(block, offset, owner);
    sb_source_t source = {SB_NEAR_MACHINE, false};
    uint32_t numa = page->numa;

    own_distance(owner, page, &source.memory);
    source.memory = source.memory || page->held == 0;
    source.near =
        source.memory ? sb_lines_memory_distance(rank, numa) : sb_lines_distance(rank, owner);
    side->time += sb_bytes_time(sb_sim->machine.copy_kib[source.near], bytes);
    charge(rank, numa, source, bytes, now, side);
    sb_lines_moved(rank, (uint32_t)(bytes / SB_LINE));
}

static void use_shared(sb_rank_t *rank, sb_memory_block_t *block, uint64_t offset, uint64_t bytes,
                       sb_access_t access, uint64_t now, side_t *side)
{
    uint64_t first = offset / SB_LINE, last = (offset + bytes - 1) / SB_LINE;
    sb_line_place_t place;

    rank->copies = true;
    for (uint64_t at = first; at <= last && sb_sim_line(block, at * SB_LINE, &place); at++) {
        if (access == SB_ACCESS_READ && last - first < FEW_LINES) {
            side->time = sb_later(side->time, sb_lines_read(rank, &place, side->time));
        } else if (access == SB_ACCESS_READ) {
            read_line(rank, &place, now, side);
        } else if (access == SB_ACCESS_STREAM) {
            stream_line(rank, &place, now, side);
        } else if (last - first < FEW_LINES) {
            sb_lines_write(rank, &place, now);
            side->time += sb_sim->machine.store;
        } else {
            write_line(rank, &place, now, side);
        }
    }
    rank->copies = false;
}

static void use_side(sb_rank_t *rank, const void *address, uint64_t bytes, sb_access_t access,
                     uint64_t now, side_t *side)
{
    uint32_t number;
    uint64_t offset;
    sb_memory_block_t *block = sb_sim_find(address, &number, &offset);

    if (block == NULL || block->dead)
        return;
    if (!block->shared && block->owner != rank->number)
        use_others(rank, block, offset, bytes, now, side);
    else if (block->shared)
        use_shared(rank, block, offset, bytes, access, now, side);
    else if (access == SB_ACCESS_STREAM)
        write_around(rank, block, offset, bytes, now, side);
    else
        use_own(rank, block, offset, bytes, access != SB_ACCESS_READ, now, side);
}

/* One piece, neither side of which crosses a page. Returns when it is done. */
uint64_t sb_copy_cost(sb_rank_t *rank, void *to, const void *from, size_t bytes, sb_access_t access,
                      bool first)
{
    uint64_t now = rank->clock;
    side_t read = {now, now, first};
    side_t write = {now, now, first};

    use_side(rank, from, bytes, SB_ACCESS_READ, now, &read);
    use_side(rank, to, bytes, access, now, &write);
    uint64_t done = now + sb_bytes_time(sb_sim->machine.copy_kib[SB_NEAR_CORE], bytes);
    done = sb_later(done, sb_later(read.time, write.time));
    /* A stream's first lines come one after another until the processor fetches ahead. */
    if (first && bytes > (size_t)FEW_LINES * SB_LINE && read.time > now)
        done += sb_sim->machine.copy_start;
    return sb_later(done, sb_later(read.latest, write.latest));
}

/*
 * The same for a piece of several sources that are combined. A core has so many streams under way
 * that only one in `read_overlap` of them makes it wait for its first line; their bytes come one
 * source after the other. Computing goes on meanwhile.
 */
uint64_t sb_combine_cost(sb_rank_t *rank, void *to, const void *const from[], uint32_t n,
                         size_t offset, size_t bytes)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    uint64_t now = rank->clock;
    side_t read = {now, now, offset == 0};
    side_t write = {now, now, offset == 0};

    for (uint32_t i = 0; i < n; i++) {
        read.first = read.first || (offset == 0 && i % machine->read_overlap == 0);
        use_side(rank, (const char *)from[i] + offset, bytes, SB_ACCESS_READ, now, &read);
    }
    use_side(rank, (char *)to + offset, bytes, SB_ACCESS_WRITE, now, &write);
    uint64_t compute = sb_bytes_time(machine->combine_kib, n * bytes);
    if (offset == 0)
        compute += n * machine->read[SB_NEAR_CORE];
    uint64_t done = sb_later(now + compute, sb_later(read.time, write.time));
    return sb_later(done, sb_later(read.latest, write.latest));
}
