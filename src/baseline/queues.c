/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/queues.h"

#define FRAGMENT_MOST ((uint64_t)64 << 20)
#define SLOTS_MOST ((uint64_t)1 << 16)

/* The published form: what is given, in whole sets. Returns the number of slots. */
static uint64_t form_of(sb_queues_t *queues, const sb_settings_t *settings)
{
    uint64_t slots = sb_max(sb_min(settings->queue_slots, SLOTS_MOST), 1);

    queues->ring.count = (uint32_t)sb_min(sb_max(settings->queue_sets, 1), slots);
    queues->ring.per_set = (uint32_t)(slots / queues->ring.count);
    queues->fragment = (uint32_t)sb_max(sb_min(settings->queue_fragment, FRAGMENT_MOST), 1);
    queues->stride = (uint32_t)sb_round_up(queues->fragment, SB_LINE);
    return (uint64_t)queues->ring.per_set * queues->ring.count;
}

/* Where the parts of a block are. Returns its bytes. */
static size_t lay_out(sb_queues_t *queues, uint64_t slots, uint32_t ranks)
{
    size_t each = (size_t)queues->ring.count * ranks;

    queues->ready = queues->ring.count * sizeof(sb_set_t);
    queues->counts = queues->ready + each * sizeof(sb_wide_flag_t);
    queues->ctrl = queues->counts + sb_round_up(each * sizeof(uint64_t), SB_FLAG_STRIDE);
    queues->ctrlall = queues->ctrl + slots * sizeof(sb_wide_flag_t);
    queues->slots = queues->ctrlall + slots * ranks * sizeof(sb_wide_flag_t);
    return sb_round_up(queues->slots + slots * queues->stride, SB_PAGE);
}

static sb_status_t make(sb_team_t *team)
{
    sb_queues_t form = {0};
    size_t bytes = lay_out(&form, form_of(&form, &team->settings), team->size);
    const sb_resource_size_t size = {
        .own = sizeof form + team->size * sizeof(uint64_t),
        .bytes = bytes,
        .least = bytes,
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_QUEUES, &size);

    if (status != SB_OK)
        return status;
    form.resource = *team->resource[SB_RESOURCE_QUEUES];
    form.ring.sets = (sb_set_t *)(void *)form.resource.bases[0];
    form.ring.leavers = team->size;
    *sb_queues(team) = form;
    return SB_OK;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_QUEUES, make};

sb_status_t sb_queues_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

static sb_flag_t *ready_of(const sb_team_t *team, uint32_t rank)
{
    const sb_queues_t *queues = sb_queues(team);
    char *ready = sb_queue_block(team, 0) + queues->ready;
    size_t number = (size_t)(queues->ring.uses % queues->ring.count) * team->size + rank;

    return &((sb_wide_flag_t *)(void *)ready)[number].flag;
}

static char *counts_of(const sb_team_t *team)
{
    const sb_queues_t *queues = sb_queues(team);
    size_t first = (size_t)(queues->ring.uses % queues->ring.count) * team->size;

    return sb_queue_block(team, 0) + queues->counts + first * sizeof(uint64_t);
}

void sb_queue_publish_counts(sb_team_t *team, const sb_stream_t *parts)
{
    uint64_t *own = sb_queues(team)->own;

    for (uint32_t i = 0; i < team->size; i++)
        own[i] = parts[i].bytes;
    sb_copy(counts_of(team), own, team->size * sizeof *own);
    for (uint32_t i = 0; i < team->size; i++) {
        if (i != team->rank)
            sb_flag_publish(ready_of(team, i), sb_queues(team)->ring.uses + 1);
    }
}

sb_status_t sb_queue_read_counts(sb_team_t *team)
{
    uint64_t *own = sb_queues(team)->own;
    sb_flag_t *ready = ready_of(team, team->rank);
    sb_status_t status = sb_flag_wait(ready, sb_queues(team)->ring.uses + 1, &team->waiter);

    if (status == SB_OK)
        sb_copy(own, counts_of(team), team->size * sizeof *own);
    return status;
}

uint64_t sb_queue_turns(const sb_team_t *team)
{
    const sb_queues_t *queues = sb_queues(team);
    uint64_t turn = (uint64_t)queues->fragment * queues->ring.per_set, most = 0;

    for (uint32_t i = 0; i < team->size; i++)
        most = queues->own[i] > most ? queues->own[i] : most;
    return most == 0 ? 1 : (most + turn - 1) / turn;
}

sb_status_t sb_queue_take(sb_team_t *team, sb_flag_t *ctrl, const char *slot,
                          const sb_stream_t *part, uint64_t *came, bool *more, sb_status_t *data)
{
    const sb_queues_t *queues = sb_queues(team);
    sb_status_t status = sb_flag_wait(ctrl, queues->ring.uses + 1, &team->waiter);

    if (status != SB_OK)
        return status;
    uint32_t note = sb_flag_note(ctrl);
    /* A peer's word goes no farther than the slot. */
    size_t bytes = sb_min(note & SB_QUEUE_BYTES, queues->fragment);
    *data = sb_first(*data, sb_take(part, (size_t)*came, slot, bytes));
    *came += bytes;
    *more = (note & SB_QUEUE_MORE) != 0;
    return SB_OK;
}
