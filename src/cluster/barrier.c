/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier over nodes: the node's ranks gather at its first one, group by group as in the
 * hierarchical barrier; the first ranks of all nodes tell each other by dissemination; then each
 * releases its node. A node's barrier is so cut at its middle, and its second half is not done
 * twice. Cost: that of a barrier on the largest node and ceil(log2 N) latencies. Memory: none.
 */
#include "coll/barrier/barrier.h"
#include "cluster/cluster.h"

/* All that this rank speaks for on its node have come. */
static sb_status_t gather(sb_cluster_t *cluster)
{
    sb_team_t *team = cluster->team;
    const sb_hierarchy_t *hierarchy = sb_team_hierarchy(team, team->settings.levels, 0);
    sb_status_t status = hierarchy == NULL ? SB_ERR_MEMORY : SB_OK;

    team->barriers++;
    for (uint32_t i = 0; status == SB_OK && i < hierarchy->led; i++)
        status = sb_barrier_gather(team, &hierarchy->group[i], team->barriers);
    return status;
}

static sb_status_t meet_other_nodes(sb_cluster_t *cluster)
{
    sb_program_t *program = sb_program_of(cluster, 0, sb_map_rank(&cluster->map, 0, 0));

    program->write_step = sb_net_dissemination;
    sb_program_begin(cluster, program);
    return sb_programs_end(cluster);
}

sb_status_t sb_cluster_barrier(sb_cluster_t *cluster)
{
    sb_status_t status = sb_call_begins(cluster);

    if (status == SB_OK && cluster->team != NULL)
        status = gather(cluster);
    if (status == SB_OK && cluster->local == 0)
        status = meet_other_nodes(cluster);
    if (status == SB_OK && cluster->team != NULL)
        status = sb_barrier_meet_at_root(cluster->team, cluster->team->barriers);
    sb_cluster_fails(cluster, status);
    return sb_call_ends(cluster);
}
