/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/bcast/rings.h"

#include "base/config.h"

/* Of short messages: so many have room in what they go round in, which grows when as many bytes
 * have passed as so many rounds have. */
#define SHORT_ROUND 64
#define SHORT_ROUNDS 64

/* The plan of a message of this rank as root, but for where it begins and how it is written. */
static sb_plan_t make_plan(const sb_team_t *team, size_t bytes, size_t fragment, sb_spread_t spread)
{
    size_t ring = sb_rings_usual(team);
    uint64_t own = sb_team_fragment(team, bytes);

    fragment = sb_flow_piece(own != 0 ? own : fragment, ring);
    return (sb_plan_t){.bytes = bytes,
                       .fragment = fragment,
                       .window =
                           sb_rings_have_room(team, bytes) ? sb_rings(team)->cursor.ring : ring,
                       .how = sb_plan_how(spread, SB_COPY_CACHED, false, false)};
}

/* The part of the ring that the message goes round in. */
static size_t window_of(const sb_rings_t *rings, const sb_plan_t *plan)
{
    return sb_plan_mode(plan) == SB_COPY_PULLED ? rings->cursor.ring : (size_t)plan->window;
}

/* The part of the ring for ordinary stores. */
static size_t near_window(const sb_team_t *team, const sb_plan_t *plan)
{
    size_t ring = sb_rings_usual(team), part = sb_rings(team)->near;

    if (sb_rings_have_room(team, (size_t)plan->bytes) && plan->bytes > part)
        return sb_rings(team)->cursor.ring;
    return sb_min(sb_max(part, SB_FLOW_PIECES * (size_t)plan->fragment), ring);
}

/*
 * The time of a message is the longest that one of its ranks needed: a reader that waited for it
 * from the moment that the root began, one that came late from when it came, and the root until it
 * was done, so that also a root that has to wait for those who come late counts. In an unbroken row
 * of calls readers are always late, and that is what each call takes.
 *
 * Root: what its last timed message took, once all its readers have told. Those who have told of
 * another root's since will not say it any more.
 */
static void learn(const sb_team_t *team)
{
    sb_rings_t *rings = sb_rings(team);
    uint64_t slowest = rings->timed.own, use = rings->timed.use + 1;
    bool lost = false;

    for (uint32_t i = 0; i < team->size; i++) {
        uint64_t told = sb_flag_read(&sb_ring_head(rings, i)->timed.flag);
        if (i == team->rank)
            continue;
        if (told >> SB_COPY_TIME_BITS < use)
            return;
        lost = lost || told >> SB_COPY_TIME_BITS > use;
        slowest = sb_max(slowest, told & SB_COPY_TIME_MOST);
    }
    rings->timed.open = false;
    if (!lost)
        sb_copy_record(&rings->copies, &rings->timed.choice, slowest);
}

/* Root: whether the others can read the message where it is. Those who share fragments do not. */
static bool can_stay(const sb_rings_t *rings, const sb_plan_t *plan, const void *buffer)
{
    return buffer != NULL && sb_plan_spread(plan) != SB_SPREAD_SHARED &&
           sb_expose_serves(&rings->expose, SB_EXPOSE_TO_ALL, buffer, (size_t)plan->bytes);
}

/* Bytes that the message goes round in, in that mode. */
static size_t lap_of(const sb_team_t *team, const sb_plan_t *plan, sb_copy_mode_t mode)
{
    if (mode == SB_COPY_PULLED)
        return (size_t)plan->bytes;
    return mode == SB_COPY_CACHED ? near_window(team, plan) : (size_t)plan->window;
}

/* The choice; what cannot stay where it is goes the safe way, and its time says nothing. */
static sb_copy_choice_t choose(const sb_team_t *team, const sb_plan_t *plan, const void *buffer)
{
    sb_rings_t *rings = sb_rings(team);
    bool stays =
        sb_copy_policy_has(&rings->copies, SB_COPY_PULLED) && can_stay(rings, plan, buffer);
    size_t laps[SB_COPY_MODES];

    for (uint8_t i = 0; i < rings->copies.modes; i++)
        laps[i] = lap_of(team, plan, rings->copies.mode[i]);
    sb_copy_choice_t choice = sb_copy_choose(&rings->copies, (size_t)plan->bytes, buffer, laps);

    if (stays && team->settings.cma == SB_CMA_ON)
        return (sb_copy_choice_t){.mode = SB_COPY_PULLED};
    if (!stays && choice.mode == SB_COPY_PULLED)
        return (sb_copy_choice_t){.mode = rings->copies.mode[0]};
    return choice;
}

/* Root: chooses how to move the message, and where. */
static void choose_mode(const sb_team_t *team, sb_plan_t *plan, const void *buffer)
{
    sb_rings_t *rings = sb_rings(team);
    const sb_resource_t *resource = &rings->resource;
    size_t end = sb_cursor_place(&rings->cursor) + (size_t)plan->bytes, touched = resource->touched;

    rings->began = 0;
    if (plan->bytes < SB_COPY_LEAST && team->settings.cma != SB_CMA_ON) {
        plan->window = near_window(team, plan);
        return;
    }
    if (rings->timed.open)
        learn(team);
    sb_copy_choice_t choice = choose(team, plan, buffer);
    choice.timed = choice.timed && !rings->timed.open;
    plan->how = sb_plan_how(sb_plan_spread(plan), choice.mode, choice.timed && choice.warming,
                            choice.timed && choice.again);
    if (choice.mode == SB_COPY_CACHED)
        plan->window = near_window(team, plan);
    if (choice.mode != SB_COPY_WIDE && choice.mode != SB_COPY_PULLED)
        plan->window = sb_rings_paid(team, plan, (size_t)plan->window);
    if (choice.mode == SB_COPY_PULLED)
        plan->exposed = sb_expose_at(buffer);
    else
        sb_resource_reach(&rings->resource, SB_RING_AT + sb_min(end, plan->window));
    if (resource->touched > touched)
        sb_copy_touches(&rings->copies, &choice);
    rings->present = choice;
    rings->began = choice.timed || sb_rings_weighs(rings) ? sb_now_ns() : 0;
    if (!choice.timed)
        return;
    plan->started = rings->began;
    rings->timed.open = true;
    rings->timed.use = team->slot_uses;
    rings->timed.choice = choice;
}

/*
 * Reader: tells the root how long it took, and keeps that in mind itself if it waited: of a message
 * that it came late to, the root's time counts too, which it does not know.
 */
static void tell(const sb_team_t *team, const sb_plan_t *plan, uint64_t since, bool waited)
{
    sb_rings_t *rings = sb_rings(team);
    const sb_copy_choice_t choice = {.mode = sb_plan_mode(plan),
                                     .bytes = (size_t)plan->bytes,
                                     .again = sb_plan_is_again(plan),
                                     .warming = sb_plan_is_warming(plan)};
    uint64_t ns = sb_now_ns() - since;

    sb_flag_publish(&sb_ring_head(rings, team->rank)->timed.flag,
                    sb_copy_told(team->slot_uses, ns));
    if (waited)
        sb_copy_record(&rings->copies, &choice, ns);
}

/* Both sides: the message is over, at this position. */
static void finish(sb_team_t *team, const sb_plan_t *plan, const sb_cursor_t *end)
{
    sb_rings_t *rings = sb_rings(team);

    rings->passed += plan->bytes;
    rings->growing = rings->growing || (plan->how & SB_PLAN_GROWS) != 0;
    sb_copy_words(&rings->cursor, end, sizeof *end);
    sb_cursor_align(&rings->cursor);
    sb_flag_publish(&sb_ring_head(rings, team->rank)->consumed.flag, rings->cursor.position);
    sb_slot_finish(team, 1);
    rings->uses = team->slot_uses;
}

/* Bytes that begin where all of them are in one piece: those of a message of one fragment. */
static size_t unbroken(const sb_plan_t *plan)
{
    return plan->bytes <= plan->fragment ? sb_max((size_t)plan->bytes, 1) : 1;
}

/*
 * Root: where a message of one fragment begins. As long as its readers are done with what is there
 * it goes on in the first bytes of the ring, which have room for some dozens like it: a page that
 * nobody has touched yet takes longer to come than several short messages. A page more is worth it
 * when what has passed went round many times. Whether readers are done is looked up once a round.
 */
static void begin_short(sb_rings_t *rings, sb_plan_t *plan, sb_cursor_t *cursor)
{
    size_t place = sb_cursor_place(cursor), bytes = (size_t)plan->bytes;
    size_t most =
        (size_t)sb_max(SHORT_ROUND * sb_round_up(bytes, SB_LINE), rings->passed / SHORT_ROUNDS);
    uint64_t again = cursor->round + cursor->ring + bytes;

    if (bytes > plan->fragment || most >= cursor->window || place + bytes <= most ||
        sb_plan_mode(plan) != SB_COPY_CACHED)
        return;
    bool looks = place / most != (place + bytes) / most;
    if (looks ? sb_flow_try_reserve(&rings->out, again) : sb_flow_has_room(&rings->out, again))
        cursor->window = plan->window = most;
}

static sb_status_t put(const sb_stream_t *stream, size_t offset, char *to, size_t bytes,
                       sb_copy_mode_t mode)
{
    return mode == SB_COPY_CACHED || mode == SB_COPY_WIDE
               ? sb_stream_read(stream, offset, to, bytes)
               : sb_stream_read_non_temporal(stream, offset, to, bytes);
}

/* Root: the fragments of the message, the first one with its plan, unless that was told. */
static sb_status_t send_fragments(sb_team_t *team, const sb_stream_t *stream, const sb_plan_t *plan,
                                  sb_cursor_t *cursor, sb_status_t *data)
{
    sb_rings_t *rings = sb_rings(team);
    char *ring = rings->resource.bases[team->rank] + SB_RING_AT;

    for (size_t offset = 0, bytes; offset < plan->bytes; offset += bytes) {
        bytes = sb_cursor_piece(cursor, sb_min(plan->fragment, plan->bytes - offset));
        sb_status_t status = sb_flow_reserve(&rings->out, cursor->position + bytes, &team->waiter);
        if (status != SB_OK)
            return status;
        /* A rank that cannot read its own data serves the others all the same. */
        if (*data == SB_OK)
            *data = put(stream, offset, ring + sb_cursor_place(cursor), bytes, sb_plan_mode(plan));
        if (sb_status_ends(*data))
            return *data;
        sb_cursor_pass(cursor, bytes);
        if (offset == 0 && sb_plan_mode(plan) != SB_COPY_PULLED)
            sb_slot_show_words(team, SB_NOTE_RING, plan, sizeof *plan);
        else
            sb_flow_commit(&rings->out, cursor->position);
    }
    return SB_OK;
}

/* Where a message that stayed where it was ends. */
static sb_cursor_t pulled_end(const sb_cursor_t *begin, const sb_plan_t *plan)
{
    return sb_cursor(begin->ring, begin->position + SB_LINE + plan->bytes);
}

/* Root: keeps in mind who could not read. */
static void hear_refusals(sb_rings_t *rings, uint64_t end)
{
    const sb_peers_t *readers = &rings->out.readers;

    for (uint32_t rank = 0; rank < readers->count; rank++) {
        if (rank != readers->self && sb_flag_read(sb_peers_flag(readers, rank)) < end)
            sb_expose_refused(&rings->expose, rank);
    }
}

/* Root: the others read the message where it is, and have answered when this returns. */
static sb_status_t show_and_wait(sb_team_t *team, const sb_stream_t *stream, const sb_plan_t *plan,
                                 sb_cursor_t *cursor, sb_status_t *data)
{
    sb_rings_t *rings = sb_rings(team);
    sb_cursor_t end = pulled_end(cursor, plan);
    uint64_t least;

    sb_order_streamed();
    sb_slot_show_words(team, SB_NOTE_RING, plan, sizeof *plan);
    sb_cursor_pass(cursor, SB_LINE);
    sb_status_t status =
        sb_peers_wait(&rings->out.readers, cursor->position, &team->waiter, &least);
    if (status != SB_OK)
        return status;
    if (SB_UNLIKELY(least < end.position)) {
        hear_refusals(rings, end.position);
        status = send_fragments(team, stream, plan, cursor, data);
    }
    *cursor = end;
    return status;
}

sb_status_t sb_rings_send(sb_team_t *team, const sb_stream_t *stream, size_t fragment,
                          sb_spread_t spread)
{
    sb_rings_t *rings = sb_rings(team);
    sb_plan_t plan = make_plan(team, stream->bytes, fragment, spread);
    sb_cursor_t cursor;
    sb_status_t data = SB_OK;

    sb_copy_words(&cursor, &rings->cursor, sizeof cursor);
    choose_mode(team, &plan, stream->base);
    if (SB_UNLIKELY(sb_rings_pay_whole(team)))
        plan.how |= SB_PLAN_GROWS;
    sb_status_t status = sb_slot_wait_free(team, team->slot_uses);
    if (status != SB_OK)
        return status;
    cursor.window = window_of(rings, &plan);
    if (team->slots_free_below >= rings->uses)
        sb_flow_credit(&rings->out, rings->cursor.position);
    begin_short(rings, &plan, &cursor);
    sb_cursor_fit(&cursor, unbroken(&plan));
    plan.position = cursor.position;
    if (sb_plan_mode(&plan) == SB_COPY_PULLED)
        status = show_and_wait(team, stream, &plan, &cursor, &data);
    else
        status = send_fragments(team, stream, &plan, &cursor, &data);
    if (status != SB_OK)
        return status;
    uint64_t own = rings->began != 0 ? sb_now_ns() - rings->began : 0;
    if (plan.started != 0)
        rings->timed.own = own;
    if (own != 0)
        sb_rings_took(rings, own);
    finish(team, &plan, &cursor);
    return data;
}

sb_status_t sb_rings_follow(sb_team_t *team, uint32_t root, bool ready, const sb_stream_t *stream)
{
    sb_tree_t tree = sb_bcast_tree_of(team, root, stream->bytes);

    /* Where the root has to have the rings made, or made longer, it says so to all. */
    bool made = sb_rings(team) != NULL && !sb_rings_want_whole(team, stream->bytes);
    ready = ready || made;
    return sb_bcast_receive(team, root, ready ? &tree : NULL, stream);
}

/* Reads the plan, and goes to where it begins. False: it makes no sense. */
static bool read_plan(const sb_rings_t *rings, const sb_news_t *news, sb_plan_t *plan,
                      sb_cursor_t *cursor)
{
    if (rings == NULL)
        return false;
    sb_copy(plan, news->payload, sizeof *plan);
    sb_copy_words(cursor, &rings->cursor, sizeof *cursor);
    cursor->window = window_of(rings, plan);
    sb_cursor_fit(cursor, unbroken(plan));
    return cursor->window > 0 && cursor->window <= cursor->ring && plan->fragment > 0 &&
           sb_plan_spread(plan) < SB_SPREADS && sb_plan_mode(plan) <= SB_COPY_PULLED &&
           plan->position == cursor->position;
}

/* Waits for the fragment; until it is there, what it will be copied to comes near. */
static sb_status_t wait_for_fragment(const sb_team_t *team, sb_flow_in_t *in,
                                     const sb_arriving_t *arriving, uint64_t end)
{
    const sb_stream_t *stream = arriving->news->stream;
    bool has_room = arriving->offset + arriving->bytes <= stream->bytes;

    if (end > in->seen && has_room && stream->base != NULL)
        sb_team_meanwhile(team, in->published, end, NULL, stream->base + arriving->offset,
                          arriving->bytes);
    return sb_flow_peek(in, end, &team->waiter);
}

/* Every fragment as it comes; `passes_on`: to others below, before it is copied. */
static sb_status_t receive_fragments(sb_team_t *team, const sb_plan_t *plan, sb_flow_in_t *in,
                                     bool passes_on, sb_arriving_t *arriving)
{
    sb_rings_t *rings = arriving->rings;
    uint32_t root = arriving->news->root;
    sb_status_t status = SB_OK;

    for (; arriving->offset < plan->bytes; arriving->offset += arriving->bytes) {
        size_t left = plan->bytes - arriving->offset;
        arriving->bytes = sb_cursor_piece(&arriving->cursor, sb_min(plan->fragment, left));
        uint64_t end = arriving->cursor.position + arriving->bytes;
        if (arriving->offset > 0 || sb_plan_mode(plan) == SB_COPY_PULLED) {
            status = wait_for_fragment(team, in, arriving, end);
            if (status == SB_OK && passes_on)
                sb_flow_commit(&rings->out, end);
        }
        if (status != SB_OK)
            return status;
        if (arriving->group != NULL)
            sb_take_shared(team, arriving);
        else
            sb_take_part(arriving, 0, sb_arriving_at(arriving, root, 0), arriving->bytes);
        sb_cursor_pass(&arriving->cursor, arriving->bytes);
        sb_flow_consume(in, end);
    }
    return SB_OK;
}

/* Copies what there is room for from where it is. False: it cannot be read. */
static bool pull(sb_arriving_t *arriving, const sb_plan_t *plan)
{
    const sb_stream_t *stream = arriving->news->stream;
    sb_expose_t *expose = &arriving->rings->expose;
    size_t room = sb_min(stream->bytes, (size_t)plan->bytes);
    size_t most = stream->base != NULL ? room : SB_RING_BOUNCE;

    for (size_t done = 0, piece; done < room; done += piece) {
        sb_exposure_t from = {plan->exposed.address + done};
        char *to = stream->base != NULL ? stream->base : arriving->rings->bounce;
        const char *mapped = sb_expose_map(expose, arriving->news->root, from, room - done);
        if (mapped != NULL) {
            arriving->data =
                sb_first(arriving->data, sb_stream_write_far(stream, done, mapped, room - done));
            return true;
        }
        piece = sb_min(most, room - done);
        if (!sb_expose_read(expose, arriving->news->root, to, from, piece))
            return false;
        if (stream->base == NULL && arriving->data == SB_OK)
            arriving->data = sb_stream_write(stream, done, to, piece);
    }
    return true;
}

/* The message from where it is; if that cannot be read, as it comes through the root's ring. */
static sb_status_t receive_pulled(sb_team_t *team, const sb_plan_t *plan, sb_flow_in_t *in,
                                  sb_arriving_t *arriving)
{
    sb_cursor_t end = pulled_end(&arriving->cursor, plan);
    sb_status_t status = SB_OK;

    if (SB_UNLIKELY(!pull(arriving, plan))) {
        sb_cursor_pass(&arriving->cursor, SB_LINE);
        sb_flow_consume(in, arriving->cursor.position);
        in->published = &sb_ring_head(arriving->rings, arriving->news->root)->published.flag;
        status = receive_fragments(team, plan, in, false, arriving);
    }
    arriving->cursor = end;
    return status;
}

sb_status_t sb_rings_receive(sb_team_t *team, const sb_news_t *news)
{
    sb_arriving_t arriving = {.rings = sb_rings(team), .news = news};
    sb_tree_t tree = {.parent = news->root};
    sb_plan_t plan;

    if (!read_plan(arriving.rings, news, &plan, &arriving.cursor))
        return sb_out_of_step(team);
    uint64_t since = plan.started == 0 || news->waited ? plan.started : sb_now_ns();
    if (sb_plan_spread(&plan) != SB_SPREAD_FLAT)
        tree = sb_news_tree(team, news, plan.bytes);
    if (tree.children > 0)
        sb_slot_show(team, SB_NOTE_RING, &plan, sizeof plan);
    if (sb_plan_spread(&plan) == SB_SPREAD_SHARED)
        sb_find_sharers(team, &arriving);
    if (news->by_root)
        tree.parent = news->root;
    sb_flow_in_t in = {&sb_ring_head(arriving.rings, tree.parent)->published.flag,
                       &sb_ring_head(arriving.rings, team->rank)->consumed.flag, plan.position};
    sb_status_t status = sb_plan_mode(&plan) == SB_COPY_PULLED
                             ? receive_pulled(team, &plan, &in, &arriving)
                             : receive_fragments(team, &plan, &in, tree.children > 0, &arriving);
    if (status != SB_OK)
        return status;
    if (plan.started != 0)
        tell(team, &plan, since, news->waited);
    finish(team, &plan, &arriving.cursor);
    return sb_received_all(arriving.data, plan.bytes, news->stream);
}
