/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/vector/queues.h"

#define FRAGMENT_MOST ((uint64_t)64 << 20)
#define SLOTS_MOST ((uint64_t)1 << 16)
#define PAGE 4096

/* The published form: what is given, in whole sets. Returns the number of slots. */
static uint64_t form_of(sb_queues_t *queues, const sb_settings_t *settings)
{
    uint64_t slots = sb_max(sb_min(settings->queue_slots, SLOTS_MOST), 1);

    queues->sets = (uint32_t)sb_min(sb_max(settings->queue_sets, 1), slots);
    queues->per_set = (uint32_t)(slots / queues->sets);
    queues->fragment = (uint32_t)sb_max(sb_min(settings->queue_fragment, FRAGMENT_MOST), 1);
    queues->stride = (uint32_t)sb_round_up(queues->fragment, SB_LINE);
    return (uint64_t)queues->per_set * queues->sets;
}

/* Where the parts of a block are. Returns its bytes. */
static size_t lay_out(sb_queues_t *queues, uint64_t slots, uint32_t ranks)
{
    size_t each = (size_t)queues->sets * ranks;

    queues->ready = queues->sets * sizeof(sb_queue_set_t);
    queues->counts = queues->ready + each * sizeof(sb_wide_flag_t);
    queues->ctrl = queues->counts + sb_round_up(each * sizeof(uint64_t), SB_FLAG_STRIDE);
    queues->ctrlall = queues->ctrl + slots * sizeof(sb_wide_flag_t);
    queues->slots = queues->ctrlall + slots * ranks * sizeof(sb_wide_flag_t);
    return sb_round_up(queues->slots + slots * queues->stride, PAGE);
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
    *sb_queues(team) = form;
    return SB_OK;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_QUEUES, make};

sb_status_t sb_queues_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

static sb_queue_set_t *set_of(const sb_team_t *team)
{
    const sb_queues_t *queues = sb_queues(team);

    return (sb_queue_set_t *)(void *)sb_queue_block(team, 0) + queues->turns % queues->sets;
}

static sb_flag_t *ready_of(const sb_team_t *team, uint32_t rank)
{
    const sb_queues_t *queues = sb_queues(team);
    char *ready = sb_queue_block(team, 0) + queues->ready;
    size_t number = (size_t)(queues->turns % queues->sets) * team->size + rank;

    return &((sb_wide_flag_t *)(void *)ready)[number].flag;
}

static char *counts_of(const sb_team_t *team)
{
    const sb_queues_t *queues = sb_queues(team);
    size_t first = (size_t)(queues->turns % queues->sets) * team->size;

    return sb_queue_block(team, 0) + queues->counts + first * sizeof(uint64_t);
}

sb_status_t sb_queue_claim(sb_team_t *team)
{
    const sb_queues_t *queues = sb_queues(team);
    sb_queue_set_t *set = set_of(team);
    sb_status_t status =
        sb_flag_wait(&set->emptied.flag, queues->turns / queues->sets, &team->waiter);

    if (status == SB_OK)
        sb_flag_publish(&set->op.flag, queues->turns + 1);
    return status;
}

sb_status_t sb_queue_enter(sb_team_t *team)
{
    return sb_flag_wait(&set_of(team)->op.flag, sb_queues(team)->turns + 1, &team->waiter);
}

void sb_queue_publish_counts(sb_team_t *team, const sb_stream_t *parts)
{
    uint64_t *own = sb_queues(team)->own;

    for (uint32_t i = 0; i < team->size; i++)
        own[i] = parts[i].bytes;
    sb_copy(counts_of(team), own, team->size * sizeof *own);
    for (uint32_t i = 0; i < team->size; i++) {
        if (i != team->rank)
            sb_flag_publish(ready_of(team, i), sb_queues(team)->turns + 1);
    }
}

sb_status_t sb_queue_read_counts(sb_team_t *team)
{
    uint64_t *own = sb_queues(team)->own;
    sb_flag_t *ready = ready_of(team, team->rank);
    sb_status_t status = sb_flag_wait(ready, sb_queues(team)->turns + 1, &team->waiter);

    if (status == SB_OK)
        sb_copy(own, counts_of(team), team->size * sizeof *own);
    return status;
}

uint64_t sb_queue_turns(const sb_team_t *team)
{
    const sb_queues_t *queues = sb_queues(team);
    uint64_t turn = (uint64_t)queues->fragment * queues->per_set, most = 0;

    for (uint32_t i = 0; i < team->size; i++)
        most = queues->own[i] > most ? queues->own[i] : most;
    return most == 0 ? 1 : (most + turn - 1) / turn;
}

void sb_queue_leave(sb_team_t *team)
{
    sb_queues_t *queues = sb_queues(team);
    sb_queue_set_t *set = set_of(team);
    uint64_t round = queues->turns / queues->sets + 1;

    queues->turns++;
    if (sb_counter_add(&set->left.counter, 1) + 1 == round * team->size)
        sb_flag_publish(&set->emptied.flag, round);
}
