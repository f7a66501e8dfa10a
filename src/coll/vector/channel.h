/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_CHANNEL_H
#define SB_COLL_VECTOR_CHANNEL_H

#include "base/config.h"
#include "coll/coll.h"
#include "coll/resources.h"
#include "team/pace.h"

/*
 * Channels: how a rank passes parts of data to one other rank, or the same part to all. Each rank
 * owns a block of shared memory, on its own NUMA node:
 *
 *     done               calls that this rank is done with
 *     to all             published, slots[k]                     its channel to all
 *     to each other      published, slots[k]                     its channels to one rank each
 *     from each other    consumed: of the other's channel to this rank, and of its channel to all
 *     areas              where long messages pass: one of the channel to all, one of each other
 *
 * The team counts calls. In one call a rank sends at most one message on a channel, in slot
 * `call mod k`, whose flag becomes call + 1. A slot may be filled once its readers are done with
 * call - k; that they say in `done`, and by any message that they send: whoever sends in this call
 * is done with those before. So nobody has to be told that nothing comes, and a message that is not
 * wanted is overtaken by a later one.
 *
 * Up to SB_SLOT_PAYLOAD bytes travel in the slot itself. Of a longer message the slot holds a plan:
 * where in the area it begins, its bytes, and its fragments. Positions in an area only grow;
 * position x is at x modulo the area's size. `published` says up to where there is data; the first
 * fragment comes with the plan. `consumed` says up to where a reader is done.
 *
 * Where members can read each other's private memory, the plan of a message that is long enough,
 * and lies in one piece, holds its address instead: its reader pulls it out of there, in one copy.
 * It takes one line's worth of positions, so `consumed` says when it was pulled; whoever sent it
 * waits for that at the end of the call. A rank that takes parts from many invites them: its own
 * channel to each then holds the address of where the part belongs. Who finds an invitation pushes
 * its part there, and says so in its slot; who finds none sends as ever.
 *
 * Readers follow the plan, not what they expect: a reader that expects another number of bytes gets
 * SB_ERR_TRUNCATE, and its team stays in step. Empty messages are not sent, and not waited for.
 */

/*
 * How the long parts of a call are passed in which every rank sends to every other. Where buffers
 * are in caches, pulling is best; where they are not, pulled pages and lines are waited for, and
 * parts that pass through the areas, and are written around the caches where they belong, may take
 * less time. Which it is, rank 0 measures (passing.c), by the size of its parts and by whether it
 * used the buffer before. The others do from the next call on as rank 0 says in its messages. It is
 * no agreement: each sender decides for its own messages and says so in the plan.
 */
typedef enum sb_manner { SB_MANNER_ANY, SB_MANNER_PULLED, SB_MANNER_AROUND } sb_manner_t;

/* In place of a rank: the channel to all. */
#define SB_TO_ALL UINT32_MAX

/* What this rank knows of another. */
typedef struct sb_channel_peer {
    char *base;        /* its block */
    uint64_t done;     /* calls that it is done with, at least */
    uint64_t position; /* of this rank's channel to it: where the next message begins */
    uint64_t free;     /* it has consumed what is before */
    uint64_t process;  /* by which sb_pull knows it */
} sb_channel_peer_t;

/* A message that this rank sends in the present call. */
typedef struct sb_sending {
    const sb_stream_t *stream;
    uint32_t peer; /* or SB_TO_ALL */
    bool announced;
    bool passed; /* through the area, however long it is */
    bool pulled; /* even if it is shorter than most that are pulled */
    bool pushed; /* if there is an invitation */
    sb_manner_t manner;
    size_t fragment;
    size_t offset; /* bytes sent so far */
    sb_status_t data;
} sb_sending_t;

/* A message that this rank receives in the present call. */
typedef struct sb_receiving {
    const sb_stream_t *stream;
    uint32_t peer;
    bool of_all;    /* on the peer's channel to all */
    bool around;    /* what comes through an area goes on past the caches; or its plan says so */
    bool announced; /* its slot was seen to be filled */
    bool opened;    /* and read */
    size_t bytes;
    size_t first;  /* bytes that came with the announcement */
    uint64_t from; /* where to pull it from; 0: it comes through the area */
    bool stepwise; /* not beyond the limit, not even of what is to be pulled */
    size_t offset; /* bytes done so far */
    uint64_t position;
    size_t fragment;
    sb_status_t data;
} sb_receiving_t;

/* A message of this call that its readers pull. */
typedef struct sb_pulled {
    uint32_t peer; /* or SB_TO_ALL */
    uint64_t end;  /* position at which they are done */
} sb_pulled_t;

/* What is measured of the manners, and the present call. */
typedef struct sb_manners {
    sb_pace_t pace[2]; /* of other buffers than for the last calls, and of the same */
    sb_pace_seen_t seen;
    sb_manner_t followed[SB_PACE_CLASSES]; /* what rank 0 does */
    uint64_t started;                      /* when all had begun; 0: it is not timed */
    size_t bytes;
    sb_step_t step;
    bool again;
} sb_manners_t;

/* Private to the rank. */
typedef struct sb_channels {
    sb_resource_t resource;
    uint32_t slots;      /* k */
    size_t stride;       /* bytes of a channel's flags and slots */
    size_t consumed;     /* where the parts of the block are */
    size_t area_all;     /*   */
    size_t areas;        /*   */
    size_t bytes;        /* of an area to one rank */
    size_t bytes_all;    /* of the area to all */
    size_t step;         /* bytes by which those who send and receive take turns */
    size_t pull_least;   /* bytes of the shortest message that is pulled; SIZE_MAX: none is */
    size_t around_above; /* see sb_around_above */
    char *own;           /* this rank's block */
    uint64_t calls;      /* of the team so far */
    uint64_t done;       /* all members are done with the calls before, at least */
    uint64_t dealt;      /* the call after the last one in which this rank dealt to the others */
    uint64_t position_all;
    uint64_t free_all;
    sb_sending_t *sending;     /* room for one message to each rank */
    sb_receiving_t *receiving; /* and from each */
    sb_pulled_t *pulled;       /* messages that this rank has to wait for at the end of the call */
    uint32_t pulled_count;
    uint32_t *far_first; /* the other ranks */
    sb_manners_t *manners;
    char *bounce; /* where bytes are pulled to that have no one place */
    sb_channel_peer_t peer[];
} sb_channels_t;

static inline sb_channels_t *sb_channels(const sb_team_t *team)
{
    return (sb_channels_t *)(void *)team->resource[SB_RESOURCE_CHANNELS];
}

/*
 * Makes the team's channels at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_channels_prepare(sb_team_t *team);

/*
 * Sends up to `limit` bytes of the message at least, in whole fragments. `wait`: for room, where
 * there is none; otherwise what there is room for.
 */
sb_status_t sb_send(sb_team_t *team, sb_sending_t *sending, size_t limit, bool wait);

/*
 * Who has dealt these messages, and did so in the call before, will do so again, most likely: looks
 * how far some of their readers are, and takes the lines that the next messages will fill.
 */
void sb_deal_ahead(sb_team_t *team, const sb_sending_t *sending, uint32_t count);

/*
 * Has the announcements of these messages, and what is short of them, come at the same time. To be
 * called before they are received one after the other.
 */
void sb_look_ahead(sb_team_t *team, sb_receiving_t *receiving, uint32_t count);

/* Asks the peer to put what it sends in this call where it belongs. It need not. */
sb_status_t sb_invite(sb_team_t *team, uint32_t peer, const sb_stream_t *stream);

/* Receives up to `limit` bytes of the message; without `wait`: what is there of them. */
sb_status_t sb_receive(sb_team_t *team, sb_receiving_t *receiving, size_t limit, bool wait);

/*
 * Every rank, at the end of a call, whatever it sent or received, and whatever came of it: waits
 * for those who pull what it sent. Returns `status`, or what the wait returned.
 */
sb_status_t sb_channels_finish(sb_team_t *team, sb_status_t status);

/* Whether the announcement of the message is there, or comes while this rank looks for it. */
bool sb_announced(const sb_team_t *team, const sb_receiving_t *receiving);

/*
 * At the beginning of a call in which every rank sends to every other: how this rank passes its
 * parts, of which this is one. At its end: what the call took is kept in mind.
 */
sb_manner_t sb_manner_choose(sb_team_t *team, const sb_stream_t *part);
void sb_manner_learn(sb_team_t *team);

static inline sb_manner_t sb_manner_begin(sb_team_t *team, const sb_stream_t *part)
{
    return part->bytes < sb_channels(team)->pull_least ? SB_MANNER_ANY
                                                       : sb_manner_choose(team, part);
}

static inline void sb_manner_end(sb_team_t *team, sb_manner_t manner)
{
    if (manner != SB_MANNER_ANY)
        sb_manner_learn(team);
}

/* A plan of rank 0 says what it does; one of any rank says when it began. */
void sb_manner_follow(sb_team_t *team, size_t bytes, sb_manner_t manner);
void sb_manner_started(sb_team_t *team, uint64_t started);

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
    return receiving->bytes == receiving->stream->bytes ? SB_OK : SB_ERR_TRUNCATE;
}

/* This rank's own part, from one stream to the other. */
sb_status_t sb_copy_own(const sb_stream_t *from, const sb_stream_t *to);

/* The same, in the manner of the call. */
sb_status_t sb_copy_own_as(sb_manner_t manner, const sb_stream_t *from, const sb_stream_t *to);

/*
 * Whether the own part had better come after the others: it is long, and there is something to
 * pull, which has just been written.
 */
static inline bool sb_own_waits(const sb_team_t *team, sb_manner_t manner, size_t bytes,
                                const sb_receiving_t *first)
{
    return manner == SB_MANNER_PULLED && bytes >= sb_channels(team)->pull_least &&
           sb_announced(team, first);
}

/*
 * Whether a message that many pull, or that one pulls from many, should pass through the area all
 * the same: where ranks share processors, each sender would have to be given one once more to hear
 * that it was pulled.
 */
static inline bool sb_pulling_waits(const sb_team_t *team)
{
    return team->oversubscribed && team->settings.cma == SB_CMA_AUTO;
}

/*
 * Whether it pays that `bytes` are pulled or pushed, where one rank moves `total` with all others.
 * They share the work, so shorter messages gain too.
 */
#define SB_SHARED_LEAST ((size_t)1 << 10)
#define SB_SHARED_TOTAL ((size_t)12 << 10)

static inline bool sb_sharing_pays(const sb_team_t *team, size_t bytes, size_t total)
{
    size_t least = sb_channels(team)->pull_least;

    return bytes >= least || (least != SIZE_MAX && !team->oversubscribed &&
                              bytes >= SB_SHARED_LEAST && total >= SB_SHARED_TOTAL);
}

/* Bytes that one piece of such a message should have, by the team's settings. */
size_t sb_parts_fragment(const sb_team_t *team, size_t bytes, size_t area);

#endif
