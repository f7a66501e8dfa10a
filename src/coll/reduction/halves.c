/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allreduce of two ranks in halves, through the rings of the workspace: each copies what the
 * other is to combine into its ring; combines its own half out of the other's ring, into its ring
 * and from there, piece by piece, to where it belongs; and copies the other half of the result out
 * of the other's ring. Each of the three is done with in one go, in two windows that are told one
 * by one, so that nobody reads lines that another is just writing; and the rings go round in the
 * message itself. As in rings.c the ranks change rings with every round: what a rank fills it has
 * read before, those lines are in its core, and each crosses once for a message. Cost: half of the
 * bytes are copied in, half combined and copied twice, and half copied out; the other is waited for
 * twice, without a barrier. Memory: the rings; longer messages go in several pieces. Preconditions:
 * the workspace, two ranks with a processor each. Source: Sobor; a reduce-scatter and an allgather,
 * as Rabenseifner, 2004, in shared memory.
 */
#include "coll/reduction/halves.h"

#include "coll/reduction/rings.h"
#include "coll/reduction/ways.h"

/* Of shorter messages the second wait costs more than what is combined once less; where a function
 * of the program combines, which may take long, only of far shorter ones. */
#define LEAST ((size_t)32 << 10)
#define LEAST_CALLED SB_COPY_LEAST

/* Of each half. */
#define WINDOWS 2

/* So much is combined, and copied to where it belongs while it is in the first cache. */
#define STEP ((size_t)8 << 10)

/* Most bytes of a message in the rings at once are so many lines at least. */
#define LINES_LEAST 8

/* Tests have shorter ones go so too. All ranks call functions of the program, or none does. */
bool sb_halves_may_be(const sb_team_t *team, const sb_reduction_t *reduction)
{
    const sb_workspace_t *space = sb_workspace(team);
    bool forced = team->settings.windows_mode == SB_COPY_HALVED;
    size_t element = reduction->operation->element;
    size_t usual = reduction->operation->called ? LEAST_CALLED : LEAST;
    size_t least = forced ? 2 * element : usual;
    size_t room = sb_max(forced ? 0 : usual, LINES_LEAST * sb_max(element, SB_LINE));

    return team->size == 2 && !team->oversubscribed && reduction->bytes >= least &&
           space->usual >= room;
}

/* A piece of the message in the rings. */
typedef struct halves {
    sb_team_t *team;
    sb_workspace_t *space;
    const sb_operator_t *operation;
    const char *send;
    char *receive;
    size_t bytes;
    size_t cut;     /* where the second half begins */
    uint64_t start; /* its position: of contributions, */
    size_t reach;   /* and so far from there of results */
    sb_peers_t given;
    sb_status_t data;
} halves_t;

static sb_range_t half_of(const halves_t *halves, uint32_t rank)
{
    return rank == 0 ? (sb_range_t){0, halves->cut} : (sb_range_t){halves->cut, halves->bytes};
}

static size_t window_of(const halves_t *halves, sb_range_t half)
{
    size_t element = halves->operation->element;
    size_t window = sb_round_up(sb_range_bytes(half) / WINDOWS, SB_LINE) / element * element;

    return window == 0 ? sb_range_bytes(half) : window;
}

/* Where the byte of the piece is that this rank, or the other one, has filled. */
static char *ring_of(const halves_t *halves, uint32_t rank, size_t offset)
{
    sb_cursor_t at = halves->space->cursor;
    bool others = (at.round & at.ring) != 0;

    at.position = halves->start + offset;
    return sb_workspace_ring(halves->team, others ? 1 - rank : rank, &at);
}

/* Waits until the other has filled the piece so far. It is done with earlier messages then. */
static sb_status_t wait_for(halves_t *halves, size_t offset)
{
    return sb_sources_wait(halves->team, &halves->given, halves->start + offset);
}

/* Copies in what the other is to combine. */
static sb_status_t give(halves_t *halves)
{
    sb_flow_out_t *out = &halves->space->out;
    sb_range_t half = half_of(halves, 1 - halves->team->rank);
    size_t bytes = sb_range_bytes(half), window = window_of(halves, half);
    sb_status_t status = sb_flow_reserve(out, halves->start + halves->reach, &halves->team->waiter);

    for (size_t at = 0; at < bytes && status == SB_OK; at += window) {
        size_t end = sb_min(at + window, bytes);
        sb_workspace_copy(SB_COPY_CACHED, ring_of(halves, halves->team->rank, at),
                          halves->send + half.from + at, end - at);
        sb_flow_commit(out, halves->start + end);
    }
    return status;
}

/* Bytes [at, end) of this rank's half. */
static void combine_window(halves_t *halves, size_t at, size_t end)
{
    uint32_t rank = halves->team->rank;
    size_t from = half_of(halves, rank).from, element = halves->operation->element;
    sb_fold_t fold;

    for (size_t bytes; at < end; at += bytes) {
        const char *own = halves->send + from + at, *other = ring_of(halves, 1 - rank, at);
        char *to = ring_of(halves, rank, halves->reach + at);
        bytes = sb_min(STEP / element * element, end - at);
        sb_fold_begin(&fold, halves->operation, to, bytes);
        sb_fold_add(&fold, rank == 0 ? own : other);
        sb_fold_add(&fold, rank == 0 ? other : own);
        halves->data = sb_first(halves->data, sb_fold_end(&fold));
        sb_copy(halves->receive + from + at, to, bytes);
    }
}

/* Combines this rank's half; `before`: where the message before this piece ended. */
static sb_status_t combine(halves_t *halves, uint64_t before)
{
    sb_flow_out_t *out = &halves->space->out;
    sb_range_t half = half_of(halves, halves->team->rank);
    size_t bytes = sb_range_bytes(half), window = window_of(halves, half);
    uint64_t began = sb_workspace_wait_begins(halves->space);
    sb_status_t status = wait_for(halves, sb_min(window, bytes));

    if (status != SB_OK)
        return status;
    sb_workspace_wait_ends(halves->space, began);
    /* Who has given something to this message is done with those before. */
    sb_flow_credit(out, before);
    status = sb_flow_reserve(out, halves->start + 2 * halves->reach, &halves->team->waiter);
    for (size_t at = 0; at < bytes && status == SB_OK; at += window) {
        size_t end = sb_min(at + window, bytes);
        status = wait_for(halves, end);
        if (status == SB_OK) {
            combine_window(halves, at, end);
            sb_flow_commit(out, halves->start + halves->reach + end);
        }
    }
    return status;
}

/* Copies out what the other has combined. */
static sb_status_t take(halves_t *halves)
{
    uint32_t other = 1 - halves->team->rank;
    sb_range_t half = half_of(halves, other);
    size_t bytes = sb_range_bytes(half), window = window_of(halves, half);
    sb_status_t status = SB_OK;

    for (size_t at = 0; at < bytes && status == SB_OK; at += window) {
        size_t end = sb_min(at + window, bytes);
        status = wait_for(halves, halves->reach + end);
        if (status == SB_OK)
            sb_copy_far(halves->receive + half.from + at,
                        ring_of(halves, other, halves->reach + at), end - at);
    }
    return status;
}

/* Finds the piece its place in the rings, which is one in which nothing is cut. */
static void place(halves_t *halves)
{
    sb_cursor_t *cursor = &halves->space->cursor;
    size_t element = halves->operation->element;
    uint64_t before = cursor->position;

    halves->cut = (halves->bytes / 2 & ~(size_t)(SB_LINE - 1)) / element * element;
    if (halves->cut == 0)
        halves->cut = halves->bytes / 2 / element * element;
    halves->reach = sb_round_up(halves->bytes - halves->cut, SB_LINE);
    cursor->window = 2 * halves->reach;
    sb_cursor_fit(cursor, 2 * halves->reach);
    halves->start = cursor->position;
    /* What is skipped is taken, if the other might wait for that. */
    if (before + cursor->ring < halves->start + 2 * halves->reach)
        sb_workspace_taken(halves->team, halves->start);
    sb_workspace_reach_ring(halves->space, 2 * halves->reach);
}

static sb_status_t run(halves_t *halves)
{
    sb_workspace_t *space = halves->space;
    uint64_t before = space->cursor.position;

    place(halves);
    sb_status_t status = give(halves);
    if (status == SB_OK)
        status = combine(halves, before);
    if (status == SB_OK)
        status = take(halves);
    space->cursor.position = halves->start + 2 * halves->reach;
    if (status != SB_OK)
        return status;
    sb_workspace_taken(halves->team, space->cursor.position);
    /* Who has combined its half has taken what it was made of. */
    sb_flow_credit(&space->out, halves->start + halves->reach);
    return SB_OK;
}

/* Bytes of the pieces that a message goes in: about as long. Halves end with an element, and each
 * begins on a line: so they need more than the piece, most where elements do not divide a line. A
 * ring may hold no more than is usual: both ranks would wait for ever for what it has no room for.
 */
static size_t piece_of(const sb_workspace_t *space, const sb_reduction_t *reduction)
{
    size_t element = reduction->operation->element;
    size_t more = SB_LINE % element == 0 ? 2 : 4;
    size_t most = space->usual - more * sb_max(element, SB_LINE);
    size_t pieces = sb_divide_up(reduction->bytes, most);

    return sb_divide_up(sb_divide_up(reduction->bytes, pieces), element) * element;
}

static sb_status_t in_halves(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_workspace_t *space = sb_workspace(team);
    halves_t halves = {.team = team, .space = space, .operation = reduction->operation};
    size_t piece = piece_of(space, reduction);
    sb_status_t status = SB_OK;

    halves.given = sb_workspace_peers(team, offsetof(sb_workspace_head_t, given));
    for (size_t at = 0; at < reduction->bytes && status == SB_OK; at += piece) {
        halves.send = reduction->send + at;
        halves.receive = reduction->receive + at;
        halves.bytes = sb_min(piece, reduction->bytes - at);
        status = run(&halves);
    }
    return status == SB_OK ? halves.data : status;
}

sb_status_t sb_halves_as(sb_team_t *team, const sb_reduction_t *reduction, sb_copy_mode_t mode)
{
    return mode == SB_COPY_HALVED ? in_halves(team, reduction)
                                  : sb_reduction_rings_allreduce_as(team, reduction, mode);
}

sb_status_t sb_halves_allreduce(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_copy_mode_t mode = sb_ways_choose(team, reduction, SB_WAYS_OF_ALL);
    sb_status_t status = sb_halves_as(team, reduction, mode);

    sb_workspace_copied(sb_workspace(team));
    return status;
}
