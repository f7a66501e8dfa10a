/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/lent.h"

#include "base/config.h"

/* Positions of the message that say how a contribution is given, and what was made of it. */
enum { LENT = 1, READ = LENT, REFUSED = 2 };

size_t sb_lent_room(const sb_team_t *team)
{
    bool room = team->size <= SB_EXPOSE_FEW && sb_expose_pays(team);

    return room ? team->size * (sizeof(sb_exposer_t) + SB_LENT_PIECE) : 0;
}

sb_status_t sb_lent_prepare(sb_team_t *team, void *room)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_exposer_t *exposers = room;

    if (sb_lent_room(team) == 0)
        return SB_OK;
    space->pieces = (char *)(exposers + team->size);
    space->lending = sb_copy_policy(SB_COPY_CACHED, SB_COPY_PULLED, SB_STORES_AUTO);
    return sb_expose_make(&space->expose, team, &space->resource.segment, exposers, true);
}

bool sb_lent_may_be(const sb_team_t *team, size_t bytes, size_t window)
{
    const sb_workspace_t *space = sb_workspace(team);
    bool long_enough = bytes > sb_flow_piece_usual(0) || team->settings.cma == SB_CMA_ON;

    return long_enough && space->expose.kernel && window <= SB_LENT_PIECE;
}

/* Beside the bits of the classes stands how often they were changed: flags only grow. */
static uint64_t bit_of(size_t bytes)
{
    return UINT64_C(1) << sb_copy_class(bytes);
}

static void show(const sb_team_t *team, size_t bytes, bool lent)
{
    sb_flag_t *shown = &sb_workspace_head(team, team->rank)->given.lending;
    uint64_t bit = bit_of(bytes), seen = sb_flag_read(shown);

    if (((seen & bit) != 0) != lent)
        sb_flag_publish(shown, (seen ^ bit) + (UINT64_C(1) << SB_COPY_CLASSES));
}

void sb_lent_choose(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_workspace_t *space = sb_workspace(team);
    const size_t laps[SB_COPY_MODES] = {space->span, reduction->bytes};

    if (space->expose.failed > 0)
        return;
    sb_workspace_measure(space, &space->lending, reduction, laps);
    show(team, reduction->bytes, space->choice.mode == SB_COPY_PULLED);
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

bool sb_lent_asked(const sb_team_t *team, const sb_reduction_t *reduction)
{
    const sb_workspace_t *space = sb_workspace(team);

    sb_flag_publish(&sb_workspace_head(team, team->rank)->given.began, sb_now_ns());
    if (!sb_expose_serves(&space->expose, reduction->root, reduction->send, reduction->bytes))
        return false;
    uint64_t shown = sb_flag_read(&sb_workspace_head(team, reduction->root)->given.lending);
    return team->settings.cma == SB_CMA_ON || (shown & bit_of(reduction->bytes)) != 0;
}

void sb_lent_show(const sb_team_t *team, const sb_reduction_t *reduction)
{
    const sb_workspace_t *space = sb_workspace(team);
    const sb_exposure_t exposed = sb_expose_at(reduction->send);

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
