/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather in which a part comes only once to the ranks that share a cache or a NUMA node: a group
 * divides the parts of far ranks among its members; each copies those that fall to it into memory
 * near the group, where all members read them, as they read the parts of each other. Long parts go
 * chunk by chunk, and the members take turns, so one rank that has much keeps all of them busy. Up
 * to SB_SLOT_IN_LINE bytes are in the flag's own line. Cost: for short parts two line transfers,
 * one from far and one from near, and p - 1 lines read by each rank; for each byte of long ones one
 * copy by its rank, one from far for each group, and one from near by each rank. Memory: 128 k (t +
 * 1) + 128 bytes and k (t + 1) chunks of at most 32 KiB a rank, k = 4 slots, t = far ranks for each
 * member of a group, rounded up; chunks are smaller if that is more than SOBOR_RING. Preconditions:
 * the relays; without them, `direct` is used. Without places, ranks side by side form the groups.
 * Source: ours; leaders that fetch for their node are in many hierarchical collectives.
 *
 * Everyone knows all counts; yet a reader goes by what a chunk says of those that follow, so that
 * ranks that disagree about a size still make the same number of rounds.
 *
 * No deadlock: in a round a rank first gives its own chunk, then brings far ones near, then reads.
 * Of the ranks that are in the earliest round, each gives without waiting, because all others have
 * come to this round and so are done with what was in its slot before; to bring near it waits only
 * for what is given, and to read for what is given or brought near.
 */
#include "coll/vector/relays.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

#include <math.h>

/* Chunks of up to so many bytes are fetched together; a longer one keeps the core busy by itself.
 */
#define TOGETHER ((size_t)256)

static void publish(sb_team_t *team, sb_chunk_t *chunk, uint32_t note)
{
    sb_flag_set_note(&chunk->flag, note);
    sb_flag_publish(&chunk->flag, sb_relays(team)->rounds + 1);
}

static sb_status_t wait_chunk(sb_team_t *team, uint32_t rank, uint32_t index)
{
    sb_flag_t *flag = &sb_relay_chunk(team, rank, index)->flag;

    return sb_flag_wait(flag, sb_relays(team)->rounds + 1, &team->waiter);
}

/* Copies what of the chunk there is room for. */
static sb_status_t put(const sb_relays_t *relays, const sb_stream_t *part, size_t offset,
                       const void *from, size_t bytes)
{
    if (offset >= part->bytes || bytes == 0)
        return SB_OK;
    size_t most = sb_min(bytes, part->bytes - offset);
    return relays->non_temporal && bytes > TOGETHER
               ? sb_stream_write_non_temporal(part, offset, from, most)
               : sb_stream_write(part, offset, from, most);
}

/* The next chunk of the own part. */
static sb_status_t give(sb_team_t *team, const sb_stream_t *part)
{
    sb_relay_peer_t *self = &sb_relays(team)->peer[team->rank];
    size_t offset = (size_t)self->came;

    if (self->ended)
        return SB_OK;
    size_t bytes = sb_min(sb_relays(team)->chunk, part->bytes - offset);
    sb_status_t data =
        sb_stream_read(part, offset, sb_relay_data(team, team->rank, 0, bytes), bytes);
    self->came += bytes;
    self->ended = self->came == part->bytes;
    publish(team, sb_relay_chunk(team, team->rank, 0),
            (uint32_t)bytes | (self->ended ? 0 : SB_RELAY_MORE));
    return data;
}

/*
 * What this rank has given in this round goes where it belongs at this rank too, while it is in
 * this core's cache.
 */
static sb_status_t keep(sb_team_t *team, const sb_stream_t *place, size_t offset)
{
    size_t bytes = (size_t)sb_relays(team)->peer[team->rank].came - offset;

    return put(sb_relays(team), place, offset, sb_relay_data(team, team->rank, 0, bytes), bytes);
}

/* Brings near what falls to this rank of the far parts. */
static sb_status_t bring(sb_team_t *team)
{
    const sb_relays_t *relays = sb_relays(team);
    uint32_t size = relays->group_size;
    uint32_t first = (relays->self + size - (uint32_t)(relays->rounds % size)) % size;

    for (uint32_t i = first; size > 1 && i < relays->far_count; i += size) {
        uint32_t rank = relays->far[i], index = 1 + i / size;
        if (relays->peer[rank].ended)
            continue;
        sb_status_t status = wait_chunk(team, rank, 0);
        if (status != SB_OK)
            return status;
        uint32_t note = sb_flag_note(&sb_relay_chunk(team, rank, 0)->flag);
        size_t bytes = note & SB_RELAY_BYTES;
        if (bytes > relays->chunk)
            return sb_out_of_step(team);
        sb_copy_shared(sb_relay_data(team, team->rank, index, bytes),
                       sb_relay_data(team, rank, 0, bytes), bytes);
        publish(team, sb_relay_chunk(team, team->rank, index), note);
    }
    return SB_OK;
}

/* Where this rank finds the round's chunk of a part. */
typedef struct origin {
    uint32_t rank; /* whose part it is */
    uint32_t at;   /* the rank that has it */
    uint32_t index;
} origin_t;

/* Number n of the others: those of the group, then the far ones, each from this rank's place on. */
static origin_t origin_of(const sb_relays_t *relays, uint32_t n)
{
    uint32_t size = relays->group_size;

    if (n + 1 < size) {
        uint32_t rank = relays->near[(relays->self + n + 1) % size];
        return (origin_t){rank, rank, 0};
    }
    uint32_t i = (n + 1 - size + relays->self) % relays->far_count;
    if (size == 1)
        return (origin_t){relays->far[i], relays->far[i], 0};
    return (origin_t){relays->far[i], sb_relay_of(relays, i), 1 + i / size};
}

/* Notes the announcements that have come, and has what they announce, if it is short, come too. */
static void look_ahead(const sb_team_t *team, uint32_t from)
{
    sb_relays_t *relays = sb_relays(team);
    uint32_t behind = 0;

    for (uint32_t n = from; n + 1 < team->size; n++) {
        origin_t origin = origin_of(relays, n);
        sb_relay_peer_t *peer = &relays->peer[origin.rank];
        const sb_flag_t *flag = &sb_relay_chunk(team, origin.at, origin.index)->flag;
        if (peer->ended || peer->seen > relays->rounds || sb_flag_read(flag) <= relays->rounds)
            continue;
        peer->seen = relays->rounds + 1;
        peer->note = sb_flag_note(flag);
        behind += (peer->note & SB_RELAY_BYTES) > SB_SLOT_IN_LINE;
    }
    for (uint32_t n = from; n + 1 < team->size && behind > 0; n++) {
        origin_t origin = origin_of(relays, n);
        const sb_relay_peer_t *peer = &relays->peer[origin.rank];
        size_t bytes = peer->note & SB_RELAY_BYTES;
        if (!peer->ended && peer->seen > relays->rounds && bytes <= TOGETHER)
            sb_fetch_ahead(sb_relay_data(team, origin.at, origin.index, bytes), bytes);
    }
}

static sb_status_t take(sb_team_t *team, origin_t origin, const sb_stream_t *part,
                        sb_status_t *data)
{
    sb_relay_peer_t *peer = &sb_relays(team)->peer[origin.rank];

    if (peer->seen <= sb_relays(team)->rounds) {
        sb_status_t status = wait_chunk(team, origin.at, origin.index);
        if (status != SB_OK)
            return status;
        peer->note = sb_flag_note(&sb_relay_chunk(team, origin.at, origin.index)->flag);
    }
    uint32_t note = peer->note;
    size_t bytes = note & SB_RELAY_BYTES;
    if (bytes > sb_relays(team)->chunk)
        return sb_out_of_step(team);
    const unsigned char *from = sb_relay_data(team, origin.at, origin.index, bytes);
    *data = sb_first(*data, put(sb_relays(team), part, (size_t)peer->came, from, bytes));
    peer->came += bytes;
    peer->ended = !(note & SB_RELAY_MORE);
    if (peer->ended && peer->came > part->bytes)
        *data = sb_first(*data, SB_ERR_TRUNCATE);
    return SB_OK;
}

/*
 * Reads the chunks of all others. Sets `more` if more will come. Whoever gives in this round is
 * done with those before.
 */
static sb_status_t read_all(sb_team_t *team, const sb_stream_t *parts, bool *more,
                            sb_status_t *data)
{
    sb_relays_t *relays = sb_relays(team);
    sb_status_t status = SB_OK;
    bool waited = false, all_gave = true;

    look_ahead(team, 0);
    for (uint32_t n = 0; n + 1 < team->size && status == SB_OK; n++) {
        origin_t origin = origin_of(relays, n);
        const sb_relay_peer_t *peer = &relays->peer[origin.rank];
        all_gave = all_gave && !peer->ended;
        if (peer->ended)
            continue;
        /* The first that had to be waited for is there: so are the others, most likely. */
        if (!waited && peer->seen <= relays->rounds) {
            status = wait_chunk(team, origin.at, origin.index);
            look_ahead(team, n);
            waited = true;
        }
        if (status == SB_OK)
            status = take(team, origin, &parts[origin.rank], data);
        *more = *more || !peer->ended;
    }
    if (status == SB_OK && all_gave)
        sb_flow_credit(&relays->credit, relays->rounds);
    return status;
}

static sb_status_t exchange(sb_team_t *team, const sb_stream_t *own, const sb_stream_t *parts)
{
    sb_relays_t *relays = sb_relays(team);
    const sb_stream_t *place = &parts[team->rank];
    sb_status_t data = own->bytes <= place->bytes ? SB_OK : SB_ERR_TRUNCATE;
    bool more;

    relays->non_temporal = sb_streams_bytes(parts, team->size) > relays->cached_most;
    for (uint32_t rank = 0; rank < team->size; rank++) {
        size_t bytes = rank == team->rank ? own->bytes : parts[rank].bytes;
        relays->peer[rank].came = 0;
        relays->peer[rank].ended = bytes == 0;
    }
    do {
        sb_status_t status = sb_flow_reserve(&relays->credit, relays->rounds + 1, &team->waiter);
        sb_status_t given = SB_OK;
        size_t offset = (size_t)relays->peer[team->rank].came;
        if (status == SB_OK)
            given = give(team, own);
        more = !relays->peer[team->rank].ended;
        if (status == SB_OK && given == SB_OK && own != place)
            given = keep(team, place, offset);
        if (status == SB_OK)
            status = bring(team);
        data = sb_first(data, given);
        if (status == SB_OK)
            status = read_all(team, parts, &more, &data);
        if (status != SB_OK)
            return status;
        relays->rounds++;
        sb_flag_publish(relays->done, relays->rounds);
    } while (more);
    return data;
}

static sb_status_t prepare(sb_team_t *team)
{
    sb_status_t status = sb_relays_prepare(team);

    return status == SB_ERR_UNSUPPORTED ? sb_mesh_prepare(team) : status;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    const sb_stream_t *place = &parts->receive[team->rank];
    const sb_stream_t *own = parts->in_place ? place : parts->send;

    if (sb_relays(team) == NULL)
        return sb_allgather_direct.parts(team, parts);
    if (team->size == 1)
        return parts->in_place ? SB_OK : sb_copy_own(own, place);
    return exchange(team, own, parts->receive);
}

/*
 * Where the ranks of a large group together receive more than their caches hold, what was brought
 * near does not stay there.
 */
#define LARGE_GROUP 24
#define FITS_CACHES ((size_t)48 << 20)

/*
 * Parts of the others that a rank of the smallest group has to bring near, where groups are filled
 * one after the other and the last is not full.
 */
static double brought(const sb_shape_t *shape)
{
    bool grouped = shape->ungrouped == NULL && shape->stages > 1 && sb_cost_calm(shape);
    uint32_t rest = grouped ? shape->ranks % shape->fan[0] : 0;

    return rest > 0 ? (double)(shape->ranks - rest) / rest : 0;
}

/* Bytes of a call that a rank's cache can hold, if other calls leave it alone. */
static double held(const sb_prices_t *price)
{
    return 2 * price->alone_most;
}

/* Whether that takes the room that what this rank receives has in its cache without it: of as much
 * as a cache holds half is other things. */
static bool displaces(const sb_shape_t *shape, double bytes)
{
    double holds = held(shape->prices), received = bytes * shape->ranks;
    double slots = SB_RELAY_SLOTS * fmin(bytes, (double)SB_RELAY_CHUNK_MOST) * (brought(shape) + 1);

    return brought(shape) > 0 && received <= holds && received + slots > holds;
}

/* What a read costs, for one from far; more than 1: not near at all. */
static double nearness(const sb_shape_t *shape, size_t bytes)
{
    uint32_t group = shape->fan[0];
    bool grouped = shape->ungrouped == NULL && shape->stages > 1;
    bool fits = group < LARGE_GROUP || bytes <= FITS_CACHES / group / shape->ranks;

    return grouped && fits && !displaces(shape, (double)bytes) ? 0.5 : 1;
}

/* In one group nothing is brought near, but nobody waits for those who have not yet read what was
 * given before; nothing is gained by that where what a rank receives leaves its own cache, or what
 * all receive the one that they share. */
static double saved(const sb_shape_t *shape, double bytes)
{
    const sb_prices_t *price = shape->prices;
    double received = bytes * shape->ranks;
    bool kept = received <= held(price) && received * shape->ranks <= price->alone_all;

    return kept ? price->next_line + price->alone_byte * bytes - price->alone_rank * shape->ranks
                : 0;
}

/* Reads from near cost less than those from far. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1, near = nearness(shape, bytes);
    bool alone = shape->stages == 1 && sb_cost_calm(shape);

    return (alone ? 1 : 2) * price->line + brought(shape) * price->next_line +
           near * (others * (price->next_line + price->byte * (double)bytes) +
                   price->byte * (double)bytes) -
           (alone ? saved(shape, (double)bytes) : 0) + sb_cost_turns(shape, 2);
}

#define RELAY(of)                                                                                  \
    {                                                                                              \
        .name = "numa-relay", .collective = of,                                                    \
        .doc = "Ranks that share a cache or NUMA node divide the far parts between them; each "    \
               "brings its share near for all.",                                                   \
        .source = "Sobor; see docs/scatter-gather.md", .prepare = prepare, .cost = cost,           \
        .parts = run,                                                                              \
    }

const sb_algorithm_t sb_allgather_numa_relay = RELAY(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_numa_relay = RELAY(SB_ALLGATHERV);
