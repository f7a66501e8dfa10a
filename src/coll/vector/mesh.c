/* SPDX-License-Identifier: BSD-3-Clause */
/* A mesh is made, and its calls end. */
#include "coll/vector/mesh.h"

#include "coll/vector/message.h"

#include <string.h>

#define AREA_MOST ((size_t)128 << 10)
#define AREA_LEAST ((size_t)1 << 10)
#define EXPOSE_LEAST (((size_t)16 << 10) + 1)
#define CROWDED_LEAST ((size_t)16 << 10)

/* Annexes of a flow have room for so much in all, but each at least and at most for so much; and
 * for one line more, so that in a cache they do not want the same places. Two ranks have longer
 * ones: where many send to one it is better to have those in fragments that come by turns. */
#define ANNEXES ((size_t)64 << 10)
#define ANNEX_LEAST ((size_t)512)
#define ANNEX_MOST ((size_t)1 << 10)

/* Behind each nothing is written: a processor that reads a row of lines asks for some more of them,
 * which would be those of the next one, on their way. */
#define ANNEX_GAP ((size_t)8 * SB_LINE)

/* One flow of a block. */
typedef struct flow {
    sb_wide_flag_t published;
    _Alignas(SB_SLOT_BYTES) sb_slot_t slot[];
} flow_t;

/* Flows begin where slots may: of those at odd halves one in sixteen would go over a page's end. */
#define HEAD sb_round_up(sizeof(sb_mesh_head_t), SB_SLOT_BYTES)
_Static_assert(SB_ARENA_GRAIN % SB_SLOT_BYTES == 0, "blocks begin where slots may");

/* Number of `other` among the flows of `owner`: after that to all. */
static uint32_t index_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    return other > owner ? other - owner - 1 : other + team->size - owner - 1;
}

static flow_t *flow_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    size_t number = other == SB_TO_ALL ? 0 : 1 + index_of(team, owner, other);

    return (flow_t *)(void *)((char *)mesh->peer[owner].base + HEAD + number * mesh->stride);
}

/* What many read at the same time has none: they would keep its lines from each other. */
static char *annex_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    size_t each = mesh->slots * mesh->annex;

    if (other == SB_TO_ALL)
        return NULL;
    return mesh->peer[owner].base + mesh->annexes + index_of(team, owner, other) * each;
}

static char *area_of(const sb_team_t *team, uint32_t owner, uint32_t other)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    char *base = mesh->peer[owner].base;

    return other == SB_TO_ALL ? base + mesh->area_all
                              : base + mesh->areas + index_of(team, owner, other) * mesh->wide;
}

/*
 * Fewer slots where there are many ranks, because each has so many for each other, and where memory
 * is short: an eighth of what a ring may take. The more there are the farther ranks may run ahead
 * of one that has no processor: so there are more where ranks share processors.
 */
static uint32_t slots_for(uint32_t ranks, bool crowded, size_t ring)
{
    uint32_t slots = ranks <= 8 ? 32 : ranks <= 16 ? 16 : ranks <= 64 ? 4 : 2;

    if (crowded)
        slots = sb_max(slots * 4, SB_SLOTS_CROWDED);
    while (slots > 4 && slots * sizeof(sb_slot_t) * ranks > ring / 8)
        slots /= 2;
    return slots;
}

/* Where things are in a block, but for the areas, which come behind `fixed`. */
typedef struct layout {
    uint32_t slots;
    size_t stride;
    size_t readers;
    size_t fixed;
    size_t annex, annexes; /* bytes of one, and of all */
} layout_t;

static layout_t lay_out(uint32_t ranks, bool crowded, size_t ring)
{
    layout_t layout = {.slots = slots_for(ranks, crowded, ring)};

    layout.stride = sizeof(flow_t) + layout.slots * sizeof(sb_slot_t);
    layout.readers = HEAD + ranks * layout.stride;
    layout.fixed = sb_round_up(layout.readers + ranks * sizeof(sb_mesh_reader_t), SB_PAGE);
    size_t most = ranks == 2 ? 2 * ANNEX_MOST : ANNEX_MOST;
    size_t room = sb_max(sb_min(ANNEXES / layout.slots, most), ANNEX_LEAST) + SB_LINE;
    layout.annex = room + ANNEX_GAP;
    layout.annexes = sb_round_up((ranks - 1) * layout.slots * layout.annex, SB_PAGE);
    return layout;
}

/* The annexes are last of all, unless they would be more than half of what follows the slots.
 * Returns where they begin. */
static size_t lay_out_annexes(sb_mesh_t *mesh, const layout_t *layout)
{
    size_t end = mesh->resource.bytes;
    bool scarce = layout->annexes > (end - layout->fixed) / 2;

    mesh->annex = scarce ? 0 : layout->annex;
    mesh->slot_most = scarce ? SB_SLOT_PAYLOAD : mesh->annex - ANNEX_GAP;
    return scarce ? end : end - layout->annexes;
}

/*
 * Areas out of `room` bytes: that to all is as large as four others, while there is enough. Two
 * ranks have a window instead, in half of it, and what is left behind the only other area belongs
 * to that.
 */
static void lay_out_areas(sb_mesh_t *mesh, uint32_t ranks, size_t room)
{
    const size_t whole = SB_LINE * SB_FLOW_PIECES;
    size_t each = room / (ranks + 3) & ~(whole - 1);

    mesh->bytes = sb_min(each, AREA_MOST);
    mesh->bytes_all = ranks == 2 ? whole : mesh->bytes * 4;
    mesh->swap.bytes = ranks == 2 ? mesh->bytes * 2 : 0;
    mesh->areas = mesh->area_all + mesh->bytes_all;
    mesh->wide = ranks == 2 ? (room - mesh->swap.bytes - whole) & ~(whole - 1) : mesh->bytes;
    mesh->swap.begin = mesh->areas + mesh->wide;
    mesh->step = mesh->bytes / SB_FLOW_PIECES;
}

static bool is_near(const sb_hierarchy_t *hierarchy, uint32_t rank)
{
    const sb_group_t *group = &hierarchy->group[0];

    for (uint32_t i = 0; i < group->size; i++) {
        if (group->members[i] == rank)
            return true;
    }
    return false;
}

/* The others, from the next one on: those that share no cache or NUMA node with this rank first. */
static void put_in_order(sb_team_t *team)
{
    const sb_hierarchy_t *hierarchy = sb_team_subgroups(team);
    bool grouped = hierarchy != NULL && hierarchy->count > 0 && hierarchy->lowest == 0;
    uint32_t *place = sb_mesh(team)->far_first;

    for (uint32_t near = 0; near < 2; near++) {
        for (uint32_t i = 1; i < team->size; i++) {
            uint32_t rank = sb_team_after(team, i);
            if ((grouped && is_near(hierarchy, rank)) == (near == 1))
                *place++ = rank;
        }
    }
}

/* The sender's end of the flow to one of `readers`, or all of them. */
static void open_outlet(const sb_team_t *team, sb_outlet_t *out, uint32_t to, sb_peers_t readers)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    bool all = to == SB_TO_ALL;
    flow_t *flow = flow_of(team, team->rank, to);
    size_t flag = all ? offsetof(sb_mesh_reader_t, all) : offsetof(sb_mesh_reader_t, one);

    out->slots = (sb_flow_out_t){.readers = readers, .room = mesh->slots};
    readers.offset = mesh->readers + team->rank * sizeof(sb_mesh_reader_t) + flag;
    out->staged = (sb_flow_out_t){.readers = readers,
                                  .published = &flow->published.flag,
                                  .room = all ? mesh->bytes_all : mesh->wide};
    out->cursor = sb_cursor(out->staged.room, 0);
    out->slot = flow->slot;
    out->annex = annex_of(team, team->rank, to);
    out->area = area_of(team, team->rank, to);
}

static sb_inlet_t inlet_of(const sb_team_t *team, uint32_t from, uint32_t to)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    flow_t *flow = flow_of(team, from, to);
    sb_mesh_reader_t *reader = sb_reader(mesh, team->rank, from);
    sb_flag_t *consumed = to == SB_TO_ALL ? &reader->all : &reader->one;

    return (sb_inlet_t){.staged = {.published = &flow->published.flag, .consumed = consumed},
                        .slot = flow->slot,
                        .annex = annex_of(team, from, to),
                        .slot_most = to == SB_TO_ALL ? SB_SLOT_PAYLOAD : mesh->slot_most,
                        .area = area_of(team, from, to),
                        .room = to == SB_TO_ALL ? mesh->bytes_all : mesh->wide};
}

/* The windows that two ranks swap lie behind the only other area. */
static void open_windows(const sb_team_t *team, sb_mesh_t *mesh)
{
    sb_swap_t *swap = &mesh->swap;

    if (swap->bytes == 0)
        return;
    for (uint32_t rank = 0; rank < 2; rank++)
        swap->window[rank] = mesh->peer[rank].base + swap->begin;
    swap->own[0] = team->rank;
    swap->count = 1;
}

static void open_flows(sb_team_t *team, sb_mesh_t *mesh)
{
    void *const *blocks = (void *const *)(void *)mesh->resource.bases;

    open_outlet(team, &mesh->all, SB_TO_ALL,
                (sb_peers_t){.blocks = blocks, .count = team->size, .self = team->rank});
    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank)
            continue;
        open_outlet(team, &mesh->peer[i].out, i,
                    (sb_peers_t){.blocks = blocks + i, .count = 1, .self = 1});
        mesh->peer[i].one = inlet_of(team, i, team->rank);
        mesh->peer[i].all = inlet_of(team, i, SB_TO_ALL);
    }
}

/* Gives each list its part of the allocation, and the mesh its blocks. */
static void adopt(sb_team_t *team, const layout_t *layout)
{
    sb_mesh_t *mesh = sb_mesh(team);

    mesh->slots = layout->slots;
    mesh->told = sb_max(mesh->slots / 4, 1u);
    mesh->stride = layout->stride;
    mesh->readers = layout->readers;
    mesh->area_all = layout->fixed;
    mesh->annexes = lay_out_annexes(mesh, layout);
    /* Two ranks have few: their pages are not waited for in the first round of messages. */
    if (team->size == 2)
        sb_arena_touch(&mesh->resource.block, mesh->annexes, mesh->resource.bytes);
    lay_out_areas(mesh, team->size, mesh->annexes - layout->fixed);
    mesh->sending = (sb_sending_t *)(void *)(mesh->peer + team->size);
    mesh->receiving = (sb_receiving_t *)(void *)(mesh->sending + team->size);
    mesh->deferred = mesh->receiving + team->size;
    mesh->offer = (sb_offer_t *)(void *)(mesh->deferred + team->size);
    mesh->expose.of = (sb_exposer_t *)(void *)(mesh->offer + team->size);
    mesh->far_first = (uint32_t *)(void *)(mesh->expose.of + team->size);
    mesh->bounce = (char *)(mesh->far_first + team->size);
    for (uint32_t i = 0; i < team->size; i++)
        mesh->peer[i].base = mesh->resource.bases[i];
    mesh->done = &sb_mesh_head(mesh, team->rank)->done.flag;
    mesh->cached_most = sb_copy_cached_most(team);
    open_flows(team, mesh);
    open_windows(team, mesh);
    put_in_order(team);
}

/* Longer ones may have another way to go, by what is said of each. */
static size_t longest_at_once(const sb_team_t *team, const sb_mesh_t *mesh)
{
    bool shared = !team->oversubscribed && (team->size - 1) * mesh->slot_most >= SB_SHARED_TOTAL;
    size_t most = sb_min(mesh->slot_most, mesh->expose_least - 1);

    return shared ? sb_min(most, SB_SHARED_LEAST - 1) : most;
}

/* How every rank gives its parts to every other. */
static void settle_copies(const sb_team_t *team, sb_mesh_t *mesh)
{
    sb_copy_policy_t *policy = &mesh->copies.policy;
    uint32_t stores = team->settings.stores;

    if (mesh->crowded) {
        *policy = sb_copy_policy(SB_COPY_CACHED, SB_COPY_PULLED, stores);
        mesh->copies.blocks = &mesh->exchanged;
        return;
    }
    *policy = sb_copy_policy(SB_COPY_PULLED, SB_COPY_NON_TEMPORAL, stores);
    sb_copy_policy_add(policy, SB_COPY_CACHED, 0, 0);
    if (sb_mesh_is_wide(mesh))
        sb_copy_policy_add(policy, SB_COPY_WIDE, 0, 0);
}

/* The same where they may be read by loads. */
static void settle_loaded(const sb_team_t *team, sb_mesh_t *mesh)
{
    sb_copy_policy_t *policy = &mesh->copies.policy;
    bool two = team->size == 2 && !team->oversubscribed;

    if (team->settings.loads == 0 || team->settings.stores != SB_STORES_AUTO || mesh->crowded)
        return;
    /* Two begin with windows that they change. Of more ranks who reads a result that was stored
     * past the caches waits for memory: with loads that is more than the call saves. */
    *policy = two ? sb_copy_policy(SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO)
                  : sb_copy_policy(SB_COPY_PULLED, SB_COPY_CACHED, SB_STORES_AUTO);
    if (sb_mesh_is_wide(mesh))
        sb_copy_policy_add(policy, SB_COPY_WIDE, mesh->measured_least, 0);
    if (!two)
        return;
    policy->least[1] = mesh->measured_least;
    sb_copy_policy_add_loads(policy, SB_COPY_PULLED, 0, 0, mesh->loaded);
    policy->reads = true;
    mesh->loaded_least = SB_LOADS_LEAST;
}

/* The same of what is sent in place. */
static void settle_in_place(const sb_team_t *team, sb_mesh_t *mesh)
{
    sb_copy_policy_t *policy = &mesh->in_place.policy;

    *policy = sb_copy_policy(SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, team->settings.stores);
    if (sb_mesh_is_wide(mesh))
        sb_copy_policy_add(policy, SB_COPY_WIDE, 0, 0);
}

/* Whether parts are read where they are, and from what length on. */
static sb_status_t settle_exposing(sb_team_t *team, sb_mesh_t *mesh)
{
    uint32_t cma = team->settings.cma;
    uint32_t stores = team->settings.stores;

    mesh->crowded = sb_expose_is_tried(team);
    mesh->settled = stores == SB_STORES_AUTO && cma != SB_CMA_AUTO;
    mesh->expose_least = cma == SB_CMA_ON ? SB_SLOT_PAYLOAD + 1 : EXPOSE_LEAST;
    mesh->at_once = longest_at_once(team, mesh);
    mesh->measured_least =
        mesh->crowded ? CROWDED_LEAST : sb_max(mesh->expose_least, SB_COPY_LEAST);
    mesh->loaded_least = mesh->measured_least;
    settle_copies(team, mesh);
    settle_loaded(team, mesh);
    settle_in_place(team, mesh);
    sb_mesh_charge(mesh, &mesh->copies.policy, false);
    sb_mesh_charge(mesh, &mesh->in_place.policy, false);
    mesh->call = &mesh->copies;
    sb_status_t status =
        sb_expose_make(&mesh->expose, team, &mesh->resource, mesh->expose.of, cma != SB_CMA_OFF);
    if (team->size == 2 && !team->oversubscribed && !mesh->settled && stores == SB_STORES_AUTO)
        sb_sole_prepare(team);
    return status;
}

/*
 * Bytes of all areas. Of two ranks that to the other one is as long as a ring: no page of it is
 * touched before a message goes round in all of it. Not so where many such teams have taken much.
 */
static size_t most_of_areas(const sb_team_t *team)
{
    size_t areas = team->size + 3, ring = (size_t)team->settings.ring_bytes;

    if (team->size != 2 || team->oversubscribed || ring <= areas * AREA_MOST)
        return sb_min(ring, areas * AREA_MOST);
    return areas * AREA_MOST + (sb_arena_is_roomy() ? ring : 0);
}

static sb_status_t make(sb_team_t *team)
{
    const layout_t layout =
        lay_out(team->size, team->oversubscribed, (size_t)team->settings.ring_bytes);
    size_t fixed = layout.fixed, areas = team->size + 3;
    size_t most = most_of_areas(team);
    size_t least = areas * AREA_LEAST;
    size_t each = sizeof(sb_mesh_peer_t) + sizeof(sb_sending_t) + 2 * sizeof(sb_receiving_t) +
                  sizeof(sb_offer_t) + sizeof(sb_exposer_t) + sizeof(uint32_t);
    const sb_resource_size_t size = {
        .own = sizeof(sb_mesh_t) + team->size * each + SB_MESH_BOUNCE,
        .bytes = sb_round_up(fixed + sb_max(most, least), SB_PAGE) + layout.annexes,
        .least = sb_round_up(fixed + least, SB_PAGE),
        .near = fixed,
        .willing = true,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_MESH, &size);

    if (status != SB_OK)
        return status;
    adopt(team, &layout);
    return settle_exposing(team, sb_mesh(team));
}

static const sb_resource_kind_t kind = {SB_RESOURCE_MESH, make};

sb_status_t sb_mesh_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

sb_status_t sb_mesh_finish(sb_team_t *team, sb_status_t status)
{
    sb_mesh_t *mesh = sb_mesh(team);

    if (mesh->offer_count + mesh->deferred_count > 0)
        status = sb_first(status, sb_settle_exposed(team));
    if (SB_UNLIKELY(mesh->invitations > 0))
        sb_withdraw(team);
    if (SB_UNLIKELY(mesh->sole_ends))
        sb_sole_end(team);
    mesh->calls++;
    if ((mesh->calls & (mesh->told - 1)) == 0)
        sb_flag_publish(mesh->done, mesh->calls);
    return status;
}

void sb_mesh_near(const sb_team_t *team, const void *near[SB_NEAR_LINES])
{
    const sb_mesh_t *mesh = sb_mesh(team);

    if (mesh == NULL)
        return;
    near[0] = &mesh->calls;
    near[1] = team->size == 2 ? (const void *)&mesh->peer[1 - team->rank] : &mesh->all;
}
