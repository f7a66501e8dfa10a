/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast of a flat host for long messages: a scatter down a binomial tree, then an allgather in
 * a ring. Cost: (ceil(log2 p) + p - 1) a + 2 (p - 1) / p m b. Memory: none. Source: van de Geijn's
 * broadcast, as MPI libraries have it (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

/* The message in one part for each rank, counted from the root on. */
typedef struct parted {
    char *base;
    size_t bytes;
    size_t part;
    uint32_t root;
} parted_t;

static size_t bytes_before(const parted_t *message, uint32_t place)
{
    return sb_min(place * message->part, message->bytes);
}

/* Bytes of the parts of `count` ranks from that place on. */
static size_t bytes_of(const parted_t *message, uint32_t place, uint32_t count)
{
    return bytes_before(message, place + count) - bytes_before(message, place);
}

static uint32_t rank_at(const sb_cluster_t *cluster, const parted_t *message, uint32_t place)
{
    return (place + message->root) % cluster->map.ranks;
}

static sb_status_t scatter(sb_cluster_t *cluster, const parted_t *message, uint32_t place)
{
    uint32_t ranks = cluster->map.ranks;
    uint32_t lowest = place == 0 ? 1u << sb_rounds(ranks) : place & (~place + 1);
    size_t bytes = bytes_of(message, place, lowest);
    sb_status_t status = SB_OK;

    if (place != 0 && bytes > 0)
        status = sb_host_receive(cluster, rank_at(cluster, message, place - lowest),
                                 message->base + bytes_before(message, place), bytes);
    for (uint32_t far = lowest / 2; far > 0 && status == SB_OK; far /= 2) {
        bytes = place + far < ranks ? bytes_of(message, place + far, far) : 0;
        if (bytes > 0)
            status = sb_host_send(cluster, rank_at(cluster, message, place + far),
                                  message->base + bytes_before(message, place + far), bytes);
    }
    return status;
}

static sb_status_t go_round(sb_cluster_t *cluster, const parted_t *message, uint32_t place)
{
    uint32_t ranks = cluster->map.ranks;
    sb_status_t status = SB_OK;

    for (uint32_t k = 0; k + 1 < ranks && status == SB_OK; k++) {
        uint32_t sent = (place + ranks - k) % ranks, taken = (place + ranks - k - 1) % ranks;
        status = sb_host_exchange(
            cluster, rank_at(cluster, message, (place + 1) % ranks),
            message->base + bytes_before(message, sent), bytes_of(message, sent, 1),
            rank_at(cluster, message, (place + ranks - 1) % ranks),
            message->base + bytes_before(message, taken), bytes_of(message, taken, 1));
    }
    return status;
}

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    uint32_t ranks = cluster->map.ranks, place = (cluster->rank + ranks - root) % ranks;
    const parted_t message = {stream->base, stream->bytes, sb_divide_up(stream->bytes, ranks),
                              root};
    sb_status_t status = scatter(cluster, &message, place);

    return status == SB_OK ? go_round(cluster, &message, place) : status;
}

const sb_spanning_t sb_host_bcast_scatter_ring = {
    .name = "host-scatter-ring",
    .flat = true,
    .collective = SB_BCAST,
    .doc = "A scatter down a binomial tree, then an allgather in a ring.",
    .source = "van de Geijn's broadcast in MPI libraries (Thakur, Rabenseifner, Gropp 2005)",
    .bcast = run,
};
