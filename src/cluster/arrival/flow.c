/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/arrival/flow.h"

#include <stdlib.h>

static size_t bytes_of(const sb_flow_t *flow, size_t segment)
{
    return sb_min(flow->segment, flow->stream->bytes - segment * flow->segment);
}

static char *place_of(const sb_flow_t *flow, size_t segment)
{
    return flow->bytes + segment * flow->segment;
}

sb_status_t sb_flow_open(sb_flow_t *flow, sb_cluster_t *cluster, uint32_t root,
                         const sb_stream_t *stream, size_t segment, uint32_t ahead)
{
    bool is_root = cluster->rank == root;

    *flow = (sb_flow_t){.cluster = cluster,
                        .stream = stream,
                        .bytes = stream->base,
                        .segment = sb_min(segment, stream->bytes),
                        .ahead = ahead,
                        .source = is_root ? root : SB_NET_ANY};
    flow->segments = (stream->bytes + flow->segment - 1) / flow->segment;
    flow->arrived = is_root ? flow->segments : 0;
    if (flow->bytes == NULL)
        flow->bytes = malloc(stream->bytes);
    if (flow->bytes == NULL) {
        sb_cluster_fails(cluster, SB_ERR_MEMORY);
        return cluster->failure;
    }
    if (is_root && stream->base == NULL)
        sb_data_ends(cluster, sb_stream_read(stream, 0, flow->bytes, stream->bytes));
    return SB_OK;
}

/* A segment is here, and all before it. */
static void arrive(sb_flow_t *flow)
{
    size_t segment = flow->arrived++;

    if (flow->stream->base == NULL)
        sb_data_ends(flow->cluster,
                     sb_stream_write(flow->stream, segment * flow->segment, place_of(flow, segment),
                                     bytes_of(flow, segment)));
}

static void receive(sb_flow_t *flow)
{
    for (size_t i = flow->arrived; i < flow->begun; i++) {
        if (flow->in[i % SB_FLOW_MOST] != NULL)
            sb_request_look(flow->cluster, &flow->in[i % SB_FLOW_MOST], bytes_of(flow, i), false);
    }
    while (flow->arrived < flow->begun && flow->in[flow->arrived % SB_FLOW_MOST] == NULL &&
           flow->cluster->failure == SB_OK)
        arrive(flow);
    for (; flow->source != SB_NET_ANY && flow->begun < flow->segments &&
           flow->begun < flow->arrived + SB_FLOW_MOST;
         flow->begun++)
        sb_message_comes(flow->cluster, flow->source, sb_tag_of(flow->cluster, flow->begun),
                         place_of(flow, flow->begun), bytes_of(flow, flow->begun),
                         &flow->in[flow->begun % SB_FLOW_MOST]);
}

static void send_next(sb_flow_t *flow)
{
    size_t segment = (size_t)(flow->sends % flow->segments);

    sb_message_sends(flow->cluster, flow->cluster->doorway->child[flow->sends / flow->segments],
                     sb_tag_of(flow->cluster, segment), place_of(flow, segment),
                     bytes_of(flow, segment), flow->met, &flow->out[flow->sends % SB_FLOW_MOST]);
}

static void send(sb_flow_t *flow)
{
    for (uint64_t i = flow->sent; i < flow->sends; i++) {
        if (flow->out[i % SB_FLOW_MOST] != NULL)
            sb_request_look(flow->cluster, &flow->out[i % SB_FLOW_MOST], 0, false);
    }
    while (flow->sent < flow->sends && flow->out[flow->sent % SB_FLOW_MOST] == NULL)
        flow->sent++;
    for (; flow->sends < (uint64_t)flow->children * flow->segments &&
           flow->sends % flow->segments < flow->arrived && flow->sends < flow->sent + flow->ahead;
         flow->sends++)
        send_next(flow);
}

void sb_flow_turn(sb_flow_t *flow)
{
    if (flow->source != flow->cluster->rank)
        receive(flow);
    if (flow->cluster->failure == SB_OK)
        send(flow);
}

static bool is_here(void *context)
{
    const sb_flow_t *flow = context;

    return flow->arrived >= flow->wanted;
}

/* The node's broadcast reads what is here, or waits for it. */
static sb_status_t read(void *context, size_t offset, void *to, size_t bytes)
{
    sb_flow_t *flow = context;

    flow->wanted = (offset + bytes + flow->segment - 1) / flow->segment;
    sb_status_t status = sb_cluster_wait(flow->cluster, is_here, flow);
    if (status == SB_OK)
        sb_copy_shared(to, flow->bytes + offset, bytes);
    return status;
}

sb_status_t sb_flow_on_node(sb_flow_t *flow)
{
    sb_stream_t coming = {.bytes = flow->stream->bytes, .read = read, .context = flow};

    return sb_node_bcast(flow->cluster, flow->cluster->rank, &coming);
}

sb_status_t sb_flow_close(sb_flow_t *flow)
{
    if (flow->stream->base == NULL && !flow->cluster->lingers)
        free(flow->bytes);
    return sb_call_ends(flow->cluster);
}
