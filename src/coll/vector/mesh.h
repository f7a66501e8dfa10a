/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_MESH_H
#define SB_COLL_VECTOR_MESH_H

#include "base/config.h"
#include "coll/resources.h"
#include "coll/vector/ahead.h"
#include "coll/vector/collecting.h"
#include "coll/vector/sole.h"
#include "coll/vector/swap.h"
#include "coll/vector/vector.h"
#include "team/copy_policy.h"
#include "team/expose.h"
#include "team/flow.h"

/*
 * A mesh of flows: from each rank to each other one, and from each to all. They carry the parts of
 * the vector collectives. Each rank owns a block of shared memory, on its own NUMA node:
 *
 *     done               calls that this rank is done with; told every k / 4 calls
 *     wanted             how it is to be sent long parts as a root (collecting.h)
 *     begun              the last gather that it has begun as a root; where ranks share processors
 *     to all             published, slots[k]                     its flow to all
 *     to each other      published, slots[k]                     its flows to one rank each
 *     from each rank     how far this rank is with its flow to it and to all, and how long it took
 *     areas              where staged messages pass: one of the flow to all, one of each other,
 *                        and of two ranks a window (swap.h), behind those: what deals goes round
 *                        in other pages than what all send each other
 *     annexes            of its slots to each other: for what these have no room for
 *
 * The team counts calls. In one call a rank sends at most one message on a flow, in slot
 * `call mod k`, whose flag becomes call + 1. A slot may be filled once its readers are done with
 * call - k; that they say in `done`, and by any message that they send: whoever sends in this call
 * is done with those before. So nobody has to be told that nothing comes, and a message that is not
 * wanted is overtaken by a later one.
 *
 * A message takes one of these routes (sb_route_t), which its sender chooses (message.c):
 *
 *     slot      up to SB_SLOT_PAYLOAD bytes travel in the slot itself, and some more in its annex
 *               (short.h)
 *     staged    through the flow's area. The slot holds a plan: where in the area the message
 *               begins, its bytes, its fragments. The first fragment comes with the plan. Where
 *               two send each other, its bytes are in a window that they swap (swap.h)
 *     exposed   the plan says where the bytes are in the sender's memory; their reader copies them
 *               from there, once. They take one line's worth of the area's positions: when that is
 *               consumed, they were read. The sender waits for it at the end of the call
 *     pushed    a rank that takes parts from many invites them: its own flow to each then holds
 *               where the part belongs. Who finds an invitation copies its part there, and says so
 *               in its slot; who finds none takes another route
 *
 * Who cannot read what was exposed says so beside its `consumed`. At the end of the call the sender
 * then stages the message for it (single_copy.c), and from then on all others.
 *
 * Memory of a rank: p (256 k + 384) bytes, areas of SOBOR_RING bytes in all, and (p - 1) k annexes
 * of 1 to 2.6 KiB, of which, but for two ranks, no page is touched before it is used; none where
 * memory is scarce. k is 32 for up to 8 ranks, 16 for up to 16, 4 for up to 64, 2 for more; four
 * times as many, and at least 64, where ranks share processors; less, down to 4, where SOBOR_RING
 * is short.
 *
 * Readers follow the plan, not what they expect: one that expects fewer bytes gets SB_ERR_TRUNCATE,
 * one that expects more has what there is, and the team stays in step. Empty messages are not sent,
 * and not waited for.
 */

/* In place of a rank: the flow to all. */
#define SB_TO_ALL SB_EXPOSE_TO_ALL

typedef enum sb_route {
    SB_ROUTE_OPEN, /* not chosen yet */
    SB_ROUTE_SLOT,
    SB_ROUTE_STAGED,
    SB_ROUTE_EXPOSED,
    SB_ROUTE_PUSHED,
} sb_route_t;

/* A message that this rank sends in the present call. */
typedef struct sb_sending {
    const sb_stream_t *stream;
    uint32_t peer; /* or SB_TO_ALL */
    sb_prefer_t prefer;
    sb_copy_mode_t mode;
    bool sole;      /* `mode` was chosen for a message to the only other rank */
    bool exchanged; /* all send in this call before they receive: see sb_staged_fragment */
    sb_route_t route;
    bool announced;
    size_t fragment;
    size_t offset; /* bytes sent so far */
    char *window;  /* where they are; NULL: in the area */
    sb_status_t data;
} sb_sending_t;

/* A message that this rank receives in the present call. */
typedef struct sb_receiving {
    const sb_stream_t *stream;
    uint32_t peer;
    bool of_all;       /* on the peer's flow to all */
    bool non_temporal; /* what comes through an area goes on non-temporal; or its plan says so */
    bool fresh;        /* to where nothing came in the last calls: see sb_lands_fresh */
    bool stepwise;     /* not beyond the limit, not even of what is exposed */
    bool announced;    /* its slot was seen to be filled */
    bool opened;       /* and read */
    size_t bytes;
    size_t first; /* bytes that came with the announcement */
    sb_exposure_t exposed;
    size_t offset; /* bytes done so far */
    sb_cursor_t cursor;
    size_t fragment;
    const char *window; /* as its sender's */
    sb_status_t data;
} sb_receiving_t;

/* The sender's end of a flow. */
typedef struct sb_outlet {
    sb_slot_t *slot;     /* the first */
    sb_flow_out_t slots; /* counted in calls */
    char *annex;         /* of the first */
    sb_flow_out_t staged;
    sb_cursor_t cursor; /* in the area: where the next message begins */
    char *area;
    size_t touched; /* of the area, see sb_outlet_reach */
} sb_outlet_t;

/* The reader's end. */
typedef struct sb_inlet {
    sb_slot_t *slot;
    size_t slot_most; /* bytes of the longest message that may be in a slot and its annex */
    const char *annex;
    const char *area;
    size_t room; /* of the area */
    sb_flow_in_t staged;
} sb_inlet_t;

/* What this rank knows of another. What short messages need is on two lines. */
typedef struct sb_mesh_peer {
    _Alignas(SB_LINE) char *base; /* its block */
    sb_outlet_t out;
    sb_inlet_t one;   /* of its flow to this rank, */
    sb_inlet_t all;   /* and to all */
    uint64_t invited; /* call + 1 in which it was asked to push, and no message came yet; or 0 */
    uint64_t claimed; /* call + 1 in which this rank found an invitation of it, the last time */
} sb_mesh_peer_t;

/* A message of this call that was exposed. */
typedef struct sb_offer {
    const sb_stream_t *stream;
    uint32_t peer; /* or SB_TO_ALL */
    uint64_t end;  /* position at which its readers are done */
    bool sole;     /* as in what was sent: its plan has said so */
} sb_offer_t;

/* Where the last parts came to lie: this rank's own, and those that were received. */
enum { SB_LANDED_OWN, SB_LANDED_RECEIVED, SB_LANDED_KINDS };
typedef struct sb_landed {
    const void *last[SB_COPY_CLASSES][SB_COPY_BUFFERS];
} sb_landed_t;

/* Private to the rank. One allocation. */
typedef struct sb_mesh {
    sb_resource_t resource;
    /* What every call looks at comes first, on one line. */
    _Alignas(SB_LINE) uint64_t calls; /* of the team so far */
    uint32_t slots;                   /* k, a power of two */
    uint32_t told;   /* calls, a power of two, after which it says again that it is done */
    size_t at_once;  /* bytes of the longest that goes in its slot whatever else there is */
    size_t annex;    /* from one to the next; 0: there are none */
    sb_flag_t *done; /* of this rank */
    uint32_t invitations;
    uint32_t offer_count;
    uint32_t deferred_count;
    bool sole_ends; /* at the end of this call there is something to measure: see sole.h */
    bool settled;   /* how long messages pass: by size, whatever was measured */
    bool crowded;   /* that is measured though ranks share processors: by blocks of calls */
    uint64_t dealt; /* the call after the last one in which this rank dealt to the others */
    sb_outlet_t all;
    size_t stride;  /* bytes of a flow's flags and slots */
    size_t readers; /* where the parts of a block are */
    size_t annexes;
    size_t slot_most; /* of the longest message that has room in such a slot and its annex */
    size_t area_all;
    size_t areas;
    size_t bytes, wide;    /* of an area to one rank: where most messages go round; all of it */
    size_t bytes_all;      /* of the area to all */
    size_t step;           /* bytes by which those who send and receive take turns */
    size_t expose_least;   /* of the shortest message that is exposed by itself */
    size_t measured_least; /* of the shortest part of which is measured how it had better pass */
    size_t loaded_least;   /* the same where it may pass by loads */
    size_t cached_most;    /* see sb_copy_cached_most */
    uint32_t refusals;     /* of what this rank exposed in this call */
    uint32_t *far_first;   /* the other ranks */
    sb_sending_t *sending; /* room for one message to each rank */
    sb_receiving_t *receiving; /* and from each */
    sb_offer_t *offer;         /* messages whose readers this rank has to wait for */
    sb_receiving_t *deferred;  /* those that it could not read, and takes at the end of the call */
    sb_copy_call_t copies, in_place; /* what was learnt of such calls; of those in place alone */
    sb_copy_call_t *call;            /* the one that the present call goes by */
    sb_sole_t sole;
    sb_swap_t swap;
    sb_ahead_t ahead[SB_AHEAD_CLASSES];
    sb_landed_t landed[SB_LANDED_KINDS];
    sb_block_policy_t exchanged; /* of rank 0, where ranks share processors: to sb_copy_mode_t */
    sb_block_policy_t loaded[2]; /* of it, of two: whether parts are read by loads; */
    sb_block_policy_t lone[2];   /* of each, of messages to the other in calls that have a root */
    sb_collecting_t collecting;
    char *bounce; /* where bytes are copied to that have no one place */
    sb_expose_t expose;
    sb_mesh_peer_t peer[];
} sb_mesh_t;

_Static_assert(offsetof(sb_mesh_t, all) - offsetof(sb_mesh_t, calls) == SB_LINE,
               "what every call looks at is one line");
_Static_assert(offsetof(sb_mesh_peer_t, out.annex) == SB_LINE &&
                   offsetof(sb_mesh_peer_t, all.annex) <= 4 * SB_LINE,
               "what short messages look at is two lines");

static inline sb_mesh_t *sb_mesh(const sb_team_t *team)
{
    return (sb_mesh_t *)(void *)team->resource[SB_RESOURCE_MESH];
}

/*
 * Makes the team's mesh at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_mesh_prepare(sb_team_t *team);

/* Receives all of a message; `of_all`: of the flow to all. `data` gets what is to be told. */
sb_status_t sb_receive_whole(sb_team_t *team, uint32_t from, bool of_all, const sb_stream_t *part,
                             sb_status_t *data);

/*
 * Sends up to `limit` bytes of the message at least, in whole fragments. `wait`: for room, where
 * there is none; otherwise what there is room for.
 */
sb_status_t sb_send(sb_team_t *team, sb_sending_t *sending, size_t limit, bool wait);

/* Receives up to `limit` bytes of the message; without `wait`: what is there of them. */
sb_status_t sb_receive(sb_team_t *team, sb_receiving_t *receiving, size_t limit, bool wait);

/*
 * One round over the first `count` of the mesh's messages to receive: each up to `limit`. Keeps
 * those that are not done; `data` gets what is to be told of those that are. Sets `progress` if
 * anything has come.
 */
sb_status_t sb_receive_round(sb_team_t *team, uint32_t *count, size_t limit, bool wait,
                             bool *progress, sb_status_t *data);

/*
 * Sends a message to a rank while that sends one to this rank, in steps of a quarter of an area. Of
 * two that do so neither waits to send, because each step's bytes are received in that step.
 */
sb_status_t sb_exchange(sb_team_t *team, sb_sending_t *sending, sb_receiving_t *receiving);

/* Whether the announcement of the message is there, or comes while this rank looks for it. */
bool sb_announced(const sb_team_t *team, const sb_receiving_t *receiving);

/* Asks the peer to put what it sends in this call where it belongs. It need not. */
void sb_invite(sb_team_t *team, uint32_t peer, const sb_stream_t *stream);

/*
 * Who has dealt these parts, and did so in the call before, will do so again, most likely: looks
 * how far some of their readers are, and takes the lines that the next parts will fill. `sending`:
 * those that did not leave at once.
 */
void sb_prefetch_slots(sb_team_t *team, const sb_stream_t *parts, const sb_sending_t *sending,
                       uint32_t count);

/* Before a wait for a part from that rank: what it will be copied to comes near. */
void sb_prefetch_part(const sb_team_t *team, uint32_t from, const sb_stream_t *part);

/* As sb_prefetch_slots, for who has sent the only other rank a message that is stored at once,
 * beside its flag. A line that is there early may be taken away again between the stores of a
 * longer one. */
void sb_prefetch_line(sb_team_t *team, uint32_t peer, size_t bytes);

/* The same for who has sent it one in an annex. */
void sb_prefetch_annex(sb_team_t *team, uint32_t peer, size_t bytes);

/* The same for who has sent one message of so many, which are about alike. */
void sb_prefetch_area(sb_team_t *team, const sb_sending_t *sending, uint32_t messages);

/* Has the announcements of these messages, and what is short of them, come at the same time: to be
 * called before they are received one after the other. */
sb_status_t sb_prefetch_messages(sb_team_t *team, sb_receiving_t *receiving, uint32_t count);

/*
 * Every rank, at the end of a call, whatever it sent or received, and whatever came of it: waits
 * for those who read what it exposed, and passes what could not be read. Returns `status`, or what
 * came of this.
 */
sb_status_t sb_mesh_finish(sb_team_t *team, sb_status_t status);

/* The rank that this one meets in that turn of p: who meets it in the same turn. */
static inline uint32_t sb_partner(const sb_team_t *team, uint32_t turn)
{
    return turn >= team->rank ? turn - team->rank : turn + team->size - team->rank;
}

/* Makes the choice, where there is one. */
void sb_sole_prepare(sb_team_t *team);

/* Sender: chooses how the message goes, if it is a long one to the only other rank. */
void sb_sole_choose(sb_team_t *team, sb_sending_t *sending);

/* Receiver: comes to take a part that may be one. `looks`: for it in its slot, at once. */
void sb_sole_arrive(sb_team_t *team, uint32_t from, const sb_stream_t *part, bool looks);

/* Whether the last one that was about as long came through its sender's area. */
static inline bool sb_sole_is_staged(const sb_mesh_t *mesh, size_t bytes)
{
    return mesh->sole.heard[sb_copy_class(bytes)] != SB_COPY_ANY;
}

/*
 * At the beginning of a call in which every rank sends to every other: how this rank passes its
 * parts, of which this is one that may pass through so large an area. Where buffers are in caches,
 * reading them where they are is best; where they are not, pages and lines are waited for that way,
 * and parts that are staged and then written non-temporal may take less time; where the kernel
 * is slow, parts that are staged, as all are `in_place`. Each sender decides for its own messages
 * and says so in the plan. sb_copy_end ends the call.
 */
static inline sb_copy_mode_t sb_mesh_copy_mode(sb_team_t *team, const sb_stream_t *part,
                                               size_t area, bool in_place)
{
    sb_mesh_t *mesh = sb_mesh(team);

    mesh->call = in_place ? &mesh->in_place : &mesh->copies;
    bool loads =
        !in_place && part->bytes >= mesh->loaded_least && sb_shares(part->base, part->bytes);
    size_t least = loads ? mesh->loaded_least : mesh->measured_least;
    if (mesh->settled || !mesh->expose.kernel || part->bytes < least || (in_place && mesh->crowded))
        return SB_COPY_ANY;
    return sb_copy_begin(mesh->call, team->rank, part->bytes, part->base,
                         (sb_copy_laps_t){area, mesh->wide});
}

static inline bool sb_sent(const sb_sending_t *sending)
{
    return sending->offset == sending->stream->bytes;
}

static inline bool sb_received(const sb_receiving_t *receiving)
{
    return receiving->stream->bytes == 0 ||
           (receiving->opened && receiving->offset == receiving->bytes);
}

/* What is to be told of a message that was received. */
static inline sb_status_t sb_receipt(const sb_receiving_t *receiving)
{
    if (receiving->data != SB_OK || receiving->stream->bytes == 0)
        return receiving->data;
    return receiving->bytes <= receiving->stream->bytes ? SB_OK : SB_ERR_TRUNCATE;
}

/*
 * Who stores past the caches what is staged so. Of two ranks the sender: its area's lines are then
 * not taken back from the reader's caches, and the result is in those. Of more ranks who stores the
 * result: all that pass through the areas together would cross the memory's links twice.
 */
static inline bool sb_sender_streams(const sb_team_t *team)
{
    return team->size == 2;
}

/* As sb_copy_own, in the mode of the call. */
sb_status_t sb_copy_own_as(const sb_team_t *team, sb_copy_mode_t mode, const sb_stream_t *from,
                           const sb_stream_t *to);

/* From here on it makes a difference whether the place of a part is in caches. */
#define SB_FRESH_LEAST ((size_t)32 << 10)

/* Whether a part of two ranks comes to lie elsewhere than the last two like it, or the caches hold
 * no two such parts, so that its place may be in none (sb_copy_fresh). It is one of the last from
 * then on. */
bool sb_lands_fresh(const sb_team_t *team, sb_landed_t *landed, const sb_stream_t *to);

/* As sb_copy_own, in calls that have no mode. */
static inline sb_status_t sb_copy_own_part(const sb_team_t *team, const sb_stream_t *from,
                                           const sb_stream_t *to)
{
    return SB_LIKELY(to->bytes < SB_FRESH_LEAST) ? sb_copy_own(from, to)
                                                 : sb_copy_own_as(team, SB_COPY_ANY, from, to);
}

/*
 * Whether the own part had better come after the others: it is long, and there is something to
 * pull, which has just been written.
 */
static inline bool sb_own_waits(const sb_team_t *team, sb_copy_mode_t mode, size_t bytes,
                                const sb_receiving_t *first)
{
    return mode == SB_COPY_PULLED && bytes >= sb_mesh(team)->expose_least &&
           sb_announced(team, first);
}

/*
 * Whether a message that many read, or that one reads of many, should be staged all the same: where
 * ranks share processors, each sender would have to be given one once more to hear that it was
 * read.
 */
static inline bool sb_exposing_waits(const sb_team_t *team)
{
    return team->oversubscribed && team->settings.cma == SB_CMA_AUTO;
}

/*
 * Whether it pays that `bytes` are exposed or pushed, where one rank moves `total` with all others.
 * They share the work, so shorter messages gain too.
 */
#define SB_SHARED_LEAST ((size_t)1 << 10)
#define SB_SHARED_TOTAL ((size_t)12 << 10)

static inline bool sb_sharing_pays(const sb_team_t *team, size_t bytes, size_t total)
{
    const sb_mesh_t *mesh = sb_mesh(team);

    return mesh->expose.kernel &&
           (bytes >= mesh->expose_least ||
            (!team->oversubscribed && bytes >= SB_SHARED_LEAST && total >= SB_SHARED_TOTAL));
}

#endif
