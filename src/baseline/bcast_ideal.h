/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BCAST_IDEAL_H
#define SB_BASELINE_BCAST_IDEAL_H

#include "cluster/spanning.h"

/* The broadcast of bcast_ideal.c; simulated machines alone know who will come first. */
extern const sb_spanning_t sb_bcast_cp_ideal;

/* To be set before it is called: who comes first of a node in the present call of `rank`. */
void sb_ideal_tell(uint32_t (*first)(void *context, uint32_t rank, uint32_t node), void *context);

#endif
