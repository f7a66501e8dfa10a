/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_PAIRS_H
#define SB_BASELINE_PAIRS_H

#include "coll/coll.h"
#include "coll/resources.h"

/*
 * Messages from one rank to another through shared memory, as an MPI library without knowledge of
 * the operation has them: what collectives are compared with that are made of sends and receives.
 *
 * Each rank owns one ring for each other. A message is a header on a line of its own, with the
 * bytes of the message and the first of them, and then the rest in fragments. `published` says up
 * to where there is data; the reader's `consumed` says up to where it is done. Messages between two
 * ranks come in order; a sender waits where there is no room. What a library does besides, such as
 * requests and matching, takes time in the simulator where the machine's file says how much.
 */

typedef struct sb_pair {
    char *base;        /* the other's block */
    uint64_t position; /* where the next message to it begins */
    uint64_t free;     /* it has consumed what is before */
    uint64_t next;     /* where its next message begins */
} sb_pair_t;

/* Private to the rank. */
typedef struct sb_pairs {
    sb_resource_t resource;
    size_t ring;     /* bytes */
    size_t fragment; /* bytes */
    char *own;
    sb_pair_t pair[];
} sb_pairs_t;

typedef struct sb_pair_out {
    const sb_stream_t *stream;
    uint32_t peer;
    bool started;
    bool rendezvous; /* the receiver is waited for before there is data, and behind it */
    uint64_t sent;   /* the position up to which there is data of it */
    size_t offset;
    sb_status_t data;
} sb_pair_out_t;

typedef struct sb_pair_in {
    const sb_stream_t *stream;
    uint32_t peer;
    bool started;
    size_t bytes;
    size_t offset;
    sb_status_t data;
} sb_pair_in_t;

static inline sb_pairs_t *sb_pairs(const sb_team_t *team)
{
    return (sb_pairs_t *)(void *)team->resource[SB_RESOURCE_PAIRS];
}

/*
 * Makes the team's pairs at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_pairs_prepare(sb_team_t *team);

/* Sends, or receives, a whole message. The outcome is that of the wait, then that of the data. */
sb_status_t sb_pair_send(sb_team_t *team, uint32_t peer, const sb_stream_t *stream);
sb_status_t sb_pair_receive(sb_team_t *team, uint32_t peer, const sb_stream_t *stream);

/*
 * Sends to one rank and receives from another at the same time, in steps: in each it first sends,
 * then receives. Where all ranks of a cycle do so, none waits for ever: one that is in the earliest
 * step does not wait to send, because the ring holds what may be sent in two.
 */
sb_status_t sb_pair_exchange(sb_team_t *team, uint32_t to, const sb_stream_t *sent, uint32_t from,
                             const sb_stream_t *received);

/*
 * The same as a standard send of Open MPI over shared memory: messages of less than 4 KiB go at
 * once, longer ones by rendezvous. The sender says that there is a message, waits until the
 * receiver has seen that, and returns when all of it has been taken. Ranks that exchange say so
 * first and then look for the other's message, so nobody who waits keeps another waiting.
 */
sb_status_t sb_pair_send_standard(sb_team_t *team, uint32_t peer, const sb_stream_t *stream);
sb_status_t sb_pair_exchange_standard(sb_team_t *team, uint32_t to, const sb_stream_t *sent,
                                      uint32_t from, const sb_stream_t *received);

#endif
