/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages between two nodes cost, by some of them during set-up: rank 0 sends one of no bytes
 * to the first rank of the second node and waits for one of no bytes, then the same with 32 and
 * with 48 KiB, five times. Of each kind the round in the middle counts: the first may open a
 * connection, a link that has rested may take some bytes at once, and in some round a rank may lose
 * its processor. There is no power of two, and so hardly a limit of the host's, between the two
 * lengths: what they differ by is the time of bytes. Where that is not to be seen, or much too
 * much, the whole time of the longer message bounds it. Cost: 30 messages, 400 KiB; at 10 Gbit/s
 * 0.4 ms. Memory: the cluster's window. Source: own; the model is that of Hockney 1994.
 */
#include "cluster/pings.h"

#include "base/middle.h"

#include <math.h>
#include <string.h>

#define SETUP_TAG (SB_NET_TAGS - 1)

static const size_t bytes_of[SB_PINGS] = {0, SB_SEGMENT_BYTES, SB_SEGMENT_BYTES * 3 / 2};

/* --- messages during set-up ---------------------------------------------------------------- */

typedef struct letter {
    const sb_net_t *net;
    sb_net_request_t *request;
    sb_status_t status;
} letter_t;

static bool is_done(void *context)
{
    letter_t *letter = context;
    bool done;

    letter->status = letter->net->test(letter->net->context, &letter->request, &done, NULL);
    return done || letter->status != SB_OK;
}

static sb_status_t complete(const sb_cluster_t *cluster, letter_t *letter, sb_status_t begun)
{
    sb_status_t status = begun;

    if (begun == SB_OK && !is_done(letter))
        status = sb_wait_for(is_done, letter, &cluster->waiter);
    status = sb_first(status, letter->status);
    if (status != SB_OK) /* which ends the set-up: the memory is the caller's */
        letter->net->drop(letter->net->context);
    return status;
}

sb_status_t sb_tell(const sb_cluster_t *cluster, uint32_t rank, const void *data, size_t bytes)
{
    const sb_net_t *net = &cluster->net;
    letter_t letter = {.net = net};

    return complete(cluster, &letter,
                    net->send(net->context, rank, SETUP_TAG, data, bytes, false, &letter.request));
}

sb_status_t sb_hear(const sb_cluster_t *cluster, uint32_t rank, void *data, size_t bytes)
{
    const sb_net_t *net = &cluster->net;
    letter_t letter = {.net = net};

    return complete(cluster, &letter,
                    net->receive(net->context, rank, SETUP_TAG, data, bytes, &letter.request));
}

/* --- prices -------------------------------------------------------------------------------- */

/* Until the answer came, or until it was sent. */
static double middle(const sb_ping_t ping[SB_PING_ROUNDS], bool back)
{
    double time[SB_PING_ROUNDS];

    for (unsigned i = 0; i < SB_PING_ROUNDS; i++)
        time[i] = back ? ping[i].back : ping[i].sent;
    return sb_middle_of(time, SB_PING_ROUNDS);
}

/* A byte takes so much of the time of the longer message by itself, at the least. */
#define LEAST_SHARE 0.25
/* And a message without bytes so much of its way with what both ends do. */
#define LEAST_WAY 0.25

sb_net_prices_t sb_prices_of_pings(const sb_ping_t ping[SB_PINGS][SB_PING_ROUNDS])
{
    double empty = middle(ping[SB_PING_EMPTY], true), whole = middle(ping[SB_PING_LONG], true);
    double way = fmax(empty / 2, 1);
    double overhead = fmin(middle(ping[SB_PING_EMPTY], false), way * (1 - LEAST_WAY) / 2);
    double more = (whole - middle(ping[SB_PING_SHORT], true)) /
                  (double)(bytes_of[SB_PING_LONG] - bytes_of[SB_PING_SHORT]);
    double most = fmax(whole, 1) / (double)bytes_of[SB_PING_LONG];

    return (sb_net_prices_t){.latency = way - 2 * overhead,
                             .overhead = overhead,
                             .byte = fmin(fmax(more, LEAST_SHARE * most), most),
                             .eager = sb_net_prices_standard.eager};
}

/* --- pings --------------------------------------------------------------------------------- */

static sb_status_t ping_once(const sb_cluster_t *cluster, uint32_t peer, size_t bytes,
                             sb_ping_t *ping)
{
    uint64_t began = sb_now_ns();
    sb_status_t status = sb_tell(cluster, peer, cluster->window, bytes);
    uint64_t sent = sb_now_ns();

    if (status == SB_OK)
        status = sb_hear(cluster, peer, cluster->window, 0);
    *ping = (sb_ping_t){(double)(sent - began), (double)(sb_now_ns() - began)};
    return status;
}

static sb_status_t answer_once(const sb_cluster_t *cluster, size_t bytes)
{
    sb_status_t status = sb_hear(cluster, 0, cluster->window, bytes);

    return status == SB_OK ? sb_tell(cluster, 0, cluster->window, 0) : status;
}

sb_status_t sb_ping(const sb_cluster_t *cluster, sb_net_prices_t *found)
{
    uint32_t peer = sb_map_rank(&cluster->map, 1, 0);
    sb_ping_t ping[SB_PINGS][SB_PING_ROUNDS];
    sb_status_t status = SB_OK;

    if (cluster->rank != 0 && cluster->rank != peer)
        return SB_OK;
    memset(cluster->window, 0, bytes_of[SB_PING_LONG]);
    for (unsigned i = 0; i < SB_PINGS * SB_PING_ROUNDS && status == SB_OK; i++) {
        unsigned kind = i % SB_PINGS;
        status = cluster->rank == peer
                     ? answer_once(cluster, bytes_of[kind])
                     : ping_once(cluster, peer, bytes_of[kind], &ping[kind][i / SB_PINGS]);
    }
    if (status == SB_OK && cluster->rank == 0)
        *found = sb_prices_of_pings((const sb_ping_t(*)[SB_PING_ROUNDS])ping);
    return status;
}
