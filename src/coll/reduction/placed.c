/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/placed.h"

/* Copying in, combining and copying out take about as long; a rank's part is copied out no more. */
#define PASSES 3

/* Most calls from one look to the next for contributions that both stay. */
#define PASSED_MOST 64

size_t sb_placed_least(const sb_team_t *team, const sb_shape_t *shape)
{
    double byte = shape->prices->slices_byte / PASSES / team->size;

    return byte > 0 ? (size_t)(sb_workspace_steps_cost(shape, 1) / byte) : SIZE_MAX;
}

/* Where results are placed in no call, nothing is said. */
static bool is_told(const sb_team_t *team)
{
    return sb_workspace(team)->loads || team->size <= SB_PLACED_WHOLE_RANKS;
}

/* What has passed the caches by comes out of memory, and soon; a result that another has just
 * combined comes out of its caches. */
static bool combines_all(const sb_team_t *team, bool all, sb_copy_mode_t mode)
{
    return all && mode == SB_COPY_NON_TEMPORAL && team->size <= SB_PLACED_WHOLE_RANKS &&
           sb_workspace(team)->groups == 1;
}

bool sb_placed_show_entire(const sb_team_t *team, bool all, sb_copy_mode_t mode)
{
    bool entire = combines_all(team, all, mode);

    if (is_told(team))
        sb_workspace_say(&sb_workspace_head(team, team->rank)->entire, entire);
    return entire;
}

void sb_placed_say(const sb_team_t *team, const sb_reduction_t *reduction, bool all,
                   sb_copy_mode_t mode)
{
    const sb_workspace_t *space = sb_workspace(team);
    sb_placing_t placing = SB_PLACING_NONE;

    if (!is_told(team) || team->rank != 0)
        return;
    if (combines_all(team, all, mode))
        placing = SB_PLACING_EACH;
    else if (all && mode == SB_COPY_WHOLE)
        placing = SB_PLACING_WHOLE;
    else if (all && mode == SB_COPY_PULLED && reduction->bytes >= space->placed_least)
        placing = SB_PLACING_PARTS;
    sb_workspace_say(&sb_workspace_head(team, 0)->placing, placing);
}

/* Words of each head: its contribution stays where it is, or was copied in from end to end. */
#define SENT offsetof(sb_workspace_head_t, sent)
#define ENTIRE offsetof(sb_workspace_head_t, entire)

/* Whether all have said so. */
static bool all_say(const sb_team_t *team, size_t word)
{
    bool all = true;

    for (uint32_t rank = 0; rank < team->size && all; rank++) {
        const char *head = (const char *)sb_workspace_head(team, rank);
        all = sb_workspace_said((const uint64_t *)(const void *)(head + word)) != 0;
    }
    return all;
}

bool sb_placed_both(const sb_team_t *team, const sb_reduction_t *reduction, bool all)
{
    return all && sb_workspace(team)->loads && team->size == SB_PLACED_WHOLE_RANKS &&
           reduction->bytes >= SB_COPY_LEAST;
}

bool sb_placed_passes(const sb_team_t *team, size_t bytes)
{
    uint8_t *left = &sb_workspace(team)->passing[sb_copy_class(bytes)];

    if (*left == 0)
        return false;
    --*left;
    return true;
}

void sb_placed_say_elsewhere(const sb_team_t *team, const sb_reduction_t *reduction)
{
    bool elsewhere = !sb_shares(reduction->send, reduction->bytes);

    sb_workspace_say(&sb_workspace_head(team, team->rank)->elsewhere, elsewhere);
}

bool sb_placed_both_stay(const sb_team_t *team, size_t bytes)
{
    sb_workspace_t *space = sb_workspace(team);
    size_t class = sb_copy_class(bytes);
    bool elsewhere = false;

    for (uint32_t rank = 0; rank < team->size; rank++)
        elsewhere |= sb_workspace_said(&sb_workspace_head(team, rank)->elsewhere) != 0;
    space->passed[class] =
        elsewhere ? (uint8_t)sb_min(sb_max(2 * space->passed[class], 1), PASSED_MOST) : 0;
    space->passing[class] = space->passed[class];
    return all_say(team, SENT);
}

sb_placing_t sb_placed_said(const sb_team_t *team)
{
    sb_placing_t placing = SB_PLACING_NONE;

    if (is_told(team))
        placing = (sb_placing_t)sb_workspace_said(&sb_workspace_head(team, 0)->placing);
    if ((placing == SB_PLACING_WHOLE && !all_say(team, SENT)) ||
        (placing == SB_PLACING_EACH && !all_say(team, ENTIRE)))
        return SB_PLACING_NONE;
    return placing;
}

/* What this rank wants. */
static sb_status_t combine(const sb_team_t *team, const sb_reduction_t *reduction,
                           sb_wanted_t wanted)
{
    sb_status_t data = SB_OK;
    size_t bytes = wanted.to - wanted.from;
    sb_fold_t fold;

    sb_fold_begin(&fold, reduction->operation, reduction->receive, bytes);
    for (uint32_t rank = 0; rank < team->size; rank++) {
        const char *from = reduction->send + wanted.from;
        if (rank != team->rank)
            from = sb_workspace_sent(team, rank, wanted.from, bytes, &data);
        if (from == NULL)
            return data;
        sb_fold_add(&fold, from);
    }
    return sb_fold_end(&fold);
}

sb_status_t sb_placed_combine(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return combine(team, reduction, sb_wanted_by_all(team, reduction));
}

sb_status_t sb_placed_part(sb_team_t *team, const sb_reduction_t *reduction, bool *stay)
{
    sb_wanted_t wanted = sb_wanted_part(team, reduction);
    bool apart = sb_workspace_apart(reduction, wanted.to - wanted.from);

    sb_workspace_show_sent(team, reduction, apart ? SB_COPY_PULLED : SB_COPY_CACHED);
    sb_status_t status = sb_workspace_meet(team);
    *stay = status == SB_OK && all_say(team, SENT);
    if (!*stay)
        return status;
    sb_status_t data = combine(team, reduction, wanted);
    /* The other still reads this rank's. */
    return sb_first(sb_workspace_meet(team), data);
}

bool sb_placed_may_be(const sb_reduction_t *reduction)
{
    return sb_workspace_apart(reduction, reduction->bytes) &&
           sb_shares(reduction->receive, reduction->bytes);
}

static uint64_t *word_of(const sb_team_t *team, uint32_t rank, uint64_t turn)
{
    return &sb_workspace_head(team, rank)->placed[turn % SB_WORKSPACE_DEPTH];
}

void sb_placed_show(const sb_team_t *team, uint64_t turn, const sb_reduction_t *reduction,
                    const char *placed, char *window, size_t bytes)
{
    bool shared = placed != NULL && sb_shares(reduction->receive, reduction->bytes);

    if (placed != NULL && !shared)
        sb_copy(window, placed, bytes);
    sb_workspace_say(word_of(team, team->rank, turn), shared ? (uintptr_t)reduction->receive : 0);
}

const char *sb_placed_at(const sb_team_t *team, uint32_t rank, uint64_t turn, size_t offset,
                         size_t bytes, sb_status_t *data)
{
    uint64_t placed = sb_workspace_said(word_of(team, rank, turn));

    if (placed == 0)
        return NULL;
    return sb_workspace_reach(team, rank, placed + offset, bytes, data);
}
