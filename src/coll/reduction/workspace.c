/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/workspace.h"

#include <string.h>

#include "base/config.h"
#include "coll/barrier/barrier.h"
#include "coll/reduction/lent.h"
#include "coll/reduction/placed.h"
#include "coll/reduction/ways.h"

/* In, result and relay of each turn; the ring has as much as one of them, or more. */
#define BUFFERS(depth) (3 * (size_t)(depth))
#define BUFFER_LEAST ((size_t)1 << 10)
#define BUFFER_MOST ((size_t)256 << 10)
/* What passes through a ring should stay in the second-level cache, which ranks may share. */
#define RING_CROWDED ((size_t)128 << 10)
#define RING_USUAL ((size_t)256 << 10)
/* Few ranks get more, for messages that are dealt out in parts: together so many usual ones. */
#define RINGS_TOGETHER 8

#define SCRATCH_BYTES (SB_WORKSPACE_SCRATCH * SB_WORKSPACE_PIECE)

/* Of the barriers that suit some team each. */
static const struct sb_algorithm *best_barrier(const sb_shape_t *shape)
{
    static const struct sb_algorithm *const barriers[] = {&sb_barrier_flat, &sb_barrier_counter,
                                                          &sb_barrier_exchange};
    const struct sb_algorithm *best = barriers[0];

    for (size_t i = 1; i < SB_COUNT_OF(barriers); i++) {
        if (barriers[i]->cost(shape, 0) < best->cost(shape, 0))
            best = barriers[i];
    }
    return best;
}

double sb_workspace_steps_cost(const sb_shape_t *shape, double steps)
{
    /* A barrier counts its own turn at the price of the switch. */
    double turns = sb_fold_turns(shape, 1) - sb_cost_turns(shape, 1);

    return steps * (best_barrier(shape)->cost(shape, 0) + turns);
}

/*
 * Writes where the ranks of each unit begin, and behind the last, p. Returns how many units there
 * are; 0 if some rank has none, or is alone, or not beside the others of its unit, or if there are
 * too many.
 */
static uint32_t find_groups(const sb_locality_t *locality, sb_level_kind_t level, uint32_t size,
                            uint32_t *first)
{
    uint32_t groups = 0;
    int16_t last = -1;

    for (uint32_t rank = 0; rank < size; rank++) {
        int16_t unit = locality->unit[rank][level];
        if (unit >= 0 && unit == last)
            continue;
        bool alone = groups > 0 && rank - first[groups - 1] < 2;
        if (unit <= last || alone || groups == SB_WORKSPACE_GROUPS)
            return 0;
        first[groups++] = rank;
        last = unit;
    }
    first[groups] = size;
    return size - first[groups - 1] < 2 ? 0 : groups;
}

/* What follows from the places of the ranks, known before there is a workspace. */
typedef struct form {
    uint32_t groups;
    uint32_t group; /* this rank's */
    uint32_t depth;
    uint32_t first[SB_WORKSPACE_GROUPS + 1];
    size_t ring; /* bytes of the usual part of one */
} form_t;

static void group_ranks(const sb_team_t *team, form_t *form)
{
    if (team->locality.refusal == NULL && team->locality.unit != NULL) {
        form->groups = find_groups(&team->locality, SB_LEVEL_NUMA, team->size, form->first);
        if (form->groups == 0)
            form->groups = find_groups(&team->locality, SB_LEVEL_PACKAGE, team->size, form->first);
    }
    if (form->groups == 0) {
        form->groups = 1;
        form->first[0] = 0;
        form->first[1] = team->size;
    }
    while (team->rank >= form->first[form->group + 1])
        form->group++;
    form->depth = (uint32_t)sb_max(form->groups + 1, SB_WORKSPACE_DEPTH);
}

static size_t largest_power(size_t most)
{
    size_t power = 1;

    while (power <= most / 2)
        power *= 2;
    return power;
}

/* The least part of a ring where messages go round: it holds several windows of any element. */
#define SPAN_LEAST ((size_t)4 << 10)

/* A ring is so many times the part of it where most messages go round. */
static size_t spans_of(const sb_team_t *team)
{
    return team->oversubscribed ? 1 : largest_power(sb_max(1, RINGS_TOGETHER / team->size));
}

/* What a rank's memory is to be, of that which a team may take for each. */
typedef struct sizes {
    size_t buffer; /* bytes of one */
    size_t ring;
    size_t least; /* of either */
} sizes_t;

static sizes_t sizes_of(const sb_team_t *team, uint32_t depth)
{
    /* A scan keeps something of every rank. */
    size_t least = sb_max(BUFFER_LEAST, 2 * SB_LINE * (size_t)team->size);
    size_t ring = spans_of(team) * (team->oversubscribed ? RING_CROWDED : RING_USUAL);
    size_t buffers = BUFFERS(depth), most = buffers * BUFFER_MOST + ring;
    size_t room = sb_max(sb_min((size_t)team->settings.ring_bytes, most), (buffers + 1) * least);
    size_t buffer = sb_min(room / (buffers + 1) & ~(size_t)(SB_LINE - 1), BUFFER_MOST);

    return (sizes_t){buffer, largest_power(sb_min(room - buffers * buffer, ring)), least};
}

/* Two ranks may go round in as much as a broadcast does, which is more than their caches hold. */
static size_t whole_ring(const sb_team_t *team, const sizes_t *sizes)
{
    size_t whole = largest_power((size_t)team->settings.ring_bytes);
    bool gains = team->size == 2 && !team->oversubscribed && whole > sizes->ring;

    return gains && sb_arena_is_roomy() ? whole : sizes->ring;
}

/* What is touched of a ring at once. All flags are before it, and what short reductions of many
 * ranks need; those of two go round in the span, and each page of it would keep both waiting. */
static size_t near_ring(const sb_team_t *team, size_t ring)
{
    return team->size == 2 ? ring / spans_of(team) : 0;
}

/* Of what the ranks could get. */
static void set_ring(const sb_team_t *team, sb_workspace_t *space, size_t usual, size_t bytes)
{
    space->cursor = sb_cursor(largest_power(bytes), 0);
    space->usual = sb_min(usual, (size_t)space->cursor.ring);
    space->span = sb_max(space->usual / spans_of(team), sb_min(SPAN_LEAST, space->usual));
    space->out.room = space->cursor.ring;
}

static sb_shape_t shape_of(const sb_team_t *team, const sb_prices_t *prices)
{
    return (sb_shape_t){.prices = prices,
                        .ranks = team->size,
                        .oversubscribed = team->oversubscribed,
                        .processors = team->processors,
                        .barrier_arity = team->settings.barrier_arity};
}

static void adopt(const sb_team_t *team, const form_t *form)
{
    const sb_shape_t shape = shape_of(team, &sb_prices_standard);
    sb_workspace_t *space = sb_workspace(team);

    space->groups = form->groups;
    space->group = form->group;
    space->depth = form->depth;
    memcpy(space->first, form->first, sizeof space->first);
    set_ring(team, space, form->ring, space->resource.bytes - sizeof(sb_workspace_head_t));
    space->out.readers = sb_workspace_peers(team, offsetof(sb_workspace_head_t, taken));
    space->out.published = &sb_workspace_head(team, team->rank)->given.flag;
    space->barrier = best_barrier(&shape);
    space->cached_most = sb_copy_cached_most(team);
    space->copies = sb_copy_policy(SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, team->settings.stores);
    space->process = (uint64_t *)(void *)(space->scratch + SCRATCH_BYTES);
}

/* Where ranks share processors, their turns take the time: no trials. */
static void settle(const sb_team_t *team, sb_copy_policy_t *policy)
{
    if (team->oversubscribed && team->settings.stores == SB_STORES_AUTO)
        policy->fixed = policy->mode[0];
}

static sb_status_t settle_copies(sb_team_t *team, sb_workspace_t *space)
{
    const sb_shape_t shape = shape_of(team, &team->settings.prices);
    sb_status_t status = SB_OK;

    space->placed_least = space->groups == 1 ? sb_placed_least(team, &shape) : SIZE_MAX;
    if (team->settings.loads && team->settings.stores == SB_STORES_AUTO)
        status = sb_expose_loads(team, space->process, &space->loads);
    settle(team, &space->copies);
    return status;
}

static sb_status_t make(sb_team_t *team)
{
    form_t form = {0};

    group_ranks(team, &form);
    const sizes_t sizes = sizes_of(team, form.depth);
    const size_t head = sizeof(sb_workspace_head_t);
    form.ring = sizes.ring;
    const sb_resource_size_t size = {
        .own = sizeof(sb_workspace_t) + SCRATCH_BYTES + team->size * sizeof(uint64_t) +
               sb_lent_room(team),
        .bytes = head + whole_ring(team, &sizes),
        .least = head + sizes.least,
        .near = head + near_ring(team, sizes.ring),
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_WORKSPACE, &size);

    if (status != SB_OK)
        return status;
    adopt(team, &form);
    sb_workspace_t *space = sb_workspace(team);
    sb_ways_prepare(team);
    status = settle_copies(team, space);
    return status == SB_OK ? sb_lent_prepare(team, space->process + team->size) : status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_WORKSPACE, make};

sb_status_t sb_workspace_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

/* Contributions that can be read where they are need not be copied in, if that is not slower. */
static sb_copy_policy_t copies_of(const sb_team_t *team, const sb_workspace_t *space)
{
    sb_copy_policy_t copies =
        sb_copy_policy(space->loads ? SB_COPY_PULLED : SB_COPY_CACHED,
                       space->loads ? SB_COPY_CACHED : SB_COPY_NON_TEMPORAL, team->settings.stores);

    if (space->loads)
        sb_copy_policy_add(&copies, SB_COPY_NON_TEMPORAL, 0, 0);
    if (space->loads && team->size <= SB_PLACED_WHOLE_RANKS)
        sb_copy_policy_add(&copies, SB_COPY_WHOLE, 0, 0);
    settle(team, &copies);
    if (team->settings.windows_mode != SB_COPY_ANY)
        copies.fixed = (sb_copy_mode_t)team->settings.windows_mode;
    return copies;
}

/* Nothing in them has to be clear. */
static sb_status_t make_buffers(sb_team_t *team)
{
    sb_workspace_t *space = sb_workspace(team);
    const sizes_t sizes = sizes_of(team, space->depth);
    const size_t buffers = BUFFERS(space->depth);
    const sb_resource_size_t size = {
        .own = sizeof(sb_buffers_t),
        .bytes = sb_round_up(buffers * sizes.buffer, SB_PAGE),
        .least = sb_round_up(buffers * sizes.least, SB_PAGE),
        .near = SB_LINE,
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_BUFFERS, &size);

    if (status != SB_OK)
        return status;
    size_t each = team->resource[SB_RESOURCE_BUFFERS]->bytes / buffers;
    space->buffer = sb_min(each & ~(size_t)(SB_LINE - 1), BUFFER_MOST);
    sb_buffers(team)->copies = copies_of(team, space);
    return SB_OK;
}

static const sb_resource_kind_t buffers_kind = {SB_RESOURCE_BUFFERS, make_buffers};

sb_status_t sb_buffers_prepare(sb_team_t *team)
{
    sb_status_t status = sb_workspace_prepare(team);

    return status == SB_OK ? sb_resource_need(team, &buffers_kind) : status;
}

void sb_workspace_measure(sb_workspace_t *space, sb_copy_policy_t *policy,
                          const sb_reduction_t *reduction, const size_t *laps)
{
    space->measured = policy;
    space->kept = 0;
    space->choice = sb_copy_choose(policy, reduction->bytes, reduction->send, laps);
    space->started = space->choice.timed ? sb_now_ns() : 0;
}

void sb_workspace_reach_ring(sb_workspace_t *space, size_t bytes)
{
    size_t end = sb_min(sb_cursor_place(&space->cursor) + bytes, (size_t)space->cursor.window);

    if (bytes >= SB_COPY_LEAST)
        sb_resource_reach(&space->resource, sizeof(sb_workspace_head_t) + end);
}

void sb_buffers_reach(const sb_team_t *team, size_t bytes)
{
    sb_resource_t *resource = team->resource[SB_RESOURCE_BUFFERS];

    if (bytes >= SB_COPY_LEAST)
        sb_resource_reach(resource, resource->bytes);
}

sb_copy_mode_t sb_workspace_copy_mode(sb_team_t *team, sb_copy_policy_t *policy,
                                      const sb_reduction_t *reduction, bool together)
{
    sb_workspace_t *space = sb_workspace(team);
    const size_t laps[SB_COPY_MODES] = {space->span, space->span, space->span, reduction->bytes,
                                        reduction->bytes};

    if (reduction->bytes < SB_COPY_LEAST)
        return SB_COPY_CACHED;
    if (policy->fixed != SB_COPY_ANY)
        return policy->fixed;
    sb_flag_t *flag = &sb_workspace_head(team, 0)->mode;

    if (team->rank != 0 || !together) {
        sb_copy_mode_t shown = sb_copy_shown(flag, reduction->bytes);
        return shown != SB_COPY_ANY ? shown : policy->mode[0];
    }
    sb_workspace_measure(space, policy, reduction, laps);
    sb_copy_show(flag, reduction->bytes, space->choice.mode);
    return space->choice.mode;
}

void sb_workspace_copied(sb_workspace_t *space)
{
    uint64_t now = space->choice.timed ? sb_now_ns() : 0;

    if (now > space->started) {
        uint64_t own = now - space->started;
        sb_copy_record(space->measured, &space->choice, own + sb_min(own, space->kept));
    }
    space->choice.timed = false;
}

void sb_workspace_say(uint64_t *word, uint64_t value)
{
    /* Programs use the same buffers again: what does not change the others have near. */
    if (sb_workspace_said(word) != value)
        sb_copy(word, &value, sizeof value);
}

uint64_t sb_workspace_said(const uint64_t *word)
{
    uint64_t value = 0;

    sb_copy_words(&value, word, sizeof value);
    return value;
}

const char *sb_workspace_reach(const sb_team_t *team, uint32_t rank, uint64_t address, size_t bytes,
                               sb_status_t *data)
{
    const char *here = sb_reach(sb_workspace(team)->process[rank], address, bytes, true);

    /* It was proven that it can be read. */
    if (here == NULL)
        *data = sb_first(*data, SB_ERR_SYSTEM);
    return here;
}

bool sb_workspace_apart(const sb_reduction_t *reduction, size_t result)
{
    uintptr_t send = (uintptr_t)reduction->send, receive = (uintptr_t)reduction->receive;

    return send + reduction->bytes <= receive || receive + result <= send;
}

bool sb_workspace_show_sent(const sb_team_t *team, const sb_reduction_t *reduction,
                            sb_copy_mode_t mode)
{
    bool wanted = mode == SB_COPY_PULLED ||
                  (mode == SB_COPY_WHOLE && sb_workspace_apart(reduction, reduction->bytes));
    bool stays = wanted && sb_shares(reduction->send, reduction->bytes);
    uint64_t sent = stays ? (uintptr_t)reduction->send : 0;

    if (!sb_workspace(team)->loads)
        return false;
    sb_workspace_say(&sb_workspace_head(team, team->rank)->sent, sent);
    return stays;
}

const char *sb_workspace_sent(const sb_team_t *team, uint32_t rank, size_t offset, size_t bytes,
                              sb_status_t *data)
{
    uint64_t sent = 0;

    if (sb_workspace(team)->loads)
        sent = sb_workspace_said(&sb_workspace_head(team, rank)->sent);
    return sent == 0 ? NULL : sb_workspace_reach(team, rank, sent + offset, bytes, data);
}
