/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BCAST_MESSAGE_H
#define SB_COLL_BCAST_MESSAGE_H

#include "coll/coll.h"

/*
 * What the broadcasts have in common: how a message is announced, and when its place may be used
 * again.
 *
 * Slots. The team counts slot uses; use u of any root is in slot u mod SB_SLOTS of that root's
 * lane. A rank publishes in `done` how many uses it is done with. A root may fill the slot of use u
 * once every rank is done with use u - SB_SLOTS. Since every rank counts every use, one number a
 * rank is enough for all roots.
 *
 * Rings. The team counts ring bytes in the same way: position x of any root is at x mod ring_bytes
 * of that root's ring, `published` says up to where data is there, `consumed` up to where a rank is
 * done with it. Messages start on cache lines; a fragment ends at the end of the ring at the
 * latest.
 *
 * Windows. A message may be kept to the first bytes of the ring: from the end of its window it goes
 * on at the next multiple of ring_bytes, and the positions in between are left out. Nothing else
 * changes: what was in the ring at a place is still one ring size before.
 *
 * Receivers follow what the root announces, not what they expect. So a rank that expects another
 * number of bytes does not put the team out of step, and can be told.
 */

/* What a ring message's slot holds. */
typedef struct sb_plan {
    uint64_t position; /* where in the team's ring bytes it starts */
    uint64_t bytes;
    uint64_t fragment;
    uint64_t window;  /* bytes of the ring that it goes round in */
    uint64_t started; /* by sb_now_ns; 0: nobody has to time this message */
    uint32_t way;     /* sb_way_t: how the root writes */
    uint16_t warming; /* its time stands for a ring that is not yet as this way leaves it */
    uint16_t again;   /* it is in the buffer of one of the last messages */
} sb_plan_t;

_Static_assert(sizeof(sb_plan_t) <= SB_SLOT_IN_LINE, "a plan travels in the flag's line");

/* A slot's note: the kind of message, and the bytes of a short one. */
#define SB_NOTE_RING 0x80000000u
#define SB_NOTE_PIPELINE (SB_NOTE_RING | 1u) /* through the buffers of the pipeline */
#define SB_NOTE_BYTES 0x7fffffffu

static inline sb_slot_t *sb_slot(const sb_team_t *team, uint32_t rank, uint64_t use)
{
    return &team->lanes[rank]->slot[use % SB_SLOTS];
}

/* Root: waits until the slot of `use` may be filled. */
sb_status_t sb_slot_wait_free(sb_team_t *team, uint64_t use);

/* Root: waits until the ring bytes before `end` may be filled. */
sb_status_t sb_ring_wait_free(sb_team_t *team, uint64_t end);

/* Marks the team's next `uses` slot uses as done by this rank. */
static inline void sb_slot_finish(sb_team_t *team, uint64_t uses)
{
    team->slot_uses += uses;
    sb_flag_publish(&team->self->done.flag, team->slot_uses);
}

/* Where a fragment that comes after `position` starts: in the window. */
static inline uint64_t sb_ring_next(const sb_team_t *team, const sb_plan_t *plan, uint64_t position)
{
    uint64_t place = position % team->ring_bytes;

    return place < plan->window ? position : position - place + team->ring_bytes;
}

/* Bytes of the fragment that starts at `position`, with `left` bytes of the message to come. */
static inline size_t sb_fragment(const sb_team_t *team, const sb_plan_t *plan, uint64_t position,
                                 size_t left)
{
    size_t to_end = (size_t)(plan->window - position % team->ring_bytes);

    return sb_min(sb_min((size_t)plan->fragment, left), to_end);
}

/* Where the position lies in the root's ring. */
static inline char *sb_ring_at(const sb_team_t *team, uint32_t root, uint64_t position)
{
    return team->rings[root] + position % team->ring_bytes;
}

/* The fragment of a message, where an algorithm has no reason for another. */
size_t sb_fragment_usual(size_t bytes);

/*
 * Root: puts the message into its ring, announcing the plan in its slot with the first fragment.
 * `fragment`: bytes of one, if SOBOR_FRAGMENT does not say so; at most a quarter of the ring.
 */
sb_status_t sb_ring_send(sb_team_t *team, const sb_stream_t *stream, size_t fragment);

/* A fragment that is in the root's ring, in one piece. */
typedef struct sb_arrived {
    uint64_t position;
    size_t offset; /* in the message */
    size_t bytes;
} sb_arrived_t;

/* How a receiver goes about a message. */
typedef struct sb_receipt {
    uint32_t root;
    uint32_t from; /* news come from there: from the root or a rank that relays them */
    bool relay;    /* publish the news for others before copying */
    const sb_stream_t *stream;
    /*
     * Copies the fragment to where the stream has room for it, whatever the outcome in `data`
     * (SB_OK: copy on) so far. Returns what a wait of the team returned.
     */
    sb_status_t (*take)(sb_team_t *team, const struct sb_receipt *receipt,
                        const sb_arrived_t *fragment, sb_status_t *data);
    const void *context;
} sb_receipt_t;

/* Receiver: takes the message out of the root's ring. */
sb_status_t sb_ring_receive(sb_team_t *team, const sb_receipt_t *receipt);

/* Copies what of the `bytes` at `offset` of the message the stream has room for. */
static inline sb_status_t sb_take(const sb_stream_t *stream, size_t offset, const char *from,
                                  size_t bytes)
{
    if (offset >= stream->bytes)
        return SB_OK;
    return sb_stream_write(stream, offset, from, sb_min(bytes, stream->bytes - offset));
}

/* For `take`: every fragment from the root's ring. */
sb_status_t sb_take_from_root(sb_team_t *team, const sb_receipt_t *receipt,
                              const sb_arrived_t *fragment, sb_status_t *data);

/*
 * What the cost functions have in common, in nanoseconds. The numbers are those of the simulated
 * machines, taken together.
 */

/* A reader more that waits for one line, before it can have the line from others; and after. */
#define SB_COST_WAITING 25.0
#define SB_COST_READER 14.0
/* For each rank: all of them read the root's first lines at once, though the news came in a tree.
 */
#define SB_COST_CROWD 4.0
/* The slot, with the plan, and the first lines of a ring. */
#define SB_COST_RING (3 * SB_COST_LINE)

/* A line from the root to the last rank of a tree, each read by the children of one rank. */
static inline double sb_cost_news(const sb_shape_t *shape)
{
    double children = (double)sb_min(shape->tree_arity, sb_max(shape->ranks, 2) - 1);

    return sb_tree_depth(shape->ranks, shape->tree_arity) * (SB_COST_LINE + 8 * (children - 1));
}

/* How often ranks that share processors have to run for a message in rings. */
static inline double sb_cost_ring_turns(const sb_shape_t *shape, size_t bytes)
{
    return bytes > shape->ring_bytes ? (double)bytes / (double)shape->ring_bytes : 1;
}

#endif
