/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_HEADS_IDEAL_H
#define SB_BASELINE_HEADS_IDEAL_H

#include "cluster/operations.h"

/* The operations of heads_ideal.c; sb_ideal_tell comes first. `name`: NULL is returned for others.
 */
const sb_spanning_t *sb_heads_ideal(sb_collective_t collective, const char *name);

#endif
