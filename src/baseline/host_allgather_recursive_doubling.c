/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather of a flat host by recursive doubling: in round k ranks that differ in digit k exchange
 * all parts that they have. Beyond the largest power of two P each rank first gives its part to the
 * one P below, which has both in the rounds, and gives all to it in the end. Cost: log2 p a + (p -
 * 1) / p m b for m bytes of all where p is a power of two; else two messages more, one of them with
 * all bytes. Memory: those. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective
 * communication operations in MPICH", 2005.
 */
#include "baseline/host.h"

#include <stdlib.h>

typedef struct doubling {
    sb_cluster_t *cluster;
    uint32_t power, beyond; /* P, and the ranks from there on */
    size_t part;
    char *held; /* the part of the one P above lies behind a rank's own */
} doubling_t;

static size_t place_of(const doubling_t *doubling, uint32_t rank)
{
    uint32_t corner = rank % doubling->power;

    return (corner + sb_min(corner, doubling->beyond) + (rank >= doubling->power)) * doubling->part;
}

/* Behind the last of the corners is the end of all. */
static size_t begin_of(const doubling_t *doubling, uint32_t corner)
{
    return (corner + sb_min(corner, doubling->beyond)) * doubling->part;
}

static sb_status_t run_rounds(const doubling_t *doubling)
{
    uint32_t rank = doubling->cluster->rank;
    sb_status_t status = SB_OK;

    for (uint32_t step = 1; step < doubling->power && status == SB_OK; step *= 2) {
        uint32_t own = rank & ~(step - 1), other = own ^ step;
        size_t mine = begin_of(doubling, own), theirs = begin_of(doubling, other);
        status =
            sb_host_exchange(doubling->cluster, rank ^ step, doubling->held + mine,
                             begin_of(doubling, own + step) - mine, rank ^ step,
                             doubling->held + theirs, begin_of(doubling, other + step) - theirs);
    }
    return status;
}

static sb_status_t run_corner(const doubling_t *doubling)
{
    uint32_t rank = doubling->cluster->rank, above = rank + doubling->power;
    bool paired = rank < doubling->beyond;
    sb_status_t status = SB_OK;

    if (paired)
        status = sb_host_receive(doubling->cluster, above,
                                 doubling->held + place_of(doubling, above), doubling->part);
    if (status == SB_OK)
        status = run_rounds(doubling);
    if (status == SB_OK && paired)
        status = sb_host_send(doubling->cluster, above, doubling->held,
                              begin_of(doubling, doubling->power));
    return status;
}

/* Before and after the rounds. */
static sb_status_t run_beyond(const doubling_t *doubling, const void *own)
{
    uint32_t below = doubling->cluster->rank - doubling->power;
    sb_status_t status = sb_host_send(doubling->cluster, below, own, doubling->part);

    if (status != SB_OK)
        return status;
    return sb_host_receive(doubling->cluster, below, doubling->held,
                           begin_of(doubling, doubling->power));
}

static sb_status_t run(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    doubling_t doubling = {.cluster = cluster, .power = 1, .part = parts->receive[0].bytes};

    if (doubling.part == 0)
        return SB_OK;
    while (2 * doubling.power <= ranks)
        doubling.power *= 2;
    doubling.beyond = ranks - doubling.power;
    doubling.held = malloc(ranks * doubling.part);
    if (doubling.held == NULL)
        return SB_ERR_MEMORY;
    sb_copy(doubling.held + place_of(&doubling, rank), parts->send->base, doubling.part);
    sb_status_t status =
        rank < doubling.power ? run_corner(&doubling) : run_beyond(&doubling, parts->send->base);
    for (uint32_t i = 0; i < ranks && status == SB_OK; i++)
        sb_copy(parts->receive[i].base, doubling.held + place_of(&doubling, i), doubling.part);
    free(doubling.held);
    return status;
}

const sb_spanning_t sb_host_allgather_recursive_doubling = {
    .name = "host-recursive-doubling",
    .flat = true,
    .collective = SB_ALLGATHER,
    .doc = "In round k ranks that differ in digit k exchange all parts that they have.",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .parts = run,
};
