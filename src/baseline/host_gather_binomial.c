/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather and Scatter of a flat host, of parts that are alike: along a binomial tree of ranks, each
 * message with the parts of a whole subtree. Cost: ceil(log2 p) a + m b at the root for m bytes of
 * all. Memory: the parts below a rank. Source: the binomial tree of MPI libraries (Thakur,
 * Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

#include <stdlib.h>

/* A rank in the tree; places are counted from the root's. */
typedef struct twig {
    sb_cluster_t *cluster;
    uint32_t root;
    uint32_t place;
    uint32_t below; /* so many places from its own on are its subtree's */
    size_t part;    /* bytes of one */
    char *parts;    /* theirs, in the order of places */
} twig_t;

static uint32_t rank_at(const twig_t *twig, uint32_t place)
{
    return (place + twig->root) % twig->cluster->map.ranks;
}

static bool sit(twig_t *twig, size_t part)
{
    uint32_t ranks = twig->cluster->map.ranks;

    twig->place = (twig->cluster->rank + ranks - twig->root) % ranks;
    uint32_t lowest = twig->place == 0 ? ranks : twig->place & (~twig->place + 1);
    twig->below = (uint32_t)sb_min(lowest, ranks - twig->place);
    twig->part = part;
    twig->parts = malloc(twig->below * part + 1);
    return twig->parts != NULL;
}

/* The parts of the child at that distance go up or down. */
static sb_status_t pass_child(const twig_t *twig, uint32_t distance, bool up)
{
    size_t bytes = sb_min(distance, twig->below - distance) * twig->part;
    char *data = twig->parts + distance * twig->part;
    uint32_t child = rank_at(twig, twig->place + distance);

    return up ? sb_host_receive(twig->cluster, child, data, bytes)
              : sb_host_send(twig->cluster, child, data, bytes);
}

static uint32_t parent_of(const twig_t *twig)
{
    return rank_at(twig, twig->place & (twig->place - 1));
}

static sb_status_t gather(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    twig_t twig = {.cluster = cluster, .root = parts->root};
    sb_status_t status = sit(&twig, parts->send->bytes) ? SB_OK : SB_ERR_MEMORY;

    if (status == SB_OK)
        sb_copy(twig.parts, parts->send->base, twig.part);
    for (uint32_t distance = 1; distance < twig.below && status == SB_OK; distance *= 2)
        status = pass_child(&twig, distance, true);
    if (status == SB_OK && twig.place != 0)
        status = sb_host_send(cluster, parent_of(&twig), twig.parts, twig.below * twig.part);
    for (uint32_t i = 0; twig.place == 0 && status == SB_OK && i < twig.below; i++)
        sb_copy(parts->receive[rank_at(&twig, i)].base, twig.parts + i * twig.part, twig.part);
    free(twig.parts);
    return status;
}

static sb_status_t scatter(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    twig_t twig = {.cluster = cluster, .root = parts->root};
    sb_status_t status = sit(&twig, parts->receive->bytes) ? SB_OK : SB_ERR_MEMORY;

    for (uint32_t i = 0; twig.place == 0 && status == SB_OK && i < twig.below; i++)
        sb_copy(twig.parts + i * twig.part, parts->send[rank_at(&twig, i)].base, twig.part);
    if (status == SB_OK && twig.place != 0)
        status = sb_host_receive(cluster, parent_of(&twig), twig.parts, twig.below * twig.part);
    for (uint32_t distance = 1u << sb_rounds(twig.below); distance > 0 && status == SB_OK;
         distance /= 2) {
        if (distance < twig.below)
            status = pass_child(&twig, distance, false);
    }
    if (status == SB_OK)
        sb_copy(parts->receive->base, twig.parts, twig.part);
    free(twig.parts);
    return status;
}

#define DESCRIBED                                                                                  \
    .name = "host-binomial", .flat = true,                                                         \
    .doc = "A binomial tree of ranks; each message has the parts of a subtree.",                   \
    .source = "the binomial tree of MPI libraries (Thakur, Rabenseifner, Gropp 2005)"

const sb_spanning_t sb_host_gather_binomial = {DESCRIBED, .collective = SB_GATHER, .parts = gather};
const sb_spanning_t sb_host_scatter_binomial = {DESCRIBED, .collective = SB_SCATTER,
                                                .parts = scatter};
