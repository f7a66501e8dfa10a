/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BASELINE_H
#define SB_BASELINE_BASELINE_H

#include "coll/coll.h"

/*
 * Collectives made of messages from rank to rank, as an MPI library without knowledge of shared
 * memory has them: what the others are compared with. For the simulator, lists and tests; the back
 * ends do not hold them.
 */

/* Lets this program find the baselines behind the algorithms of the library. To be called once. */
void sb_baselines_add(void);

extern const sb_algorithm_t sb_scatter_p2p_linear;
extern const sb_algorithm_t sb_scatterv_p2p_linear;
extern const sb_algorithm_t sb_gather_p2p_linear;
extern const sb_algorithm_t sb_gatherv_p2p_linear;
extern const sb_algorithm_t sb_allgather_p2p_ring;
extern const sb_algorithm_t sb_allgatherv_p2p_ring;
extern const sb_algorithm_t sb_allgather_p2p_recursive_doubling;
extern const sb_algorithm_t sb_allgatherv_p2p_recursive_doubling;
extern const sb_algorithm_t sb_alltoall_p2p_pairwise;
extern const sb_algorithm_t sb_alltoallv_p2p_pairwise;
extern const sb_algorithm_t sb_alltoallw_p2p_pairwise;
extern const sb_algorithm_t sb_allreduce_p2p_ring;
extern const sb_algorithm_t sb_allreduce_p2p_recursive_doubling;
extern const sb_algorithm_t sb_reduce_p2p_binomial;
extern const sb_algorithm_t sb_reduce_scatter_p2p_pairwise;
extern const sb_algorithm_t sb_reduce_scatter_block_p2p_pairwise;
extern const sb_algorithm_t sb_scan_p2p_recursive_doubling;
extern const sb_algorithm_t sb_exscan_p2p_recursive_doubling;

#endif
