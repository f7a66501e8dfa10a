/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published broadcasts for longer messages: a scatter of one block for each node down a
 * binomial tree of leaders, and an allgather of the blocks: by recursive doubling, of a power of
 * two of nodes (rdaas), or round a ring (ringaas). What a step of the allgather brings is broadcast
 * on the node at once; the scatter hands nothing to the node, and the root's node gets all after
 * it. What a leader has already is not sent to the root again. Leaders are fixed (p), or the ranks
 * that come first (cp): each step of an allgather needs all nodes, so the root tells all leaders
 * who the others are as soon as it knows that. Cost: 2 log2 N a + 2 (N - 1) / N m b, in the ring
 * (log2 N + N - 1) a + 2 (N - 1) / N m b; and for leaders that come first a message to the root and
 * one back. Memory: none; of data in pieces a copy. Source: P-RDAAS, P-RingAAS, CP-RDAAS and
 * CP-RingAAS of MPIActor, which addresses nodes; between nodes that is van de Geijn's algorithm, as
 * in MPICH.
 */
#include "baseline/forms.h"
#include "cluster/arrival/words.h"

#include <stdlib.h>

typedef struct aas {
    sb_cluster_t *cluster;
    const sb_stream_t *stream;
    uint32_t root;
    bool doubles; /* by recursive doubling; else round a ring */
    char *bytes;  /* the whole message, at a leader */
    sb_program_t *program;
    uint32_t wanted; /* the program's number, that of the step after what is awaited */
} aas_t;

/* Blocks, counted from the root's node on. */
typedef struct range {
    uint32_t first;
    uint32_t count;
} range_t;

static uint32_t nodes_of(const aas_t *aas)
{
    return aas->cluster->map.nodes;
}

static uint32_t root_node(const aas_t *aas)
{
    return aas->cluster->map.node_of[aas->root];
}

static uint32_t place_of(const aas_t *aas)
{
    return (aas->cluster->node + nodes_of(aas) - root_node(aas)) % nodes_of(aas);
}

static uint32_t node_at(const aas_t *aas, uint32_t place)
{
    return (uint32_t)(((uint64_t)place + root_node(aas)) % nodes_of(aas));
}

static size_t offset_of(const aas_t *aas, uint32_t block)
{
    size_t each = sb_divide_up(aas->stream->bytes, nodes_of(aas));

    return sb_min(block * each, aas->stream->bytes);
}

static size_t bytes_of(const aas_t *aas, range_t range)
{
    return offset_of(aas, range.first + range.count) - offset_of(aas, range.first);
}

/* --- the allgather's steps ----------------------------------------------------------------- */

static uint32_t steps_of(const aas_t *aas)
{
    return aas->doubles ? sb_rounds(nodes_of(aas)) : nodes_of(aas) - 1;
}

/* Blocks that a place has after so many steps of recursive doubling. */
static range_t doubled(uint32_t place, uint32_t steps)
{
    return (range_t){place >> steps << steps, 1u << steps};
}

/* The blocks that come to the place in a step, from 1 on; in step 0 its own, by the scatter. */
static range_t comes(const aas_t *aas, uint32_t place, uint32_t step)
{
    uint32_t nodes = nodes_of(aas);

    if (aas->doubles && step > 0)
        return doubled(place ^ 1u << (step - 1), step - 1);
    return (range_t){(place + nodes - step) % nodes, 1};
}

/* --- the leaders' program ------------------------------------------------------------------ */

static void add(const aas_t *aas, sb_step_t *step, uint32_t place, range_t range, bool receives)
{
    size_t bytes = bytes_of(aas, range);

    if (bytes > 0)
        sb_step_add(step, node_at(aas, place), aas->bytes + offset_of(aas, range.first), bytes)
            ->receives = receives;
}

/* Blocks of the place and of all below it in the tree. */
static range_t below(const aas_t *aas, uint32_t place)
{
    uint32_t lowest = place == 0 ? nodes_of(aas) : place & (~place + 1);

    return (range_t){place, (uint32_t)sb_min(lowest, nodes_of(aas) - place)};
}

static void scatter(const aas_t *aas, uint32_t number, sb_step_t *step)
{
    sb_net_tree_t tree = sb_net_tree(nodes_of(aas), aas->cluster->node, root_node(aas), false);
    uint32_t place = place_of(aas);

    if (number == 0 && place != 0)
        add(aas, step, place & (place - 1), below(aas, place), true);
    for (uint32_t i = 0; number == 1 && i < tree.children; i++) {
        uint32_t child = (tree.child[i] + nodes_of(aas) - root_node(aas)) % nodes_of(aas);
        add(aas, step, child, below(aas, child), false);
    }
}

static void allgather(const aas_t *aas, uint32_t number, sb_step_t *step)
{
    uint32_t nodes = nodes_of(aas), place = place_of(aas);
    uint32_t from = aas->doubles ? place ^ 1u << (number - 1) : (place + nodes - 1) % nodes;
    uint32_t to = aas->doubles ? from : (place + 1) % nodes;

    if (place != 0)
        add(aas, step, from, comes(aas, place, number), true);
    if (to != 0)
        add(aas, step, to, comes(aas, to, number), false);
}

static bool write_step(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    const aas_t *aas = program->context;

    if (number <= 1)
        scatter(aas, number, step);
    else if (number - 1 <= steps_of(aas))
        allgather(aas, number - 1, step);
    else
        return false;
    return true;
}

/* --- the node ------------------------------------------------------------------------------ */

/* The scatter is over, at the root and elsewhere: a block comes in its first step, and goes on in
 * its second. */
enum { SCATTERED = 3, BLOCK_IS_HERE = 2 };

static bool is_here(void *context)
{
    const aas_t *aas = context;

    return !aas->program->open || aas->program->number >= aas->wanted;
}

/* Whether the leader has it; others wait in the node's broadcast. */
static sb_status_t await(aas_t *aas, uint32_t leader, uint32_t number)
{
    aas->wanted = number;
    return aas->cluster->rank == leader ? sb_cluster_wait(aas->cluster, is_here, aas) : SB_OK;
}

/* What came in the step is broadcast on the node. */
static sb_status_t hand_on(aas_t *aas, uint32_t leader, range_t range)
{
    size_t offset = offset_of(aas, range.first), bytes = bytes_of(aas, range);
    sb_item_t item = {aas->stream, offset, bytes};
    sb_row_t row;
    sb_stream_t part = sb_item_stream(&row, &item);

    if (bytes == 0)
        return SB_OK;
    if (aas->bytes != NULL)
        part.base = aas->bytes + offset;
    if (aas->bytes != NULL && aas->stream->base == NULL && aas->cluster->rank != aas->root)
        sb_data_ends(aas->cluster, sb_stream_write(aas->stream, offset, part.base, bytes));
    return sb_node_bcast(aas->cluster, leader, &part);
}

/* All ranks of a node go through the same steps. */
static sb_status_t spread(aas_t *aas, uint32_t leader)
{
    sb_status_t status = SB_OK;

    if (root_node(aas) == aas->cluster->node) {
        status = await(aas, leader, SCATTERED);
        return status == SB_OK ? hand_on(aas, leader, (range_t){0, nodes_of(aas)}) : status;
    }
    for (uint32_t step = 0; step <= steps_of(aas) && status == SB_OK; step++) {
        status = await(aas, leader, step == 0 ? BLOCK_IS_HERE : SCATTERED + step);
        if (status == SB_OK)
            status = hand_on(aas, leader, comes(aas, place_of(aas), step));
    }
    return status;
}

static sb_status_t pack(aas_t *aas)
{
    sb_cluster_t *cluster = aas->cluster;
    const sb_stream_t *stream = aas->stream;

    aas->bytes = stream->base == NULL ? malloc(stream->bytes) : stream->base;
    if (aas->bytes == NULL) {
        sb_cluster_fails(cluster, SB_ERR_MEMORY);
        return cluster->failure;
    }
    if (stream->base == NULL && cluster->rank == aas->root)
        sb_data_ends(cluster, sb_stream_read(stream, 0, aas->bytes, stream->bytes));
    return SB_OK;
}

static sb_status_t lead(aas_t *aas)
{
    sb_cluster_t *cluster = aas->cluster;

    if (pack(aas) != SB_OK)
        return cluster->failure;
    aas->program = sb_program_of(cluster, 0, aas->root);
    aas->program->leaders = cluster->doorway->leader;
    aas->program->write_step = write_step;
    aas->program->context = aas;
    sb_program_begin(cluster, aas->program);
    if (spread(aas, cluster->rank) == SB_OK)
        sb_programs_end(cluster);
    if (aas->stream->base == NULL && !cluster->lingers)
        free(aas->bytes);
    return sb_call_ends(cluster);
}

/* --- who leads ----------------------------------------------------------------------------- */

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream,
                       bool competitive, bool doubles)
{
    uint32_t nodes = cluster->map.nodes, leader;
    aas_t aas = {.cluster = cluster,
                 .stream = stream,
                 .root = root,
                 .doubles = doubles && (nodes & (nodes - 1)) == 0};
    sb_status_t status = sb_form_opens(cluster, root, stream, competitive, &leader);

    if (status != SB_OK || stream->bytes == 0)
        return status;
    if (leader != cluster->rank) {
        spread(&aas, leader);
        return sb_call_ends(cluster);
    }
    if (competitive)
        status = sb_leaders_elected(cluster, root, stream->bytes);
    else
        sb_leaders_fixed(cluster, root);
    return status == SB_OK ? lead(&aas) : status;
}

#define AAS(symbol, text, competitive, doubles, what, of)                                          \
    static sb_status_t symbol(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)     \
    {                                                                                              \
        return run(cluster, root, stream, competitive, doubles);                                   \
    }                                                                                              \
                                                                                                   \
    const sb_spanning_t sb_bcast_##symbol = {                                                      \
        .name = text,                                                                              \
        .collective = SB_BCAST,                                                                    \
        .doc = "A scatter and an allgather " what,                                                 \
        .source = "Liu, Song, Lu, Xu 2011, " of,                                                   \
        .bcast = symbol,                                                                           \
    }

AAS(p_rdaas, "p-rdaas", false, true, "by recursive doubling among fixed leaders.", "P-RDAAS");
AAS(p_ringaas, "p-ringaas", false, false, "round a ring of fixed leaders.", "P-RingAAS");
AAS(cp_rdaas, "cp-rdaas", true, true, "by recursive doubling among leaders that came first.",
    "CP-RDAAS");
AAS(cp_ringaas, "cp-ringaas", true, false, "round a ring of leaders that came first.",
    "CP-RingAAS");
