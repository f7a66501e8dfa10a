/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long parts of a gather or a scatter where ranks share processors. Through areas each byte is
 * copied twice, and nobody waits but the root. The kernel copies it once, at a price for each page.
 * Which is faster depends most on how far the processors are from each other: by a factor of two
 * either way. The root decides by blocks of its calls (team/block_policy.h), and shows by size what
 * it wants. The others look when they come: some calls later, since they may be ahead. The plans
 * say how each part really goes; those of a scatter are all of the root.
 *
 * Who is asked to have its part copied by the kernel cannot leave before the root has begun either
 * way. So it waits for that, and pushes. If it left its part for the root to read it would wait as
 * long, and in a row of calls the root, which has most to do, would always find that, and copy
 * everybody's parts one after the other while the other processors have nothing to do.
 */
#include "coll/vector/message.h"

/* What the parts are judged by: the longest. */
static size_t longest_of(const sb_receiving_t *receiving, uint32_t count)
{
    size_t longest = 0;

    for (uint32_t i = 0; i < count; i++)
        longest = sb_max(longest, receiving[i].stream->bytes);
    return longest;
}

bool sb_collecting_measures(const sb_team_t *team, size_t bytes)
{
    const sb_mesh_t *mesh = sb_mesh(team);

    return mesh->crowded && mesh->expose.kernel && bytes >= mesh->measured_least;
}

bool sb_collecting_choose(sb_team_t *team, const sb_receiving_t *receiving, uint32_t count)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t bytes = longest_of(receiving, count);

    if (!sb_collecting_measures(team, bytes))
        return false;
    const sb_block_ways_t ways = {.count = 2};
    bool pulled = sb_block_choose(&mesh->collecting.policy, bytes, ways, sb_now_ns()) == 1;
    sb_copy_show(&sb_mesh_head(mesh, team->rank)->wanted.flag, bytes,
                 pulled ? SB_COPY_PULLED : SB_COPY_CACHED);
    return pulled;
}

/* Parts that are just long enough to be measured are staged by size, all others are exposed. */
sb_prefer_t sb_dealing_choose(sb_team_t *team, const sb_sending_t *sending, uint32_t count)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes = sb_max(bytes, sending[i].stream->bytes);
    if (!sb_collecting_measures(team, bytes))
        return SB_PREFER_BY_SIZE;
    bool by_size = bytes >= mesh->expose_least;
    const sb_block_ways_t ways = {.count = 2, .first = by_size, .evened = true};
    bool pulled = sb_block_choose(&mesh->collecting.dealing, bytes, ways, sb_now_ns()) == 1;
    if (pulled == by_size)
        return SB_PREFER_BY_SIZE;
    return pulled ? SB_PREFER_EXPOSED : SB_PREFER_STAGED;
}

void sb_dealing_ended(sb_team_t *team)
{
    sb_block_end_open(&sb_mesh(team)->collecting.dealing);
}

bool sb_collecting_asked(const sb_team_t *team, uint32_t root, size_t bytes)
{
    const sb_flag_t *wanted = &sb_mesh_head(sb_mesh(team), root)->wanted.flag;

    return sb_collecting_measures(team, bytes) && sb_copy_shown(wanted, bytes) == SB_COPY_PULLED;
}

void sb_collecting_begun(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);

    if (mesh->crowded)
        sb_flag_publish(&sb_mesh_head(mesh, team->rank)->begun.flag, mesh->calls + 1);
}

/* The root begins each of its calls without waiting for anybody. */
sb_status_t sb_collecting_await(sb_team_t *team, uint32_t root)
{
    sb_mesh_t *mesh = sb_mesh(team);

    return sb_flag_wait(&sb_mesh_head(mesh, root)->begun.flag, mesh->calls + 1, &team->waiter);
}
