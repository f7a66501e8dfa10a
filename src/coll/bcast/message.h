/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BCAST_MESSAGE_H
#define SB_COLL_BCAST_MESSAGE_H

#include "coll/coll.h"
#include "coll/resources.h"
#include "team/flow.h"
#include "team/tree.h"

/*
 * What the broadcasts have in common: how a message is announced, and how it is received.
 *
 * Slots. The team counts slot uses; use u of any root is in slot u mod k of that root's control
 * block, of k = team->slots. A rank publishes in `done`, now and then, how many uses it is done
 * with. A root may fill the slot of use u once every rank is done with use u - k. Since every rank
 * counts every use, one number a rank is enough for all roots.
 *
 * Announcements. Whatever the root does begins in its slot, with a note that says what follows.
 * Receivers do what it says, and not what their own number of bytes would have them do: so a rank
 * that expects another number does not put the team out of step, and can be told. Where the root
 * first needs memory that the team has not made yet, it announces that by itself: all take part.
 */

/* A slot's note: what follows, and in the other bits the bytes of a message in slots. */
#define SB_NOTE_KIND 0xe0000000u
#define SB_NOTE_SLOTS 0x00000000u    /* the message, in this slot and those behind */
#define SB_NOTE_SHOWN 0x20000000u    /* the message: each rank shows it to those below it */
#define SB_NOTE_RING 0x40000000u     /* a plan, see rings.h */
#define SB_NOTE_BASELINE 0x60000000u /* what a baseline receives: its number */
#define SB_NOTE_NEED 0x80000000u     /* memory is to be made: the number of what the root needs */
#define SB_NOTE_BYTES 0x1fffffffu    /* so many or more */

static inline sb_slot_t *sb_slot(const sb_team_t *team, uint32_t rank, uint64_t use)
{
    return &team->controls[rank]->slot[use & (team->slots - 1)];
}

/* Whether this rank's slot of `use` is known to be free. */
static inline bool sb_slot_is_free(const sb_team_t *team, uint64_t use)
{
    return use < team->slots_free_below + team->slots;
}

/* Waits until all members are known to be done with the uses up to `use` - `round`. */
sb_status_t sb_slots_wait_round(sb_team_t *team, uint64_t use, uint32_t round);

/* Root: waits until the slot of `use` may be filled. */
static inline sb_status_t sb_slot_wait_free(sb_team_t *team, uint64_t use)
{
    return SB_LIKELY(sb_slot_is_free(team, use)) ? SB_OK
                                                 : sb_slots_wait_round(team, use, team->slots);
}

/* All members are known to be done with the uses before this one. */
static inline void sb_slots_passed(sb_team_t *team, uint64_t use)
{
    team->slots_free_below = sb_max(team->slots_free_below, use);
}

/* Puts a note and what belongs to it into this rank's slot of the present use. */
void sb_slot_show(sb_team_t *team, uint32_t note, const void *payload, size_t bytes);

/* The same for whole words that this rank has just written. */
void sb_slot_show_words(sb_team_t *team, uint32_t note, const void *payload, size_t bytes);

/*
 * A root has SB_SLOTS of them or more: it is told of every fourth use that this rank is done with.
 * A line that a rank writes at each call is one more that goes back and forth.
 */
#define SB_SLOTS_TOLD 4

/* This rank is done with the uses before `uses`, of which `told` or more were done before. */
static inline void sb_slots_tell(const sb_team_t *team, uint64_t told, uint64_t uses)
{
    if (uses / SB_SLOTS_TOLD != told / SB_SLOTS_TOLD)
        sb_flag_publish(&team->self->done.flag, uses);
}

/* Marks the team's next `uses` slot uses as done by this rank. */
static inline void sb_slot_finish(sb_team_t *team, uint64_t uses)
{
    team->slot_uses += uses;
    sb_slots_tell(team, team->slot_uses - uses, team->slot_uses);
}

/* An announcement that has come. */
typedef struct sb_news {
    uint32_t root;
    uint32_t note;
    bool waited;  /* it was not there yet */
    bool by_root; /* the parent has not come yet: whatever comes is to be had from the root */
    const unsigned char *payload;
    const sb_tree_t *tree; /* this rank's place, for the bytes that it expects; NULL: not known */
    const sb_stream_t *stream;
} sb_news_t;

/*
 * Receiver: waits for the root's announcement, in the slot of its parent in the tree, or of the
 * root (`tree` NULL), and does what it says.
 */
sb_status_t sb_bcast_receive(sb_team_t *team, uint32_t root, const sb_tree_t *tree,
                             const sb_stream_t *stream);

/* What follows the kinds of announcement. */
sb_status_t sb_slots_receive(sb_team_t *team, const sb_news_t *news);
sb_status_t sb_shown_receive(sb_team_t *team, const sb_news_t *news);
sb_status_t sb_rings_receive(sb_team_t *team, const sb_news_t *news);

/* A way of messages through memory of its own. */
typedef struct sb_bcast_memory {
    sb_status_t (*prepare)(sb_team_t *team);
    sb_resource_slot_t slot;
    sb_status_t (*receive)(sb_team_t *team, const sb_news_t *news);
} sb_bcast_memory_t;

/* Those that are baselines, and NULL behind them. Set before there are teams. */
extern const sb_bcast_memory_t *const *sb_bcast_baselines;

/*
 * How long, in nanoseconds, a rank waits for another that is to pass something on before it takes
 * that from the root: who is late holds nobody up. So many lines take longer than any tree.
 */
#define SB_PATIENCE_LINES 100

static inline uint64_t sb_patience(const sb_team_t *team)
{
    return (uint64_t)(SB_PATIENCE_LINES * team->settings.prices.line);
}

/* This rank's place in the tree of a message of `bytes`. */
static inline sb_tree_t sb_bcast_tree_of(const sb_team_t *team, uint32_t root, size_t bytes)
{
    return sb_tree(team->rank, root, team->size, sb_team_arity(team, SB_BCAST, bytes));
}

/* The same for a message that was announced. */
static inline sb_tree_t sb_news_tree(const sb_team_t *team, const sb_news_t *news, size_t bytes)
{
    if (SB_LIKELY(news->tree != NULL && bytes == news->stream->bytes))
        return *news->tree;
    return sb_bcast_tree_of(team, news->root, bytes);
}

/* The outcome for a rank whose message had so many bytes. */
static inline sb_status_t sb_received_all(sb_status_t data, size_t bytes, const sb_stream_t *stream)
{
    if (SB_LIKELY(data != SB_OK || bytes == stream->bytes))
        return data;
    return bytes > stream->bytes ? SB_ERR_TRUNCATE : SB_ERR_SHORT;
}

/* What the cost functions have in common. The slot, with the plan, and the first lines of a ring.
 */
static inline double sb_cost_ring(const sb_shape_t *shape)
{
    return 3 * shape->prices->line;
}

/* A line from the root to the last rank of a tree, each read by the children of one rank. */
static inline double sb_cost_news(const sb_shape_t *shape)
{
    const sb_prices_t *price = shape->prices;
    double children = (double)sb_min(shape->tree_arity, sb_max(shape->ranks, 2) - 1);

    return sb_tree_depth(shape->ranks, shape->tree_arity) *
           (price->line + price->child * (children - 1));
}

/* How often ranks that share processors have to run for a message in rings. */
static inline double sb_cost_ring_turns(const sb_shape_t *shape, size_t bytes)
{
    return bytes > shape->ring_bytes ? (double)bytes / (double)shape->ring_bytes : 1;
}

#endif
