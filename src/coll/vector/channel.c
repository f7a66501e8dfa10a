/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/vector/channel.h"

#include "coll/vector/around.h"
#include "team/pull.h"

#define PAGE 4096
#define AREA_MOST ((size_t)128 << 10)
#define AREA_LEAST ((size_t)1 << 10)
#define FRAGMENTS_PER_AREA 4
#define FRAGMENT_SMALL ((size_t)8 << 10)
#define FRAGMENT_LARGE ((size_t)32 << 10)
#define LARGE_MESSAGE ((size_t)256 << 10)
#define PULL_LEAST (((size_t)16 << 10) + 1)
#define PULL_AT_ONCE ((size_t)1 << 20)
#define WINDOW_LEAST ((size_t)16 << 10)
#define BOUNCE ((size_t)16 << 10)

/* A piece of more bytes keeps the core busy by itself. */
#define FETCHED_AHEAD ((size_t)256)
#define FETCHED_AHEAD_MOST ((size_t)1 << 10)

/* Of so many bytes in all the first have not left the cache when they are wanted. */
#define FETCHED_TOGETHER ((size_t)16 << 10)

/* So much is taken from other cores for the next call: what a core does in less than the time of a
 * few line transfers. */
#define OWNED_AHEAD ((size_t)1536)

/* So often a rank looks at all that others pull from it, before it waits for one of them. */
#define PULLED_ROUNDS 128

/* A slot's note: bytes of a short message, or that there is a plan. */
#define NOTE_PLAN 0x80000000u
#define NOTE_PUSHED 0x80000001u

/*
 * Looks for an invitation, or for what is to be pulled: about as long as it takes to be told of one
 * that is under way, and a hundredth of the time that the copy will take.
 */
#define HOPE 16
#define HOPE_BYTES ((size_t)16 << 10)
#define HOPE_MOST 512

/* What the slot of a long message holds. */
typedef struct plan {
    uint64_t position;
    uint64_t bytes;
    uint64_t fragment;
    uint64_t address; /* of what is to be pulled; 0: it comes through the area */
    uint64_t started; /* when its sender began, if there is a manner */
    uint64_t manner;  /* sb_manner_t of the call */
} plan_t;

_Static_assert(sizeof(plan_t) <= SB_SLOT_IN_LINE, "a plan travels in the flag's line");

/* One channel of a block. */
typedef struct mouth {
    sb_wide_flag_t published;
    _Alignas(SB_SLOT_BYTES) sb_slot_t slot[];
} mouth_t;

/* How far a reader has come with one writer's channels: it alone writes here. */
typedef struct reader {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t one;
    sb_flag_t all;
} reader_t;

/* The first of a block. */
#define HEAD SB_SLOT_BYTES

/* Number of `other` among the channels of `owner`. */
static inline uint32_t index_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    return other > owner ? other - owner - 1 : other + team->size - owner - 1;
}

static inline sb_flag_t *done_of(const sb_channels_t *channels, uint32_t rank)
{
    return &((sb_wide_flag_t *)(void *)channels->peer[rank].base)->flag;
}

/* The channel of `owner` to `other`, or to all. */
static inline mouth_t *mouth_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    const sb_channels_t *channels = sb_channels(team);
    size_t number = other == SB_TO_ALL ? 0 : 1 + index_of(team, owner, other);

    return (mouth_t *)(void *)(channels->peer[owner].base + HEAD + number * channels->stride);
}

static inline reader_t *reader_of(const sb_team_t *team, uint32_t reader, uint32_t writer)
{
    const sb_channels_t *channels = sb_channels(team);

    return (reader_t *)(void *)(channels->peer[reader].base + channels->consumed) +
           index_of(team, reader, writer);
}

/* The area of a channel, and its size. */
static inline char *area_of(const sb_team_t *team, uint32_t owner, uint32_t other, size_t *bytes)
{
    const sb_channels_t *channels = sb_channels(team);
    char *base = channels->peer[owner].base;

    if (other == SB_TO_ALL) {
        *bytes = channels->bytes_all;
        return base + channels->area_all;
    }
    *bytes = channels->bytes;
    return base + channels->areas + index_of(team, owner, other) * channels->bytes;
}

/* Fewer slots where there are many ranks: each rank has so many for each other. */
static uint32_t slots_for(uint32_t ranks)
{
    return ranks <= 16 ? 8 : ranks <= 64 ? 4 : 2;
}

/* Where things are in a block, but for the areas. Returns its bytes so far. */
static size_t lay_out(sb_channels_t *channels, uint32_t ranks)
{
    channels->slots = slots_for(ranks);
    channels->stride = sizeof(mouth_t) + channels->slots * sizeof(sb_slot_t);
    channels->consumed = HEAD + ranks * channels->stride;
    channels->area_all = channels->consumed + (ranks - 1) * sizeof(reader_t);
    channels->area_all = sb_round_up(channels->area_all, PAGE);
    return channels->area_all;
}

/* Areas out of `room` bytes: that to all is as large as four others, while there is enough. */
static void lay_out_areas(sb_channels_t *channels, uint32_t ranks, size_t room)
{
    size_t each = room / (ranks + 3) & ~(size_t)(SB_LINE * FRAGMENTS_PER_AREA - 1);

    channels->bytes = sb_min(each, AREA_MOST);
    channels->bytes_all = channels->bytes * 4;
    channels->areas = channels->area_all + channels->bytes_all;
    channels->step = channels->bytes / FRAGMENTS_PER_AREA;
}

static bool is_near(const sb_hierarchy_t *hierarchy, uint32_t rank)
{
    const sb_group_t *group = &hierarchy->group[0];

    for (uint32_t i = 0; i < group->size; i++) {
        if (group->members[i] == rank)
            return true;
    }
    return false;
}

/* The others, from the next one on: those that share no cache or NUMA node with this rank first. */
static void put_in_order(sb_team_t *team)
{
    const sb_hierarchy_t *hierarchy = sb_team_parts(team);
    bool grouped = hierarchy != NULL && hierarchy->count > 0 && hierarchy->lowest == 0;
    uint32_t *place = sb_channels(team)->far_first;

    for (uint32_t near = 0; near < 2; near++) {
        for (uint32_t i = 1; i < team->size; i++) {
            uint32_t rank = (team->rank + i) % team->size;
            if ((grouped && is_near(hierarchy, rank)) == (near == 1))
                *place++ = rank;
        }
    }
}

static void adopt(sb_team_t *team, const sb_channels_t *form, size_t fixed)
{
    sb_channels_t *channels = sb_channels(team);
    const sb_resource_t resource = channels->resource;

    *channels = *form;
    channels->resource = resource;
    lay_out_areas(channels, team->size, resource.segment.bytes - fixed);
    channels->sending = (sb_sending_t *)(void *)(channels->peer + team->size);
    channels->receiving = (sb_receiving_t *)(void *)(channels->sending + team->size);
    for (uint32_t i = 0; i < team->size; i++)
        channels->peer[i].base = resource.segment.bases[i];
    channels->pulled = (sb_pulled_t *)(void *)(channels->receiving + team->size);
    channels->manners = (sb_manners_t *)(void *)(channels->pulled + team->size);
    channels->far_first = (uint32_t *)(void *)(channels->manners + 1);
    channels->bounce = (char *)(channels->far_first + team->size);
    channels->own = channels->peer[team->rank].base;
    channels->around_above = sb_around_above(team);
    put_in_order(team);
}

/* From what length on messages are pulled. */
static sb_status_t settle_pulling(sb_team_t *team, sb_channels_t *channels)
{
    uint64_t process[team->size];
    bool proved = false;
    sb_status_t status = SB_OK;

    if (team->settings.cma != SB_CMA_OFF)
        status = sb_pull_prove(team, process, &proved);
    channels->pull_least = SIZE_MAX;
    if (status != SB_OK || !proved)
        return status;
    channels->pull_least = team->settings.cma == SB_CMA_ON ? SB_SLOT_PAYLOAD + 1 : PULL_LEAST;
    for (uint32_t i = 0; i < team->size; i++)
        channels->peer[i].process = process[i];
    return SB_OK;
}

static sb_status_t make(sb_team_t *team)
{
    sb_channels_t form = {0};
    size_t fixed = lay_out(&form, team->size), areas = team->size + 3;
    size_t most = sb_min((size_t)team->settings.ring_bytes, areas * AREA_MOST);
    size_t least = areas * AREA_LEAST;
    size_t each = sizeof(sb_channel_peer_t) + sizeof(sb_sending_t) + sizeof(sb_receiving_t) +
                  sizeof(sb_pulled_t) + sizeof(uint32_t);
    const sb_resource_size_t size = {
        .own = sizeof form + sizeof(sb_manners_t) + team->size * each + BOUNCE,
        .bytes = sb_round_up(fixed + sb_max(most, least), PAGE),
        .least = sb_round_up(fixed + least, PAGE),
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_CHANNELS, &size);

    if (status != SB_OK)
        return status;
    adopt(team, &form, fixed);
    return settle_pulling(team, sb_channels(team));
}

static const sb_resource_kind_t kind = {SB_RESOURCE_CHANNELS, make};

sb_status_t sb_channels_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

size_t sb_parts_fragment(const sb_team_t *team, size_t bytes, size_t area)
{
    size_t fragment = (size_t)team->settings.fragment_bytes;

    if (fragment == 0)
        fragment = bytes < LARGE_MESSAGE ? FRAGMENT_SMALL : FRAGMENT_LARGE;
    return sb_min(sb_round_up(fragment, SB_LINE), area / FRAGMENTS_PER_AREA);
}

/* Looks at the flag, or waits until it is at least `value`; `known` keeps what was seen. */
static sb_status_t look(const sb_team_t *team, sb_flag_t *flag, uint64_t value, bool wait,
                        uint64_t *known)
{
    sb_status_t status = wait ? sb_flag_wait(flag, value, &team->waiter) : SB_OK;

    if (status == SB_OK)
        *known = sb_flag_read(flag);
    return status;
}

/* Looks, or waits, until all others are done with the calls before `calls`. */
static sb_status_t look_at_all_done(sb_team_t *team, uint64_t calls, bool wait)
{
    sb_channels_t *channels = sb_channels(team);
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < team->size; i++) {
        sb_channel_peer_t *peer = &channels->peer[i];
        if (i == team->rank)
            continue;
        if (peer->done < calls) {
            sb_status_t status = look(team, done_of(channels, i), calls, wait, &peer->done);
            if (status != SB_OK)
                return status;
        }
        least = peer->done < least ? peer->done : least;
    }
    channels->done = least;
    return SB_OK;
}

/* Whether the slot of the present call may be filled. */
static sb_status_t slot_free(sb_team_t *team, uint32_t to, bool wait, bool *is_free)
{
    sb_channels_t *channels = sb_channels(team);
    uint64_t *done = to == SB_TO_ALL ? &channels->done : &channels->peer[to].done;
    sb_status_t status = SB_OK;

    *is_free = true;
    if (SB_LIKELY(channels->calls < *done + channels->slots))
        return SB_OK;
    uint64_t calls = channels->calls - channels->slots + 1;
    if (to == SB_TO_ALL)
        status = look_at_all_done(team, calls, wait);
    else
        status = look(team, done_of(channels, to), calls, wait, done);
    *is_free = *done >= calls;
    return status;
}

static sb_status_t look_at_all_consumed(sb_team_t *team, uint64_t position, bool wait)
{
    uint64_t least = UINT64_MAX, seen = 0;

    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank)
            continue;
        sb_flag_t *flag = &reader_of(team, i, team->rank)->all;
        sb_status_t status = look(team, flag, position, wait, &seen);
        if (status != SB_OK)
            return status;
        least = seen < least ? seen : least;
    }
    sb_channels(team)->free_all = least;
    return SB_OK;
}

/* Whether the channel's area may be filled up to position `end`. */
static sb_status_t area_free(sb_team_t *team, uint32_t to, uint64_t end, size_t area, bool wait,
                             bool *is_free)
{
    sb_channels_t *channels = sb_channels(team);
    uint64_t *known = to == SB_TO_ALL ? &channels->free_all : &channels->peer[to].free;
    sb_status_t status = SB_OK;

    *is_free = true;
    if (SB_LIKELY(end <= *known + area))
        return SB_OK;
    if (to == SB_TO_ALL)
        status = look_at_all_consumed(team, end - area, wait);
    else
        status = look(team, &reader_of(team, to, team->rank)->one, end - area, wait, known);
    *is_free = end <= *known + area;
    return status;
}

static inline uint64_t *position_of(sb_channels_t *channels, uint32_t to)
{
    return to == SB_TO_ALL ? &channels->position_all : &channels->peer[to].position;
}

static inline sb_slot_t *slot_of(const sb_team_t *team, mouth_t *mouth)
{
    return &mouth->slot[sb_channels(team)->calls % sb_channels(team)->slots];
}

static sb_status_t send_short(sb_team_t *team, sb_sending_t *sending)
{
    sb_slot_t *slot = slot_of(team, mouth_of(team, team->rank, sending->peer));
    size_t bytes = sending->stream->bytes;

    /* The line that the reader looks at comes last, and with all that it holds. */
    size_t line = sending->stream->base == NULL ? bytes : sb_min(bytes, SB_SLOT_IN_LINE);
    if (bytes > line)
        sb_copy(slot->payload + line, sending->stream->base + line, bytes - line);
    sending->data = sb_stream_read(sending->stream, 0, slot->payload, line);
    sb_flag_set_note(&slot->flag, (uint32_t)bytes);
    sb_flag_publish(&slot->flag, sb_channels(team)->calls + 1);
    sending->offset = bytes;
    return SB_OK;
}

/* Bytes of the piece at `position` of which `left` are to come: it ends where the area does. */
static inline size_t piece(uint64_t position, size_t fragment, size_t left, size_t area)
{
    return sb_min(sb_min(fragment, left), area - (size_t)(position % area));
}

static void put_plan(sb_team_t *team, sb_slot_t *slot, uint32_t note, const plan_t *plan)
{
    sb_copy(slot->payload, plan, sizeof *plan);
    sb_flag_set_note(&slot->flag, note);
    sb_flag_publish(&slot->flag, sb_channels(team)->calls + 1);
}

static void say(const sb_team_t *team, const sb_sending_t *sending, plan_t *plan)
{
    plan->manner = sending->manner;
    plan->started = sb_channels(team)->manners->started;
}

/* Tells the reader of the piece that ends at `end`: the first one by the plan. */
static void announce(sb_team_t *team, sb_sending_t *sending, uint64_t start, uint64_t end)
{
    mouth_t *mouth = mouth_of(team, team->rank, sending->peer);
    sb_slot_t *slot = slot_of(team, mouth);

    if (sending->announced) {
        sb_flag_publish(&mouth->published.flag, end);
        return;
    }
    plan_t plan = {
        .position = start, .bytes = sending->stream->bytes, .fragment = sending->fragment};
    say(team, sending, &plan);
    put_plan(team, slot, NOTE_PLAN, &plan);
    sending->announced = true;
}

/* Has the readers pull the message. It counts as sent; that it was pulled is waited for later. */
static sb_status_t offer(sb_team_t *team, sb_sending_t *sending)
{
    sb_channels_t *channels = sb_channels(team);
    uint64_t *position = position_of(channels, sending->peer);
    sb_slot_t *slot = slot_of(team, mouth_of(team, team->rank, sending->peer));
    plan_t plan = {.position = *position,
                   .bytes = sending->stream->bytes,
                   .address = (uintptr_t)sending->stream->base};

    say(team, sending, &plan);
    put_plan(team, slot, NOTE_PLAN, &plan);
    *position += SB_LINE;
    channels->pulled[channels->pulled_count++] = (sb_pulled_t){sending->peer, *position};
    sending->offset = sending->stream->bytes;
    return SB_OK;
}

sb_status_t sb_invite(sb_team_t *team, uint32_t peer, const sb_stream_t *stream)
{
    plan_t plan = {.bytes = stream->bytes, .address = (uintptr_t)stream->base};
    bool is_free;
    sb_status_t status = slot_free(team, peer, false, &is_free);

    if (status == SB_OK && is_free && stream->base != NULL)
        put_plan(team, slot_of(team, mouth_of(team, team->rank, peer)), NOTE_PLAN, &plan);
    return status;
}

static uint32_t hope(const sb_team_t *team, size_t bytes)
{
    size_t looks = HOPE + bytes / HOPE_BYTES;

    return team->oversubscribed ? 1 : (uint32_t)sb_min(looks, HOPE_MOST);
}

/*
 * Puts the message where its reader has asked for it. False if it was not asked for, or cannot be
 * put there. A reader whose call has failed may be gone, and its memory with it: that it has not
 * said so yet is seen at the last moment.
 */
static bool push(sb_team_t *team, sb_sending_t *sending)
{
    const sb_channels_t *channels = sb_channels(team);
    const sb_stream_t *stream = sending->stream;
    sb_slot_t *invitation = slot_of(team, mouth_of(team, sending->peer, team->rank));
    uint64_t use = channels->calls + 1;
    plan_t plan;

    if (sb_flag_hope(&invitation->flag, use, hope(team, stream->bytes)) != use)
        return false;
    sb_copy(&plan, invitation->payload, sizeof plan);
    size_t bytes = sb_min(stream->bytes, (size_t)plan.bytes);
    if (sb_flag_read(done_of(channels, sending->peer)) >= use ||
        !sb_push(channels->peer[sending->peer].process, plan.address, stream->base, bytes))
        return false;
    plan = (plan_t){.bytes = stream->bytes};
    put_plan(team, slot_of(team, mouth_of(team, team->rank, sending->peer)), NOTE_PUSHED, &plan);
    sending->offset = stream->bytes;
    return true;
}

/*
 * Where the message begins. Where ranks share processors they share caches too: short messages go
 * round in the first bytes of the area, so that the areas of all stay there.
 */
static uint64_t start_of(const sb_team_t *team, uint64_t position, size_t total, size_t area)
{
    size_t window = sb_min(sb_max(2 * total, WINDOW_LEAST), area);

    if (!team->oversubscribed || 2 * total > area || position % area + total <= window)
        return position;
    return position + area - position % area;
}

static sb_status_t send_long(sb_team_t *team, sb_sending_t *sending, size_t limit, bool wait)
{
    uint64_t *position = position_of(sb_channels(team), sending->peer);
    size_t area, total = sending->stream->bytes;
    char *base = area_of(team, team->rank, sending->peer, &area);
    bool is_free;

    if (sending->fragment == 0)
        sending->fragment = sending->manner == SB_MANNER_AROUND
                                ? area / FRAGMENTS_PER_AREA
                                : sb_parts_fragment(team, total, area);
    if (sending->offset == 0)
        *position = start_of(team, *position, total, area);
    while (sending->offset < limit) {
        size_t bytes = piece(*position, sending->fragment, total - sending->offset, area);
        sb_status_t status =
            area_free(team, sending->peer, *position + bytes, area, wait, &is_free);
        if (status != SB_OK || !is_free)
            return status;
        /* A rank that cannot read its own data serves the others all the same. */
        if (sending->data == SB_OK)
            sending->data =
                sb_stream_read(sending->stream, sending->offset, base + *position % area, bytes);
        announce(team, sending, *position, *position + bytes);
        sending->offset += bytes;
        *position += bytes;
    }
    /* Messages begin on a line. */
    if (sending->offset == total)
        *position = (*position + SB_LINE - 1) & ~(uint64_t)(SB_LINE - 1);
    return SB_OK;
}

sb_status_t sb_send(sb_team_t *team, sb_sending_t *sending, size_t limit, bool wait)
{
    size_t bytes = sending->stream->bytes;
    bool is_free;

    limit = sb_min(limit, bytes);
    if (sending->offset >= limit)
        return SB_OK;
    if (sending->offset == 0) {
        sb_status_t status = slot_free(team, sending->peer, wait, &is_free);
        if (status != SB_OK || !is_free)
            return status;
    }
    if (bytes <= SB_SLOT_PAYLOAD)
        return send_short(team, sending);
    bool passed =
        sending->passed || sending->stream->base == NULL || sending->manner == SB_MANNER_AROUND;
    if (!passed && sending->pushed && push(team, sending))
        return SB_OK;
    if (!passed && (sending->pulled || bytes >= sb_channels(team)->pull_least))
        return offer(team, sending);
    return send_long(team, sending, limit, wait);
}

/* Lines behind the announcement of the next message, if it is like this one and not pulled. */
static size_t own_next(sb_team_t *team, const sb_sending_t *sending, size_t most)
{
    sb_channels_t *channels = sb_channels(team);
    size_t bytes = sending->stream->bytes, area;
    mouth_t *mouth = mouth_of(team, team->rank, sending->peer);
    char *base = area_of(team, team->rank, sending->peer, &area);

    if (bytes <= SB_SLOT_IN_LINE || (bytes > SB_SLOT_PAYLOAD && sending->fragment == 0))
        return 0;
    if (bytes <= SB_SLOT_PAYLOAD) {
        bytes = sb_min(bytes - SB_SLOT_IN_LINE, most);
        sb_slot_t *slot = &mouth->slot[(channels->calls + 1) % channels->slots];
        sb_own_ahead(slot->payload + SB_SLOT_IN_LINE, bytes);
    } else {
        uint64_t position = *position_of(channels, sending->peer);
        bytes = sb_min(piece(position, sending->fragment, bytes, area), most);
        sb_own_ahead(base + position % area, bytes);
    }
    return bytes;
}

void sb_deal_ahead(sb_team_t *team, const sb_sending_t *sending, uint32_t count)
{
    sb_channels_t *channels = sb_channels(team);
    bool again = channels->dealt == channels->calls && !team->oversubscribed;
    uint32_t turn = channels->slots / 2;
    size_t most = OWNED_AHEAD;

    channels->dealt = channels->calls + 1;
    for (uint32_t i = 0; i < count && again; i++) {
        sb_channel_peer_t *peer = &channels->peer[sending[i].peer];
        if ((channels->calls + i) % turn == 0)
            peer->done = sb_flag_read(done_of(channels, sending[i].peer));
    }
    for (uint32_t i = 0; i < count && again && most > 0; i++)
        most -= own_next(team, &sending[i], most);
}

/* Copies what of the bytes this rank has room for. */
static void take(sb_receiving_t *receiving, const char *from, size_t bytes)
{
    const sb_stream_t *stream = receiving->stream;
    size_t room = stream->bytes, offset = receiving->offset;

    if (receiving->data != SB_OK || offset >= room)
        return;
    bytes = sb_min(bytes, room - offset);
    receiving->data = receiving->around && bytes > SB_SLOT_PAYLOAD
                          ? sb_stream_write_around(stream, offset, from, bytes)
                          : sb_stream_write(stream, offset, from, bytes);
}

/* A message from the peer in this call: it is done with the calls before. */
static void learn(sb_team_t *team, uint32_t from)
{
    sb_channels_t *channels = sb_channels(team);
    sb_channel_peer_t *peer = &channels->peer[from];

    peer->done = channels->calls > peer->done ? channels->calls : peer->done;
}

static void open_long(sb_team_t *team, sb_receiving_t *receiving, const sb_slot_t *slot)
{
    plan_t plan;
    size_t area;

    sb_copy(&plan, slot->payload, sizeof plan);
    area_of(team, receiving->peer, receiving->of_all ? SB_TO_ALL : team->rank, &area);
    receiving->position = plan.position;
    receiving->bytes = (size_t)plan.bytes;
    receiving->fragment = (size_t)plan.fragment;
    receiving->from = plan.address;
    receiving->around = receiving->around || plan.manner == SB_MANNER_AROUND;
    if (plan.manner != SB_MANNER_ANY)
        sb_manner_started(team, plan.started);
    if (plan.manner != SB_MANNER_ANY && receiving->peer == 0)
        sb_manner_follow(team, receiving->bytes, (sb_manner_t)plan.manner);
    receiving->first = piece(plan.position, receiving->fragment, receiving->bytes, area);
}

/* All of the message that there is room for is where it belongs. */
static void open_pushed(sb_receiving_t *receiving, const sb_slot_t *slot)
{
    plan_t plan;

    sb_copy(&plan, slot->payload, sizeof plan);
    receiving->bytes = receiving->offset = (size_t)plan.bytes;
}

static inline sb_slot_t *announced_in(const sb_team_t *team, const sb_receiving_t *receiving)
{
    uint32_t to = receiving->of_all ? SB_TO_ALL : team->rank;

    return slot_of(team, mouth_of(team, receiving->peer, to));
}

bool sb_announced(const sb_team_t *team, const sb_receiving_t *receiving)
{
    uint64_t use = sb_channels(team)->calls + 1;
    uint32_t looks = hope(team, receiving->stream->bytes);

    return sb_flag_hope(&announced_in(team, receiving)->flag, use, looks) >= use;
}

/* The message is announced. Takes a short one. */
static void open_message(sb_team_t *team, sb_receiving_t *receiving)
{
    sb_slot_t *slot = announced_in(team, receiving);
    uint32_t note = sb_flag_note(&slot->flag);

    learn(team, receiving->peer);
    receiving->opened = true;
    if (note == NOTE_PLAN) {
        open_long(team, receiving, slot);
    } else if (note == NOTE_PUSHED) {
        open_pushed(receiving, slot);
    } else {
        receiving->bytes = note;
        take(receiving, (const char *)slot->payload, note);
        receiving->offset = note;
    }
}

/* Looks, or waits, for the announcement. */
static sb_status_t look_at_message(sb_team_t *team, sb_receiving_t *receiving, bool wait)
{
    uint64_t use = sb_channels(team)->calls + 1, seen = receiving->announced ? use : 0;
    sb_status_t status = SB_OK;

    if (!receiving->announced)
        status = look(team, &announced_in(team, receiving)->flag, use, wait, &seen);
    if (status == SB_OK && seen >= use)
        open_message(team, receiving);
    return status;
}

/*
 * The longest piece that is fetched together with those of other messages. What all read at the
 * same time they would keep from each other.
 */
static size_t fetched_most(const sb_team_t *team, const sb_receiving_t *receiving)
{
    size_t share = sb_min(FETCHED_TOGETHER / team->size, FETCHED_AHEAD_MOST);

    return receiving->of_all ? FETCHED_AHEAD : sb_max(share, FETCHED_AHEAD);
}

/* What lies behind the line of the announcement. */
static void fetch_payload(const sb_team_t *team, const sb_receiving_t *receiving, uint32_t note)
{
    uint32_t to = receiving->of_all ? SB_TO_ALL : team->rank;
    size_t area;

    if (note <= SB_SLOT_PAYLOAD)
        sb_fetch_ahead(announced_in(team, receiving)->payload, note);
    if (note != NOTE_PLAN || receiving->from != 0)
        return;
    const char *base = area_of(team, receiving->peer, to, &area);
    if (receiving->first <= fetched_most(team, receiving))
        sb_fetch_ahead(base + receiving->position % area, receiving->first);
}

/* Nothing that is done to one message keeps another from coming: so first all flags. */
void sb_look_ahead(sb_team_t *team, sb_receiving_t *receiving, uint32_t count)
{
    uint64_t use = sb_channels(team)->calls + 1;
    bool behind = false; /* there is more than the announcements */

    for (uint32_t i = 0; i < count; i++) {
        const sb_flag_t *flag = &announced_in(team, &receiving[i])->flag;
        if (receiving[i].opened || receiving[i].announced || sb_flag_read(flag) < use)
            continue;
        receiving[i].announced = true;
        behind = behind || sb_flag_note(flag) > SB_SLOT_IN_LINE;
    }
    for (uint32_t i = 0; i < count && behind; i++) {
        const sb_flag_t *flag = &announced_in(team, &receiving[i])->flag;
        if (receiving[i].announced && !receiving[i].opened && sb_flag_note(flag) == NOTE_PLAN)
            open_message(team, &receiving[i]);
    }
    for (uint32_t i = 0; i < count && behind; i++) {
        const sb_flag_t *flag = &announced_in(team, &receiving[i])->flag;
        if (receiving[i].announced && receiving[i].offset == 0)
            fetch_payload(team, &receiving[i], sb_flag_note(flag));
    }
}

/* Pulls the next bytes to where they belong. What is too much is left where it is. */
static sb_status_t pull(const sb_channels_t *channels, const sb_receiving_t *receiving,
                        size_t bytes)
{
    const sb_stream_t *stream = receiving->stream;
    uint64_t process = channels->peer[receiving->peer].process;
    uint64_t from = receiving->from + receiving->offset;
    sb_status_t status = SB_OK;

    if (stream->base != NULL)
        return sb_pull(process, stream->base + receiving->offset, from, bytes) ? SB_OK
                                                                               : SB_ERR_DATA;
    for (size_t done = 0; done < bytes && status == SB_OK; done += BOUNCE) {
        size_t piece = sb_min(bytes - done, BOUNCE);
        if (!sb_pull(process, channels->bounce, from + done, piece))
            return SB_ERR_DATA;
        status = sb_stream_write(stream, receiving->offset + done, channels->bounce, piece);
    }
    return status;
}

static void receive_pulled(sb_team_t *team, sb_receiving_t *receiving, size_t limit)
{
    reader_t *own = reader_of(team, team->rank, receiving->peer);
    size_t room = receiving->stream->bytes;

    limit = receiving->stepwise ? limit : receiving->bytes;
    while (receiving->offset < limit) {
        size_t end = sb_min(limit, receiving->offset + PULL_AT_ONCE);
        if (receiving->data == SB_OK && receiving->offset < room)
            receiving->data =
                pull(sb_channels(team), receiving, sb_min(end, room) - receiving->offset);
        receiving->offset = end;
    }
    if (receiving->offset == receiving->bytes)
        sb_flag_publish(receiving->of_all ? &own->all : &own->one, receiving->position + SB_LINE);
}

static sb_status_t receive_long(sb_team_t *team, sb_receiving_t *receiving, size_t limit, bool wait)
{
    uint32_t to = receiving->of_all ? SB_TO_ALL : team->rank;
    sb_flag_t *published = &mouth_of(team, receiving->peer, to)->published.flag;
    reader_t *own = reader_of(team, team->rank, receiving->peer);
    sb_flag_t *consumed = receiving->of_all ? &own->all : &own->one;
    size_t area;
    const char *base = area_of(team, receiving->peer, to, &area);

    while (receiving->offset < limit) {
        size_t before = receiving->offset;
        uint64_t position = receiving->position + before, seen = 0;
        size_t bytes = piece(position, receiving->fragment, limit - before, area);
        if (before < receiving->first)
            bytes = sb_min(bytes, receiving->first - before);
        if (before >= receiving->first) {
            sb_status_t status = look(team, published, position + bytes, wait, &seen);
            if (status != SB_OK || seen < position + bytes)
                return status;
        }
        take(receiving, base + position % area, bytes);
        receiving->offset += bytes;
        sb_flag_publish(consumed, position + bytes);
    }
    return SB_OK;
}

sb_status_t sb_receive(sb_team_t *team, sb_receiving_t *receiving, size_t limit, bool wait)
{
    sb_status_t status = SB_OK;

    if (receiving->stream->bytes == 0)
        return SB_OK;
    if (!receiving->opened)
        status = look_at_message(team, receiving, wait);
    if (status != SB_OK || !receiving->opened || receiving->offset == receiving->bytes)
        return status;
    limit = sb_min(limit, receiving->bytes);
    if (receiving->from == 0)
        return receive_long(team, receiving, limit, wait);
    receive_pulled(team, receiving, limit);
    return SB_OK;
}

/* Waits until one message was pulled; without `wait`, looks. */
static sb_status_t look_at_pulled(sb_team_t *team, const sb_pulled_t *pulled, bool wait, bool *done)
{
    sb_channels_t *channels = sb_channels(team);
    bool all = pulled->peer == SB_TO_ALL;
    uint64_t *free = all ? &channels->free_all : &channels->peer[pulled->peer].free;
    sb_status_t status;

    if (all)
        status = look_at_all_consumed(team, pulled->end, wait);
    else
        status =
            look(team, &reader_of(team, pulled->peer, team->rank)->one, pulled->end, wait, free);
    *done = *free >= pulled->end;
    return status;
}

/*
 * Waits until all that this rank offered in this call was pulled. Many are done at about the same
 * time: who looks at one after the other has their lines come together.
 */
static sb_status_t wait_pulled(sb_team_t *team)
{
    sb_channels_t *channels = sb_channels(team);
    uint32_t left = channels->pulled_count, rounds = 0;
    sb_status_t status = SB_OK;
    bool done;

    while (left > 0 && status == SB_OK) {
        bool wait = left == 1 || rounds++ >= PULLED_ROUNDS || team->oversubscribed;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < left && status == SB_OK; i++) {
            status = look_at_pulled(team, &channels->pulled[i], wait, &done);
            if (!done)
                channels->pulled[kept++] = channels->pulled[i];
        }
        left = kept;
    }
    channels->pulled_count = 0;
    return status;
}

sb_status_t sb_channels_finish(sb_team_t *team, sb_status_t status)
{
    sb_channels_t *channels = sb_channels(team);

    if (channels->pulled_count > 0)
        status = sb_first(status, wait_pulled(team));
    channels->calls++;
    sb_flag_publish(done_of(channels, team->rank), channels->calls);
    return status;
}

#define OWN_BOUNCE 4096

sb_status_t sb_copy_own(const sb_stream_t *from, const sb_stream_t *to)
{
    size_t bytes = sb_min(from->bytes, to->bytes);
    sb_status_t status = SB_OK;
    char bounce[OWN_BOUNCE];

    if (bytes > 0 && to->base != NULL)
        status = sb_stream_read(from, 0, to->base, bytes);
    else if (bytes > 0 && from->base != NULL)
        status = sb_stream_write(to, 0, from->base, bytes);
    for (size_t at = 0; to->base == NULL && from->base == NULL && at < bytes; at += OWN_BOUNCE) {
        size_t count = sb_min(OWN_BOUNCE, bytes - at);
        status = sb_first(status, sb_stream_read(from, at, bounce, count));
        if (status == SB_OK)
            status = sb_stream_write(to, at, bounce, count);
    }
    return status == SB_OK && from->bytes != to->bytes ? SB_ERR_TRUNCATE : status;
}

sb_status_t sb_copy_own_as(sb_manner_t manner, const sb_stream_t *from, const sb_stream_t *to)
{
    if (manner != SB_MANNER_AROUND || from->base == NULL || to->base == NULL)
        return sb_copy_own(from, to);
    sb_copy_streaming(to->base, from->base, sb_min(from->bytes, to->bytes));
    return from->bytes != to->bytes ? SB_ERR_TRUNCATE : SB_OK;
}
