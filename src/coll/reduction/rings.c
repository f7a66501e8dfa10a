/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions through rings: the team counts bytes; a message takes as many positions in the rings
 * of all ranks. Each rank copies its contribution into its own ring, in windows of whole elements,
 * and says in `given` up to where it is there. A rank that wants a result combines window after
 * window from the rings of all as they come, from left to right in rank order, and says in `taken`
 * up to where it is done; who wants nothing says so too. So nobody waits but for data, and for room
 * in its ring: of a reduce the root alone, of a scan the ranks up to itself. Most messages are kept
 * to the span, the first part of the rings, which stays in the caches. Of an allreduce of two
 * ranks, and of a reduce_scatter with equal parts, each changes rings with the other in every
 * round: what a rank fills it has read before, so those lines are in its core, and each crosses
 * once for a message. A long allreduce of two ranks goes in halves too (halves.h). Cost: each rank
 * copies every byte in that others want, and combines p times as many of an allreduce, as many of a
 * reduce_scatter; one flag for each window, and no barrier, so that ranks that share processors
 * have to run once for each ringful. In a reduce, and a scan of two ranks, contributions may also
 * stay where they are (lent.h). Rank 0 of a scan copies what is its own result, in long pieces.
 * Memory: one ring a rank, of at most 256 KiB, more of few ranks. Preconditions: the workspace.
 * Source: ours; the broadcast in a ring, with every rank as a root.
 */
#include "coll/reduction/rings.h"

#include "coll/reduction/halves.h"
#include "coll/reduction/lent.h"

/* Of what is all filled before it is read: the other begins with the first meanwhile. */
#define PHASE_WINDOWS 2

/* Who wants something of a message; PHASES: all, of one that is given before it is read. */
typedef enum receivers { ALL, ROOT, PARTS, PHASES, LATER_RANKS } receivers_t;

typedef struct rings {
    sb_team_t *team;
    sb_workspace_t *space;
    const sb_reduction_t *reduction;
    const char *gives; /* what this rank copies in */
    sb_wanted_t wanted;
    sb_lent_t lent;
    size_t window;
    size_t own_piece;    /* of a result that is this rank's alone; 0: it is not */
    size_t own;          /* so much of that is there */
    sb_copy_mode_t mode; /* of copying in */
    bool in_place;
    bool own_in_ring; /* combined from there, as the result overwrites it where it was */
    bool swapped;     /* in every other round of the rings two ranks have each other's */
    bool phases;      /* all is filled before anything is read, as far as there is room */
    bool borrows;     /* the others may lend what they give */
    bool mutual;      /* each gives what the others wait for, as much as it waits for itself */
    sb_status_t data;
} rings_t;

/* The next window, as filling or reading comes to it: all ranks place it alike. */
typedef struct window {
    size_t offset; /* in the message */
    size_t bytes;
    sb_cursor_t at; /* in the rings, in one piece */
} window_t;

static uint64_t end_of(const window_t *window)
{
    return window->at.position + sb_round_up(window->bytes, SB_LINE);
}

static void place(const rings_t *rings, window_t *window)
{
    window->bytes = sb_min(rings->window, rings->reduction->bytes - window->offset);
    sb_cursor_fit(&window->at, window->bytes);
}

static void advance(const rings_t *rings, window_t *window)
{
    window->at.position = end_of(window);
    window->offset += window->bytes;
    place(rings, window);
}

static bool is_left(const rings_t *rings, const window_t *window)
{
    return window->offset < rings->reduction->bytes;
}

/*
 * Most messages go round in a part of the rings that stays in the caches. One that is dealt out in
 * parts fills what the rings hold, if it fits: then all copy first and combine after that, and
 * nobody fights for lines that another is just writing.
 */
static size_t span_for(const sb_workspace_t *space, size_t bytes, bool dealt)
{
    return dealt && bytes <= space->usual ? space->usual : space->span;
}

/*
 * Bytes of the rings where such messages go round. Of those that are swapped there are two in it,
 * if they are short: then nobody looks whether the other is done with the last one.
 */
static size_t round_for(const rings_t *rings, size_t span)
{
    size_t two = 2 * sb_round_up(rings->reduction->bytes, SB_LINE);

    return rings->swapped ? sb_min(span, sb_max(two, SB_RINGS_ALONE)) : span;
}

/* One is filled before it is read. Returns bytes of the rings where it goes round. */
static size_t set_phases(rings_t *rings)
{
    size_t bytes = rings->reduction->bytes, element = rings->reduction->operation->element;
    size_t room = rings->space->usual, most = room / 2, pieces = sb_divide_up(bytes, most);
    size_t window = sb_round_up(bytes / pieces / PHASE_WINDOWS, SB_LINE);

    window = sb_min(window, room / SB_RINGS_WINDOWS);
    rings->phases = true;
    rings->window = sb_max(window / element, 1) * element;
    return room;
}

/*
 * Where a rank's bytes of a window are. Who fills a round is done with the one before, and so are
 * the others, with both rings: so messages that are swapped, and such that are not, may follow each
 * other.
 */
static char *ring_of(const rings_t *rings, uint32_t rank, const window_t *window)
{
    bool others = rings->swapped && (window->at.round & window->at.ring) != 0;

    return sb_workspace_ring(rings->team, others ? 1 - rank : rank, &window->at);
}

/* Copies a window of the contribution in. What this rank alone wants stays where it is, unless the
 * result comes there, before it is read for the last time. */
static void copy_in(const rings_t *rings, const window_t *window)
{
    const sb_wanted_t *wanted = &rings->wanted;
    size_t end = window->offset + window->bytes;
    const char *from = rings->gives + window->offset;
    char *to = ring_of(rings, rings->team->rank, window);
    bool parts = wanted->to - wanted->from < rings->reduction->bytes && !rings->in_place;
    size_t low = sb_min(sb_max(wanted->from, window->offset), end) - window->offset;
    size_t high = sb_min(sb_max(wanted->to, window->offset), end) - window->offset;

    if (!parts || low >= high) {
        sb_workspace_copy(rings->mode, to, from, window->bytes);
        return;
    }
    if (low > 0)
        sb_workspace_copy(rings->mode, to, from, low);
    if (high < window->bytes)
        sb_workspace_copy(rings->mode, to + high, from + high, window->bytes - high);
}

/* Fills the next window of this rank's ring, once there is room. */
static sb_status_t fill(rings_t *rings, window_t *window)
{
    sb_flow_out_t *out = &rings->space->out;
    sb_status_t status = sb_flow_reserve(out, end_of(window), &rings->team->waiter);

    if (status != SB_OK)
        return status;
    copy_in(rings, window);
    sb_flow_commit(out, end_of(window));
    advance(rings, window);
    return SB_OK;
}

/* Where the bytes of a window are of that rank. */
static const char *source(const rings_t *rings, const window_t *window, uint32_t rank)
{
    if (rank == rings->team->rank && !rings->own_in_ring)
        return rings->reduction->send + window->offset;
    if (sb_lent_is(&rings->lent, rank))
        return sb_lent_at(rings->team, &rings->lent, rank, window->offset);
    return ring_of(rings, rank, window);
}

static void combine(rings_t *rings, const window_t *window, size_t from, size_t to)
{
    sb_fold_t fold;

    if (rings->own_piece > 0) {
        rings->own = sb_own_result(rings->reduction, rings->own, to, rings->own_piece);
        return;
    }
    sb_fold_begin(&fold, rings->reduction->operation,
                  rings->reduction->receive + (from - rings->wanted.from), to - from);
    for (uint32_t rank = 0; rank < rings->wanted.sources; rank++)
        sb_fold_add(&fold, source(rings, window, rank) + (from - window->offset));
    rings->data = sb_first(rings->data, sb_fold_end(&fold));
}

/* Waits for the first window of all, or for what they say of it; the wait takes no time. */
static sb_status_t wait_for_first(rings_t *rings, const sb_peers_t *given, const window_t *window)
{
    if (rings->borrows)
        return sb_lent_find(rings->team, &rings->lent,
                            rings->in_place ? NULL : rings->reduction->receive);
    uint64_t began = sb_workspace_wait_begins(rings->space);
    sb_status_t status = sb_sources_wait(rings->team, given, end_of(window));
    if (status == SB_OK)
        sb_workspace_wait_ends(rings->space, began);
    return status;
}

/* Waits for a window of those who do not lend it, and has that of the others at hand. */
static sb_status_t wait_for_window(rings_t *rings, const sb_peers_t *given, const window_t *window)
{
    sb_lent_t *lent = &rings->lent;

    if (lent->ranks != 0)
        sb_lent_fetch(rings->team, lent, window->offset, rings->window, rings->reduction->bytes);
    return lent->ranks == 0 ? sb_sources_wait(rings->team, given, end_of(window))
                            : sb_lent_wait_others(rings->team, lent, given, end_of(window));
}

/* Waits until all that is wanted of a window is there. */
static sb_status_t wait_for(rings_t *rings, const window_t *window)
{
    sb_peers_t given = sb_workspace_peers(rings->team, offsetof(sb_workspace_head_t, given));
    sb_status_t status = SB_OK;

    given.count = rings->wanted.sources;
    if (window->offset == 0)
        status = wait_for_first(rings, &given, window);
    if (status == SB_OK && (window->offset > 0 || rings->borrows))
        status = wait_for_window(rings, &given, window);
    bool last = window->offset + window->bytes == rings->reduction->bytes;
    if (rings->borrows && rings->lent.ranks == 0 && last)
        sb_lent_all_gave(rings->team);
    return status;
}

/* Until one of the others has given its part of bytes [from, to) of a window, or says that it lends
 * the message, what that will be combined with comes near. */
static void fetch_meanwhile(const rings_t *rings, const window_t *window, size_t from, size_t to)
{
    uint32_t other = rings->team->rank == 0;
    const char *own = rings->own_in_ring ? NULL : rings->reduction->send + from;
    char *result = rings->reduction->receive + (from - rings->wanted.from);
    bool any = rings->borrows && window->offset == 0;

    if (other < rings->wanted.sources && !rings->mutual && rings->lent.ranks == 0)
        sb_team_meanwhile(rings->team, &sb_workspace_head(rings->team, other)->given.flag,
                          any ? window->at.position + 1 : end_of(window), own, result, to - from);
}

/* Takes what is wanted of the next window. */
static sb_status_t take(rings_t *rings, window_t *window)
{
    size_t from = sb_max(window->offset, rings->wanted.from);
    size_t to = sb_min(window->offset + window->bytes, rings->wanted.to);

    if (from < to) {
        fetch_meanwhile(rings, window, from, to);
        sb_status_t status = wait_for(rings, window);
        if (status != SB_OK)
            return status;
        combine(rings, window, from, to);
    }
    advance(rings, window);
    sb_workspace_taken(rings->team, window->at.position);
    return SB_OK;
}

/*
 * Bytes of the message that are filled before the first of them is read: as many as there is room
 * for where ranks share a processor, which they get once for each time that they fill and read; and
 * where each fills what it does not read. The others are busy while a rank copies its own result.
 */
static size_t bytes_ahead(const rings_t *rings)
{
    bool parts = rings->wanted.to - rings->wanted.from < rings->reduction->bytes;

    if (rings->team->oversubscribed || parts || rings->phases)
        return rings->reduction->bytes;
    return rings->window + sb_max(rings->own_piece, rings->window);
}

/* A rank never waits for room that its own reading has to make. */
static bool may_fill(const rings_t *rings, const window_t *filled, const window_t *taken)
{
    return is_left(rings, filled) &&
           filled->offset + filled->bytes - taken->offset <= bytes_ahead(rings) &&
           end_of(filled) - taken->at.position <= rings->space->out.room;
}

static sb_status_t go(rings_t *rings, bool gives)
{
    sb_workspace_t *space = rings->space;
    sb_status_t status = SB_OK;
    window_t filled = {.at = space->cursor}, taken;

    place(rings, &filled);
    taken = filled;
    if (taken.at.position != space->cursor.position)
        sb_workspace_taken(rings->team, taken.at.position);
    while (is_left(rings, &taken) && status == SB_OK) {
        while (gives && may_fill(rings, &filled, &taken) && status == SB_OK)
            status = fill(rings, &filled);
        if (status == SB_OK)
            status = take(rings, &taken);
    }
    space->cursor = taken.at;
    return status;
}

/* What the root alone wants comes as that chooses: whether this rank is to lend its own. */
static bool lends(rings_t *rings)
{
    const sb_reduction_t *reduction = rings->reduction;
    sb_team_t *team = rings->team;

    if (!sb_lent_may_be(team, reduction->bytes, rings->window))
        return false;
    rings->borrows = team->rank == reduction->root;
    if (rings->borrows) {
        sb_lent_choose(team, reduction);
        return false;
    }
    rings->mode = sb_lent_asked(team, reduction);
    return rings->mode == SB_COPY_PULLED;
}

/*
 * Lends what the root wants. It may wait for this rank to be done with the rings of all, so that is
 * said first: nothing in them is wanted here. If it cannot read, it gets all through the ring.
 */
static sb_status_t lend(rings_t *rings)
{
    window_t filled = {.at = rings->space->cursor};
    bool read = false;

    sb_lent_show(rings->team, rings->reduction);
    sb_status_t status = go(rings, false);
    if (status == SB_OK)
        status = sb_lent_wait(rings->team, rings->reduction, filled.at.position, &read);
    place(rings, &filled);
    while (status == SB_OK && !read && is_left(rings, &filled))
        status = fill(rings, &filled);
    return status;
}

/* In place a result may come exactly where a contribution is that the same pass reads; that of who
 * wants a part comes elsewhere. */
static bool needs_own_in_ring(const rings_t *rings, receivers_t receivers)
{
    return rings->in_place && (receivers == PARTS || rings->team->rank >= SB_FOLD_MOST);
}

/*
 * This rank combines what it wants. `gives`: the others want something of its contribution; of what
 * it alone wants they never do. `mode`: of copying in; SB_COPY_ANY: it is chosen here. `other`:
 * what it gives in place of its contribution, or NULL.
 */
static sb_status_t reduce_as(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                             bool gives, receivers_t receivers, sb_copy_mode_t mode,
                             const char *other)
{
    sb_workspace_t *space = sb_workspace(team);
    uint64_t start = space->cursor.position;
    bool wide = receivers == ROOT && sb_lent_is_wide(team, reduction);
    bool phases = receivers == PHASES;
    size_t span =
        wide ? (size_t)space->cursor.ring : span_for(space, reduction->bytes, receivers == PARTS);
    rings_t rings = {.team = team,
                     .space = space,
                     .reduction = reduction,
                     .gives = other != NULL ? other : reduction->send,
                     .wanted = wanted,
                     .window = sb_reduction_rings_window(team, reduction, span),
                     .in_place = other == NULL && reduction->send == reduction->receive,
                     .swapped =
                         (phases || receivers == ALL) && team->size == 2 && !team->oversubscribed,
                     .mutual = receivers != ROOT && receivers != LATER_RANKS};
    if (phases)
        span = set_phases(&rings);
    if (wanted.sources == 1 && team->rank == 0)
        rings.own_piece = space->span / SB_RINGS_WINDOWS;
    bool together = gives && wanted.sources == team->size && wanted.from < wanted.to;
    space->cursor.window = round_for(&rings, span);
    rings.own_in_ring = needs_own_in_ring(&rings, receivers);
    if (gives || rings.own_in_ring)
        sb_workspace_reach_ring(space, reduction->bytes);
    rings.mode = mode != SB_COPY_ANY
                     ? mode
                     : sb_workspace_copy_mode(team, &space->copies, reduction, together);
    bool lending = receivers == ROOT && lends(&rings);
    sb_status_t status = lending ? lend(&rings) : go(&rings, gives || rings.own_in_ring);
    if (status != SB_OK)
        return status;
    if (mode == SB_COPY_ANY)
        sb_workspace_copied(space);
    if (rings.borrows)
        sb_lent_ended(team);
    /* Who has given something to this message is done with those before. */
    if (wanted.sources == team->size && wanted.from < wanted.to)
        sb_flow_credit(&space->out, start);
    return rings.data;
}

static sb_status_t reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                          bool gives, receivers_t receivers)
{
    return reduce_as(team, reduction, wanted, gives, receivers, SB_COPY_ANY, NULL);
}

sb_status_t sb_reduction_rings_allreduce_as(sb_team_t *team, const sb_reduction_t *reduction,
                                            sb_copy_mode_t mode)
{
    return reduce_as(team, reduction, sb_wanted_by_all(team, reduction), true, ALL, mode, NULL);
}

sb_status_t sb_reduction_rings_reduce_parts(sb_team_t *team, const sb_reduction_t *reduction)
{
    return reduce(team, reduction, sb_wanted_part(team, reduction), true, PARTS);
}

sb_status_t sb_reduction_rings_swap_parts(sb_team_t *team, const sb_reduction_t *own,
                                          const char *other, bool phases)
{
    return reduce_as(team, own, (sb_wanted_t){2, 0, own->bytes}, true, phases ? PHASES : ALL,
                     SB_COPY_ANY, other);
}

#define ALL_WANT                                                                                   \
    sb_halves_may_be(team, reduction)                                                              \
        ? sb_halves_allreduce(team, reduction)                                                     \
        : sb_reduction_rings_allreduce_as(team, reduction, SB_COPY_ANY)
#define ROOT_WANTS                                                                                 \
    reduce(team, reduction, sb_wanted_by_root(team, reduction), team->rank != reduction->root, ROOT)

SB_RINGS(
    sb_allreduce_rings, SB_ALLREDUCE, "whole", ALL_WANT, sb_reduction_rings_cost_of_all,
    "; each combines those of all in rank order as they come, or of two ranks one half. For few "
    "ranks, and where they share processors.");
SB_RINGS(sb_reduce_rings, SB_REDUCE, NULL, ROOT_WANTS, sb_reduction_rings_cost_of_root,
         ", and goes on; the root combines them in rank order as they come.");

sb_status_t sb_reduction_rings_scan(sb_team_t *team, const sb_reduction_t *reduction,
                                    sb_wanted_t wanted)
{
    sb_reduction_t last = *reduction;

    /* Of two ranks the second alone wants something of another: for the first it is a reduce. */
    last.root = team->size - 1;
    return reduce(team, &last, wanted, team->rank + 1 < team->size,
                  team->size == 2 ? ROOT : LATER_RANKS);
}
