/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather over flows to all: every rank writes its part once into its flow to all, and reads the
 * others' parts there, beginning with its right neighbour so that not all read the same one at the
 * same time. Up to SB_SLOT_IN_LINE bytes are in the flag's own line. Cost: p - 1 lines read by each
 * rank for short parts; p copies of each byte of long ones, at the same time on all ranks. Memory:
 * the mesh (coll/vector/mesh.h). Preconditions: the mesh. Source: this project; Kurnosov,
 * Tokmasheva 2020 for parts that are written once and read by all.
 *
 * No deadlock: all go in steps of as many bytes as a quarter of the smallest area. In step m a rank
 * sends its part up to the step's end, and then receives the other parts up to there. Consider one
 * that is in the earliest step of all. It does not wait to send: all are in this step or later, and
 * have read all that was sent in the steps before, and the area holds what may be sent in one. So
 * no rank of this step waits to send; then none waits for ever to receive what is sent in it. What
 * is sent ahead of the steps, where there is room, only shortens the way.
 */
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

/* Of two ranks it is the flow to the other one. */
static uint32_t to_others(const sb_team_t *team)
{
    return team->size == 2 ? 1 - team->rank : SB_TO_ALL;
}

/* The messages of the others. Returns how many there are. */
static uint32_t set_up(sb_team_t *team, const sb_parts_t *parts)
{
    size_t total = sb_streams_bytes(parts->receive, team->size);
    bool non_temporal = total > sb_mesh(team)->cached_most;
    uint32_t count = 0;

    for (uint32_t i = 1; i < team->size; i++) {
        uint32_t peer = sb_team_after(team, i);
        if (parts->receive[peer].bytes > 0)
            sb_mesh(team)->receiving[count++] = (sb_receiving_t){.stream = &parts->receive[peer],
                                                                 .peer = peer,
                                                                 .of_all = team->size > 2,
                                                                 .non_temporal = non_temporal};
    }
    return count;
}

/* Short parts leave at once, and are taken one after the other. False: nothing left. */
static bool run_short(sb_team_t *team, const sb_parts_t *parts, sb_status_t *outcome)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t most = sb_exchanged_at_once(team, mesh);
    const sb_stream_t *own = &parts->receive[team->rank];
    const sb_stream_t *part = parts->in_place ? own : parts->send;
    sb_status_t status = SB_OK, data;
    bool all_spoke = true;

    for (uint32_t i = 0; i < team->size; i++) {
        if (parts->receive[i].bytes > most)
            return false;
        all_spoke = all_spoke && parts->receive[i].bytes > 0;
    }
    /* Its own part may be longer than it says: the flow to all has no annexes. */
    if (part->bytes > most ||
        !sb_send_at_once(mesh, team->size == 2 ? &mesh->peer[1 - team->rank].out : &mesh->all,
                         part))
        return false;
    data = parts->in_place ? SB_OK : sb_copy_own(part, own);
    for (uint32_t i = 1; i < team->size && status == SB_OK; i++) {
        uint32_t peer = sb_team_after(team, i);
        status = sb_receive_whole(team, peer, team->size > 2, &parts->receive[peer], &data);
    }
    /* Whoever sent in this call is done with those before. */
    if (all_spoke && status == SB_OK && team->size > 2)
        sb_flow_credit(&mesh->all.slots, mesh->calls);
    *outcome = sb_mesh_finish(team, sb_first(status, data));
    return true;
}

/*
 * Of two ranks that read each other's part where it is the one that is done first copies its own
 * while the other one reads. But a part that is in this rank's caches goes first: some processors
 * give a line that another core reads away to it.
 */
static bool own_part_waits(const sb_team_t *team, sb_copy_mode_t mode, size_t bytes, uint32_t count)
{
    const sb_mesh_t *mesh = sb_mesh(team);

    return count == 1 && team->settings.loads && !mesh->call->choice.again &&
           sb_own_waits(team, mode, bytes, mesh->receiving);
}

static sb_status_t run_long(sb_team_t *team, const sb_parts_t *parts)
{
    size_t step = sb_mesh(team)->step;
    bool alone = team->size == 1, progress;
    const sb_stream_t *own = &parts->receive[team->rank];
    const sb_stream_t *part = parts->in_place ? own : parts->send;
    const sb_mesh_t *mesh = sb_mesh(team);
    size_t area = team->size == 2 ? mesh->bytes : mesh->bytes_all;
    sb_copy_mode_t mode =
        sb_exposing_waits(team) ? SB_COPY_ANY : sb_mesh_copy_mode(team, part, area, false);
    sb_sending_t sending = {.stream = part,
                            .peer = to_others(team),
                            .prefer =
                                sb_exposing_waits(team) ? SB_PREFER_STAGED : SB_PREFER_BY_SIZE,
                            .mode = mode,
                            .exchanged = true};
    sb_status_t status = alone ? SB_OK : sb_send(team, &sending, SIZE_MAX, false);
    sb_status_t data = SB_OK;
    uint32_t count = set_up(team, parts);
    bool own_waits = !parts->in_place && own_part_waits(team, mode, own->bytes, count);

    if (!parts->in_place && !own_waits)
        data = sb_copy_own_as(team, mode, part, own);
    for (size_t limit = step; status == SB_OK && !alone; limit += step) {
        status = sb_send(team, &sending, limit, true);
        if (status == SB_OK)
            status = sb_receive_round(team, &count, limit, true, &progress, &data);
        if (sb_sent(&sending) && count == 0)
            break;
        if (status == SB_OK)
            status = sb_send(team, &sending, SIZE_MAX, false);
    }
    if (own_waits)
        data = sb_first(data, sb_copy_own_as(team, mode, part, own));
    status = sb_mesh_finish(team, status);
    sb_prefetch_area(team, &sending, 1);
    sb_copy_end(sb_mesh(team)->call);
    return sb_first(sb_first(status, sending.data), data);
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t status;

    return run_short(team, parts, &status) ? status : run_long(team, parts);
}

/* Parts of one line are taken in order: while a rank waits for one of a far group, it does not look
 * at others. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;
    bool far = sb_cost_calm(shape) && shape->stages > 1;
    double looks = far && bytes <= SB_SLOT_IN_LINE ? 2 : 1;

    return price->line + others * (looks * price->next_line + price->byte * (double)bytes) +
           price->byte * (double)bytes + sb_cost_turns(shape, 1);
}

#define DIRECT(of)                                                                                 \
    {                                                                                              \
        .name = "direct", .collective = of,                                                        \
        .doc = "Every rank writes its part once into its flow to all, and reads those of the "     \
               "others.",                                                                          \
        .source = "Sobor; see docs/scatter-gather.md", .prepare = sb_mesh_prepare, .cost = cost,   \
        .parts = run,                                                                              \
    }

const sb_algorithm_t sb_allgather_direct = DIRECT(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_direct = DIRECT(SB_ALLGATHERV);
