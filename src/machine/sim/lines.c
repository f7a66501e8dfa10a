/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a line costs. The caches of a machine know for each line which cores hold it and which of
 * them wrote it last. A read by a core that does not hold it fetches it from the nearest that does,
 * or from memory; a write takes it away from all others. Requests for one line are served one after
 * another. A writer does not wait for its store: it goes on while the line comes, and the store is
 * visible when it has come. A reader has to wait, but sends the next few loads meanwhile.
 */
#include "machine/sim/state.h"

#include <stdlib.h>
#include <string.h>

static inline const uint64_t *mask_of(const sb_rank_t *rank, sb_distance_t near)
{
    return &sb_sim->mask[((size_t)rank->core * SB_DISTANCES + near) * sb_sim->words];
}

static bool meets(const uint64_t *set, const uint64_t *mask, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        if ((set[i] & mask[i]) != 0)
            return true;
    }
    return false;
}

static bool is_empty(const uint64_t *set, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        if (set[i] != 0)
            return false;
    }
    return true;
}

static inline bool has(const uint64_t *set, uint32_t core)
{
    return ((set[core / 64] >> (core % 64)) & 1) != 0;
}

static inline uint32_t group_of(uint32_t node, uint32_t core)
{
    return node * sb_sim->groups + sb_sim->machine.core[core].unit[SB_NEAR_L3];
}

void sb_lines_moved(const sb_rank_t *rank, uint32_t lines)
{
    sb_sim->traffic_core[sb_sim_core_index(rank)] += lines;
    sb_sim->traffic_group[group_of(rank->node, rank->core)] += lines;
}

sb_distance_t sb_lines_distance(const sb_rank_t *rank, const sb_rank_t *other)
{
    const uint32_t *mine = sb_sim->machine.core[rank->core].unit;
    const uint32_t *theirs = sb_sim->machine.core[other->core].unit;
    sb_distance_t near = SB_NEAR_CORE;

    while (near < SB_NEAR_MACHINE && mine[near] != theirs[near])
        near++;
    return near;
}

sb_distance_t sb_lines_memory_distance(const sb_rank_t *rank, uint32_t numa)
{
    const sb_sim_core_t *core = &sb_sim->machine.core[rank->core];

    if (core->unit[SB_NEAR_NUMA] == numa)
        return SB_NEAR_NUMA;
    return core->unit[SB_NEAR_PACKAGE] == sb_sim->numa_package[numa] ? SB_NEAR_PACKAGE
                                                                     : SB_NEAR_MACHINE;
}

/* Whether so many lines moved since have driven out what was there before. */
static bool driven_out(uint32_t since, uint64_t cache_bytes)
{
    return cache_bytes > 0 && (uint64_t)since * SB_LINE > cache_bytes;
}

/* What the caches of the last writer still know of the line: SB_NEAR_L2, SB_NEAR_L3, or nothing. */
static sb_source_t kept_at_writer(const sb_line_place_t *place)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    const sb_line_t *line = place->line;
    uint32_t node = place->block->node;
    uint32_t core_age =
        sb_sim->traffic_core[node * machine->cores + line->owner] - line->stamp_core;
    uint32_t group_age = sb_sim->traffic_group[group_of(node, line->owner)] - line->stamp_group;

    if (!driven_out(core_age, machine->l2_bytes))
        return (sb_source_t){SB_NEAR_L2, false};
    return (sb_source_t){SB_NEAR_L3,
                         machine->l3_bytes == 0 || driven_out(group_age, machine->l3_bytes)};
}

bool sb_lines_holds(const sb_rank_t *rank, const sb_line_place_t *place)
{
    if (!has(place->holders, rank->core))
        return false;
    return place->line->owner != rank->core || kept_at_writer(place).near == SB_NEAR_L2;
}

static sb_distance_t nearest(const sb_rank_t *rank, const uint64_t *holders)
{
    for (sb_distance_t near = SB_NEAR_CORE; near < SB_NEAR_MACHINE; near++) {
        if (meets(holders, mask_of(rank, near), sb_sim->words))
            return near;
    }
    return SB_NEAR_MACHINE;
}

/* Of those that hold the line; the rank's own core counts as near. */
static sb_distance_t farthest(const sb_rank_t *rank, const uint64_t *holders)
{
    for (sb_distance_t near = SB_NEAR_MACHINE; near > SB_NEAR_L2; near--) {
        const uint64_t *inside = mask_of(rank, near - 1);
        for (uint32_t i = 0; i < sb_sim->words; i++) {
            if ((holders[i] & ~inside[i]) != 0)
                return near;
        }
    }
    return SB_NEAR_L2;
}

sb_source_t sb_lines_source(const sb_rank_t *rank, const sb_line_place_t *place)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    sb_source_t memory = {sb_lines_memory_distance(rank, place->numa), true};

    if (is_empty(place->holders, sb_sim->words))
        return memory;
    sb_distance_t near = nearest(rank, place->holders);
    if (place->line->owner != NOBODY) {
        sb_source_t kept = kept_at_writer(place);
        if (kept.memory)
            return memory;
        if (kept.near > near)
            near = kept.near;
    }
    /* Memory may be nearer than the caches of another package; only it may be out of date. */
    bool only_writer = place->line->owner != NOBODY && has(place->holders, place->line->owner);
    if (!only_writer && machine->memory[memory.near] < machine->read[near])
        return memory;
    return (sb_source_t){near, false};
}

/* Most sets have one core, or none. */
static uint32_t count_bits(uint64_t set)
{
    return (set & (set - 1)) == 0 ? set != 0 : (uint32_t)__builtin_popcountll(set);
}

sb_source_t sb_lines_rivals(const sb_rank_t *rank, const sb_line_place_t *place, uint32_t *rivals)
{
    *rivals = 0;
    for (uint32_t i = 0; i < sb_sim->words; i++)
        *rivals += count_bits(place->holders[i]);
    *rivals -= has(place->holders, rank->core);
    if (place->line->owner != NOBODY && kept_at_writer(place).memory) {
        *rivals = 0; /* the line has left all caches long ago */
        return (sb_source_t){sb_lines_memory_distance(rank, place->numa), true};
    }
    if (*rivals > 0)
        return (sb_source_t){farthest(rank, place->holders), false};
    if (sb_lines_holds(rank, place))
        return (sb_source_t){SB_NEAR_CORE, false};
    return sb_lines_source(rank, place);
}

static void count(sb_source_t source)
{
    if (source.memory)
        sb_sim->lines.memory++;
    else
        sb_sim->lines.moved[source.near]++;
}

void sb_lines_fetched(sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                      uint64_t done)
{
    place->holders[rank->core / 64] |= UINT64_C(1) << (rank->core % 64);
    sb_sim->fill[sb_sim_core_index(rank)] = (sb_fill_t){place->line, done};
    sb_lines_moved(rank, 1);
    count(source);
}

void sb_lines_owned(sb_rank_t *rank, const sb_line_place_t *place, uint64_t commit)
{
    sb_line_t *line = place->line;

    memset(place->holders, 0, sb_sim->words * sizeof(uint64_t));
    place->holders[rank->core / 64] = UINT64_C(1) << (rank->core % 64);
    line->owner = rank->core;
    line->stamp_core = sb_sim->traffic_core[sb_sim_core_index(rank)];
    line->stamp_group = sb_sim->traffic_group[group_of(rank->node, rank->core)];
    if (line->commit < commit)
        line->commit = commit;
}

void sb_lines_forgotten(const sb_line_place_t *place)
{
    memset(place->holders, 0, sb_sim->words * sizeof(uint64_t));
    place->line->owner = NOBODY;
}

uint32_t sb_lines_origin(const sb_line_place_t *place, sb_source_t source)
{
    if (source.memory || place->line->owner == NOBODY)
        return place->numa;
    return sb_sim->machine.core[place->line->owner].unit[SB_NEAR_NUMA];
}

/*
 * How long a line, asked for at `now`, is held up where others use the same links and memory. Of a
 * copy all lines queue there when it begins, as those of a stream do: others, whose turn to run
 * comes after it, would stand behind what it asks for later.
 */
static uint64_t held_up(const sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                        uint64_t now)
{
    uint64_t queued = rank->copies && rank->clock < now ? rank->clock : now;

    if (!source.memory && source.near < SB_NEAR_PACKAGE)
        return 0;
    sb_passage_t passage =
        sb_links_pass(rank, sb_lines_origin(place, source), source, SB_LINE, queued);
    return sb_later(queued + passage.wait, now) - now;
}

/* When the first of the neighbours that hold the line has it: some may just be fetching it. */
static uint64_t neighbours_ready(const sb_rank_t *rank, const sb_line_place_t *place,
                                 sb_distance_t near)
{
    const uint64_t *mask = mask_of(rank, near);
    const sb_fill_t *fill = &sb_sim->fill[rank->node * sb_sim->machine.cores];
    uint64_t ready = UINT64_MAX;

    for (uint32_t i = 0; i < sb_sim->words; i++) {
        for (uint64_t set = place->holders[i] & mask[i]; set != 0; set &= set - 1) {
            const sb_fill_t *theirs = &fill[64 * i + (uint32_t)__builtin_ctzll(set)];
            if (theirs->line != place->line)
                return 0;
            ready = theirs->done < ready ? theirs->done : ready;
        }
    }
    return ready == UINT64_MAX ? 0 : ready;
}

/*
 * When the agent of NUMA node `numa` takes up a request that comes at `time`. It serves one after
 * another, whatever their lines: many flags at once wait for each other. What copies pass there has
 * the bandwidth of memory.
 */
static uint64_t at_home(const sb_rank_t *rank, uint32_t numa, uint64_t time)
{
    uint64_t service = sb_sim->machine.home_service;
    uint64_t *free = &sb_sim->home[rank->node * sb_sim->machine.numa_nodes + numa];

    if (service == 0 || rank->copies)
        return time;
    time = time > *free ? time : *free;
    *free = time + service;
    return time;
}

/* The same for the link of the package: of requests that leave it. */
static uint64_t over_link(const sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                          uint64_t time)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    uint32_t package = machine->core[rank->core].unit[SB_NEAR_PACKAGE];
    uint64_t *free = &sb_sim->link_line[rank->node * machine->packages + package];

    if (machine->link_service == 0 || rank->copies ||
        (source.near != SB_NEAR_MACHINE && sb_sim->numa_package[place->numa] == package))
        return time;
    time = time > *free ? time : *free;
    *free = time + machine->link_service;
    return time;
}

/* When the core could have sent this load: `overlap` loads may be under way at the same time. */
static uint64_t send(sb_rank_t *rank, uint64_t now, uint32_t overlap)
{
    uint64_t gap = sb_sim->machine.read_gap;

    if (overlap < 2)
        return now;
    uint64_t room = rank->retired[(rank->loads + SB_OVERLAP_MOST - overlap) % SB_OVERLAP_MOST];
    uint64_t earliest = room > rank->serial ? room : rank->serial;
    earliest = earliest < now ? earliest : now;
    if (rank->loads > 0)
        earliest = sb_later(earliest, rank->sent + gap);
    rank->sent = earliest;
    return earliest;
}

static uint64_t retire(sb_rank_t *rank, uint64_t done)
{
    rank->retired[rank->loads++ % SB_OVERLAP_MOST] = done;
    return done;
}

/* Until when the third-level cache of the core is busy with the line. */
static uint64_t *served_by(const sb_rank_t *rank, const sb_line_place_t *place)
{
    return &place->served[sb_sim->machine.core[rank->core].unit[SB_NEAR_L3]];
}

/*
 * When a read that could start at `start` has its turn. Where third-level caches serve their own
 * cores, only the first of these asks the line's home; the others wait for it, and for each other.
 */
uint64_t sb_lines_turn(const sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                       uint64_t start)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    bool near = !source.memory && source.near <= SB_NEAR_L3;
    uint64_t *free = &place->line->free, service = machine->line_service[source.near];

    if (place->served != NULL && near) {
        free = served_by(rank, place);
        service = machine->share_service;
    }
    start = sb_later(start, *free);
    *free = start + service;
    if (place->served != NULL && !near)
        *served_by(rank, place) =
            start + (source.memory ? machine->memory : machine->read)[source.near];
    return start;
}

/* When the line has been given to all who asked before. */
static uint64_t all_served(const sb_line_place_t *place)
{
    uint64_t free = place->line->free;

    for (uint32_t i = 0; place->served != NULL && i < sb_sim->groups; i++)
        free = sb_later(free, place->served[i]);
    return free;
}

static uint64_t bring_line(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now,
                           uint32_t overlap)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    const sb_line_t *line = place->line;
    uint64_t hit = now + machine->read[SB_NEAR_CORE];

    /* Takes the place of no line that is under way. */
    if (SB_LIKELY(sb_lines_holds(rank, place)))
        return hit;
    sb_source_t source = sb_lines_source(rank, place);
    bool near = !source.memory && source.near <= SB_NEAR_L3;
    /* What the core's own third-level cache has is no matter of another node. */
    uint32_t agent = near ? machine->core[rank->core].unit[SB_NEAR_NUMA] : place->numa;
    uint64_t asked = at_home(rank, agent, send(rank, now, overlap));
    if (!near)
        asked = over_link(rank, place, source, asked);
    uint64_t ready = asked + held_up(rank, place, source, asked);
    uint64_t start = sb_later(ready, line->commit);
    if (near && line->free + machine->read[SB_NEAR_MACHINE] > now)
        start = sb_later(start, neighbours_ready(rank, place, source.near));
    start = sb_lines_turn(rank, place, source, start);
    uint64_t done = start + (source.memory ? machine->memory : machine->read)[source.near];
    sb_lines_fetched(rank, place, source, done);
    return retire(rank, sb_later(done, hit));
}

uint64_t sb_lines_read(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now)
{
    return bring_line(rank, place, now, sb_sim->machine.read_overlap);
}

/* A load that nothing depends on: as many may be under way as lines for stores. */
uint64_t sb_lines_fetch(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;

    return bring_line(rank, place, now,
                      (uint32_t)sb_later(machine->read_overlap, machine->write_overlap));
}

/* When the core can fetch the line of one more store: only so many may be under way. */
static uint64_t store_room(const sb_rank_t *rank)
{
    uint32_t overlap = sb_sim->machine.write_overlap;

    return rank->written[(rank->stores + SB_OVERLAP_MOST - overlap) % SB_OVERLAP_MOST];
}

/*
 * Whether the line is on its way for an earlier store of this core, and nothing that the core
 * stored in between is visible later: then this store is in the line before anybody else has it.
 */
static bool joins(const sb_rank_t *rank, const sb_line_t *line, uint64_t now)
{
    return line->owner == rank->core && line->commit > now && rank->drain <= line->commit;
}

/* Takes the line, asked for at `now`, from memory or from all others. Returns when it has come. */
static uint64_t take_line(sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                          uint32_t rivals, uint64_t now)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    sb_line_t *line = place->line;
    uint64_t asked = at_home(rank, place->numa, sb_later(now, store_room(rank)));

    asked = over_link(rank, place, source, asked);
    uint64_t ready = asked + held_up(rank, place, source, asked);
    uint64_t come = sb_later(ready, sb_later(line->commit, all_served(place)));
    come += (source.memory ? machine->memory : machine->invalidate)[source.near];
    if (rivals > 1)
        come += (rivals - 1) * machine->invalidate_per_sharer;
    sb_lines_moved(rank, 1);
    count(source);
    line->free = come;
    return come;
}

/* Returns when the write is visible; who spins on the line looks again then. */
uint64_t sb_lines_write(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now)
{
    sb_line_t *line = place->line;
    uint32_t rivals;

    if (joins(rank, line, now)) {
        rank->drain = line->commit;
        sb_sim_wake_line(line, line->commit);
        return line->commit;
    }
    sb_source_t source = sb_lines_rivals(rank, place, &rivals);
    uint64_t commit = sb_later(now + sb_sim->machine.store, line->commit);

    if (source.memory || source.near != SB_NEAR_CORE) {
        commit = take_line(rank, place, source, rivals, now);
        /* More stores to the line need no more room. */
        rank->written[rank->stores++ % SB_OVERLAP_MOST] = sb_later(commit, rank->drain);
    }
    commit = sb_later(commit, rank->drain);
    rank->drain = commit;
    sb_lines_owned(rank, place, commit);
    sb_sim_wake_line(line, commit);
    return commit;
}

/* Takes the line for stores to come. Returns when it is asked for: it needs room as a store does.
 */
uint64_t sb_lines_own(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now)
{
    uint32_t rivals;
    sb_source_t source = sb_lines_rivals(rank, place, &rivals);
    uint64_t room = sb_later(now, store_room(rank));

    if (!source.memory && source.near == SB_NEAR_CORE)
        return now;
    uint64_t come = take_line(rank, place, source, rivals, now);
    rank->written[rank->stores++ % SB_OVERLAP_MOST] = come;
    sb_lines_owned(rank, place, come);
    sb_sim_wake_line(place->line, come);
    return room;
}

/* --- tables -------------------------------------------------------------------------------- */

static void fill_masks(sb_sim_t *sim)
{
    const sb_sim_machine_t *machine = &sim->machine;

    for (uint32_t core = 0; core < machine->cores; core++) {
        for (uint32_t near = 0; near < SB_DISTANCES; near++) {
            uint64_t *mask = &sim->mask[((size_t)core * SB_DISTANCES + near) * sim->words];
            for (uint32_t other = 0; other < machine->cores; other++) {
                if (machine->core[core].unit[near] == machine->core[other].unit[near])
                    mask[other / 64] |= UINT64_C(1) << (other % 64);
            }
        }
    }
}

bool sb_sim_caches_new(sb_sim_t *sim)
{
    const sb_sim_machine_t *machine = &sim->machine;
    size_t nodes = machine->nodes;

    sim->words = (machine->cores + 63) / 64;
    for (uint32_t i = 0; i < machine->cores; i++)
        sim->groups = (uint32_t)sb_max(sim->groups, machine->core[i].unit[SB_NEAR_L3] + 1);
    sim->line_bytes = (uint32_t)sb_round_up(
        sizeof(sb_line_t) + (sim->words + sb_lines_queues()) * sizeof(uint64_t), SB_LINE);
    sim->mask = calloc((size_t)machine->cores * SB_DISTANCES * sim->words, sizeof *sim->mask);
    sim->numa_package = calloc(machine->numa_nodes, sizeof *sim->numa_package);
    sim->traffic_core = calloc(nodes * machine->cores, sizeof *sim->traffic_core);
    sim->traffic_group = calloc(nodes * sim->groups, sizeof *sim->traffic_group);
    sim->fill = calloc(nodes * machine->cores, sizeof *sim->fill);
    sim->link_line = calloc(nodes * machine->packages, sizeof *sim->link_line);
    sim->home = calloc(nodes * machine->numa_nodes, sizeof *sim->home);
    sim->controller = calloc(nodes * machine->numa_nodes, sizeof *sim->controller);
    sim->link_package =
        calloc(nodes * machine->numa_nodes * machine->numa_nodes, sizeof *sim->link_package);
    sim->link_machine =
        calloc(nodes * machine->packages * machine->packages, sizeof *sim->link_machine);
    sim->wire = calloc(nodes, sizeof *sim->wire);
    if (sim->wire == NULL || sim->mask == NULL || sim->numa_package == NULL ||
        sim->traffic_core == NULL || sim->traffic_group == NULL || sim->fill == NULL ||
        sim->home == NULL || sim->link_line == NULL || sim->controller == NULL ||
        sim->link_package == NULL || sim->link_machine == NULL)
        return false;
    fill_masks(sim);
    for (uint32_t i = 0; i < machine->cores; i++)
        sim->numa_package[machine->core[i].unit[SB_NEAR_NUMA]] =
            machine->core[i].unit[SB_NEAR_PACKAGE];
    return true;
}

void sb_sim_caches_begin(sb_sim_t *sim)
{
    const sb_sim_machine_t *machine = &sim->machine;
    size_t nodes = machine->nodes;

    memset(sim->traffic_core, 0, nodes * machine->cores * sizeof *sim->traffic_core);
    memset(sim->traffic_group, 0, nodes * sim->groups * sizeof *sim->traffic_group);
    memset(sim->fill, 0, nodes * machine->cores * sizeof *sim->fill);
    memset(sim->link_line, 0, nodes * machine->packages * sizeof *sim->link_line);
    memset(sim->home, 0, nodes * machine->numa_nodes * sizeof *sim->home);
    memset(sim->controller, 0, nodes * machine->numa_nodes * sizeof *sim->controller);
    memset(sim->link_package, 0,
           nodes * machine->numa_nodes * machine->numa_nodes * sizeof *sim->link_package);
    memset(sim->link_machine, 0,
           nodes * machine->packages * machine->packages * sizeof *sim->link_machine);
    sim->lines = (sb_sim_lines_t){0};
}

void sb_sim_caches_free(sb_sim_t *sim)
{
    free(sim->mask);
    free(sim->numa_package);
    free(sim->traffic_core);
    free(sim->traffic_group);
    free(sim->fill);
    free(sim->home);
    free(sim->link_line);
    free(sim->controller);
    free(sim->link_package);
    free(sim->link_machine);
    for (uint32_t i = 0; sim->wire != NULL && i < sim->machine.nodes; i++)
        sb_booking_free(&sim->wire[i].in);
    free(sim->wire);
    sb_booking_free(&sim->star);
}
