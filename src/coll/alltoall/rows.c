/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/alltoall/rows.h"

#include "base/config.h"
#include "coll/vector/mesh.h"
#include "team/flow.h"

/* Of longer parts the caches of cores that are shared would hold no row. */
#define PART_MOST ((size_t)64 << 10)

/* Those up to here are in the row itself: few pages, whatever else passes. The kernel copies longer
 * ones, if that is asked for. */
#define PART_NEAR ((size_t)256)
#define PART_LEAST ((size_t)SB_LINE)

/* From here on ways to go are tried: some lines, so that each is more than its announcement. The
 * policy's classes begin there. */
#define TRIED_LEAST ((size_t)1 << 10)
#define CLASS_SCALE (SB_COPY_LEAST / TRIED_LEAST)

/* Lines of cells up to that long are asked for so many bytes before they are written. Longer ones
 * the library may copy by string instructions, which take lines over without fetching them. */
#define ASKED_MOST ((size_t)2 << 10)
#define ASKED_AHEAD ((size_t)1 << 10)

/* What is fetched ahead of a part: processors see that the rest of a longer one follows. */
#define FETCHED_MOST ((size_t)256)

/* In a flag's note: bytes of the parts, the call's mode, and that parts have bytes of their own,
 * and cells of so many. */
#define MIXED 0x80000000u
#define MODE_SHIFT 28
#define MODE_MASK 7u
#define BYTES_MASK ((1u << MODE_SHIFT) - 1)
#define ELSEWHERE UINT32_MAX

static const sb_copy_mode_t tried[] = {SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_COPY_PULLED};
#define WAY_PULLED 2

typedef struct row {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t flag; /* the row's number + 1; note: bytes, or MIXED */
    uint32_t bytes[];                        /* of each part, or ELSEWHERE */
} row_t;

static size_t place_of(const sb_rows_t *rows, uint64_t number)
{
    return (size_t)(number % SB_ROWS) * rows->stride;
}

static row_t *row_of(const sb_rows_t *rows, uint32_t rank)
{
    return (row_t *)(void *)(rows->resource.bases[rank] + place_of(rows, rows->count));
}

/* Where the larger cells of the present row begin in a block. */
static size_t large_of(const sb_team_t *team, const sb_rows_t *rows)
{
    size_t place = (size_t)(rows->count % SB_ROWS_LARGE);

    return SB_ROWS * rows->stride + place * team->size * rows->part_most;
}

/* What several ranks read stands close together, what is longer in lines of its own. */
static size_t cell_of(size_t bytes)
{
    return sb_round_up(bytes, bytes <= SB_LINE / 2 ? sizeof(uint64_t) : SB_LINE);
}

static size_t head_of(uint32_t ranks)
{
    return sb_round_up(sizeof(row_t) + ranks * sizeof(uint32_t), SB_LINE);
}

static size_t noted_cell(uint32_t note)
{
    return (note & MIXED) != 0 ? note & BYTES_MASK : cell_of(note & BYTES_MASK);
}

/* Where the part of one rank for another is, by the note of its row. */
static char *cell_at(const sb_team_t *team, uint32_t from, uint32_t note, uint32_t to)
{
    const sb_rows_t *rows = sb_rows(team);
    bool mixed = (note & MIXED) != 0;
    size_t cell = noted_cell(note);
    size_t head = mixed ? head_of(team->size) : offsetof(row_t, bytes);

    if (cell > rows->part_near)
        return rows->resource.bases[from] + large_of(team, rows) + to * cell;
    if (cell >= SB_LINE)
        head = sb_round_up(head, SB_LINE);
    return (char *)row_of(rows, from) + head + to * cell;
}

/*
 * Memory that nothing was in yet takes all ranks' time, in turns: parts that pass as well without
 * it do so as long as that is more than a small part of what their calls have taken.
 */
static uint64_t wait_for_pages(const sb_team_t *team, const sb_rows_t *rows, size_t bytes)
{
    size_t end = team->size * cell_of(bytes), missing = 0;

    if (bytes <= SB_ROWS_STAGED)
        return 0;
    for (uint32_t place = 0; place < SB_ROWS_LARGE; place++)
        missing += end > rows->touched[place] ? end - rows->touched[place] : 0;
    uint64_t turns = sb_divide_up(team->size, team->processors);
    return SB_COPY_SHARE_OF_FIRST * turns * (missing / SB_PAGE) * rows->resource.block.page_ns;
}

static bool may_pull(const sb_team_t *team, size_t bytes, bool in_place)
{
    return !in_place && bytes >= SB_ROWS_PULLED && sb_mesh(team)->expose.kernel;
}

/* The way that is found to be fastest of this rank's calls of such lengths, or is tried. */
static sb_copy_mode_t try_ways(const sb_team_t *team, sb_rows_t *rows, size_t bytes, bool in_place)
{
    sb_block_ways_t choice = {.count = 2};

    if (may_pull(team, bytes, in_place)) {
        choice.count = 3;
        /* A hundred calls have one comparison: which of the two stores is best was seen before. */
        choice.rival = WAY_PULLED;
        choice.wait = wait_for_pages(team, rows, bytes);
        choice.first = choice.wait > 0 ? WAY_PULLED : 0;
    }
    return tried[sb_block_choose(&rows->ways[in_place].policy, bytes * CLASS_SCALE, choice,
                                 sb_now_ns())];
}

/* What rank 0 did, or, as long as nothing was heard of it, will do most likely. */
static sb_copy_mode_t follow(const sb_team_t *team, const sb_rows_t *rows, size_t bytes,
                             bool in_place)
{
    const uint8_t *followed = rows->ways[in_place].followed;
    uint8_t mode = followed[sb_copy_class(bytes * CLASS_SCALE)];
    bool unheard = mode == SB_COPY_ANY && may_pull(team, bytes, in_place);

    return unheard && wait_for_pages(team, rows, bytes) > 0 ? SB_COPY_PULLED : (sb_copy_mode_t)mode;
}

/* How parts go of which the longest that has room is so long. */
static sb_copy_mode_t mode_for(const sb_team_t *team, sb_rows_t *rows, size_t bytes, bool in_place)
{
    uint32_t stores = team->settings.stores;

    if (bytes < TRIED_LEAST || stores == SB_STORES_CACHED)
        return SB_COPY_CACHED;
    if (stores == SB_STORES_STREAMING)
        return SB_COPY_NON_TEMPORAL;
    return team->rank == 0 ? try_ways(team, rows, bytes, in_place)
                           : follow(team, rows, bytes, in_place);
}

/* Others do as rank 0 did. */
static sb_status_t hear(sb_rows_t *rows, uint32_t note, bool in_place)
{
    uint32_t mode = note >> MODE_SHIFT & MODE_MASK;
    size_t bytes = note & BYTES_MASK;

    /* The row comes from another process: it must not lead this one astray. */
    if (mode > SB_COPY_PULLED || bytes > rows->part_most)
        return SB_ERR_TRUNCATE;
    if (bytes < TRIED_LEAST)
        return SB_OK;
    if (in_place && mode == SB_COPY_PULLED)
        mode = SB_COPY_CACHED;
    rows->ways[in_place].followed[sb_copy_class(bytes * CLASS_SCALE)] = (uint8_t)mode;
    return SB_OK;
}

/* The longest of the parts for others that have room in the row; whether all are as long as it. */
static size_t longest_of(const sb_team_t *team, sb_rows_t *rows, const sb_parts_t *parts,
                         bool *alike)
{
    const size_t first = parts->send[team->rank == 0 ? 1 : 0].bytes;
    size_t longest = 0;

    *alike = first <= rows->part_most;
    rows->sends_longer = false;
    for (uint32_t i = 0; i < team->size; i++) {
        size_t bytes = parts->send[i].bytes;
        if (i == team->rank)
            continue;
        rows->sends_longer = rows->sends_longer || bytes > rows->part_most;
        longest = bytes <= rows->part_most ? sb_max(longest, bytes) : longest;
        *alike = *alike && bytes == first;
    }
    return longest;
}

/* Chooses how the parts go, and notes what each says of itself; returns the row's note. */
static uint32_t describe(const sb_team_t *team, sb_rows_t *rows, const sb_parts_t *parts)
{
    bool alike;
    size_t longest = longest_of(team, rows, parts, &alike);

    rows->mode = mode_for(team, rows, longest, parts->in_place);
    rows->sends_here = rows->sends_others = false;
    for (uint32_t i = 0; i < team->size; i++) {
        bool here = sb_goes_by_row(rows, &parts->send[i]);
        rows->bytes[i] = here ? (uint32_t)parts->send[i].bytes : ELSEWHERE;
        rows->sends_here = rows->sends_here || (i != team->rank && here);
        rows->sends_others = rows->sends_others || (i != team->rank && !here);
        rows->sends_longer = rows->sends_longer ||
                             (i != team->rank && !here && parts->send[i].bytes > SB_ROWS_STAGED);
    }
    uint32_t mode = (uint32_t)rows->mode << MODE_SHIFT;
    return mode | (alike ? (uint32_t)longest : MIXED | (uint32_t)cell_of(longest));
}

/* Until all others have read what was in this row's place. */
static sb_status_t wait_for_room(const sb_team_t *team, sb_rows_t *rows, uint32_t note)
{
    const uint64_t places = noted_cell(note) > rows->part_near ? SB_ROWS_LARGE : SB_ROWS;
    const uint64_t least = rows->count + 2 - places;

    if (rows->count + 2 <= places || rows->met >= least)
        return SB_OK;
    const sb_peers_t peers = {.blocks = (void *const *)(void *)rows->resource.bases,
                              .offset = place_of(rows, least - 1),
                              .count = team->size,
                              .self = team->rank};
    sb_status_t status = sb_peers_wait(&peers, least, &team->waiter, NULL);
    if (status == SB_OK)
        rows->met = least;
    return status;
}

/* If the large cells of the row are about to be used: as sb_resource_reach, in their place. */
static void reach(const sb_team_t *team, sb_rows_t *rows, uint32_t note)
{
    size_t cell = noted_cell(note), end = team->size * cell, begin = large_of(team, rows);
    size_t *touched = &rows->touched[rows->count % SB_ROWS_LARGE];

    if (!rows->sends_here || cell <= rows->part_near || end <= *touched)
        return;
    end = sb_min(sb_max(end, 2 * *touched), team->size * rows->part_most);
    sb_arena_touch(&rows->resource.block, begin + *touched, begin + end);
    *touched = end;
}

/* This rank's part into the row. */
static sb_status_t put(const sb_rows_t *rows, const sb_stream_t *part, char *cell)
{
    if (rows->mode != SB_COPY_NON_TEMPORAL || part->base == NULL || part->bytes < TRIED_LEAST)
        return sb_stream_read(part, 0, cell, part->bytes);
    sb_copy_streaming(cell, part->base, part->bytes);
    return SB_OK;
}

/*
 * The cells from there on are about to be written, in order: those who have read the last row in
 * their place hold their lines, for which stores would wait one after the other. `asked`: bytes of
 * the cells so far; the flag's own line is left to those who look at it. Cells of a mixed row may
 * be far longer than their parts.
 */
static void ask_ahead(const sb_team_t *team, uint32_t note, uint32_t next, size_t *asked)
{
    size_t cell = noted_cell(note);
    size_t end = sb_min((next + 1) * cell + ASKED_AHEAD, team->size * cell);

    if ((note & MIXED) != 0 || cell < SB_LINE || cell > ASKED_MOST || end <= *asked ||
        sb_rows(team)->mode != SB_COPY_CACHED)
        return;
    sb_fetch_to_write(cell_at(team, team->rank, note, 0) + *asked, end - *asked);
    *asked = end;
}

/*
 * The rows of the others are about to be read, one after the other: their flags, and, if they are
 * like this rank's row, its parts. Their lines come together while the rank copies its own part.
 */
static void fetch_rows(const sb_team_t *team, uint32_t note)
{
    const sb_rows_t *rows = sb_rows(team);
    size_t fetched = sb_min(noted_cell(note), FETCHED_MOST);

    for (uint32_t step = 1; step < team->size; step++) {
        uint32_t rank = sb_team_after(team, step);
        sb_fetch_ahead(&row_of(rows, rank)->flag, 1);
        if ((note & MIXED) == 0 && rows->sends_here)
            sb_fetch_ahead(cell_at(team, rank, note, team->rank), fetched);
    }
}

sb_status_t sb_rows_write(sb_team_t *team, const sb_parts_t *parts, sb_status_t *data)
{
    sb_rows_t *rows = sb_rows(team);
    row_t *row = row_of(rows, team->rank);
    uint32_t note = describe(team, rows, parts);
    sb_status_t status = wait_for_room(team, rows, note);
    size_t asked = 0;

    if (status != SB_OK)
        return status;
    reach(team, rows, note);
    if ((note & MIXED) != 0)
        sb_copy_shared(row->bytes, rows->bytes, team->size * sizeof(uint32_t));
    for (uint32_t i = 0; i < team->size; i++) {
        const sb_stream_t *part = &parts->send[i];
        ask_ahead(team, note, i, &asked);
        if (i != team->rank && part->bytes > 0 && sb_goes_by_row(rows, part))
            *data = sb_first(*data, put(rows, part, cell_at(team, team->rank, note, i)));
    }
    sb_flag_set_note(&row->flag, note);
    sb_flag_publish(&row->flag, rows->count + 1);
    fetch_rows(team, note);
    return SB_OK;
}

/* Bytes of the part for this rank in a row that has come, or ELSEWHERE. */
static uint32_t noted_bytes(const sb_team_t *team, const row_t *row, uint32_t note)
{
    uint32_t bytes = note & BYTES_MASK;
    bool pulled = (note >> MODE_SHIFT & MODE_MASK) == SB_COPY_PULLED;

    if ((note & MIXED) != 0)
        sb_copy(&bytes, &row->bytes[team->rank], sizeof bytes);
    else if (pulled && bytes >= SB_ROWS_PULLED)
        bytes = ELSEWHERE;
    return bytes;
}

/* The row of that rank has come: takes this rank's part, if it is there. */
static sb_status_t take(const sb_team_t *team, sb_rows_t *rows, uint32_t from,
                        const sb_parts_t *parts)
{
    row_t *row = row_of(rows, from);
    const sb_stream_t *part = &parts->receive[from];
    uint32_t note = sb_flag_note(&row->flag), bytes = noted_bytes(team, row, note);
    sb_status_t data = SB_OK;

    if (from == 0)
        data = hear(rows, note, parts->in_place);
    rows->comes_by_row[from] = bytes != ELSEWHERE;
    if (data != SB_OK || bytes == ELSEWHERE)
        return data;
    /* As above. */
    if (bytes > rows->part_most || (note & BYTES_MASK) > rows->part_most)
        return SB_ERR_TRUNCATE;
    data = sb_take(part, 0, cell_at(team, from, note, team->rank), bytes);
    return data == SB_OK && bytes > part->bytes ? SB_ERR_TRUNCATE : data;
}

/* Takes what has come by now; notes who is late. */
static uint32_t take_first(const sb_team_t *team, sb_rows_t *rows, const sb_parts_t *parts,
                           sb_status_t *data)
{
    uint32_t others = 0;

    rows->late = 0;
    for (uint32_t step = 1; step < team->size; step++) {
        uint32_t rank = sb_team_after(team, step);
        rows->comes_by_row[rank] = true;
        if (parts->receive[rank].bytes == 0)
            continue;
        others++;
        if (sb_flag_read(&row_of(rows, rank)->flag) > rows->count)
            *data = sb_first(*data, take(team, rows, rank, parts));
        else
            rows->is_late[rows->late++] = rank;
    }
    return others;
}

sb_status_t sb_rows_take(sb_team_t *team, const sb_parts_t *parts, sb_meanwhile_t *meanwhile,
                         sb_status_t *data, bool *others)
{
    sb_rows_t *rows = sb_rows(team);
    uint32_t seen = take_first(team, rows, parts, data);
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; i < rows->late && status == SB_OK; i++) {
        uint32_t rank = rows->is_late[i];
        sb_flag_t *flag = &row_of(rows, rank)->flag;
        if (meanwhile != NULL && sb_flag_read(flag) <= rows->count)
            status = meanwhile(team, parts);
        if (status == SB_OK)
            status = sb_flag_wait(flag, rows->count + 1, sb_team_waiter(team, rows->late - i));
        if (status == SB_OK)
            *data = sb_first(*data, take(team, rows, rank, parts));
    }
    rows->count++;
    if (seen == team->size - 1)
        rows->met = rows->count;
    *others = false;
    for (uint32_t i = 0; i < team->size; i++)
        *others = *others || (i != team->rank && !rows->comes_by_row[i]);
    return status;
}

/* Bytes of a row with room for such parts. */
static size_t row_bytes(uint32_t ranks, size_t part)
{
    return sb_round_up(head_of(ranks) + ranks * part, SB_FLAG_STRIDE);
}

static void adopt(const sb_team_t *team, size_t near)
{
    sb_rows_t *rows = sb_rows(team);
    size_t room = rows->resource.bytes;

    rows->part_near = near;
    rows->stride = row_bytes(team->size, near);
    rows->part_most =
        (room - SB_ROWS * rows->stride) / SB_ROWS_LARGE / team->size & ~(size_t)(SB_LINE - 1);
    rows->part_most = sb_max(rows->part_most, near);
    rows->bytes = (uint32_t *)(void *)(rows + 1);
    rows->is_late = rows->bytes + team->size;
    rows->comes_by_row = (bool *)(rows->is_late + team->size);
}

static sb_status_t make(sb_team_t *team)
{
    size_t room = (size_t)team->settings.ring_bytes / (SB_ROWS_LARGE * team->size);
    size_t most = team->settings.cma == SB_CMA_ON ? PART_NEAR : PART_MOST;
    size_t part = sb_min(room, most) & ~(size_t)(SB_LINE - 1);
    size_t near = sb_min(sb_max(part, PART_LEAST), PART_NEAR);
    size_t fixed = SB_ROWS * row_bytes(team->size, near);
    const sb_resource_size_t size = {
        .own = sizeof(sb_rows_t) + team->size * (2 * sizeof(uint32_t) + sizeof(bool)),
        .bytes = sb_round_up(fixed + SB_ROWS_LARGE * team->size * part, SB_PAGE),
        .least = sb_round_up(fixed, SB_PAGE),
        .near = fixed,
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_ROWS, &size);

    if (status == SB_OK)
        adopt(team, near);
    return status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_ROWS, make};

sb_status_t sb_rows_prepare(sb_team_t *team)
{
    sb_status_t status = team->oversubscribed ? sb_resource_need(team, &kind) : SB_OK;

    return status == SB_ERR_UNSUPPORTED ? SB_OK : status;
}
