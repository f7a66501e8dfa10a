/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a call tell each other of how its bytes move, and what each of them knows by
 * itself. */
#include "base/config.h"
#include "team/block_policy.h"
#include "team/copy_policy.h"
#include "topology/topology.h"

/* Beside the modes stands how often one was changed: flags only grow. */
#define CHANGE (UINT64_C(1) << SB_COPY_SHOWN_BITS * SB_COPY_CLASSES)

_Static_assert(SB_COPY_HALVED >> SB_COPY_SHOWN_BITS == 0, "all modes can be shown");

sb_copy_policy_t sb_copy_policy(sb_copy_mode_t safe, sb_copy_mode_t other, uint32_t stores)
{
    sb_copy_mode_t kept = safe == SB_COPY_NON_TEMPORAL ? other : safe;
    sb_copy_mode_t fixed = stores == SB_STORES_AUTO        ? SB_COPY_ANY
                           : stores == SB_STORES_STREAMING ? SB_COPY_NON_TEMPORAL
                                                           : kept;

    return (sb_copy_policy_t){.mode = {safe, other}, .modes = 2, .fixed = fixed};
}

void sb_copy_show(sb_flag_t *flag, size_t bytes, sb_copy_mode_t mode)
{
    uint64_t seen = sb_flag_read(flag), changed = (uint64_t)(sb_copy_shown(flag, bytes) ^ mode);

    changed <<= SB_COPY_SHOWN_BITS * sb_copy_class(bytes);
    if (changed != 0)
        sb_flag_publish(flag, (seen ^ changed) + CHANGE);
}

bool sb_copy_used_before(const void *last[SB_COPY_BUFFERS], const void *buffer)
{
    for (size_t i = 0; i < SB_COPY_BUFFERS; i++) {
        if (last[i] == buffer)
            return true;
    }
    for (size_t i = SB_COPY_BUFFERS - 1; i > 0; i--)
        last[i] = last[i - 1];
    last[0] = buffer;
    return false;
}

bool sb_copy_may_touch(const sb_copy_policy_t *policy, size_t bytes)
{
    uint64_t spent = 0;

    for (size_t i = 0; i < SB_COPY_CLASSES; i++)
        spent += policy->of[false][i].spent + policy->of[true][i].spent;
    return spent >= SB_COPY_SHARE_OF_FIRST * (bytes / SB_PAGE) * *policy->page_ns;
}

void sb_copy_went(sb_copy_policy_t *policy, const sb_copy_choice_t *choice, bool by_loads)
{
    bool chosen = false;

    for (uint8_t i = 0; i < policy->loaded; i++)
        chosen = chosen || choice->mode == policy->mode[policy->loads + i];
    if (choice->loads && by_loads != chosen)
        sb_block_lag(&policy->blocks[choice->again], choice->bytes, sb_now_ns());
}

void sb_copy_touches(sb_copy_policy_t *policy, const sb_copy_choice_t *choice)
{
    if (choice->loads)
        sb_block_lag(&policy->blocks[choice->again], choice->bytes, sb_now_ns());
}

void sb_copy_renew(sb_copy_policy_t *policy)
{
    for (int again = 0; again < 2 && policy->blocks != NULL; again++)
        sb_block_renew(&policy->blocks[again]);
}

sb_copy_mode_t sb_copy_begin(sb_copy_call_t *call, uint32_t rank, size_t bytes, const void *buffer,
                             sb_copy_laps_t lap)
{
    size_t laps[SB_COPY_MODES];
    sb_copy_mode_t followed = call->followed[sb_copy_class(bytes)];

    for (uint8_t i = 0; i < SB_COPY_MODES; i++)
        laps[i] = call->policy.mode[i] == SB_COPY_WIDE ? lap.wide : lap.usual;
    call->choice = (sb_copy_choice_t){.mode = followed};
    if (rank == 0 && call->blocks != NULL)
        call->choice.mode = call->policy.mode[sb_block_choose(
            call->blocks, bytes, (sb_block_ways_t){.count = 2}, sb_now_ns())];
    else if (rank == 0 || call->policy.fixed != SB_COPY_ANY)
        call->choice = sb_copy_choose(&call->policy, bytes, buffer, laps);
    else if (followed == SB_COPY_ANY)
        call->choice.mode = call->policy.mode[0];
    if (rank != 0)
        call->choice.again = sb_copy_used_before(call->policy.last[sb_copy_class(bytes)], buffer);
    call->started = sb_now_ns();
    return call->choice.mode;
}

void sb_copy_heard(sb_copy_call_t *call, uint32_t from, size_t bytes, sb_copy_mode_t mode,
                   uint64_t started)
{
    if (mode == SB_COPY_ANY)
        return;
    call->started = call->started > started ? call->started : started;
    if (from == 0)
        call->followed[sb_copy_class(bytes)] = mode;
}

void sb_copy_end(sb_copy_call_t *call)
{
    uint64_t now = call->choice.timed ? sb_now_ns() : 0;

    if (now > call->started)
        sb_copy_record(&call->policy, &call->choice, now - call->started);
    call->choice.timed = false;
}

size_t sb_copy_cached_most(const sb_team_t *team)
{
    const sb_topology_t *topology = sb_team_topology(team);
    const sb_locality_t *locality = &team->locality;
    uint32_t sharers = 0;

    if (team->settings.stores != SB_STORES_AUTO)
        return team->settings.stores == SB_STORES_STREAMING ? SB_COPY_LEAST - 1 : SIZE_MAX;
    if (topology == NULL || locality->unit == NULL)
        return SIZE_MAX;
    int16_t unit = locality->unit[team->rank][SB_LEVEL_L3];
    size_t cache = sb_topology_cache(topology, SB_LEVEL_L3);
    for (uint32_t rank = 0; rank < team->size; rank++)
        sharers += locality->unit[rank][SB_LEVEL_L3] == unit;
    return unit == SB_NO_UNIT || cache == 0 ? SIZE_MAX : cache / sharers / 2;
}
