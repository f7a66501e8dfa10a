/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/lent.h"

#include "base/config.h"

/* Beside a position, which is one of a line. */
#define WIDE UINT64_C(1)

/* Positions of the message that say how a contribution is given, and what was made of it. */
enum { LENT = 1, READ = LENT, REFUSED = 2 };

/* Where ranks share processors shorter contributions are always copied in: each rank would have to
 * run once more to hear that it was read. */
#define CROWDED_LEAST ((size_t)16 << 10)

size_t sb_lent_room(const sb_team_t *team)
{
    bool room = team->size <= SB_EXPOSE_FEW && (sb_expose_pays(team) || sb_expose_is_tried(team));

    return room ? team->size * (sizeof(sb_exposer_t) + SB_LENT_PIECE) : 0;
}

sb_status_t sb_lent_prepare(sb_team_t *team, void *room)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_exposer_t *exposers = room;

    if (sb_lent_room(team) == 0)
        return SB_OK;
    space->pieces = (char *)(exposers + team->size);
    space->lending = sb_copy_policy(SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO);
    sb_status_t status = sb_expose_make(&space->expose, team, &space->resource, exposers, true);
    if (status == SB_OK && space->expose.kernel && team->settings.loads)
        sb_copy_policy_add_loads(&space->lending, SB_COPY_PULLED, 0, space->expose.call_ns,
                                 space->lent_by);
    else if (status == SB_OK && space->expose.kernel)
        sb_copy_policy_add(&space->lending, SB_COPY_PULLED, 0, space->expose.call_ns);
    if (space->cursor.ring > space->usual)
        sb_copy_policy_add(&space->lending, SB_COPY_WIDE, 0, 0);
    sb_copy_policy_reaches(&space->lending, SB_COPY_WIDE, &space->resource, space->resource.bytes);
    return status;
}

bool sb_lent_may_be(const sb_team_t *team, size_t bytes, size_t window)
{
    const sb_workspace_t *space = sb_workspace(team);
    size_t least = sb_expose_is_tried(team) ? CROWDED_LEAST : SB_COPY_LEAST;
    bool long_enough = bytes >= (team->settings.cma == SB_CMA_ON ? 1 : least);

    return long_enough && space->pieces != NULL && window <= SB_LENT_PIECE;
}

static void show(const sb_team_t *team, size_t bytes, sb_copy_mode_t mode)
{
    /* Where such stores go round is told beside. */
    mode = mode == SB_COPY_WIDE ? SB_COPY_CACHED : mode;
    sb_copy_show(&sb_workspace_head(team, team->rank)->given.lending, bytes, mode);
}

/* What the root shows, as this rank may do it. */
static sb_copy_mode_t shown_way(const sb_team_t *team, const sb_reduction_t *reduction,
                                bool may_lend)
{
    const sb_flag_t *flag = &sb_workspace_head(team, reduction->root)->given.lending;
    sb_copy_mode_t mode =
        team->settings.cma == SB_CMA_ON ? SB_COPY_PULLED : sb_copy_shown(flag, reduction->bytes);

    return mode == SB_COPY_ANY || (mode == SB_COPY_PULLED && !may_lend) ? SB_COPY_CACHED : mode;
}

/* The word of the message's root: the position from which on it holds, and whether messages are
 * wide from there on. Before that they are the other. */
static sb_flag_t *wide_word(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return &sb_workspace_head(team, reduction->root)->wide[sb_copy_class(reduction->bytes)];
}

bool sb_lent_is_wide(const sb_team_t *team, const sb_reduction_t *reduction)
{
    if (team->size != 2 || reduction->bytes < SB_COPY_LEAST)
        return false;
    uint64_t said = sb_flag_read(wide_word(team, reduction));
    bool later = sb_workspace(team)->cursor.position < (said & ~(uint64_t)WIDE);

    return ((said & WIDE) != 0) != later;
}

/* Root: from a ring ahead on messages like this one are to be wide or not, unless an earlier word
 * has yet to hold. A time counts for what its message was. */
static void settle_wide(const sb_team_t *team, const sb_reduction_t *reduction, bool is_wide)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_flag_t *word = wide_word(team, reduction);
    bool wanted = space->choice.mode == SB_COPY_WIDE;
    bool stored = wanted || space->choice.mode == SB_COPY_CACHED;
    uint64_t at = space->cursor.position, said = sb_flag_read(word);

    if (!stored || is_wide == wanted)
        return;
    space->choice.timed = false;
    if (at >= (said & ~(uint64_t)WIDE))
        sb_flag_publish(word, at + space->cursor.ring + SB_LINE + (wanted ? WIDE : 0));
}

void sb_lent_choose(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_workspace_t *space = sb_workspace(team);
    bool is_wide = sb_lent_is_wide(team, reduction);
    /* Those who are ahead have given so much as was shown before. */
    size_t before = is_wide ? (size_t)space->cursor.ring : space->span;
    size_t laps[SB_COPY_MODES];

    if (sb_expose_is_tried(team) && !space->expose.kernel)
        return;
    if (sb_expose_is_tried(team)) {
        const sb_block_ways_t ways = {.count = 2};
        bool lent = sb_block_choose(&space->blocks, reduction->bytes, ways, sb_now_ns()) == 1;
        show(team, reduction->bytes, lent ? SB_COPY_PULLED : SB_COPY_CACHED);
        return;
    }
    for (uint8_t i = 0; i < SB_COPY_MODES; i++)
        laps[i] =
            before + (space->lending.mode[i] == SB_COPY_WIDE ? (size_t)space->cursor.ring : 0);
    sb_workspace_measure(space, &space->lending, reduction, laps);
    settle_wide(team, reduction, is_wide);
    show(team, reduction->bytes, space->choice.mode);
}

void sb_lent_ended(sb_team_t *team)
{
    sb_block_end_open(&sb_workspace(team)->blocks);
}

/* When the last of the others began what it is at. */
static uint64_t last_began(const sb_team_t *team)
{
    uint64_t last = 0;

    for (uint32_t rank = 0; rank < team->size; rank++) {
        if (rank != team->rank)
            last = sb_max(last, sb_flag_read(&sb_workspace_head(team, rank)->given.began));
    }
    return last;
}

/* All have come: the time counts from when the last one began. */
static void count_from_last(sb_team_t *team)
{
    sb_workspace_t *space = sb_workspace(team);
    uint64_t last = space->choice.timed ? last_began(team) : 0;

    if (last > space->started && last <= sb_now_ns())
        space->started = last;
}

void sb_lent_all_gave(sb_team_t *team)
{
    sb_workspace_t *space = sb_workspace(team);

    if (!space->choice.timed)
        return;
    uint64_t last = last_began(team), now = sb_now_ns();
    space->kept = last < now ? now - last : UINT64_MAX;
}

sb_copy_mode_t sb_lent_asked(const sb_team_t *team, const sb_reduction_t *reduction)
{
    const sb_workspace_t *space = sb_workspace(team);
    /* In place this rank, if it wants a result, has it out of its ring. */
    bool may_lend =
        reduction->send != reduction->receive &&
        sb_expose_serves(&space->expose, reduction->root, reduction->send, reduction->bytes);

    sb_flag_publish(&sb_workspace_head(team, team->rank)->given.began, sb_now_ns());
    return shown_way(team, reduction, may_lend);
}

void sb_lent_show(const sb_team_t *team, const sb_reduction_t *reduction)
{
    const sb_workspace_t *space = sb_workspace(team);
    const sb_exposure_t exposed = sb_expose_at(reduction->send);

    sb_order_streamed();
    sb_copy(&sb_workspace_head(team, team->rank)->given.exposed, &exposed, sizeof exposed);
    sb_flow_commit(&space->out, space->cursor.position + LENT);
}

sb_status_t sb_lent_wait(sb_team_t *team, const sb_reduction_t *reduction, uint64_t start,
                         bool *read)
{
    sb_flag_t *answer = &sb_workspace_head(team, reduction->root)->taken.answered;
    sb_status_t status = sb_flag_wait(answer, start + READ, &team->waiter);

    *read = status == SB_OK && sb_flag_read(answer) < start + REFUSED;
    if (status == SB_OK && !*read)
        sb_expose_refused(&sb_workspace(team)->expose, reduction->root);
    return status;
}

sb_status_t sb_lent_find(sb_team_t *team, sb_lent_t *lent, char *result)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_peers_t given = sb_workspace_peers(team, offsetof(sb_workspace_head_t, given));
    sb_exposure_t exposed;

    lent->first = team->size;
    lent->to_result = result;
    lent->start = space->cursor.position;
    sb_status_t status = sb_sources_wait(team, &given, lent->start + LENT);
    if (status != SB_OK)
        return status;
    count_from_last(team);
    for (uint32_t rank = 0; rank < team->size; rank++) {
        if (rank == team->rank || sb_flag_read(sb_peers_flag(&given, rank)) != lent->start + LENT)
            continue;
        sb_copy(&exposed, &sb_workspace_head(team, rank)->given.exposed, sizeof exposed);
        space->lent_at[rank] = exposed.address;
        lent->ranks |= 1u << rank;
        if (result != NULL && lent->first == team->size)
            lent->first = rank;
    }
    /* Who had given its own before this rank came has not seen what that chose. */
    if (space->measured == &space->lending)
        sb_copy_went(&space->lending, &space->choice, lent->ranks != 0);
    return SB_OK;
}

static void answer(const sb_team_t *team, const sb_lent_t *lent, uint64_t what)
{
    sb_flag_publish(&sb_workspace_head(team, team->rank)->taken.answered, lent->start + what);
}

/* The next bytes of that rank's. False: they cannot be read. */
static bool fetch(sb_team_t *team, const sb_lent_t *lent, uint32_t rank)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_exposure_t at = {space->lent_at[rank] + lent->from};
    char *to = (char *)(uintptr_t)sb_lent_at(team, lent, rank, lent->from);

    return sb_expose_read(&space->expose, rank, to, at, lent->to - lent->from);
}

void sb_lent_fetch(sb_team_t *team, sb_lent_t *lent, size_t from, size_t window, size_t bytes)
{
    bool alone = lent->first < team->size && lent->ranks == 1u << lent->first;

    if (from < lent->to)
        return;
    lent->from = from;
    lent->to = alone ? bytes : sb_min(from + SB_LENT_PIECE / window * window, bytes);
    for (uint32_t rank = 0; rank < team->size; rank++) {
        if (!sb_lent_is(lent, rank) || fetch(team, lent, rank))
            continue;
        answer(team, lent, REFUSED);
        lent->ranks = 0;
        return;
    }
    if (lent->to < bytes)
        return;
    answer(team, lent, READ);
    sb_lent_all_gave(team);
}

sb_status_t sb_lent_wait_others(sb_team_t *team, const sb_lent_t *lent, const sb_peers_t *given,
                                uint64_t end)
{
    sb_status_t status = SB_OK;

    for (uint32_t rank = 0; rank < team->size && status == SB_OK; rank++) {
        if (rank != team->rank && !sb_lent_is(lent, rank))
            status = sb_flag_wait(sb_peers_flag(given, rank), end, &team->waiter);
    }
    return status;
}
