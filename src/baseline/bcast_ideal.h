/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BCAST_IDEAL_H
#define SB_BASELINE_BCAST_IDEAL_H

#include "cluster/operations.h"

/* The broadcast of bcast_ideal.c; simulated machines alone know who will come first. */
extern const sb_spanning_t sb_bcast_cp_ideal;

/* To be set before it is called: who comes first, or last, of a node in the present call of `rank`.
 */
typedef uint32_t sb_oracle_t(void *context, uint32_t rank, uint32_t node, bool last);
void sb_ideal_tell(sb_oracle_t *oracle, void *context);

/* What it says; the root speaks for its node. */
uint32_t sb_ideal_head(const sb_cluster_t *cluster, uint32_t root, uint32_t node, bool last);

#endif
