/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast through slots: the message travels beside the root's flag, in pieces of at most one
 * slot, and every rank reads the root's slots. Up to SB_SLOT_IN_LINE bytes are in the flag's own
 * line, so that one line transfer is the whole message. Cost: one line transfer, more by a few for
 * a longer piece; p - 1 readers queue up for a line. Memory: none beyond the control blocks.
 * Preconditions: none. Source: the immediate data of XHC (Katevenis, Ploumidis, Marazakis, 2022),
 * with several slots and credits in place of acknowledgement of each message.
 */
#include "coll/bcast/bcast.h"
#include "coll/bcast/message.h"

static uint64_t pieces(size_t bytes)
{
    return sb_divide_up(bytes, SB_SLOT_PAYLOAD);
}

/*
 * Of two ranks: what a root that is ahead writes waits in its processor for the lines that the
 * other one has read, one after the other. So it takes that of the use after the next one; at the
 * next one's the other may be looking by now. That of a message of several lines may be taken away
 * again between its stores; and of more ranks all that have read it have to be told meanwhile.
 */
static void take_ahead(const sb_team_t *team, size_t bytes)
{
    uint64_t use = team->slot_uses + 1;

    if (team->size == 2 && bytes <= SB_SLOT_IN_LINE && !team->oversubscribed &&
        sb_slot_is_free(team, use))
        sb_fetch_to_write(sb_slot(team, team->rank, use), SB_LINE);
}

static sb_status_t send(sb_team_t *team, const sb_stream_t *stream)
{
    uint64_t first = team->slot_uses, count = sb_max(pieces(stream->bytes), 1);
    sb_status_t data = SB_OK;

    for (uint64_t i = 0; i < count; i++) {
        size_t offset = (size_t)i * SB_SLOT_PAYLOAD;
        sb_status_t status = sb_slot_wait_free(team, first + i);
        if (status != SB_OK)
            return status;
        sb_slot_t *slot = sb_slot(team, team->rank, first + i);
        if (data == SB_OK)
            data = sb_stream_read(stream, offset, slot->payload,
                                  sb_min(SB_SLOT_PAYLOAD, stream->bytes - offset));
        if (sb_status_ends(data))
            return data;
        sb_flag_set_note(&slot->flag, (uint32_t)sb_min(stream->bytes, SB_NOTE_BYTES));
        sb_flag_publish(&slot->flag, first + i + 1);
    }
    sb_slot_finish(team, count);
    take_ahead(team, stream->bytes);
    return data;
}

/* Copies piece i and says so in time for the root, which may be waiting for the slot. */
static sb_status_t take(sb_team_t *team, const sb_news_t *news, const unsigned char *payload,
                        uint64_t i, size_t sent)
{
    size_t offset = (size_t)i * SB_SLOT_PAYLOAD;
    sb_status_t status =
        sb_take(news->stream, offset, payload, sb_min(SB_SLOT_PAYLOAD, sent - offset));

    sb_slots_tell(team, team->slot_uses + i, team->slot_uses + i + 1);
    return status;
}

sb_status_t sb_slots_receive(sb_team_t *team, const sb_news_t *news)
{
    /* Of what is too long for a note the length is taken to be the expected one. */
    size_t sent = news->note == SB_NOTE_BYTES ? news->stream->bytes : news->note;
    uint64_t first = team->slot_uses, count = sb_max(pieces(sent), 1);
    sb_status_t data = take(team, news, news->payload, 0, sent);

    for (uint64_t i = 1; i < count; i++) {
        sb_slot_t *slot = sb_slot(team, news->root, first + i);
        sb_status_t status = sb_flag_wait(&slot->flag, first + i + 1, &team->waiter);
        if (status != SB_OK)
            return status;
        if (sb_flag_note(&slot->flag) != news->note)
            return sb_out_of_step(team);
        data = sb_first(data, take(team, news, slot->payload, i, sent));
    }
    team->slot_uses += count;
    return sb_received_all(data, sent, news->stream);
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    return team->rank == root ? send(team, stream) : sb_bcast_receive(team, root, NULL, stream);
}

/* Of what lies beyond the flag's line in the first slots, ranks of one group share what one of them
 * has read. */
#define SHARED 0.4

/* A piece more is a few lines more, which all ranks read before the root may go round. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double count = (double)pieces(bytes);
    bool calm = sb_cost_calm(shape);
    double waiting = calm ? price->waiting_calm : price->waiting;
    double piece = (calm ? price->slots_piece_calm : price->slots_piece) +
                   price->slots_piece_reader * shape->ranks;
    /* In a large group readers queue up for each line. */
    bool large = calm && shape->stages > 1 && shape->fan[0] > SB_SUBGROUP_MOST;
    double beyond = calm ? (large ? 2 : 1) * price->slots_beyond_calm : price->slots_beyond;
    double first = (bytes > SB_SLOT_IN_LINE ? beyond : 0) + (count > 1 ? piece : 0);

    return price->line + waiting * (shape->ranks - 2) +
           (calm && shape->stages == 1 ? SHARED : 1) * first + (count > 2 ? count - 2 : 0) * piece +
           2 * price->byte * (double)bytes +
           sb_cost_turns(shape, count > SB_SLOTS ? count / SB_SLOTS : 1);
}

const sb_algorithm_t sb_bcast_slots = {
    .name = "slots",
    .collective = SB_BCAST,
    .doc =
        "The message travels beside the root's flag, in pieces of 240 bytes, to all ranks at once.",
    .source = "immediate data of XHC (Katevenis et al. 2022), with credits",
    .cost = cost,
    .bcast = run,
};
