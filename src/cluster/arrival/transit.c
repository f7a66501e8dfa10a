/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/arrival/transit.h"

#include <stdlib.h>

static size_t bytes_of(const sb_transit_t *transit, size_t segment)
{
    return sb_min(transit->segment, transit->stream->bytes - segment * transit->segment);
}

static char *place_of(const sb_transit_t *transit, size_t segment)
{
    return transit->bytes + segment * transit->segment;
}

sb_status_t sb_transit_open(sb_transit_t *transit, sb_cluster_t *cluster, uint32_t root,
                            const sb_stream_t *stream, size_t segment, uint32_t ahead)
{
    bool is_root = cluster->rank == root;

    *transit = (sb_transit_t){.cluster = cluster,
                              .stream = stream,
                              .bytes = stream->base,
                              .segment = sb_min(segment, stream->bytes),
                              .ahead = ahead,
                              .source = is_root ? root : SB_NET_ANY};
    transit->segments = sb_divide_up(stream->bytes, transit->segment);
    transit->arrived = is_root ? transit->segments : 0;
    if (transit->bytes == NULL)
        transit->bytes = malloc(stream->bytes);
    if (transit->bytes == NULL) {
        sb_cluster_fails(cluster, SB_ERR_MEMORY);
        return cluster->failure;
    }
    if (is_root && stream->base == NULL)
        sb_data_ends(cluster, sb_stream_read(stream, 0, transit->bytes, stream->bytes));
    return SB_OK;
}

/* A segment is here, and all before it. */
static void arrive(sb_transit_t *transit)
{
    size_t segment = transit->arrived++;

    if (transit->stream->base == NULL)
        sb_data_ends(transit->cluster,
                     sb_stream_write(transit->stream, segment * transit->segment,
                                     place_of(transit, segment), bytes_of(transit, segment)));
}

static void receive(sb_transit_t *transit)
{
    for (size_t i = transit->arrived; i < transit->begun; i++) {
        if (transit->in[i % SB_TRANSIT_MOST] != NULL)
            sb_request_look(transit->cluster, &transit->in[i % SB_TRANSIT_MOST],
                            bytes_of(transit, i), false);
    }
    while (transit->arrived < transit->begun &&
           transit->in[transit->arrived % SB_TRANSIT_MOST] == NULL &&
           transit->cluster->failure == SB_OK)
        arrive(transit);
    for (; transit->source != SB_NET_ANY && transit->begun < transit->segments &&
           transit->begun < transit->arrived + SB_TRANSIT_MOST;
         transit->begun++)
        sb_message_comes(transit->cluster, transit->source,
                         sb_tag_of(transit->cluster, transit->begun),
                         place_of(transit, transit->begun), bytes_of(transit, transit->begun),
                         &transit->in[transit->begun % SB_TRANSIT_MOST]);
}

static void send_next(sb_transit_t *transit)
{
    size_t segment = (size_t)(transit->sends % transit->segments);

    sb_message_sends(
        transit->cluster, transit->cluster->doorway->child[transit->sends / transit->segments],
        sb_tag_of(transit->cluster, segment), place_of(transit, segment),
        bytes_of(transit, segment), transit->met, &transit->out[transit->sends % SB_TRANSIT_MOST]);
}

static void send(sb_transit_t *transit)
{
    for (uint64_t i = transit->sent; i < transit->sends; i++) {
        if (transit->out[i % SB_TRANSIT_MOST] != NULL)
            sb_request_look(transit->cluster, &transit->out[i % SB_TRANSIT_MOST], 0, false);
    }
    while (transit->sent < transit->sends && transit->out[transit->sent % SB_TRANSIT_MOST] == NULL)
        transit->sent++;
    for (; transit->sends < (uint64_t)transit->children * transit->segments &&
           transit->sends % transit->segments < transit->arrived &&
           transit->sends < transit->sent + transit->ahead;
         transit->sends++)
        send_next(transit);
}

void sb_transit_turn(sb_transit_t *transit)
{
    if (transit->source != transit->cluster->rank)
        receive(transit);
    if (transit->cluster->failure == SB_OK)
        send(transit);
}

static bool is_here(void *context)
{
    const sb_transit_t *transit = context;

    return transit->arrived >= transit->wanted;
}

/* The node's broadcast reads what is here, or waits for it. */
static sb_status_t read(void *context, size_t offset, void *to, size_t bytes)
{
    sb_transit_t *transit = context;

    transit->wanted = sb_divide_up(offset + bytes, transit->segment);
    sb_status_t status = sb_cluster_wait(transit->cluster, is_here, transit);
    if (status == SB_OK)
        sb_copy_shared(to, transit->bytes + offset, bytes);
    return status;
}

sb_status_t sb_transit_on_node(sb_transit_t *transit)
{
    sb_stream_t coming = {.bytes = transit->stream->bytes, .read = read, .context = transit};

    return sb_node_bcast(transit->cluster, transit->cluster->rank, &coming);
}

sb_status_t sb_transit_close(sb_transit_t *transit)
{
    if (transit->stream->base == NULL && !transit->cluster->lingers)
        free(transit->bytes);
    return sb_call_ends(transit->cluster);
}
