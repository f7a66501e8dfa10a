/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall over flows between each two ranks. First a rank writes what there is room for of every
 * part, without waiting for anybody: all of the short ones. Then it goes through the others in
 * turn, and exchanges with each what is left, in both directions at the same time. In turn t rank r
 * meets rank (t - r) mod p, which meets r: so no two ranks draw on the same third. Cost: p - 1
 * lines written and p - 1 read by each rank for short parts; two copies of each byte of long ones,
 * at the same time on all ranks. Memory: the mesh (coll/vector/mesh.h), and rows. Preconditions:
 * the mesh. Source: this project; the pairwise exchange is common knowledge.
 *
 * Where ranks share processors short parts pass in rows instead (coll/alltoall/rows.h), beside what
 * longer parts there are. Each rank has written its row before it waits for anything that another
 * one does later.
 *
 * No deadlock: two that meet go in steps of as many bytes as a quarter of an area. In step m of
 * turn t a rank first sends up to the step's end, then receives up to there. Consider the ranks of
 * which (t, m) is least. None of them waits to send: the other is there or farther, and has
 * received what was sent in the steps before, and the area holds what may be sent in one. So both
 * send, and then none waits for ever to receive. Where ranks share processors, a rank passes on
 * what it can with all others before it waits for one of them: that only shortens the way.
 *
 * In place: a part is written over with what comes from the rank that it is for, and never before
 * that many bytes of it were sent: a step sends before it receives, and both parts have one size;
 * without waiting it is received only when all of it has been sent.
 */
#include "coll/alltoall/rows.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

/* What is sent to a rank lies where it is received from it: it must have gone before. */
static inline bool is_exchanged_in_place(const sb_parts_t *parts, uint32_t peer)
{
    const char *sent = parts->send[peer].base;

    return sent != NULL && sent == parts->receive[peer].base;
}

/*
 * With rows: of what is not in them, though there was room, because it is to be pulled. Parts that
 * are not surely best staged go as if there were no rows: flows choose how.
 */
static sb_prefer_t preference(const sb_team_t *team, const sb_parts_t *parts, uint32_t peer,
                              const sb_rows_t *rows, sb_copy_mode_t mode)
{
    size_t bytes = parts->send[peer].bytes;

    if (rows != NULL && bytes <= sb_min(rows->part_most, SB_ROWS_STAGED))
        return SB_PREFER_EXPOSED;
    if (is_exchanged_in_place(parts, peer))
        return SB_PREFER_STAGED;
    if (mode == SB_COPY_PULLED && bytes >= sb_mesh(team)->measured_least)
        return SB_PREFER_EXPOSED;
    return bytes <= SB_ROWS_STAGED && sb_exposing_waits(team) ? SB_PREFER_STAGED
                                                              : SB_PREFER_BY_SIZE;
}

static const sb_stream_t nothing = {.base = NULL};

/* Writes of all parts what there is room for; of those that do not pass in rows, if there are. */
static sb_status_t send_ahead(sb_team_t *team, const sb_parts_t *parts, const sb_rows_t *rows,
                              sb_copy_mode_t mode)
{
    sb_status_t status = SB_OK;

    for (uint32_t turn = 0; turn < team->size && status == SB_OK; turn++) {
        uint32_t peer = sb_partner(team, turn);
        sb_sending_t *sending = &sb_mesh(team)->sending[peer];
        const sb_stream_t *part = &parts->send[peer];
        *sending =
            (sb_sending_t){.stream = rows != NULL && sb_goes_by_row(rows, part) ? &nothing : part,
                           .peer = peer,
                           .prefer = preference(team, parts, peer, rows, mode),
                           .mode = mode,
                           .exchanged = true};
        if (peer != team->rank)
            status = sb_send(team, sending, SIZE_MAX, false);
    }
    return status;
}

/* The messages of the others, in the order of the turns. Returns how many there are. */
static uint32_t set_up(sb_team_t *team, const sb_parts_t *parts)
{
    uint32_t count = 0;

    for (uint32_t turn = 0; turn < team->size; turn++) {
        uint32_t peer = sb_partner(team, turn);
        if (peer != team->rank)
            sb_mesh(team)->receiving[count++] =
                (sb_receiving_t){.stream = &parts->receive[peer],
                                 .peer = peer,
                                 .stepwise = is_exchanged_in_place(parts, peer)};
    }
    return count;
}

/* Of these messages only those come by flows that are in no row that has come. */
static void heed_rows(sb_team_t *team, const sb_parts_t *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sb_receiving_t *receiving = &sb_mesh(team)->receiving[i];
        bool came = sb_rows(team)->comes_by_row[receiving->peer];
        receiving->stream = came ? &nothing : &parts->receive[receiving->peer];
    }
}

/* Passes on what can be passed on without waiting: the rank may not run again so soon. */
static sb_status_t pass_on(sb_team_t *team, bool in_place, uint32_t count)
{
    sb_receiving_t *receiving = sb_mesh(team)->receiving;
    sb_status_t status = sb_prefetch_messages(team, receiving, count);

    for (uint32_t i = 0; i < count && status == SB_OK; i++) {
        sb_sending_t *sending = &sb_mesh(team)->sending[receiving[i].peer];
        if (sb_sent(sending) && sb_received(&receiving[i]))
            continue;
        status = sb_send(team, sending, SIZE_MAX, false);
        if (status == SB_OK && (sb_sent(sending) || !in_place))
            status = sb_receive(team, &receiving[i], SIZE_MAX, false);
    }
    return status;
}

/* Short parts leave at once, and are taken in their turns. False: nothing left. */
static bool run_short(sb_team_t *team, const sb_parts_t *parts, sb_status_t *outcome)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t most = sb_exchanged_at_once(team, mesh);
    uint32_t self = team->rank;
    sb_status_t status = SB_OK, data = SB_OK;

    for (uint32_t i = 0; i < team->size; i++) {
        if (i != self && !sb_leaves_at_once(mesh, &mesh->peer[i].out, &parts->send[i], most))
            return false;
    }
    for (uint32_t turn = 0; turn < team->size; turn++) {
        uint32_t peer = sb_partner(team, turn);
        if (peer != self)
            (void)sb_send_at_once(mesh, &mesh->peer[peer].out, &parts->send[peer]);
    }
    if (!parts->in_place)
        data = sb_copy_own(&parts->send[self], &parts->receive[self]);
    for (uint32_t turn = 0; turn < team->size && status == SB_OK; turn++) {
        uint32_t peer = sb_partner(team, turn);
        if (peer != self)
            status = sb_receive_whole(team, peer, false, &parts->receive[peer], &data);
    }
    *outcome = sb_mesh_finish(team, sb_first(status, data));
    return true;
}

/* How the parts go that are as long as this rank's first one. */
static sb_copy_mode_t mode_of(sb_team_t *team, const sb_parts_t *parts)
{
    uint32_t next = (team->rank + 1) % team->size;
    const sb_stream_t *first = &parts->send[next];
    size_t area = sb_mesh(team)->bytes;
    /* What does not fit an area would pass in turns of all. */
    bool turns = sb_exposing_waits(team) && first->bytes > area;

    return turns ? SB_COPY_ANY
                 : sb_mesh_copy_mode(team, first, area, is_exchanged_in_place(parts, next));
}

/*
 * Before a rank waits for a row: parts of which rows say that they come by flows. Copied now, they
 * are so while those who come later have not begun; and who reads a part is not waited for then.
 */
static sb_status_t pass_on_by_rows(sb_team_t *team, const sb_parts_t *parts)
{
    heed_rows(team, parts, team->size - 1);
    return pass_on(team, parts->in_place, team->size - 1);
}

/* What is left of all messages, in turns. */
static sb_status_t exchange_all(sb_team_t *team, const sb_parts_t *parts, uint32_t count,
                                sb_status_t *data)
{
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; i < count && status == SB_OK; i++) {
        sb_receiving_t *receiving = &sb_mesh(team)->receiving[i];
        sb_sending_t *sending = &sb_mesh(team)->sending[receiving->peer];
        if (team->oversubscribed && !(sb_sent(sending) && sb_received(receiving)))
            status = pass_on(team, parts->in_place, count);
        if (status == SB_OK)
            status = sb_exchange(team, sending, receiving);
        *data = sb_first(*data, sb_first(sending->data, sb_receipt(receiving)));
        sb_prefetch_area(team, sending, count);
    }
    return status;
}

static sb_status_t run_long(sb_team_t *team, const sb_parts_t *parts)
{
    const sb_stream_t *own = parts->in_place ? NULL : &parts->send[team->rank];
    sb_copy_mode_t mode = mode_of(team, parts);
    sb_status_t data = SB_OK, status = send_ahead(team, parts, NULL, mode);
    uint32_t count = set_up(team, parts);
    bool own_waits =
        own != NULL && count > 0 && sb_own_waits(team, mode, own->bytes, sb_mesh(team)->receiving);

    if (own != NULL && !own_waits)
        data = sb_copy_own_as(team, mode, own, &parts->receive[team->rank]);
    if (status == SB_OK)
        status = exchange_all(team, parts, count, &data);
    if (own_waits)
        data = sb_first(data, sb_copy_own_as(team, mode, own, &parts->receive[team->rank]));
    status = sb_mesh_finish(team, status);
    sb_copy_end(sb_mesh(team)->call);
    return sb_first(status, data);
}

/* Short parts pass in rows, the others as ever. */
static sb_status_t run_rows(sb_team_t *team, const sb_parts_t *parts)
{
    sb_rows_t *rows = sb_rows(team);
    sb_copy_mode_t mode = SB_COPY_ANY;
    sb_status_t data = SB_OK, status = sb_rows_write(team, parts, &data);
    bool sends = rows->sends_others, comes = false;
    uint32_t count = sends ? set_up(team, parts) : 0;

    if (rows->sends_longer)
        mode = mode_of(team, parts);
    if (status == SB_OK && sends)
        status = send_ahead(team, parts, rows, mode);
    if (!parts->in_place)
        data = sb_first(data, sb_copy_own_as(team, mode, &parts->send[team->rank],
                                             &parts->receive[team->rank]));
    if (status == SB_OK)
        status = sb_rows_take(team, parts, sends ? pass_on_by_rows : NULL, &data, &comes);
    if (status == SB_OK && comes && !sends) {
        count = set_up(team, parts);
        status = send_ahead(team, parts, rows, mode);
    }
    if (status == SB_OK && count > 0) {
        heed_rows(team, parts, count);
        status = exchange_all(team, parts, count, &data);
    }
    status = sb_mesh_finish(team, status);
    if (rows->sends_longer)
        sb_copy_end(sb_mesh(team)->call);
    return sb_first(status, data);
}

static sb_status_t run_flows(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t status;

    return run_short(team, parts, &status) ? status : run_long(team, parts);
}

/* All parts have one length on all ranks. */
static sb_status_t run_alike(sb_team_t *team, const sb_parts_t *parts)
{
    bool rows = sb_rows_serve(team, parts->send[team->rank].bytes);

    return rows ? run_rows(team, parts) : run_flows(team, parts);
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    return sb_rows(team) != NULL ? run_rows(team, parts) : run_flows(team, parts);
}

static sb_status_t prepare(sb_team_t *team)
{
    sb_status_t status = sb_mesh_prepare(team);

    return status == SB_OK ? sb_rows_prepare(team) : status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;

    return price->line +
           others * (4 * price->own_line + price->next_line + 2 * price->byte * (double)bytes) +
           sb_cost_turns(shape, 1);
}

#define DIRECT(of, how)                                                                            \
    {                                                                                              \
        .name = "direct", .collective = of,                                                        \
        .doc = "Every rank writes each part into its flow to that rank; what is left of long "     \
               "parts is exchanged in pairs.",                                                     \
        .source = "Sobor; see docs/alltoall.md", .swaps = true, .prepare = prepare, .cost = cost,  \
        .parts = how,                                                                              \
    }

const sb_algorithm_t sb_alltoall_direct = DIRECT(SB_ALLTOALL, run_alike);
const sb_algorithm_t sb_alltoallv_direct = DIRECT(SB_ALLTOALLV, run);
const sb_algorithm_t sb_alltoallw_direct = DIRECT(SB_ALLTOALLW, run);
