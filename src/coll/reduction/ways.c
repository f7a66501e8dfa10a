/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/ways.h"

/* Word: the position, which is one of a line, the way before that and the way from there on. */
static const sb_copy_mode_t ways[] = {SB_COPY_HALVED, SB_COPY_CACHED, SB_COPY_NON_TEMPORAL,
                                      SB_COPY_PULLED, SB_COPY_WHOLE};
#define WAY_BITS 3
/* Those that need no loads. The others are halves then, for both ranks. */
#define WITHOUT_LOADS 3

_Static_assert(SB_COUNT_OF(ways) <= 1 << WAY_BITS && 1 << 2 * WAY_BITS <= SB_LINE,
               "two ways are below a position");

/* Those that are tried first are more often the better ones. */
static void prepare(sb_team_t *team, sb_ways_t of)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_copy_policy_t *policy = &space->ways[of];
    sb_copy_mode_t forced = (sb_copy_mode_t)team->settings.windows_mode;

    *policy = sb_copy_policy(SB_COPY_HALVED, SB_COPY_CACHED, team->settings.stores);
    if (of == SB_WAYS_OF_PARTS)
        policy->modes = 1;
    else
        sb_copy_policy_add(policy, SB_COPY_NON_TEMPORAL, 0, 0);
    /* What is not in caches is fetched out of memory once that way, where WHOLE has both do it. */
    if (of == SB_WAYS_OF_LOADS)
        sb_copy_policy_add_loads(policy, SB_COPY_PULLED, 0, 0, space->by_loads[of]);
    if (of != SB_WAYS_OF_ALL)
        sb_copy_policy_add_loads(policy, SB_COPY_WHOLE, 0, 0, space->by_loads[of]);
    policy->reads = of == SB_WAYS_OF_LOADS;
    if (sb_copy_policy_has(policy, forced))
        policy->fixed = forced;
}

void sb_ways_prepare(sb_team_t *team)
{
    for (uint32_t of = 0; of < SB_WAYS; of++)
        prepare(team, (sb_ways_t)of);
}

/* Bytes that messages of each way go round in. */
static void measure(sb_workspace_t *space, sb_copy_policy_t *policy,
                    const sb_reduction_t *reduction)
{
    size_t laps[SB_COPY_MODES];

    for (uint8_t i = 0; i < SB_COPY_MODES; i++) {
        bool stored = policy->mode[i] == SB_COPY_CACHED || policy->mode[i] == SB_COPY_NON_TEMPORAL;
        laps[i] = stored ? space->span : sb_min(reduction->bytes, space->usual);
    }
    sb_workspace_measure(space, policy, reduction, laps);
}

static size_t way_at(uint64_t said, uint64_t position, sb_ways_t of)
{
    bool earlier = position < (said & ~(uint64_t)(SB_LINE - 1));
    uint64_t way = (earlier ? said >> WAY_BITS : said) & ((1u << WAY_BITS) - 1);
    size_t most = of == SB_WAYS_OF_ALL ? WITHOUT_LOADS : SB_COUNT_OF(ways);

    return way < most ? (size_t)way : 0;
}

/* Rank 0 chooses, and says if that is to change; a time counts for what its message was. */
sb_copy_mode_t sb_ways_choose(sb_team_t *team, const sb_reduction_t *reduction, sb_ways_t of)
{
    sb_workspace_t *space = sb_workspace(team);
    sb_copy_mode_t fixed = space->ways[of].fixed;
    size_t class = sb_copy_class(reduction->bytes);
    sb_flag_t *word = &sb_workspace_head(team, 0)->ways[of == SB_WAYS_OF_PARTS][class];
    uint64_t at = space->cursor.position, next = 0;

    if (fixed != SB_COPY_ANY)
        return fixed;
    size_t way = way_at(sb_flag_read(word), at, of);
    if (team->rank != 0)
        return ways[way];
    measure(space, &space->ways[of], reduction);
    while (next + 1 < SB_COUNT_OF(ways) && ways[next] != space->choice.mode)
        next++;
    if (next != way) {
        space->choice.timed = false;
        sb_flag_publish(word, (at + SB_LINE) | way << WAY_BITS | next);
    }
    return ways[way];
}

void sb_ways_pass(sb_team_t *team)
{
    sb_workspace_t *space = sb_workspace(team);

    sb_cursor_fit(&space->cursor, SB_LINE);
    sb_cursor_pass(&space->cursor, SB_LINE);
    sb_flow_credit(&space->out, space->cursor.position);
}
