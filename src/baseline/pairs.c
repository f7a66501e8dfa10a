/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/pairs.h"

#define RING_MOST ((size_t)32 << 10)
#define RING_LEAST ((size_t)1 << 10)
#define FRAGMENTS_PER_RING 4
/* The longest message that is sent at once, whether or not its receiver is there. */
#define EAGER ((size_t)4 << 10)

/* The line that a message begins with. */
typedef struct header {
    uint64_t bytes;
    char payload[SB_LINE - sizeof(uint64_t)];
} header_t;

_Static_assert(sizeof(header_t) == SB_LINE, "a header is a line");

/* What a block has for each other rank. */
typedef struct ends {
    sb_wide_flag_t published; /* of the ring to it */
    sb_wide_flag_t consumed;  /* of its ring to this rank */
} ends_t;

/* Number of `other` in the block of `owner`. */
static inline uint32_t index_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    return other > owner ? other - owner - 1 : other + team->size - owner - 1;
}

static inline ends_t *ends_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    return (ends_t *)(void *)sb_pairs(team)->pair[owner].base + index_of(team, owner, other);
}

/* Where a position of the ring from `owner` to `other` is. */
static inline char *ring_at(const sb_team_t *team, uint32_t owner, uint32_t other,
                            uint64_t position)
{
    const sb_pairs_t *pairs = sb_pairs(team);
    size_t before = (team->size - 1) * sizeof(ends_t) + index_of(team, owner, other) * pairs->ring;

    return pairs->pair[owner].base + before + position % pairs->ring;
}

static void adopt(sb_team_t *team)
{
    sb_pairs_t *pairs = sb_pairs(team);
    size_t others = sb_max(team->size, 2) - 1;
    size_t room = pairs->resource.bytes - others * sizeof(ends_t);

    pairs->ring = sb_min(room / others, RING_MOST) & ~(size_t)(SB_LINE * FRAGMENTS_PER_RING - 1);
    pairs->fragment = pairs->ring / FRAGMENTS_PER_RING;
    for (uint32_t i = 0; i < team->size; i++)
        pairs->pair[i].base = pairs->resource.bases[i];
    pairs->own = pairs->pair[team->rank].base;
}

static sb_status_t make(sb_team_t *team)
{
    size_t others = sb_max(team->size, 2) - 1;
    size_t most = sb_max(sb_min((size_t)team->settings.ring_bytes / others, RING_MOST), RING_LEAST);
    const sb_resource_size_t size = {
        .own = sizeof(sb_pairs_t) + team->size * sizeof(sb_pair_t),
        .bytes = sb_round_up(others * (sizeof(ends_t) + most), SB_PAGE),
        .least = sb_round_up(others * (sizeof(ends_t) + RING_LEAST), SB_PAGE),
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_PAIRS, &size);

    if (status == SB_OK)
        adopt(team);
    return status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_PAIRS, make};

sb_status_t sb_pairs_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

/* Waits until the ring to the peer may be filled up to `end`. */
static sb_status_t wait_free(sb_team_t *team, uint32_t peer, uint64_t end)
{
    sb_pair_t *pair = &sb_pairs(team)->pair[peer];
    sb_flag_t *consumed = &ends_of(team, peer, team->rank)->consumed.flag;

    if (SB_LIKELY(end <= pair->free + sb_pairs(team)->ring))
        return SB_OK;
    sb_status_t status = sb_flag_wait(consumed, end - sb_pairs(team)->ring, &team->waiter);
    pair->free = sb_flag_read(consumed);
    return status;
}

/* Bytes that may be written or read at once. */
static size_t piece(const sb_pairs_t *pairs, uint64_t position, size_t left)
{
    return sb_min(sb_min(pairs->fragment, left), pairs->ring - (size_t)(position % pairs->ring));
}

static inline uint64_t next_line(uint64_t position)
{
    return (position + SB_LINE - 1) & ~(uint64_t)(SB_LINE - 1);
}

static sb_status_t start_out(sb_team_t *team, sb_pair_out_t *out)
{
    sb_pair_t *pair = &sb_pairs(team)->pair[out->peer];
    sb_status_t status = wait_free(team, out->peer, pair->position + SB_LINE);
    header_t *header = (header_t *)(void *)ring_at(team, team->rank, out->peer, pair->position);
    uint64_t bytes = out->stream->bytes;

    if (status != SB_OK)
        return status;
    out->offset = sb_min(sizeof header->payload, out->stream->bytes);
    sb_handle_message();
    sb_copy(&header->bytes, &bytes, sizeof bytes);
    if (out->offset > 0)
        out->data = sb_stream_read(out->stream, 0, header->payload, out->offset);
    pair->position += SB_LINE;
    out->sent = pair->position;
    sb_flag_publish(&ends_of(team, team->rank, out->peer)->published.flag, out->sent);
    out->started = true;
    return SB_OK;
}

/* Waits until the receiver has taken what has been sent to it so far. */
static sb_status_t wait_taken(sb_team_t *team, const sb_pair_out_t *out)
{
    sb_flag_t *consumed = &ends_of(team, out->peer, team->rank)->consumed.flag;

    return out->rendezvous ? sb_flag_wait(consumed, out->sent, &team->waiter) : SB_OK;
}

/* Sends up to `limit` bytes at least, in whole fragments. */
static sb_status_t step_out(sb_team_t *team, sb_pair_out_t *out, size_t limit)
{
    sb_pair_t *pair = &sb_pairs(team)->pair[out->peer];
    size_t total = out->stream->bytes;
    sb_status_t status = out->started ? SB_OK : start_out(team, out);

    while (status == SB_OK && out->offset < sb_min(limit, total)) {
        size_t bytes = piece(sb_pairs(team), pair->position, total - out->offset);
        status = wait_free(team, out->peer, pair->position + bytes);
        if (status != SB_OK)
            break;
        if (out->data == SB_OK)
            out->data = sb_stream_read(out->stream, out->offset,
                                       ring_at(team, team->rank, out->peer, pair->position), bytes);
        out->offset += bytes;
        pair->position += bytes;
        out->sent = pair->position;
        sb_flag_publish(&ends_of(team, team->rank, out->peer)->published.flag, out->sent);
        if (out->offset == total)
            pair->position = next_line(pair->position);
    }
    return status;
}

static void take(sb_pair_in_t *in, const char *from, size_t bytes)
{
    size_t room = in->stream->bytes;

    if (in->data == SB_OK && in->offset < room && bytes > 0)
        in->data = sb_stream_write(in->stream, in->offset, from, sb_min(bytes, room - in->offset));
    in->offset += bytes;
}

/* Waits for data up to `end`. */
static sb_status_t wait_published(sb_team_t *team, uint32_t peer, uint64_t end)
{
    return sb_flag_wait(&ends_of(team, peer, team->rank)->published.flag, end, &team->waiter);
}

static sb_status_t start_in(sb_team_t *team, sb_pair_in_t *in)
{
    sb_pair_t *pair = &sb_pairs(team)->pair[in->peer];
    const header_t *header =
        (const header_t *)(const void *)ring_at(team, in->peer, team->rank, pair->next);
    sb_status_t status = wait_published(team, in->peer, pair->next + SB_LINE);
    uint64_t bytes;

    if (status != SB_OK)
        return status;
    sb_handle_message();
    sb_copy(&bytes, &header->bytes, sizeof bytes);
    in->bytes = (size_t)bytes;
    take(in, header->payload, sb_min(sizeof header->payload, in->bytes));
    pair->next += SB_LINE;
    sb_flag_publish(&ends_of(team, team->rank, in->peer)->consumed.flag, pair->next);
    in->started = true;
    return SB_OK;
}

/*
 * Receives up to `limit` bytes, and not more: in place, what lies beyond may not have been sent
 * yet.
 */
static sb_status_t step_in(sb_team_t *team, sb_pair_in_t *in, size_t limit)
{
    sb_pair_t *pair = &sb_pairs(team)->pair[in->peer];
    sb_status_t status = in->started ? SB_OK : start_in(team, in);

    limit = sb_min(limit, in->bytes);
    while (status == SB_OK && in->offset < limit) {
        size_t bytes = piece(sb_pairs(team), pair->next, limit - in->offset);
        status = wait_published(team, in->peer, pair->next + bytes);
        if (status != SB_OK)
            break;
        take(in, ring_at(team, in->peer, team->rank, pair->next), bytes);
        pair->next += bytes;
        sb_flag_publish(&ends_of(team, team->rank, in->peer)->consumed.flag, pair->next);
        if (in->offset == in->bytes)
            pair->next = next_line(pair->next);
    }
    return status;
}

static sb_status_t receipt(const sb_pair_in_t *in)
{
    return in->data == SB_OK && in->bytes > in->stream->bytes ? SB_ERR_TRUNCATE : in->data;
}

sb_status_t sb_pair_send_standard(sb_team_t *team, uint32_t peer, const sb_stream_t *stream)
{
    sb_pair_out_t out = {.stream = stream, .peer = peer, .rendezvous = stream->bytes >= EAGER};
    sb_status_t status = start_out(team, &out);

    if (status == SB_OK)
        status = wait_taken(team, &out);
    if (status == SB_OK)
        status = step_out(team, &out, SIZE_MAX);
    if (status == SB_OK)
        status = wait_taken(team, &out);
    return status == SB_OK ? out.data : status;
}

sb_status_t sb_pair_send(sb_team_t *team, uint32_t peer, const sb_stream_t *stream)
{
    sb_pair_out_t out = {.stream = stream, .peer = peer};
    sb_status_t status = step_out(team, &out, SIZE_MAX);

    return status == SB_OK ? out.data : status;
}

sb_status_t sb_pair_receive(sb_team_t *team, uint32_t peer, const sb_stream_t *stream)
{
    sb_pair_in_t in = {.stream = stream, .peer = peer};
    sb_status_t status = step_in(team, &in, SIZE_MAX);

    return status == SB_OK ? receipt(&in) : status;
}

/* Both ends in turns, until both are done. */
static sb_status_t step_both(sb_team_t *team, sb_pair_out_t *out, sb_pair_in_t *in)
{
    sb_status_t status = SB_OK;

    for (size_t limit = sb_pairs(team)->fragment; status == SB_OK;
         limit += sb_pairs(team)->fragment) {
        status = step_out(team, out, limit);
        if (status == SB_OK)
            status = step_in(team, in, limit);
        if (out->offset == out->stream->bytes && in->started && in->offset == in->bytes)
            break;
    }
    return status;
}

static sb_status_t exchange_receipt(sb_status_t status, const sb_pair_out_t *out,
                                    const sb_pair_in_t *in)
{
    if (status != SB_OK)
        return status;
    return out->data == SB_OK ? receipt(in) : out->data;
}

sb_status_t sb_pair_exchange(sb_team_t *team, uint32_t to, const sb_stream_t *sent, uint32_t from,
                             const sb_stream_t *received)
{
    sb_pair_out_t out = {.stream = sent, .peer = to};
    sb_pair_in_t in = {.stream = received, .peer = from};

    return exchange_receipt(step_both(team, &out, &in), &out, &in);
}

sb_status_t sb_pair_exchange_standard(sb_team_t *team, uint32_t to, const sb_stream_t *sent,
                                      uint32_t from, const sb_stream_t *received)
{
    sb_pair_out_t out = {.stream = sent, .peer = to, .rendezvous = sent->bytes >= EAGER};
    sb_pair_in_t in = {.stream = received, .peer = from};
    sb_status_t status = out.rendezvous ? start_out(team, &out) : SB_OK;

    if (status == SB_OK && out.rendezvous)
        status = start_in(team, &in);
    if (status == SB_OK)
        status = wait_taken(team, &out);
    if (status == SB_OK)
        status = step_both(team, &out, &in);
    if (status == SB_OK)
        status = wait_taken(team, &out);
    return exchange_receipt(status, &out, &in);
}
