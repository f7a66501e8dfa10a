/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a mesh: which route each takes, and those that pass through slots and areas. */
#include "coll/vector/message.h"

/* Of a rank that shares its processor: its turn is worth so many switches to the next one. Each
 * rank that is sent to has an area with pages of its own: fewer than of a ring that all read. */
#define TURN_SWITCHES 5

/* Of an exchange only so much goes in annexes: its areas are small, and two ranks swap windows. */
#define EXCHANGED_MOST ((size_t)256)

/* Positions and lengths beyond are nobody's. */
#define BEYOND ((uint64_t)1 << 62)

/*
 * Looks at what there is hope for: about as long as it takes to be told of one that is under way,
 * and a hundredth of the time that the copy will take.
 */
#define LOOKS 16
#define LOOKS_BYTES ((size_t)16 << 10)
#define LOOKS_MOST 512

uint32_t sb_looks(const sb_team_t *team, size_t bytes)
{
    size_t looks = LOOKS + bytes / LOOKS_BYTES;

    return team->oversubscribed ? 1 : (uint32_t)sb_min(looks, LOOKS_MOST);
}

/*
 * A reader that waits for the first fragment gains by short ones. Where it has as much to send
 * itself at that time they only cost: each is told of by a line that the other one is looking at.
 */
size_t sb_staged_fragment(const sb_team_t *team, const sb_sending_t *sending, size_t area)
{
    uint64_t asked = team->settings.fragment_bytes;

    if (sending->mode == SB_COPY_NON_TEMPORAL && !sending->sole)
        return area / SB_FLOW_PIECES;
    if (sending->exchanged && asked == 0)
        return sb_mesh(team)->step;
    return sb_flow_piece(asked != 0 ? asked : sb_flow_piece_usual(sending->stream->bytes), area);
}

/* The one place where it is decided how a message goes. */
static sb_route_t choose_route(const sb_mesh_t *mesh, const sb_sending_t *sending)
{
    const sb_stream_t *stream = sending->stream;
    size_t least = mesh->expose_least;

    size_t most = sending->exchanged ? EXCHANGED_MOST : mesh->slot_most;
    bool fits = stream->bytes <= sb_min(most, mesh->slot_most) && sending->peer != SB_TO_ALL;
    sb_route_t passed = fits ? SB_ROUTE_SLOT : SB_ROUTE_STAGED;

    if (stream->bytes <= SB_SLOT_PAYLOAD)
        return SB_ROUTE_SLOT;
    if (least > SB_LOADS_LEAST && sb_shares(stream->base, stream->bytes))
        least = SB_LOADS_LEAST;
    bool stored = sending->mode == SB_COPY_NON_TEMPORAL ||
                  (sending->mode == SB_COPY_CACHED && !sb_lacks_window(mesh, sending)) ||
                  sending->mode == SB_COPY_WIDE;
    if (sending->prefer == SB_PREFER_STAGED || stored || stream->base == NULL)
        return passed;
    if (sending->prefer == SB_PREFER_PUSHED)
        return SB_ROUTE_PUSHED;
    if ((sending->prefer == SB_PREFER_EXPOSED || stream->bytes >= least) &&
        sb_expose_serves(&mesh->expose, sending->peer, stream->base, stream->bytes))
        return SB_ROUTE_EXPOSED;
    return passed;
}

/* All are done with the calls of which each has told this rank by itself. */
static void credit_all(sb_mesh_t *mesh, const sb_team_t *team)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < team->size; i++) {
        if (i != team->rank && mesh->peer[i].out.slots.known < least)
            least = mesh->peer[i].out.slots.known;
    }
    sb_flow_credit(&mesh->all.slots, least);
}

/* Whether the slot of the present call may be filled. */
static sb_status_t slot_free(sb_team_t *team, uint32_t to, bool wait, bool *is_free)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_flow_out_t *slots = &sb_outlet(mesh, to)->slots;

    if (to == SB_TO_ALL && !sb_flow_has_room(slots, mesh->calls + 1))
        credit_all(mesh, team);
    *is_free = wait || sb_flow_try_reserve(slots, mesh->calls + 1);
    return wait ? sb_flow_reserve(slots, mesh->calls + 1, &team->waiter) : SB_OK;
}

static void send_short(const sb_mesh_t *mesh, const sb_outlet_t *out, sb_sending_t *sending)
{
    sending->data = sb_put_short(mesh, out, sending->stream);
    sending->offset = sending->stream->bytes;
}

/* Whether its bytes pass in a window: its reader has one for this rank, most likely, and has not
 * been told where they are. */
static bool is_swapped(const sb_team_t *team, const sb_sending_t *sending)
{
    return sending->exchanged && !sending->announced && !team->oversubscribed &&
           sending->mode != SB_COPY_NON_TEMPORAL && sending->mode != SB_COPY_WIDE;
}

/*
 * Where a staged message begins. Where ranks share processors they share caches too: short messages
 * go round in the first bytes of the area, so that the areas of all stay there. Those have room for
 * a turn's, and for two of whole lines: where another one went round before, its reader has passed
 * as many bytes as are wanted again, though not the rest of its last line. Its reader knows where
 * one begins that could not be read where it was.
 */
static void begin_staged(const sb_team_t *team, sb_outlet_t *out, sb_sending_t *sending)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t total = sending->stream->bytes, area = sb_outlet_window(mesh, sending);
    size_t two = 2 * sb_round_up(total, SB_LINE);
    bool narrow = team->oversubscribed && two <= area && !sending->announced;
    size_t window = narrow ? sb_min(sb_max(two, sb_team_turn(team, TURN_SWITCHES)), area) : area;

    out->cursor.window = area;
    sending->fragment = sb_staged_fragment(team, sending, area);
    if (is_swapped(team, sending)) {
        uint32_t number = sb_swap_give(&mesh->swap, total);
        sending->window = number < 2 ? mesh->swap.window[number] : NULL;
    }
    out->cursor.window = window;
    if (narrow)
        sb_cursor_fit(&out->cursor, total);
    sb_outlet_reach(team, out, sending, narrow ? sb_cursor_place(&out->cursor) + total : area);
    out->cursor.window = area;
}

/* Tells the reader of the next `bytes`: of the first by the plan. */
static void announce(const sb_mesh_t *mesh, sb_outlet_t *out, sb_sending_t *sending, size_t bytes)
{
    if (sending->announced) {
        sb_flow_commit(&out->staged, out->cursor.position + bytes);
        return;
    }
    sb_vector_plan_t plan = sb_plan_of(mesh, sending);
    plan.position = out->cursor.position;
    plan.fragment = sending->fragment;
    sb_put_plan(mesh, out, SB_NOTE_PLAN, &plan);
    sending->announced = true;
}

static char *staged_at(const sb_outlet_t *out, const sb_sending_t *sending)
{
    return sending->window != NULL ? sending->window + sending->offset
                                   : out->area + sb_cursor_place(&out->cursor);
}

/* The next bytes, to where they pass. */
static sb_status_t put(const sb_team_t *team, const sb_outlet_t *out, const sb_sending_t *sending,
                       size_t bytes)
{
    const sb_stream_t *stream = sending->stream;
    char *at = staged_at(out, sending);

    return sending->mode == SB_COPY_NON_TEMPORAL && sb_sender_streams(team)
               ? sb_stream_read_non_temporal(stream, sending->offset, at, bytes)
               : sb_stream_read(stream, sending->offset, at, bytes);
}

static sb_status_t send_staged(sb_team_t *team, sb_sending_t *sending, size_t limit, bool wait)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_outlet_t *out = sb_outlet(mesh, sending->peer);
    size_t total = sending->stream->bytes;

    if (sending->fragment == 0)
        begin_staged(team, out, sending);
    while (sending->offset < limit) {
        size_t bytes =
            sb_cursor_piece(&out->cursor, sb_min(sending->fragment, total - sending->offset));
        uint64_t end = out->cursor.position + bytes;
        sb_status_t status = wait ? sb_flow_reserve(&out->staged, end, &team->waiter) : SB_OK;
        if (status != SB_OK || !(wait || sb_flow_try_reserve(&out->staged, end)))
            return status;
        /* A rank that cannot read its own data serves the others all the same. */
        if (sending->data == SB_OK)
            sending->data = put(team, out, sending, bytes);
        announce(mesh, out, sending, bytes);
        sending->offset += bytes;
        sb_cursor_pass(&out->cursor, bytes);
    }
    /* Messages begin on a line. */
    if (sending->offset == total)
        sb_cursor_align(&out->cursor);
    return SB_OK;
}

sb_status_t sb_send(sb_team_t *team, sb_sending_t *sending, size_t limit, bool wait)
{
    sb_mesh_t *mesh = sb_mesh(team);
    bool is_free;

    limit = sb_min(limit, sending->stream->bytes);
    if (sending->offset >= limit)
        return SB_OK;
    if (sending->route == SB_ROUTE_OPEN) {
        sb_status_t status = slot_free(team, sending->peer, wait, &is_free);
        if (status != SB_OK || !is_free)
            return status;
        sending->route = choose_route(mesh, sending);
    }
    if (sending->route == SB_ROUTE_PUSHED && !sb_push_invited(team, sending)) {
        sb_prefer_t other = mesh->crowded ? SB_PREFER_STAGED : SB_PREFER_BY_SIZE;
        sending->prefer = sending->sole ? SB_PREFER_EXPOSED : other;
        sending->route = choose_route(mesh, sending);
    }
    if (sending->route == SB_ROUTE_SLOT)
        send_short(mesh, sb_outlet(mesh, sending->peer), sending);
    else if (sending->route == SB_ROUTE_EXPOSED)
        sb_offer(team, sending);
    else if (sending->route == SB_ROUTE_STAGED)
        return send_staged(team, sending, limit, wait);
    return SB_OK;
}

/* A plan comes from another process: what would lead this one astray is refused. */
static bool is_sound(const sb_mesh_t *mesh, const sb_vector_plan_t *plan)
{
    uint64_t sole = mesh->sole.measured ? SB_PLAN_SOLE : 0;
    uint64_t swapped = plan->bytes <= mesh->swap.bytes ? SB_PLAN_SWAPPED | SB_PLAN_WINDOW : 0;

    return plan->position < BEYOND && plan->bytes < BEYOND &&
           (plan->mode & ~sole & ~swapped) <= SB_COPY_PULLED;
}

static void hear(sb_mesh_t *mesh, const sb_receiving_t *receiving, const sb_vector_plan_t *plan)
{
    if ((plan->mode & SB_PLAN_SOLE) != 0)
        sb_sole_heard(mesh, plan);
    else
        sb_copy_heard(mesh->call, receiving->peer, receiving->bytes,
                      (sb_copy_mode_t)(plan->mode & SB_PLAN_MODE), plan->started);
}

static sb_status_t open_plan(sb_team_t *team, sb_receiving_t *receiving, const sb_slot_t *slot)
{
    size_t room = sb_inlet(sb_mesh(team), receiving)->room;
    sb_vector_plan_t plan;

    sb_copy(&plan, slot->payload, sizeof plan);
    if (!is_sound(sb_mesh(team), &plan) || plan.fragment == 0)
        return sb_out_of_step(team);
    receiving->bytes = (size_t)plan.bytes;
    receiving->fragment = plan.fragment;
    receiving->exposed = plan.exposed;
    receiving->cursor = sb_cursor(room, plan.position);
    if (!receiving->of_all)
        receiving->cursor.window = sb_plan_window(sb_mesh(team), &plan);
    if ((plan.mode & SB_PLAN_SWAPPED) != 0)
        receiving->window = sb_mesh(team)->swap.window[(plan.mode & SB_PLAN_WINDOW) == 0 ? 0 : 1];
    receiving->non_temporal |= plan.mode == SB_COPY_NON_TEMPORAL && !sb_sender_streams(team);
    receiving->fresh =
        sb_lands_fresh(team, &sb_mesh(team)->landed[SB_LANDED_RECEIVED], receiving->stream);
    hear(sb_mesh(team), receiving, &plan);
    receiving->first =
        sb_cursor_piece(&receiving->cursor, sb_min(receiving->fragment, receiving->bytes));
    return SB_OK;
}

/* All of the message that there is room for is where it belongs. */
static sb_status_t open_pushed(sb_team_t *team, sb_receiving_t *receiving, const sb_slot_t *slot)
{
    sb_vector_plan_t plan;

    sb_copy(&plan, slot->payload, sizeof plan);
    if (!is_sound(sb_mesh(team), &plan))
        return sb_out_of_step(team);
    receiving->bytes = receiving->offset = (size_t)plan.bytes;
    hear(sb_mesh(team), receiving, &plan);
    return SB_OK;
}

sb_status_t sb_open_message(sb_team_t *team, sb_receiving_t *receiving)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_mesh_peer_t *peer = &mesh->peer[receiving->peer];
    sb_slot_t *slot = sb_slot_now(mesh, sb_inlet(mesh, receiving)->slot);
    uint32_t note = sb_flag_note(&slot->flag);

    sb_heard(mesh, receiving->peer);
    if (SB_UNLIKELY(peer->invited == mesh->calls + 1)) {
        peer->invited = 0;
        mesh->invitations--;
    }
    receiving->opened = true;
    if (note == SB_NOTE_PLAN)
        return open_plan(team, receiving, slot);
    if (note == SB_NOTE_PUSHED)
        return open_pushed(team, receiving, slot);
    if (note > sb_inlet(mesh, receiving)->slot_most)
        return sb_out_of_step(team);
    receiving->bytes = note;
    sb_land(receiving, sb_travelled(mesh, sb_inlet(mesh, receiving), note), note);
    receiving->offset = note;
    return SB_OK;
}

bool sb_announced(const sb_team_t *team, const sb_receiving_t *receiving)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_slot_t *slot = sb_slot_now(mesh, sb_inlet(mesh, receiving)->slot);
    uint32_t looks = sb_looks(team, receiving->stream->bytes);

    return sb_flag_hope(&slot->flag, mesh->calls + 1, looks) > mesh->calls;
}

/* Looks, or waits, for the announcement. */
static sb_status_t look_at_message(sb_team_t *team, sb_receiving_t *receiving, bool wait)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_flag_t *flag = &sb_slot_now(mesh, sb_inlet(mesh, receiving)->slot)->flag;
    sb_status_t status = SB_OK;

    if (!receiving->announced && wait)
        status = sb_flag_wait(flag, mesh->calls + 1, &team->waiter);
    if (status == SB_OK && (receiving->announced || wait || sb_flag_read(flag) > mesh->calls))
        status = sb_open_message(team, receiving);
    return status;
}

static sb_status_t receive_staged(sb_team_t *team, sb_receiving_t *receiving, size_t limit,
                                  bool wait)
{
    sb_inlet_t *in = sb_inlet(sb_mesh(team), receiving);

    while (receiving->offset < limit) {
        size_t before = receiving->offset, left = limit - before;
        size_t most = before < receiving->first ? receiving->first - before : receiving->fragment;
        size_t bytes = sb_cursor_piece(&receiving->cursor, sb_min(most, left));
        uint64_t end = receiving->cursor.position + bytes;
        if (before >= receiving->first) {
            sb_status_t status = wait ? sb_flow_peek(&in->staged, end, &team->waiter) : SB_OK;
            if (status != SB_OK || !(wait || sb_flow_try_peek(&in->staged, end)))
                return status;
        }
        sb_land(receiving, sb_arrived_at(in, receiving), bytes);
        receiving->offset += bytes;
        sb_cursor_pass(&receiving->cursor, bytes);
        sb_flow_consume(&in->staged, end);
    }
    if (receiving->window != NULL && receiving->offset == receiving->bytes)
        sb_swap_got(&sb_mesh(team)->swap, receiving->window);
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
    if (receiving->exposed.address == 0)
        return receive_staged(team, receiving, limit, wait);
    sb_receive_exposed(team, receiving, limit);
    return SB_OK;
}

/* A message that was announced and does not travel in its slot alone. */
static sb_status_t receive_announced(sb_team_t *team, uint32_t from, bool of_all,
                                     const sb_stream_t *part, sb_status_t *data)
{
    sb_receiving_t receiving = {.stream = part, .peer = from, .of_all = of_all, .announced = true};
    sb_status_t status = sb_receive(team, &receiving, SIZE_MAX, true);

    *data = sb_first(*data, sb_receipt(&receiving));
    return status;
}

sb_status_t sb_receive_whole(sb_team_t *team, uint32_t from, bool of_all, const sb_stream_t *part,
                             sb_status_t *data)
{
    sb_mesh_t *mesh = sb_mesh(team);
    const sb_inlet_t *in = of_all ? &mesh->peer[from].all : &mesh->peer[from].one;
    sb_status_t status = SB_OK;

    if (part->bytes > 0)
        status = sb_flag_wait(&sb_slot_now(mesh, in->slot)->flag, mesh->calls + 1, &team->waiter);
    if (status != SB_OK || sb_receive_at_once(mesh, from, in, part))
        return status;
    return receive_announced(team, from, of_all, part, data);
}

/* Longer messages are read one after the other anyway. */
#define FETCHED_AFTER_FIRST 512

sb_status_t sb_receive_round(sb_team_t *team, uint32_t *count, size_t limit, bool wait,
                             bool *progress, sb_status_t *data)
{
    sb_receiving_t *receiving = sb_mesh(team)->receiving;
    sb_status_t status = wait ? SB_OK : sb_prefetch_messages(team, receiving, *count);
    uint32_t left = 0;

    *progress = false;
    for (uint32_t i = 0; i < *count && status == SB_OK; i++) {
        size_t before = receiving[i].offset;
        status = sb_receive(team, &receiving[i], limit, wait);
        *progress = *progress || receiving[i].offset > before;
        /* The first has come: so have the others, most likely. */
        if (i == 0 && wait && status == SB_OK && receiving->stream->bytes <= FETCHED_AFTER_FIRST)
            status = sb_prefetch_messages(team, receiving + 1, *count - 1);
        if (sb_received(&receiving[i]))
            *data = sb_first(*data, sb_receipt(&receiving[i]));
        else if (left++ != i)
            receiving[left - 1] = receiving[i];
    }
    *count = left;
    return status;
}

sb_status_t sb_exchange(sb_team_t *team, sb_sending_t *sending, sb_receiving_t *receiving)
{
    size_t step = sb_mesh(team)->step;
    sb_status_t status = SB_OK;

    for (size_t limit = step; status == SB_OK; limit += step) {
        status = sb_send(team, sending, limit, true);
        if (status == SB_OK)
            status = sb_receive(team, receiving, limit, true);
        if (sb_sent(sending) && sb_received(receiving))
            break;
    }
    return status;
}
