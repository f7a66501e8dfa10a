/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce of a flat host by Rabenseifner's algorithm: in round k partners whose numbers differ in
 * digit k each give the other half of what they still combine, near partners first; then the
 * finished parts go the same way back. Cost: 2 log2 p a + 2 (p - 1) / p m b + m c, and 2 messages
 * more where p is no power of two. Memory: a message. Precondition: a commutative operator. Source:
 * Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
 * 2005; the order of partners is Open MPI's.
 */
#include "baseline/host.h"
#include "coll/reduction/reduction.h"

#define ROUNDS_MOST 32

/* Of the bytes: [kept.from, kept.to) is this rank's from round k on, the rest its partner's. */
typedef struct halving {
    sb_range_t kept[ROUNDS_MOST];
    sb_range_t given[ROUNDS_MOST];
} halving_t;

static void halve(halving_t *halving, const sb_reduction_t *reduction, const sb_host_cube_t *cube)
{
    size_t element = reduction->operation->element;
    sb_range_t all = {0, reduction->bytes};

    for (uint32_t k = 0; k < cube->rounds; k++) {
        size_t middle = all.from + (all.to - all.from) / element / 2 * element;
        sb_range_t low = {all.from, middle}, high = {middle, all.to};
        bool upper = (cube->place >> k & 1) != 0;
        halving->kept[k] = all = upper ? high : low;
        halving->given[k] = upper ? low : high;
    }
}

static sb_status_t swap(sb_cluster_t *cluster, uint32_t partner, char *data, sb_range_t sent,
                        char *received, sb_range_t range)
{
    return sb_host_exchange(cluster, partner, data + sent.from, sb_range_bytes(sent), partner,
                            received, sb_range_bytes(range));
}

static sb_status_t rounds(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                          const sb_host_cube_t *cube, char *incoming)
{
    char *data = reduction->receive;
    sb_status_t status = SB_OK;
    halving_t halving;

    halve(&halving, reduction, cube);
    for (uint32_t k = 0; k < cube->rounds && status == SB_OK; k++) {
        uint32_t partner = sb_host_corner(cube, cube->place ^ (1u << k));
        sb_range_t kept = halving.kept[k];
        status = swap(cluster, partner, data, halving.given[k], incoming, kept);
        status = sb_first(status, sb_host_fold(reduction->operation, data + kept.from, incoming,
                                               sb_range_bytes(kept), partner < cluster->rank));
    }
    for (uint32_t k = cube->rounds; k-- > 0 && status == SB_OK;) {
        uint32_t partner = sb_host_corner(cube, cube->place ^ (1u << k));
        sb_range_t other = halving.given[k];
        status = swap(cluster, partner, data, halving.kept[k], data + other.from, other);
    }
    return status;
}

static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return sb_host_allreduce_in_cube(cluster, reduction, rounds);
}

const sb_spanning_t sb_host_allreduce_rabenseifner = {
    .name = "host-rabenseifner",
    .flat = true,
    .collective = SB_ALLREDUCE,
    .doc = "Partners give each other half of what they combine, near ones first; then the parts "
           "go back.",
    .source = "Thakur, Rabenseifner, Gropp 2005; the order of partners is Open MPI's",
    .reduction = run,
};
