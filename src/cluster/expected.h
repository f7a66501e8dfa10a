/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_EXPECTED_H
#define SB_CLUSTER_EXPECTED_H

#include "cluster/choice.h"

/*
 * What calls over nodes are expected to take, whether they are there or only asked about: of
 * `shape.ranks` ranks on `shape.nodes` nodes, as equal as they can be. Bytes are those that choices
 * go by: of a part, or of a contribution.
 */

/* How the cluster serves a call: program, lanes, segment, and what it takes. */
sb_schedule_t sb_schedule_expected(const sb_shape_t *shape, sb_collective_t collective,
                                   size_t bytes);

/* What both of them take for copies of the bytes inside a node, in ns. */
double sb_copies_expected(const sb_shape_t *shape, sb_collective_t collective, size_t bytes);

/* The same as the cheapest of the flat algorithms that hosts have; no segments. */
sb_schedule_t sb_host_expected(const sb_shape_t *shape, sb_collective_t collective, size_t bytes);

#endif
