/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce made of sends and receives, for comparison: the message is cut into p slices; in p - 1
 * rounds every rank sends its right neighbour a slice that it has combined with its own
 * contribution, and in p - 1 more rounds the finished slices go round. Cost: 2 (p - 1) messages one
 * after the other; 4 copies of each byte, and one combination. Memory: a ring of at most 32 KiB and
 * 256 bytes for each other rank; private memory of one slice. Preconditions: the pairs. The order
 * begins with another rank in each slice. Source: the ring allreduce of MPI libraries (Patarasuk,
 * Yuan, 2009).
 *
 * No deadlock: see sb_pair_exchange.
 */
#include "baseline/pairs.h"
#include "coll/reduction/reduction.h"

#include <stdlib.h>

typedef struct ring {
    const sb_reduction_t *reduction;
    uint32_t size;
    char *incoming;
} ring_t;

static size_t begin_of(const ring_t *ring, uint32_t slice)
{
    size_t element = ring->reduction->operation->element;

    return ring->reduction->bytes / element * slice / ring->size * element;
}

static sb_stream_t slice_of(const ring_t *ring, uint32_t slice)
{
    size_t begin = begin_of(ring, slice);

    return (sb_stream_t){.base = ring->reduction->receive + begin,
                         .bytes = begin_of(ring, slice + 1) - begin};
}

/* One slice goes to the right, and one comes from the left and is combined with the own. */
static sb_status_t combine_round(sb_team_t *team, const ring_t *ring, uint32_t round)
{
    uint32_t size = ring->size, rank = team->rank, left = (rank + size - 1) % size;
    sb_stream_t sent = slice_of(ring, (rank + size - round) % size);
    sb_stream_t mine = slice_of(ring, (left + size - round) % size);
    sb_stream_t received = {.base = ring->incoming, .bytes = mine.bytes};
    sb_status_t status = sb_pair_exchange(team, (rank + 1) % size, &sent, left, &received);
    const void *from[] = {ring->incoming, mine.base};

    if (status == SB_OK && mine.bytes > 0)
        status = sb_combine(ring->reduction->operation, ring->incoming, from, 2, mine.bytes);
    if (status == SB_OK && mine.bytes > 0)
        sb_copy(mine.base, ring->incoming, mine.bytes);
    return status;
}

static sb_status_t pass_round(sb_team_t *team, const ring_t *ring, uint32_t round)
{
    uint32_t size = ring->size, rank = team->rank;
    sb_stream_t sent = slice_of(ring, (rank + 1 + size - round) % size);
    sb_stream_t received = slice_of(ring, (rank + size - round) % size);

    return sb_pair_exchange(team, (rank + 1) % size, &sent, (rank + size - 1) % size, &received);
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    ring_t ring = {.reduction = reduction, .size = team->size};
    sb_status_t outcome = SB_OK;

    ring.incoming = malloc(reduction->bytes / team->size + 2 * reduction->operation->element);
    if (ring.incoming == NULL)
        return SB_ERR_MEMORY;
    if (reduction->send != reduction->receive)
        sb_copy(reduction->receive, reduction->send, reduction->bytes);
    for (uint32_t round = 0; round + 1 < team->size && team->failure == SB_OK; round++)
        outcome = sb_first(outcome, combine_round(team, &ring, round));
    for (uint32_t round = 0; round + 1 < team->size && team->failure == SB_OK; round++)
        outcome = sb_first(outcome, pass_round(team, &ring, round));
    free(ring.incoming);
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return 2 * (shape->ranks - 1) * (2 * price->line) + 5 * price->byte * (double)bytes +
           sb_cost_turns(shape, 2.0 * (shape->ranks - 1));
}

const sb_algorithm_t sb_allreduce_p2p_ring = {
    .name = "p2p-ring",
    .collective = SB_ALLREDUCE,
    .doc = "Slices travel from each rank to its right neighbour and are combined on the way, then "
           "travel once more. For comparison.",
    .source = "the ring allreduce of MPI libraries (Patarasuk, Yuan 2009)",
    .on_request = true,
    .prepare = sb_pairs_prepare,
    .cost = cost,
    .reduction = run,
    .reorders = true,
};
