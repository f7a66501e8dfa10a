/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast in order of arrival, the whole message at a time. The first of a node to come asks the
 * root; the root has it served by whoever, by the prices of the network, can do that soonest:
 * itself, or a leader that has not left yet. If all come together that is a binomial tree, or a
 * flatter one where latency counts; nobody but the root waits for a node of which nobody has come.
 * Cost: that of the best tree for the order of arrival, and a message to the root and one back.
 * Memory: of data in pieces a copy. Source: own; competition is that of MPIActor, see form_cp_bt.c.
 */
#include "baseline/forms.h"
#include "cluster/arrival/cast.h"

#define AHEAD 2 /* the next child is announced while the one before is served */

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    return sb_cast(cluster, root, stream, stream->bytes, AHEAD, sb_cast_soonest);
}

const sb_spanning_t sb_bcast_cp_tree = {
    .name = "cp-tree",
    .collective = SB_BCAST,
    .doc = "Leaders that came first, served in order of arrival, the whole message at a time.",
    .source = "Sobor",
    .bcast = run,
};
