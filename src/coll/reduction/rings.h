/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_RINGS_H
#define SB_COLL_REDUCTION_RINGS_H

#include "coll/reduction/workspace.h"

/*
 * Reductions through rings. The team counts bytes: a message takes as many positions in the rings
 * of all ranks, and position x is at x modulo a ring's size. Each rank may put its contribution
 * there, in windows of whole elements, and says in `given` up to where it is. A rank that wants a
 * result takes window after window from the rings of all, and says in `taken` up to where it is
 * done; who wants nothing says so too. So nobody waits but for data, and for room in its ring.
 *
 * Most messages are kept to the span, the first part of the rings, which stays in the caches: from
 * its end they go on at the next multiple of a ring's size, and the positions in between are left
 * out.
 */

/*
 * This rank combines what it wants. `lends`: the others want something of its contribution; of what
 * it alone wants they never do.
 */
sb_status_t sb_rings_reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted,
                            bool lends);

/* Each rank gets its part. */
sb_status_t sb_rings_deal(sb_team_t *team, const sb_reduction_t *reduction);

/* A ring's bytes, for the expected time. */
#define SB_RINGS_USUAL 131072.0

/*
 * Expected time where the busiest processor copies `in` bytes in and combines `combined`, and
 * `readers` want something of all.
 */
double sb_rings_cost(const sb_shape_t *shape, double in, double combined, double readers);

#endif
