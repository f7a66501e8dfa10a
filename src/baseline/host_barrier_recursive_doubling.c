/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier of a flat host: in round k ranks whose numbers differ in digit k tell each other, near
 * partners first. Cost: floor(log2 p) exchanges one after another, and 2 more messages where p is
 * no power of two. Memory: none. Source: Open MPI, coll/tuned, "recursive doubling".
 */
#include "baseline/host.h"

/* A word in one direction between the two of a pair. */
static sb_status_t word(sb_cluster_t *cluster, bool sends)
{
    char word = 0;
    uint32_t other = cluster->rank ^ 1;

    return sends ? sb_host_send(cluster, other, &word, 1)
                 : sb_host_receive(cluster, other, &word, 1);
}

static sb_status_t run(sb_cluster_t *cluster)
{
    sb_host_cube_t cube = sb_host_cube(cluster);
    sb_status_t status = cube.paired ? word(cluster, cube.idle) : SB_OK;

    for (uint32_t k = 0; k < cube.rounds && !cube.idle && status == SB_OK; k++) {
        uint32_t partner = sb_host_corner(&cube, cube.place ^ (1u << k));
        status = sb_host_tell(cluster, partner, partner);
    }
    return cube.paired ? sb_first(status, word(cluster, !cube.idle)) : status;
}

const sb_spanning_t sb_host_barrier_recursive_doubling = {
    .name = "host-recursive-doubling",
    .flat = true,
    .collective = SB_BARRIER,
    .doc = "Ranks tell each other pair by pair, near partners first.",
    .source = "Open MPI, coll/tuned",
    .barrier = run,
};
