/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the rings. What a process may own is bounded, and the kernel clears a page when it
 * is touched first: that takes ten times as long as to copy as many bytes through it. Most teams
 * never send what is worth that. So a ring is its near part alone at first, in which messages of
 * any length go round, and grows when so many bytes have been sent as are many laps, and messages
 * have taken a multiple of what the memory takes: long ones, in an unbroken row, are a tenth faster
 * then. A root that finds so says it with a message, and before one of the next all take part, as
 * where there are no rings yet.
 */
#include "coll/bcast/rings.h"

#include <string.h>

#define RING_LEAST ((size_t)16 << 10)
/*
 * Ordinary stores go round in this part of the ring, a quarter of the second-level cache: what they
 * write over is still there, and is not to be fetched from memory. Or they go round in all of it,
 * where that is measured to be faster: then it need not be fetched from the readers' caches.
 */
#define NEAR_PART 8
/* The turn of a rank that shares its processor: so many messages, and switches' worth of bytes. One
 * ring is read by all, so its pages pay sooner than those of an area for each rank (message.c). */
#define TURN_MESSAGES 4
#define TURN_SWITCHES 16

void sb_rings_set(sb_team_t *team, size_t bytes, uint64_t position)
{
    sb_rings_t *rings = sb_rings(team);
    const sb_peers_t readers = {(void *const *)(void *)rings->resource.bases,
                                offsetof(sb_ring_head_t, consumed), team->size, team->rank};

    rings->cursor = sb_cursor(bytes, position);
    rings->near = sb_round_up(rings->whole ? sb_rings_usual(team) / NEAR_PART : bytes, SB_LINE);
    rings->out = (sb_flow_out_t){.readers = readers,
                                 .published = &sb_ring_head(rings, team->rank)->published.flag,
                                 .room = bytes,
                                 .known = position};
}

static size_t asked(const sb_team_t *team, uint64_t unless)
{
    size_t bytes = (size_t)sb_rules_ring(team->settings.rules, unless);

    return sb_round_up(sb_max(bytes, RING_LEAST), SB_PAGE);
}

/* Bytes of a ring for what does not come over a network, and of a whole one. */
static size_t usual_ring(const sb_team_t *team)
{
    return asked(team, team->settings.ring_bytes);
}

static size_t whole_ring(const sb_team_t *team)
{
    return team->of_cluster ? asked(team, team->settings.ring_of_nodes) : usual_ring(team);
}

/* Bytes of the first ring. What comes over a network has need of all of it. */
static size_t first_ring(const sb_team_t *team)
{
    size_t whole = whole_ring(team), near = sb_round_up(whole / NEAR_PART, SB_PAGE);
    bool grows = team->settings.grows && !team->of_cluster && near >= RING_LEAST;

    return grows ? near : whole;
}

static sb_resource_size_t size_of(const sb_team_t *team, size_t ring, size_t least)
{
    size_t pulling = sb_expose_pays(team) ? team->size * sizeof(sb_exposer_t) + SB_RING_BOUNCE : 0;

    return (sb_resource_size_t){
        .own = sizeof(sb_rings_t) + pulling,
        .bytes = SB_RING_AT + ring,
        .least = SB_RING_AT + least,
        .near = SB_RING_AT,
        .willing = true,
    };
}

/* Shows where the blocks are; what was counted before counts on, and who could not be read before
 * is tried anew. */
static sb_status_t expose(sb_team_t *team, sb_rings_t *rings)
{
    sb_exposer_t *exposers = (sb_exposer_t *)(void *)(rings + 1);
    const sb_expose_t before = rings->expose;

    memset(exposers, 0, team->size * sizeof *exposers);
    sb_status_t status = sb_expose_make(&rings->expose, team, &rings->resource, exposers, true);
    rings->expose.mapped = before.mapped;
    rings->expose.copied = before.copied;
    rings->expose.failed = before.failed;
    return status;
}

static sb_status_t settle_pulling(sb_team_t *team, sb_rings_t *rings)
{
    const size_t least = sb_flow_piece_usual(0) + 1;

    if (!sb_expose_pays(team))
        return SB_OK;
    rings->bounce = (char *)(rings + 1) + team->size * sizeof(sb_exposer_t);
    sb_status_t status = expose(team, rings);
    if (status == SB_OK && team->settings.loads)
        sb_copy_policy_add_loads(&rings->copies, SB_COPY_PULLED, least, 0, rings->loaded);
    else if (status == SB_OK && rings->expose.kernel)
        sb_copy_policy_add(&rings->copies, SB_COPY_PULLED, least, 0);
    return status;
}

/* Ordinary stores may go round in more than the near part. */
static void settle_whole(const sb_team_t *team, sb_rings_t *rings)
{
    if (rings->near < sb_rings_usual(team))
        sb_copy_policy_add(&rings->copies, SB_COPY_WIDE, 0, 0);
    sb_copy_policy_reaches(&rings->copies, SB_COPY_WIDE, &rings->resource, rings->resource.bytes);
}

/* `bytes` of a ring: less where memory is short. */
static sb_status_t make(sb_team_t *team, size_t bytes)
{
    const sb_resource_size_t size = size_of(team, bytes, RING_LEAST);
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_RINGS, &size);

    if (status != SB_OK)
        return status;
    sb_rings_t *rings = sb_rings(team);
    rings->whole = bytes == whole_ring(team);
    rings->usual = usual_ring(team);
    sb_rings_set(team, rings->resource.bytes - SB_RING_AT, 0);
    rings->copies = sb_copy_policy(SB_COPY_NON_TEMPORAL, SB_COPY_CACHED, team->settings.stores);
    settle_whole(team, rings);
    return settle_pulling(team, rings);
}

static sb_status_t make_first(sb_team_t *team)
{
    return make(team, first_ring(team));
}

/* What was found of ways to copy holds on; of the message that is being timed nothing will come. */
static sb_status_t grow(sb_team_t *team)
{
    sb_rings_t *rings = sb_rings(team);
    const sb_resource_size_t size = size_of(team, whole_ring(team), 2 * rings->cursor.ring);
    sb_status_t status = sb_resource_renew(team, SB_RESOURCE_RINGS, &size);

    rings->whole = true;
    if (status != SB_OK)
        return status == SB_ERR_UNSUPPORTED ? SB_OK : status;
    sb_rings_set(team, rings->resource.bytes - SB_RING_AT, 0);
    settle_whole(team, rings);
    sb_copy_renew(&rings->copies);
    rings->uses = 0;
    rings->timed.open = false;
    return rings->bounce != NULL ? expose(team, rings) : SB_OK;
}

static const sb_resource_kind_t first_kind = {SB_RESOURCE_RINGS, make_first};

sb_status_t sb_rings_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &first_kind);
}

sb_status_t sb_rings_prepare_whole(sb_team_t *team)
{
    const sb_rings_t *rings = sb_rings(team);

    if (rings == NULL)
        return sb_out_of_step(team);
    return rings->whole ? SB_OK : grow(team);
}

/*
 * What messages that follow each other have room in from the beginning: two of them. Ranks that
 * share processors run in turns, of which each does what there is room for: some more, so that
 * those of another processor need not wait for the last byte of each turn, and so much that to copy
 * it takes a multiple of the switch to the next rank.
 */
static size_t room_at_first(const sb_team_t *team, const sb_plan_t *plan)
{
    size_t message = sb_round_up((size_t)plan->bytes, SB_LINE);
    size_t pieces = SB_FLOW_PIECES * (size_t)plan->fragment;

    if (!team->oversubscribed)
        return sb_max(2 * message, pieces);
    return sb_max(sb_max(TURN_MESSAGES * message, pieces), sb_team_turn(team, TURN_SWITCHES));
}

size_t sb_rings_paid(const sb_team_t *team, const sb_plan_t *plan, size_t window)
{
    const sb_rings_t *rings = sb_rings(team);
    size_t reached = rings->resource.touched & ~(size_t)(SB_LINE - 1);
    size_t touched = sb_max(reached, SB_RING_AT) - SB_RING_AT;
    size_t need = room_at_first(team, plan);
    size_t next = sb_min(window, 2 * touched);

    if (plan->bytes <= plan->fragment || team->from_afar || window <= sb_max(need, touched))
        return window;
    if (next > need && sb_copy_may_touch(&rings->copies, next - touched))
        return next;
    return sb_max(need, touched);
}

bool sb_rings_pay_whole(const sb_team_t *team)
{
    const sb_rings_t *rings = sb_rings(team);

    return !rings->whole && rings->passed > team->settings.grows * (uint64_t)rings->cursor.ring &&
           sb_copy_may_touch(&rings->copies, whole_ring(team));
}

bool sb_rings_want_whole(const sb_team_t *team, size_t bytes)
{
    const sb_rings_t *rings = sb_rings(team);

    return rings != NULL && rings->growing && !rings->whole && bytes >= SB_COPY_LEAST;
}
