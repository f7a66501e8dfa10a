/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/rings.h"

/* A message is cut into so many windows, unless they get smaller or larger than these. */
#define WINDOWS 8
#define WINDOW_LEAST ((size_t)4 << 10)
#define WINDOW_MOST ((size_t)32 << 10)
/* A ring holds so many windows at least: some are filled while others are read. */
#define WINDOWS_HELD 4

typedef struct rings {
    sb_team_t *team;
    const sb_reduction_t *reduction;
    sb_wanted_t wanted;
    size_t span; /* of the rings, where they go round */
    size_t window;
    bool in_place;
    sb_status_t data;
} rings_t;

/* The next window, as filling or reading comes to it: all ranks place it alike. */
typedef struct cursor {
    size_t offset; /* in the message */
    size_t bytes;
    uint64_t position; /* in the rings: in one piece */
} cursor_t;

static uint64_t end_of(const cursor_t *cursor)
{
    return cursor->position + sb_round_up(cursor->bytes, SB_LINE);
}

/* Sets the cursor on what comes from `position` on. */
static void set_cursor(const rings_t *rings, cursor_t *cursor, size_t offset, uint64_t position)
{
    size_t ring = sb_workspace(rings->team)->ring, place = (size_t)position & (ring - 1);

    cursor->offset = offset;
    cursor->bytes = sb_min(rings->window, rings->reduction->bytes - offset);
    cursor->position = place + cursor->bytes <= rings->span ? position : position + ring - place;
}

static void advance(const rings_t *rings, cursor_t *cursor)
{
    set_cursor(rings, cursor, cursor->offset + cursor->bytes, end_of(cursor));
}

static bool is_left(const rings_t *rings, const cursor_t *cursor)
{
    return cursor->offset < rings->reduction->bytes;
}

/*
 * Most messages go round in a part of the rings that stays in the caches. One that is dealt out in
 * parts fills what the rings hold, if it fits: then all copy first and combine after that, and
 * nobody fights for lines that another is just writing.
 */
static size_t span_for(const sb_team_t *team, const sb_reduction_t *reduction, bool dealt)
{
    const sb_workspace_t *space = sb_workspace(team);

    return dealt && reduction->bytes <= space->ring ? space->ring : space->span;
}

static size_t window_for(const sb_team_t *team, const sb_reduction_t *reduction, size_t span)
{
    size_t element = reduction->operation->element, window = (size_t)team->settings.fragment_bytes;

    /* Most messages: the divisions below would take longer than anything else. */
    if (window == 0 && reduction->bytes <= sb_min(WINDOW_LEAST, span / WINDOWS_HELD))
        return reduction->bytes;
    if (window == 0)
        window = sb_min(sb_max(reduction->bytes / WINDOWS, WINDOW_LEAST), WINDOW_MOST);
    window = sb_min(sb_round_up(window, SB_LINE), span / WINDOWS_HELD);
    return window / element * element;
}

/*
 * Copies a window of the contribution in. What this rank alone wants stays where it is, unless the
 * result comes there, before it is read for the last time.
 */
static void copy_in(const rings_t *rings, const cursor_t *cursor)
{
    const sb_wanted_t *wanted = &rings->wanted;
    size_t end = cursor->offset + cursor->bytes;
    const char *from = rings->reduction->send + cursor->offset;
    char *to = sb_workspace_ring(rings->team, rings->team->rank, cursor->position);
    bool parts = wanted->to - wanted->from < rings->reduction->bytes && !rings->in_place;
    size_t low = sb_min(sb_max(wanted->from, cursor->offset), end) - cursor->offset;
    size_t high = sb_min(sb_max(wanted->to, cursor->offset), end) - cursor->offset;

    if (!parts || low >= high) {
        sb_copy(to, from, cursor->bytes);
        return;
    }
    if (low > 0)
        sb_copy(to, from, low);
    if (high < cursor->bytes)
        sb_copy(to + high, from + high, cursor->bytes - high);
}

/* Waits until the positions before `end` may be filled. */
static sb_status_t wait_free(sb_team_t *team, uint64_t end)
{
    sb_workspace_t *space = sb_workspace(team);
    uint64_t least = UINT64_MAX;

    if (SB_LIKELY(end <= space->free_below + space->ring))
        return SB_OK;
    for (uint32_t rank = 0; rank < team->size; rank++) {
        if (rank == team->rank)
            continue;
        sb_flag_t *taken = &sb_workspace_head(team, rank)->taken.flag;
        sb_status_t status = sb_flag_wait(taken, end - space->ring, &team->waiter);
        if (status != SB_OK)
            return status;
        least = sb_min(least, sb_flag_read(taken));
    }
    space->free_below = least;
    return SB_OK;
}

/* Fills the next window of this rank's ring, once there is room. */
static sb_status_t fill(rings_t *rings, cursor_t *cursor)
{
    sb_team_t *team = rings->team;
    sb_status_t status = wait_free(team, end_of(cursor));

    if (status != SB_OK)
        return status;
    copy_in(rings, cursor);
    sb_flag_publish(&sb_workspace_head(team, team->rank)->given.flag, end_of(cursor));
    advance(rings, cursor);
    return SB_OK;
}

/* How to wait where ranks share processors: by how many are missing. */
static const sb_waiter_t *waiter_for(const rings_t *rings, uint64_t position)
{
    const sb_team_t *team = rings->team;
    uint32_t missing = 0;

    if (!team->oversubscribed)
        return &team->waiter;
    for (uint32_t rank = 0; rank < rings->wanted.sources; rank++)
        missing += rank != team->rank &&
                   sb_flag_read(&sb_workspace_head(team, rank)->given.flag) < position;
    return sb_team_waiter(team, missing);
}

/* Each begins with the next after itself, so that not all want the same line at once. */
static sb_status_t wait_for(const rings_t *rings, uint64_t position)
{
    const sb_team_t *team = rings->team;
    const sb_waiter_t *waiter = waiter_for(rings, position);
    uint32_t sources = rings->wanted.sources;
    uint32_t rank = team->rank + 1 < sources ? team->rank + 1 : 0;

    for (uint32_t step = 0; step < sources; step++) {
        if (rank != team->rank) {
            sb_status_t status =
                sb_flag_wait(&sb_workspace_head(team, rank)->given.flag, position, waiter);
            if (status != SB_OK)
                return status;
        }
        rank = rank + 1 < sources ? rank + 1 : 0;
    }
    return SB_OK;
}

static void combine(rings_t *rings, const cursor_t *cursor, size_t from, size_t to)
{
    const sb_team_t *team = rings->team;
    sb_fold_t fold;

    sb_fold_begin(&fold, rings->reduction->operation,
                  rings->reduction->receive + (from - rings->wanted.from), to - from);

    for (uint32_t rank = 0; rank < rings->wanted.sources; rank++) {
        bool own = rank == team->rank && !rings->in_place;
        const char *window = own ? rings->reduction->send + cursor->offset
                                 : sb_workspace_ring(team, rank, cursor->position);
        sb_fold_add(&fold, window + (from - cursor->offset));
    }
    rings->data = sb_first(rings->data, sb_fold_end(&fold));
}

/* Up to the next window, with what is skipped where a ring ends: else all might wait for it. */
static void publish_taken(const rings_t *rings, const cursor_t *cursor)
{
    sb_team_t *team = rings->team;

    sb_flag_publish(&sb_workspace_head(team, team->rank)->taken.flag, cursor->position);
}

/* Takes what is wanted of the next window. */
static sb_status_t take(rings_t *rings, cursor_t *cursor)
{
    size_t from = sb_max(cursor->offset, rings->wanted.from);
    size_t to = sb_min(cursor->offset + cursor->bytes, rings->wanted.to);

    if (from < to) {
        sb_status_t status = wait_for(rings, end_of(cursor));
        if (status != SB_OK)
            return status;
        combine(rings, cursor, from, to);
    }
    advance(rings, cursor);
    publish_taken(rings, cursor);
    return SB_OK;
}

/*
 * Bytes of the message that are filled before the first of them is read: as many as there is room
 * for where ranks share a processor, which they get once for each time that they fill and read; and
 * where each fills what it does not read.
 */
static size_t bytes_ahead(const rings_t *rings)
{
    bool parts = rings->wanted.to - rings->wanted.from < rings->reduction->bytes;

    return rings->team->oversubscribed || parts ? rings->reduction->bytes : 2 * rings->window;
}

/* A rank never waits for room that its own reading has to make. */
static bool may_fill(const rings_t *rings, const cursor_t *filled, const cursor_t *taken)
{
    return is_left(rings, filled) &&
           filled->offset + filled->bytes - taken->offset <= bytes_ahead(rings) &&
           end_of(filled) - taken->position <= sb_workspace(rings->team)->ring;
}

static sb_status_t go(rings_t *rings, bool lends)
{
    sb_team_t *team = rings->team;
    sb_status_t status = SB_OK;
    cursor_t filled, taken;

    set_cursor(rings, &filled, 0, sb_workspace(team)->position);
    taken = filled;
    if (taken.position != sb_workspace(team)->position)
        publish_taken(rings, &taken);
    while (is_left(rings, &taken) && status == SB_OK) {
        while (lends && may_fill(rings, &filled, &taken) && status == SB_OK)
            status = fill(rings, &filled);
        if (status == SB_OK)
            status = take(rings, &taken);
    }
    sb_workspace(team)->position = taken.position;
    return status;
}

static sb_status_t reduce(rings_t *rings, bool lends, bool dealt)
{
    sb_workspace_t *space = sb_workspace(rings->team);
    const sb_wanted_t *wanted = &rings->wanted;
    uint64_t start = space->position;

    rings->span = span_for(rings->team, rings->reduction, dealt);
    rings->window = window_for(rings->team, rings->reduction, rings->span);
    rings->in_place = rings->reduction->send == rings->reduction->receive;
    sb_status_t status = go(rings, lends || rings->in_place);
    if (status != SB_OK)
        return status;
    /* Who has given something to this message is done with those before. */
    if (wanted->sources == rings->team->size && wanted->from < wanted->to &&
        space->free_below < start)
        space->free_below = start;
    return rings->data;
}

sb_status_t sb_rings_reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                            bool lends)
{
    rings_t rings = {.team = team, .reduction = reduction, .wanted = wanted};

    return reduce(&rings, lends, false);
}

sb_status_t sb_rings_deal(sb_team_t *team, const sb_reduction_t *reduction)
{
    rings_t rings = {
        .team = team, .reduction = reduction, .wanted = sb_wanted_part(team, reduction)};

    return reduce(&rings, true, true);
}

/*
 * The first window's flag and lines, for which many readers fight; then a byte copied in, and one
 * combined: of the cache that ranks share, or from another core, the dearer the more of them want
 * something.
 */
double sb_rings_cost(const sb_shape_t *shape, double in, double combined, double readers)
{
    const sb_prices_t *price = shape->prices;
    double apart = (shape->apart ? price->ring_packages : price->ring_apart) +
                   price->ring_crowd * shape->ranks;
    double crowd = sb_cost_crowd(shape);
    double turns = sb_max(in / crowd / SB_RINGS_USUAL, 1);
    double lines = (2 * price->line + shape->ranks * price->next_line) * crowd;
    double time = lines + price->byte * in;

    if (shape->oversubscribed)
        return time + combined * price->ring_shared + sb_fold_turns(shape, turns);
    return time + combined * apart + price->moving_line * (readers - 1) * shape->ranks;
}
