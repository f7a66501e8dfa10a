/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_NET_H
#define SB_MACHINE_NET_H

#include "base/compiler.h"
#include "base/status.h"

#include <stdbool.h>

/*
 * Messages between ranks of different nodes: all that the cluster layer needs of a network. Below a
 * front end the host MPI carries them; on the simulated machine a model does. Messages of one tag
 * from one rank to another are received in the order in which they were sent, by the receives of
 * that tag in the order in which those were begun. Bytes are bytes; nobody packs.
 *
 * Nothing moves by itself: a rank that has something under way looks at it now and then by `test`,
 * in the wait function's progress or in sb_wait_for. A rank that returns to its program has nothing
 * under way.
 */

#define SB_NET_ANY UINT32_MAX /* a receive from whoever sends first */
#define SB_NET_TAGS 0x8000    /* tags are below: no host has fewer */

/* What is waited for what cannot be withdrawn, in nanoseconds: a receiver that is there comes at
 * once. */
#define SB_NET_PATIENCE UINT64_C(1000000000)

/* Who sent what has come. */
typedef struct sb_net_news {
    uint32_t from;
    uint32_t tag;
    size_t bytes;
} sb_net_news_t;

/* One send or receive under way; opaque, and gone when it is done. */
typedef struct sb_net_request sb_net_request_t;

/* What messages cost, in nanoseconds. */
typedef struct sb_net_prices {
    double latency;  /* from one node to another, of no bytes */
    double overhead; /* of a message at each end: the processor's */
    double byte;     /* one more byte, of one node's link */
    double eager;    /* bytes: a longer message leaves only when its receiver is there */
} sb_net_prices_t;

typedef struct sb_net {
    void *context;
    uint32_t rank; /* this one */
    uint32_t ranks;
    sb_net_prices_t prices; /* as far as this rank knows them; all 0: it does not */
    sb_net_prices_t seen;   /* what they took once; all 0: not known. Changes from run to run */
    /* Starts to send; `data` must stay as it is until the request is done. `met`: which it is only
     * when the receiver has it, or begins to, where a host takes bytes at once that it has still to
     * send. */
    sb_status_t (*send)(void *context, uint32_t to, uint32_t tag, const void *data, size_t bytes,
                        bool met, sb_net_request_t **request);
    /* Starts to receive from a rank or from SB_NET_ANY; `data` is of no meaning until it is done.
     * More than `room` bytes: SB_ERR_TRUNCATE, told by the test. */
    sb_status_t (*receive)(void *context, uint32_t from, uint32_t tag, void *data, size_t room,
                           sb_net_request_t **request);
    /* Whether it is done; then the request is gone, *request NULL, and `news` (may be NULL) filled
     * for a receive. */
    sb_status_t (*test)(void *context, sb_net_request_t **request, bool *done, sb_net_news_t *news);
    /* Withdraws all that is under way, of which no request is left, and nothing is begun
     * afterwards. False: some of it may still go on, as of a send for which its receiver did not
     * come in SB_NET_PATIENCE. */
    bool (*drop)(void *context);
} sb_net_t;

#endif
