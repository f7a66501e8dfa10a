/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/baseline.h"

#include "select/select.h"

static const sb_algorithm_t *const baselines[] = {
    &sb_scatter_p2p_linear,
    &sb_scatterv_p2p_linear,
    &sb_gather_p2p_linear,
    &sb_gatherv_p2p_linear,
    &sb_allgather_p2p_ring,
    &sb_allgatherv_p2p_ring,
    &sb_allgather_p2p_recursive_doubling,
    &sb_allgatherv_p2p_recursive_doubling,
    &sb_alltoall_p2p_pairwise,
    &sb_alltoallv_p2p_pairwise,
    &sb_alltoallw_p2p_pairwise,
    &sb_allreduce_p2p_ring,
    &sb_allreduce_p2p_recursive_doubling,
    &sb_reduce_p2p_binomial,
    &sb_reduce_scatter_p2p_pairwise,
    &sb_reduce_scatter_block_p2p_pairwise,
    &sb_scan_p2p_recursive_doubling,
    &sb_exscan_p2p_recursive_doubling,
};

void sb_baselines_add(void)
{
    sb_algorithms_add(baselines, SB_COUNT_OF(baselines));
}
