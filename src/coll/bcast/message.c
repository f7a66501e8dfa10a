/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/bcast/message.h"

#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"

/* The rings, and the same in whole. */
static const sb_bcast_memory_t rings[] = {
    {sb_rings_prepare, SB_RESOURCE_RINGS, sb_rings_receive},
    {sb_rings_prepare_whole, SB_RESOURCE_RINGS, sb_rings_receive},
};
#define WHOLE_RINGS 1

static const sb_bcast_memory_t *const none = NULL;
const sb_bcast_memory_t *const *sb_bcast_baselines = &none;

/* The baseline of that number; NULL: there is none here. */
static const sb_bcast_memory_t *baseline_at(uint32_t number)
{
    for (uint32_t i = 0; i < number; i++) {
        if (sb_bcast_baselines[i] == NULL)
            return NULL;
    }
    return sb_bcast_baselines[number];
}

/* What a root may need, by the number that it announces; NULL: there is no such thing here. */
static const sb_bcast_memory_t *memory_at(uint32_t number)
{
    size_t own = SB_COUNT_OF(rings);

    return number < own ? &rings[number] : baseline_at(number - (uint32_t)own);
}

sb_status_t sb_slots_wait_round(sb_team_t *team, uint64_t use, uint32_t round)
{
    if (use < team->slots_free_below + round)
        return SB_OK;
    const sb_peers_t others = {(void *const *)(void *)team->controls, offsetof(sb_control_t, done),
                               team->size, team->rank};
    return sb_peers_wait(&others, use - round + 1, &team->waiter, &team->slots_free_below);
}

void sb_slot_show(sb_team_t *team, uint32_t note, const void *payload, size_t bytes)
{
    sb_slot_t *slot = sb_slot(team, team->rank, team->slot_uses);

    sb_flag_set_note(&slot->flag, note);
    sb_copy(slot->payload, payload, bytes);
    sb_flag_publish(&slot->flag, team->slot_uses + 1);
}

void sb_slot_show_words(sb_team_t *team, uint32_t note, const void *payload, size_t bytes)
{
    sb_slot_t *slot = sb_slot(team, team->rank, team->slot_uses);

    sb_flag_set_note(&slot->flag, note);
    sb_copy_words(slot->payload, payload, bytes);
    sb_flag_publish(&slot->flag, team->slot_uses + 1);
}

/*
 * A rank waits for its parent's announcement. The parent may be late; and ranks that expect
 * different numbers of bytes may see different trees, or none, so that no such announcement comes.
 * Who has lost patience looks at the root's, which always comes. What it looks at:
 */
typedef struct doubt {
    const sb_team_t *team;
    const sb_flag_t *flag; /* of the root's slot */
    uint64_t checked;      /* when the team was asked whether to go on */
} doubt_t;

/* Ends the wait for the parent once the root has announced. */
static sb_status_t look_at_root(void *context)
{
    doubt_t *doubt = context;
    const sb_waiter_t *usual = &doubt->team->waiter;
    uint64_t now = sb_now_ns();

    if (sb_flag_read(doubt->flag) > doubt->team->slot_uses)
        return SB_ERR_TRUNCATE;
    if (usual->check == NULL || now - doubt->checked < usual->check_every_ns)
        return SB_OK;
    doubt->checked = now;
    return usual->check(usual->check_context);
}

/* Waits for the announcement; `slot` becomes the one where it is. */
static sb_status_t wait_announced(sb_team_t *team, uint32_t root, uint32_t from, sb_slot_t **slot)
{
    uint64_t use = team->slot_uses + 1;

    if (from == root)
        return sb_flag_wait(&(*slot)->flag, use, &team->waiter);
    sb_slot_t *other = sb_slot(team, root, team->slot_uses);
    if (sb_flag_wait_some(&(*slot)->flag, use, &team->waiter, sb_patience(team)))
        return SB_OK;
    if (sb_flag_read(&other->flag) >= use) {
        *slot = other;
        return SB_OK;
    }
    doubt_t doubt = {team, &other->flag, sb_now_ns()};
    sb_waiter_t waiter = team->waiter;
    waiter.check = look_at_root;
    waiter.check_context = &doubt;
    waiter.check_every_ns = sb_min(waiter.check_every_ns, sb_patience(team));
    sb_status_t status = sb_flag_wait(&(*slot)->flag, use, &waiter);
    if (status != SB_ERR_TRUNCATE)
        return status;
    *slot = other;
    return SB_OK;
}

/* Receives what a baseline has announced, for which there is memory. */
static sb_status_t receive_baseline(sb_team_t *team, const sb_news_t *news)
{
    const sb_bcast_memory_t *baseline = baseline_at(news->note & SB_NOTE_BYTES);

    if (baseline == NULL || team->resource[baseline->slot] == NULL)
        return sb_out_of_step(team);
    return baseline->receive(team, news);
}

/* Takes part in making what the root needs. */
static sb_status_t make_needed(sb_team_t *team, uint32_t number)
{
    const sb_bcast_memory_t *memory = memory_at(number);

    if (memory == NULL)
        return sb_out_of_step(team);
    sb_slot_finish(team, 1);
    return memory->prepare(team);
}

sb_status_t sb_bcast_receive(sb_team_t *team, uint32_t root, const sb_tree_t *tree,
                             const sb_stream_t *stream)
{
    uint32_t from = tree == NULL ? root : tree->parent;
    sb_slot_t *slot = sb_slot(team, from, team->slot_uses), *parents = slot;
    bool waits = sb_flag_read(&slot->flag) <= team->slot_uses;

    if (waits && stream->bytes > SB_SLOT_PAYLOAD)
        sb_team_meanwhile(team, &slot->flag, team->slot_uses + 1, NULL, stream->base,
                          sb_flow_first(stream->bytes));
    sb_status_t status = waits ? wait_announced(team, root, from, &slot) : SB_OK;
    if (status != SB_OK)
        return status;
    const sb_news_t news = {
        root, sb_flag_note(&slot->flag), waits, slot != parents, slot->payload, tree, stream};
    switch (news.note & SB_NOTE_KIND) {
    case SB_NOTE_SLOTS:
        /* Who is behind finds the next one there too, most often; else it has that line still. */
        if (!waits)
            sb_fetch_ahead(sb_slot(team, root, team->slot_uses + 1), SB_LINE);
        return sb_slots_receive(team, &news);
    case SB_NOTE_SHOWN:
        return sb_shown_receive(team, &news);
    case SB_NOTE_RING:
        return sb_rings_receive(team, &news);
    case SB_NOTE_BASELINE:
        return receive_baseline(team, &news);
    case SB_NOTE_NEED:
        status = make_needed(team, news.note & SB_NOTE_BYTES);
        return status == SB_OK ? sb_bcast_receive(team, root, tree, stream) : status;
    default:
        return sb_out_of_step(team);
    }
}

/* Root: has all make what has that number. */
static sb_status_t announce_need(sb_team_t *team, uint32_t number)
{
    sb_status_t status = sb_slot_wait_free(team, team->slot_uses);

    if (status != SB_OK)
        return status;
    sb_slot_show(team, SB_NOTE_NEED | number, "", 0);
    return make_needed(team, number);
}

/* Root: has all make what this rank's algorithm needs for so many bytes, and is not there. */
static sb_status_t need(sb_team_t *team, const sb_algorithm_t *algorithm, size_t bytes)
{
    const sb_bcast_memory_t *memory;

    if (algorithm->prepare == sb_rings_prepare && sb_rings_want_whole(team, bytes))
        return announce_need(team, WHOLE_RINGS);
    for (uint32_t i = 0; (memory = memory_at(i)) != NULL; i++) {
        if (memory->prepare == algorithm->prepare && team->resource[memory->slot] == NULL)
            return announce_need(team, i);
    }
    return SB_OK;
}

sb_status_t sb_bcast(const sb_algorithm_t *algorithm, sb_team_t *team, uint32_t root,
                     const sb_stream_t *stream)
{
    sb_status_t status = SB_OK;

    if (team->rank == root && algorithm->prepare != NULL &&
        stream->bytes > algorithm->prepare_above)
        status = need(team, algorithm, stream->bytes);
    return status == SB_OK ? algorithm->bcast(team, root, stream) : status;
}
