/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/bcast/message.h"

#include "base/config.h"
#include "coll/resources.h"

#define RING_LEAST ((size_t)16 << 10)
/* A quarter of the ring lets the root fill, the readers empty, and credits travel in between. */
#define FRAGMENTS_PER_RING 4
/*
 * Ordinary stores go round in this part of the ring, a quarter of the second-level cache: what they
 * write over is still there, and is not to be fetched.
 */
#define NEAR_PART 8
#define FRAGMENT_SMALL ((size_t)8 << 10)
#define FRAGMENT_LARGE ((size_t)32 << 10)
#define LARGE_MESSAGE ((size_t)256 << 10)

static sb_status_t make_rings(sb_team_t *team)
{
    uint64_t asked =
        sb_rules_value(team->settings.rules, SB_BCAST, SB_TUNE_RING, 0, team->settings.ring_bytes);
    const sb_resource_size_t size = {
        .own = sizeof(sb_resource_t),
        .bytes = sb_round_up(sb_max((size_t)asked, RING_LEAST), 4096),
        .least = RING_LEAST,
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_RINGS, &size);

    if (status != SB_OK)
        return status;
    team->rings = team->resource[SB_RESOURCE_RINGS]->segment.bases;
    team->ring_bytes = team->resource[SB_RESOURCE_RINGS]->segment.bytes;
    return SB_OK;
}

static const sb_resource_kind_t rings = {SB_RESOURCE_RINGS, make_rings};

sb_status_t sb_rings_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &rings);
}

/* Waits for one flag of every other rank; returns in `least` the smallest value seen. */
static sb_status_t wait_for_all(sb_team_t *team, size_t flag_offset, uint64_t value,
                                uint64_t *least)
{
    *least = UINT64_MAX;
    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank)
            continue;
        sb_wide_flag_t *wide = (sb_wide_flag_t *)(void *)((char *)team->lanes[i] + flag_offset);
        sb_status_t status = sb_flag_wait(&wide->flag, value, &team->waiter);
        if (status != SB_OK)
            return status;
        uint64_t seen = sb_flag_read(&wide->flag);
        *least = seen < *least ? seen : *least;
    }
    return SB_OK;
}

sb_status_t sb_slot_wait_free(sb_team_t *team, uint64_t use)
{
    if (SB_LIKELY(use < team->slots_free_below + SB_SLOTS))
        return SB_OK;
    return wait_for_all(team, offsetof(sb_lane_t, done), use - SB_SLOTS + 1,
                        &team->slots_free_below);
}

sb_status_t sb_ring_wait_free(sb_team_t *team, uint64_t end)
{
    if (SB_LIKELY(end <= team->ring_free_below + team->ring_bytes))
        return SB_OK;
    return wait_for_all(team, offsetof(sb_lane_t, consumed), end - team->ring_bytes,
                        &team->ring_free_below);
}

size_t sb_fragment_usual(size_t bytes)
{
    return bytes < LARGE_MESSAGE ? FRAGMENT_SMALL : FRAGMENT_LARGE;
}

/* The plan of a message of this rank as root, but for how it writes. */
static sb_plan_t make_plan(const sb_team_t *team, size_t bytes, size_t fragment)
{
    uint64_t asked = sb_team_fragment(team, bytes);

    if (asked != 0)
        fragment = (size_t)sb_min(asked, team->ring_bytes);
    fragment = sb_min(sb_round_up(fragment, SB_LINE), team->ring_bytes / FRAGMENTS_PER_RING);
    return (sb_plan_t){.bytes = bytes, .fragment = fragment, .window = team->ring_bytes};
}

/* The part of the ring for ordinary stores. */
static size_t near_window(const sb_team_t *team, const sb_plan_t *plan)
{
    size_t part = sb_round_up(team->ring_bytes / NEAR_PART, SB_LINE);

    return sb_min(sb_max(part, FRAGMENTS_PER_RING * (size_t)plan->fragment), team->ring_bytes);
}

/*
 * The time of a message is what its slowest reader needed from the moment that the root began. A
 * reader that came late has nothing to say, so the times of a message may be missing. Value: the
 * message's slot use, which only grows, and the time in nanoseconds below it.
 */
#define TIME_BITS 24
#define TIME_MOST (((uint64_t)1 << TIME_BITS) - 1)

static uint64_t time_value(uint64_t use, uint64_t ns)
{
    return (use + 1) << TIME_BITS | sb_min(ns, TIME_MOST);
}

/* Root: what its last timed message took, if all its readers have told. */
static void learn(sb_team_t *team)
{
    uint64_t slowest = 0;

    team->timed.open = false;
    for (uint32_t i = 0; i < team->size; i++) {
        uint64_t told = sb_flag_read(&team->lanes[i]->timed.flag);
        if (i != team->rank && told >> TIME_BITS != team->timed.use + 1)
            return;
        if (i != team->rank)
            slowest = sb_max(slowest, told & TIME_MOST);
    }
    sb_pace_record(&team->pace[team->timed.again], team->timed.bytes, &team->timed.step, slowest);
}

/* Root: the way that was measured to be the best, or that is on trial. */
static void choose_measured(sb_team_t *team, sb_plan_t *plan, const void *buffer, size_t near)
{
    const size_t laps[SB_WAYS] = {[SB_WAY_STREAMING] = team->ring_bytes, [SB_WAY_CACHED] = near};

    if (team->timed.open)
        learn(team);
    bool again = sb_pace_again(&team->seen, (size_t)plan->bytes, buffer);
    sb_step_t step = sb_pace_next(&team->pace[again], (size_t)plan->bytes, laps);
    plan->way = step.way;
    if (!step.timed)
        return;
    plan->started = sb_now_ns();
    plan->warming = step.warming;
    plan->again = again;
    team->timed.open = true;
    team->timed.use = team->slot_uses;
    team->timed.bytes = (size_t)plan->bytes;
    team->timed.again = again;
    team->timed.step = step;
}

/* Root: chooses how to write, and where. */
static void choose_way(sb_team_t *team, sb_plan_t *plan, const void *buffer)
{
    size_t near = near_window(team, plan);
    bool large = plan->bytes >= SB_PACE_LEAST;

    if (large && team->settings.stores == SB_STORES_AUTO)
        choose_measured(team, plan, buffer, near);
    else if (large && team->settings.stores == SB_STORES_STREAMING)
        plan->way = SB_WAY_STREAMING;
    else
        plan->way = SB_WAY_CACHED;
    if (plan->way == SB_WAY_CACHED)
        plan->window = near;
    plan->position = sb_ring_next(team, plan, team->ring_position);
}

/* Reader that waited for the message: tells the root how long it took, and keeps it in mind. */
static void tell(sb_team_t *team, const sb_plan_t *plan)
{
    const sb_step_t step = {(sb_way_t)plan->way, true, plan->warming != 0};
    uint64_t ns = sb_now_ns() - plan->started;

    sb_flag_publish(&team->self->timed.flag, time_value(team->slot_uses, ns));
    sb_pace_record(&team->pace[plan->again != 0], (size_t)plan->bytes, &step, ns);
}

/* Both sides: the message is over, at this position. */
static void finish(sb_team_t *team, uint64_t end)
{
    team->ring_position = (end + SB_LINE - 1) / SB_LINE * SB_LINE;
    sb_flag_publish(&team->self->consumed.flag, team->ring_position);
    sb_slot_finish(team, 1);
}

static void announce(sb_team_t *team, const sb_plan_t *plan)
{
    sb_slot_t *slot = sb_slot(team, team->rank, team->slot_uses);

    sb_flag_set_note(&slot->flag, SB_NOTE_RING);
    sb_copy(slot->payload, plan, sizeof *plan);
    sb_flag_publish(&slot->flag, team->slot_uses + 1);
}

/* Data that is handed out by functions goes wherever they put it. */
static sb_status_t put(const sb_stream_t *stream, size_t offset, char *to, size_t bytes,
                       uint64_t way)
{
    if (way == SB_WAY_CACHED || stream->base == NULL)
        return sb_stream_read(stream, offset, to, bytes);
    sb_copy_streaming(to, stream->base + offset, bytes);
    return SB_OK;
}

sb_status_t sb_ring_send(sb_team_t *team, const sb_stream_t *stream, size_t fragment)
{
    sb_plan_t plan = make_plan(team, stream->bytes, fragment);
    sb_status_t data = SB_OK;

    choose_way(team, &plan, stream->base);
    sb_status_t status = sb_slot_wait_free(team, team->slot_uses);
    uint64_t position = plan.position;

    for (size_t offset = 0; status == SB_OK && offset < plan.bytes;) {
        position = sb_ring_next(team, &plan, position);
        size_t bytes = sb_fragment(team, &plan, position, plan.bytes - offset);
        status = sb_ring_wait_free(team, position + bytes);
        if (status != SB_OK)
            break;
        /* A rank that cannot read its own data serves the others all the same. */
        if (data == SB_OK)
            data = put(stream, offset, sb_ring_at(team, team->rank, position), bytes, plan.way);
        if (offset == 0)
            announce(team, &plan);
        else
            sb_flag_publish(&team->self->published.flag, position + bytes);
        offset += bytes;
        position += bytes;
    }
    if (status != SB_OK)
        return status;
    finish(team, position);
    return data;
}

sb_status_t sb_take_from_root(sb_team_t *team, const sb_receipt_t *receipt,
                              const sb_arrived_t *fragment, sb_status_t *data)
{
    if (*data == SB_OK)
        *data = sb_take(receipt->stream, fragment->offset,
                        sb_ring_at(team, receipt->root, fragment->position), fragment->bytes);
    return SB_OK;
}

/* Waits for the announcement and reads the plan; a message in slots is a disagreement of ranks. */
static sb_status_t receive_plan(sb_team_t *team, uint32_t from, bool relay, sb_plan_t *plan,
                                bool *waited)
{
    sb_slot_t *slot = sb_slot(team, from, team->slot_uses);

    *waited = sb_flag_read(&slot->flag) <= team->slot_uses;
    sb_status_t status = sb_flag_wait(&slot->flag, team->slot_uses + 1, &team->waiter);

    if (status != SB_OK)
        return status;
    if (sb_flag_note(&slot->flag) != SB_NOTE_RING)
        return sb_out_of_step(team);
    sb_copy(plan, slot->payload, sizeof *plan);
    if (relay)
        announce(team, plan);
    return SB_OK;
}

sb_status_t sb_ring_receive(sb_team_t *team, const sb_receipt_t *receipt)
{
    sb_flag_t *news = &team->lanes[receipt->from]->published.flag;
    sb_plan_t plan = {0};
    bool waited = false;
    sb_status_t status = receive_plan(team, receipt->from, receipt->relay, &plan, &waited);
    sb_status_t data = SB_OK;
    uint64_t position = plan.position;

    for (size_t offset = 0; status == SB_OK && offset < plan.bytes;) {
        position = sb_ring_next(team, &plan, position);
        size_t bytes = sb_fragment(team, &plan, position, plan.bytes - offset);
        if (offset > 0) {
            status = sb_flag_wait(news, position + bytes, &team->waiter);
            if (status != SB_OK)
                break;
            if (receipt->relay)
                sb_flag_publish(&team->self->published.flag, position + bytes);
        }
        const sb_arrived_t fragment = {position, offset, bytes};
        status = receipt->take(team, receipt, &fragment, &data);
        if (status != SB_OK)
            break;
        offset += bytes;
        position += bytes;
        sb_flag_publish(&team->self->consumed.flag, position);
    }
    if (status != SB_OK)
        return status;
    if (plan.started != 0 && waited)
        tell(team, &plan);
    finish(team, position);
    return data == SB_OK && plan.bytes != receipt->stream->bytes ? SB_ERR_TRUNCATE : data;
}
