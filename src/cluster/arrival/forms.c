/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/arrival/arrival.h"

#include "base/config.h"
#include "base/log.h"

#include <stdatomic.h>
#include <stdlib.h>

sb_form_find_t *sb_form_by_name;

/* --- what they have in common -------------------------------------------------------------- */

sb_status_t sb_doorway_need(sb_cluster_t *cluster)
{
    uint32_t nodes = cluster->map.nodes;

    if (cluster->doorway != NULL)
        return SB_OK;
    sb_doorway_t *made = cluster->doorway = calloc(1, sizeof *made);
    if (made == NULL) {
        sb_cluster_fails(cluster, SB_ERR_MEMORY);
        return cluster->failure;
    }
    made->guest = calloc(nodes, sizeof *made->guest);
    made->child = calloc(nodes, sizeof *made->child);
    made->leader = calloc(nodes, sizeof *made->leader);
    made->said = calloc(3 * (size_t)nodes, sizeof *made->said);
    made->saying = calloc(3 * (size_t)nodes, sizeof(sb_net_request_t *));
    if (made->guest == NULL || made->child == NULL || made->leader == NULL || made->said == NULL ||
        made->saying == NULL)
        sb_cluster_fails(cluster, SB_ERR_MEMORY);
    return cluster->failure;
}

void sb_doorway_free(sb_cluster_t *cluster)
{
    sb_doorway_t *doorway = cluster->doorway;

    if (doorway == NULL || cluster->lingers)
        return;
    free(doorway->guest);
    free(doorway->child);
    free(doorway->leader);
    free(doorway->said);
    free(doorway->saying);
    free(doorway->early);
    free(doorway);
}

sb_status_t sb_form_opens(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream,
                          bool elects, uint32_t *leader)
{
    sb_status_t status = sb_call_begins(cluster);

    *leader = sb_leader_of(cluster, cluster->node, root);
    if (status != SB_OK || stream->bytes == 0)
        return status;
    status = sb_doorway_need(cluster);
    if (status != SB_OK)
        return status;
    cluster->doorway->words = cluster->doorway->spoken = 0;
    if (elects)
        sb_cluster_fails(cluster, sb_hall_enter(cluster, SB_BCAST, root, leader));
    return cluster->failure;
}

bool sb_form_begins(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream, bool elects,
                    sb_status_t *status)
{
    uint32_t leader;

    *status = sb_form_opens(cluster, root, stream, elects, &leader);
    if (*status != SB_OK || stream->bytes == 0)
        return false;
    if (leader == cluster->rank)
        return true;
    sb_node_bcast(cluster, leader, stream);
    *status = sb_call_ends(cluster);
    return false;
}

/* --- which ---------------------------------------------------------------------------------- */

/* Where it is a small part of the whole it is paid in advance, elsewhere when waits are longer. */
#define SMALL_PART 0.05

static sb_form_t suited(const sb_cluster_t *cluster, size_t bytes)
{
    double extra = sb_order_extra(cluster);
    sb_schedule_t fixed = sb_schedule_of_bcast(cluster->map.nodes, &cluster->seen, bytes);
    bool small = !cluster->crowded && extra < SMALL_PART * fixed.cost;
    bool pays = small || sb_waits_speak(cluster);

    return pays ? SB_FORM_cp_chain : SB_FORM_FIXED;
}

static sb_status_t run(sb_cluster_t *cluster, sb_form_t form, uint32_t root,
                       const sb_stream_t *stream)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (form == SB_FORM_cp_chain)
        return sb_bcast_cp_chain.bcast(cluster, root, stream);
    if (form != SB_FORM_FIXED && sb_form_by_name != NULL)
        return sb_form_by_name(cluster, form, stream->bytes)->bcast(cluster, root, stream);
    if (form != SB_FORM_FIXED && !atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
        sb_log_once("SOBOR_CLUSTER_BCAST: this form is not in the library; leaders are fixed");
    return sb_cluster_bcast_fixed(cluster, root, stream);
}

sb_status_t sb_cluster_bcast(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    sb_form_t form = (sb_form_t)cluster->settings.bcast_form;

    if (cluster->map.nodes == 1 || stream->bytes == 0)
        return sb_cluster_bcast_fixed(cluster, root, stream);
    if (form != SB_FORM_AUTO)
        return run(cluster, form, root, stream);
    if (sb_waits_begin(cluster, root) != SB_OK)
        return cluster->failure;
    sb_status_t status = run(cluster, suited(cluster, stream->bytes), root, stream);
    return sb_first(sb_waits_end(cluster, root), status);
}
