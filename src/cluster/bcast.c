/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast over nodes, cut into segments. Each leader receives a segment from its parent in the
 * tree of nodes and sends it on to its children at once. Meanwhile it broadcasts the message on its
 * node by one call of the team's algorithm, whose source is what has come so far: the two overlap,
 * and a late rank of a node holds up no other node. Bytes that lie in one piece are received where
 * they belong and sent from there; others pass through the window. Cost: see net/tree.c, and the
 * node's broadcast of the last segments. Memory: the window.
 */
#include "cluster/cluster.h"

/* A broadcast at a leader. */
typedef struct relay {
    sb_cluster_t *cluster;
    const sb_stream_t *stream;
    uint32_t root;
    sb_net_tree_t tree;
    size_t segment; /* bytes of one */
    size_t segments;
    size_t begun;   /* segments whose programs were begun */
    size_t arrived; /* segments that are here, without a gap */
    size_t wanted;  /* so many are waited for */
} relay_t;

static bool is_root(const relay_t *relay)
{
    return relay->cluster->rank == relay->root;
}

/* First it comes, unless it is here; then it goes to the user, if it came elsewhere, and on to the
 * children. */
static bool write_step(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    const relay_t *relay = program->context;
    const sb_stream_t *stream = relay->stream;

    if (number > 1)
        return false;
    if (number == 0 && !is_root(relay))
        sb_step_receive(step, relay->tree.parent, program->bytes_at, program->bytes);
    if (number == 0)
        return true;
    if (stream->base == NULL && !is_root(relay)) {
        sb_status_t status =
            sb_stream_write(stream, program->offset, program->bytes_at, program->bytes);
        sb_data_ends(relay->cluster, status);
    }
    for (uint32_t i = 0; i < relay->tree.children; i++)
        sb_step_send(step, relay->tree.child[i], program->bytes_at, program->bytes);
    return true;
}

static void begin_segment(relay_t *relay)
{
    sb_cluster_t *cluster = relay->cluster;
    const sb_stream_t *stream = relay->stream;
    sb_program_t *program = sb_program_of(cluster, relay->begun, relay->root);

    program->write_step = write_step;
    program->context = relay;
    program->offset = relay->begun++ * relay->segment;
    program->bytes = sb_min(relay->segment, stream->bytes - program->offset);
    program->bytes_at = stream->base == NULL ? program->scratch : stream->base + program->offset;
    if (is_root(relay) && stream->base == NULL) {
        sb_status_t status =
            sb_stream_read(stream, program->offset, program->bytes_at, program->bytes);
        sb_data_ends(cluster, status);
    }
    sb_program_begin(cluster, program);
}

/* Notes what has come, and begins what there is room for. */
static void refill(void *context)
{
    relay_t *relay = context;
    const sb_program_t *program = relay->cluster->program;

    for (; relay->arrived < relay->begun; relay->arrived++) {
        const sb_program_t *next = &program[relay->arrived % SB_WINDOW];
        if (next->open && next->number < 2)
            break;
    }
    while (relay->begun < relay->segments && !program[relay->begun % SB_WINDOW].open)
        begin_segment(relay);
}

static bool is_here(void *context)
{
    const relay_t *relay = context;

    return relay->arrived >= relay->wanted;
}

static sb_status_t await(relay_t *relay, size_t segments)
{
    relay->wanted = segments;
    return sb_cluster_wait(relay->cluster, is_here, relay);
}

/* The node's broadcast reads what is here, or waits for it. */
static sb_status_t read(void *context, size_t offset, void *to, size_t bytes)
{
    relay_t *relay = context;
    sb_status_t status = await(relay, sb_divide_up(offset + bytes, relay->segment));

    return status == SB_OK ? sb_stream_read(relay->stream, offset, to, bytes) : status;
}

static sb_status_t lead(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    const sb_map_t *map = &cluster->map;
    sb_schedule_t way = sb_schedule_of_bcast(map->nodes, &cluster->seen, stream->bytes);
    size_t segments = sb_divide_up(stream->bytes, way.segment);
    relay_t relay = {.cluster = cluster,
                     .stream = stream,
                     .root = root,
                     .segment = way.segment,
                     .segments = segments};
    sb_stream_t coming = {.bytes = stream->bytes, .read = read, .context = &relay};

    relay.tree = sb_net_tree(map->nodes, cluster->node, map->node_of[root], way.chain);
    cluster->refill = refill;
    cluster->refill_context = &relay;
    sb_programs_turn(cluster);
    sb_status_t status = sb_node_bcast(cluster, cluster->rank, is_root(&relay) ? stream : &coming);
    if (status == SB_OK)
        status = await(&relay, segments);
    if (status == SB_OK)
        sb_programs_end(cluster);
    return sb_call_ends(cluster);
}

sb_status_t sb_cluster_bcast_fixed(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    sb_status_t status = sb_call_begins(cluster);
    uint32_t leader = sb_leader_of(cluster, cluster->node, root);

    if (status != SB_OK || stream->bytes == 0)
        return status;
    if (leader == cluster->rank)
        return lead(cluster, root, stream);
    sb_node_bcast(cluster, leader, stream);
    return sb_call_ends(cluster);
}
