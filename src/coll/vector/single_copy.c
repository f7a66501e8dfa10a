/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are copied once: exposed by their sender, or pushed by it to where it was invited.
 *
 * What a reader cannot read it refuses, beside its `consumed`, and goes on as if it had it. At the
 * end of the call all have answered what was exposed to them; then those who are left with a
 * message between them pass it through the areas, in the order of alltoall's turns, so that none
 * waits for ever. On a rank's flow to one other, the staged bytes follow behind the position that
 * the message took; what was exposed to all comes to one reader as a message on the flow to it.
 *
 * What the program has stored past its caches, with no fence behind it, would be there for this
 * rank alone, and could fall upon what others write. So before others reach into its memory in a
 * call it is put in order.
 *
 * A rank that has failed must not be written to: its memory may be another's by then. So before a
 * sender pushes it claims the invitation, by one atomic addition; the reader that leaves withdraws
 * it, by another. Whoever was first has its way: the sender does not push, or the reader waits for
 * the push to be over.
 */
#include "coll/vector/message.h"

#define READ_AT_ONCE ((size_t)1 << 20)

/* So often a rank looks at all that others read from it, before it waits for one of them. */
#define ANSWER_ROUNDS 128

/* In a counter of claims, beside the call + 1 of the last: this reader has gone. */
#define WITHDRAWN (UINT64_C(1) << 63)

void sb_offer(sb_team_t *team, sb_sending_t *sending)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_outlet_t *out = sb_outlet(mesh, sending->peer);

    out->cursor.window = sb_outlet_window(mesh, sending);
    sb_cursor_fit(&out->cursor, SB_LINE);
    sb_vector_plan_t plan = sb_plan_of(mesh, sending);
    plan.position = out->cursor.position;
    plan.exposed = sb_expose_at(sending->stream->base);
    plan.fragment = sb_staged_fragment(team, sending, out->cursor.window);
    if (mesh->offer_count == 0)
        sb_order_streamed();
    sb_put_plan(mesh, out, SB_NOTE_PLAN, &plan);
    sb_cursor_pass(&out->cursor, SB_LINE);
    mesh->offer[mesh->offer_count++] =
        (sb_offer_t){sending->stream, sending->peer, out->cursor.position, sending->sole};
    sending->offset = sending->stream->bytes;
}

void sb_invite(sb_team_t *team, uint32_t peer, const sb_stream_t *stream)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_outlet_t *out = &mesh->peer[peer].out;
    const sb_vector_plan_t plan = {.bytes = stream->bytes, .exposed = sb_expose_at(stream->base)};

    if (stream->base == NULL || !sb_flow_try_reserve(&out->slots, mesh->calls + 1))
        return;
    if (mesh->invitations == 0)
        sb_order_streamed();
    sb_put_plan(mesh, out, SB_NOTE_PLAN, &plan);
    mesh->peer[peer].invited = mesh->calls + 1;
    mesh->invitations++;
}

/* Whether this rank may write to the reader that has invited it. */
static bool claim(sb_mesh_t *mesh, sb_mesh_reader_t *reader, sb_mesh_peer_t *peer)
{
    uint64_t use = mesh->calls + 1;
    uint64_t before = sb_counter_add(&reader->claims, use - peer->claimed);

    peer->claimed = use;
    return (before & WITHDRAWN) == 0;
}

bool sb_push_invited(sb_team_t *team, sb_sending_t *sending)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_mesh_peer_t *peer = &mesh->peer[sending->peer];
    const sb_stream_t *stream = sending->stream;
    sb_slot_t *invitation = sb_slot_now(mesh, peer->one.slot);
    uint64_t use = mesh->calls + 1;
    sb_vector_plan_t plan;

    if (sb_flag_hope(&invitation->flag, use, sb_looks(team, stream->bytes)) != use)
        return false;
    sb_copy(&plan, invitation->payload, sizeof plan);
    if (!claim(mesh, sb_reader(mesh, sending->peer, team->rank), peer) ||
        !sb_expose_write(&mesh->expose, sending->peer, plan.exposed, stream->base,
                         sb_min(stream->bytes, (size_t)plan.bytes)))
        return false;
    plan = sb_plan_of(mesh, sending);
    sb_put_plan(mesh, &peer->out, SB_NOTE_PUSHED, &plan);
    sending->offset = stream->bytes;
    return true;
}

/* A sender that was first with its claim may be writing: its slot says that it is not any more. */
void sb_withdraw(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);
    uint64_t use = mesh->calls + 1;

    for (uint32_t i = 0; i < team->size; i++) {
        if (mesh->peer[i].invited != use)
            continue;
        uint64_t before = sb_counter_add(&sb_reader(mesh, team->rank, i)->claims, WITHDRAWN);
        if (before == use)
            sb_team_wait_for_member(team, i, &sb_slot_now(mesh, mesh->peer[i].one.slot)->flag, use);
    }
    mesh->invitations = 0;
}

/*
 * Copies the next bytes to where they belong. False: they cannot be read. What is too much is left
 * where it is.
 */
static bool read_exposed(sb_mesh_t *mesh, sb_receiving_t *receiving, size_t bytes)
{
    const sb_stream_t *stream = receiving->stream;
    sb_exposure_t from = {receiving->exposed.address + receiving->offset};
    size_t most = stream->base != NULL ? READ_AT_ONCE : SB_MESH_BOUNCE;

    for (size_t done = 0, piece; done < bytes && receiving->data == SB_OK; done += piece) {
        size_t offset = receiving->offset + done;
        const char *mapped = sb_expose_map(&mesh->expose, receiving->peer, from, bytes - done);
        char *to = stream->base != NULL ? stream->base + offset : mesh->bounce;

        piece = mapped != NULL ? bytes - done : sb_min(bytes - done, most);
        if (mapped == NULL && !sb_expose_read(&mesh->expose, receiving->peer, to, from, piece))
            return false;
        if (mapped != NULL)
            receiving->data = sb_stream_write_far(stream, offset, mapped, piece);
        else if (stream->base == NULL)
            receiving->data = sb_stream_write(stream, offset, to, piece);
        from.address += piece;
    }
    return true;
}

/* This reader is done with what was exposed, or leaves it. */
static void answer(sb_mesh_t *mesh, const sb_receiving_t *receiving, uint32_t note)
{
    const sb_flow_in_t *in = &sb_inlet(mesh, receiving)->staged;

    sb_flag_set_note(in->consumed, note);
    sb_flow_consume(in, receiving->cursor.position + SB_LINE);
}

static void refuse(sb_mesh_t *mesh, sb_receiving_t *receiving)
{
    sb_receiving_t *later = &mesh->deferred[mesh->deferred_count++];

    answer(mesh, receiving, SB_NOTE_REFUSED);
    *later = *receiving;
    later->exposed = (sb_exposure_t){0};
    later->offset = later->first = 0;
    sb_cursor_pass(&later->cursor, SB_LINE);
    later->opened = !receiving->of_all;
    later->of_all = later->announced = false;
    receiving->offset = receiving->bytes;
}

void sb_receive_exposed(sb_team_t *team, sb_receiving_t *receiving, size_t limit)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t room = receiving->stream->bytes;

    limit = receiving->stepwise ? limit : receiving->bytes;
    size_t end = sb_min(limit, room);
    if (receiving->offset < end && !read_exposed(mesh, receiving, end - receiving->offset)) {
        refuse(mesh, receiving);
        return;
    }
    receiving->offset = limit;
    if (limit == receiving->bytes)
        answer(mesh, receiving, SB_NOTE_READ);
}

/* The reader has answered: what it has refused it is to have otherwise. A message to it alone goes
 * round in as much as its plan has said. */
static void hear_answer(sb_team_t *team, const sb_offer_t *offer, uint32_t reader)
{
    sb_mesh_t *mesh = sb_mesh(team);
    bool all = offer->peer == SB_TO_ALL;
    sb_mesh_reader_t *said = sb_reader(mesh, reader, team->rank);

    if (SB_LIKELY(sb_flag_note(all ? &said->all : &said->one) != SB_NOTE_REFUSED))
        return;
    for (uint32_t i = 0; i < team->size && mesh->refusals == 0; i++)
        mesh->sending[i].stream = NULL;
    sb_expose_refused(&mesh->expose, reader);
    sb_heard(mesh, reader);
    mesh->sending[reader] = (sb_sending_t){.stream = offer->stream,
                                           .peer = reader,
                                           .prefer = SB_PREFER_STAGED,
                                           .sole = !all && offer->sole,
                                           .announced = !all};
    mesh->sending[reader].route = all ? SB_ROUTE_OPEN : SB_ROUTE_STAGED;
    mesh->refusals++;
}

static void hear_answers(sb_team_t *team, const sb_offer_t *offer)
{
    bool all = offer->peer == SB_TO_ALL;

    for (uint32_t i = all ? 0 : offer->peer; i < (all ? team->size : offer->peer + 1); i++) {
        if (i != team->rank)
            hear_answer(team, offer, i);
    }
}

/* Waits until a message was answered by its readers; without `wait`, looks. */
static sb_status_t look_for_answer(sb_team_t *team, const sb_offer_t *offer, bool wait, bool *done)
{
    sb_flow_out_t *out = &sb_outlet(sb_mesh(team), offer->peer)->staged;
    uint64_t answered = offer->end + out->room;
    sb_status_t status = wait ? sb_flow_reserve(out, answered, &team->waiter) : SB_OK;

    *done = status == SB_OK && (wait || sb_flow_try_reserve(out, answered));
    if (*done)
        hear_answers(team, offer);
    return status;
}

/*
 * Waits until all that this rank exposed in this call was answered. Many are done at about the same
 * time: who looks at one after the other has their lines come together.
 */
static sb_status_t wait_for_answers(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);
    uint32_t left = mesh->offer_count, rounds = 0;
    sb_status_t status = SB_OK;
    bool done;

    while (left > 0 && status == SB_OK) {
        bool wait = left == 1 || rounds++ >= ANSWER_ROUNDS || team->oversubscribed;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < left && status == SB_OK; i++) {
            status = look_for_answer(team, &mesh->offer[i], wait, &done);
            if (!done)
                mesh->offer[kept++] = mesh->offer[i];
        }
        left = kept;
    }
    mesh->offer_count = 0;
    return status;
}

/* The message from the peer that this rank could not read; NULL: there is none. */
static sb_receiving_t *deferred_of(const sb_mesh_t *mesh, uint32_t peer)
{
    for (uint32_t i = 0; i < mesh->deferred_count; i++) {
        if (mesh->deferred[i].peer == peer)
            return &mesh->deferred[i];
    }
    return NULL;
}

/* Passes what is left between each two ranks, in the order of the turns. */
static sb_status_t pass_refused(sb_team_t *team)
{
    static const sb_stream_t nothing = {0};
    sb_mesh_t *mesh = sb_mesh(team);
    sb_status_t status = SB_OK, data = SB_OK;

    for (uint32_t turn = 0; turn < team->size && status == SB_OK; turn++) {
        uint32_t peer = sb_partner(team, turn);
        sb_receiving_t none = {.stream = &nothing}, *receiving = deferred_of(mesh, peer);
        sb_sending_t *sending = &mesh->sending[peer];
        if (mesh->refusals == 0 || sending->stream == NULL)
            *sending = (sb_sending_t){.stream = &nothing};
        receiving = receiving == NULL ? &none : receiving;
        status = sb_exchange(team, sending, receiving);
        data = sb_first(data, sb_first(sending->data, receiving->data));
    }
    return sb_first(status, data);
}

sb_status_t sb_settle_exposed(sb_team_t *team)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_status_t status = wait_for_answers(team);

    if (status == SB_OK && mesh->refusals + mesh->deferred_count > 0)
        status = pass_refused(team);
    mesh->deferred_count = mesh->refusals = 0;
    return status;
}
