/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast through NUMA-placed rings with a tree of notifications. Each rank owns a ring of s
 * buffers of f bytes, divided into q sets, and one control word for each buffer, all on its own
 * NUMA node. The root opens a set when all readers have left it, copies fragment after fragment
 * into its ring, and writes the size of each into the control words of its children. A reader waits
 * for its own control word, writes the size on to its children, and only then copies from the
 * root's ring; after the set's last buffer it counts itself off. Cost: q ceil(m/b) openings of a
 * set + ceil(m/f) notifications + f t + m t, see model.h; the counter of a set takes p - 1 atomic
 * additions. Memory: s (f + 128) bytes a rank. Preconditions: the pipeline's memory. Source:
 * Kurnosov, Tokmasheva, 2020.
 *
 * What differs from the paper, and why it is the same algorithm:
 *   - Control words are not reset but hold the number of the set's use, which only grows; the size
 *     stands beside it. A control word has one writer at a time, the parent in the tree of that
 *     use's root: the next writer has the next root's news, which that root gave after all readers
 *     had left the set, this one included. Sets: see setring.h.
 *   - A message's first set is opened in a slot of the root's control block, where all messages are
 *     announced: a rank that chose another way, because it expects another size, can be told.
 *   - The end of the message travels with the last size, so readers need not know the length.
 */
#include "baseline/announced.h"
#include "baseline/baseline.h"
#include "baseline/pipeline.h"
#include "coll/bcast/bcast.h"

/* Writes the news of a buffer into the children's control words. */
static void notify(sb_team_t *team, uint32_t children, uint32_t index, uint32_t note)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);

    for (uint32_t i = 0; i < children; i++) {
        sb_flag_t *control = sb_pipeline_control(team, pipeline->children[i], index);
        sb_flag_set_note(control, note);
        sb_flag_publish(control, pipeline->ring.uses + 1);
    }
}

static sb_status_t send(sb_team_t *team, const sb_stream_t *stream)
{
    sb_pipeline_t *pipeline = sb_pipeline(team);
    sb_pipeline_place_t place = sb_pipeline_place(team, team->rank, stream->bytes);
    size_t fragment = sb_pipeline_fragment(team, stream->bytes);
    sb_status_t data = SB_OK;
    bool last = false;

    for (size_t offset = 0; !last; pipeline->ring.uses++) {
        sb_status_t status = sb_announce_set(team, &pipeline->ring, offset == 0,
                                             SB_ANNOUNCED_NUMA_PIPELINED, stream->bytes);
        if (status != SB_OK)
            return status;
        for (uint32_t i = 0; i < pipeline->ring.per_set && !last; i++) {
            uint32_t index = sb_setring_buffer(&pipeline->ring, i);
            size_t bytes = sb_min(fragment, stream->bytes - offset);
            /* A rank that cannot read its own data serves the others all the same. */
            if (data == SB_OK)
                data = sb_stream_read(stream, offset, sb_pipeline_buffer(team, team->rank, index),
                                      bytes);
            offset += bytes;
            last = offset == stream->bytes;
            notify(team, place.count, index, (uint32_t)bytes | (last ? SB_PIPELINE_LAST : 0));
        }
    }
    sb_slot_finish(team, 1);
    return data;
}

/* What a reader has of its message so far. */
typedef struct progress {
    size_t offset; /* bytes announced */
    bool last;     /* there are no more */
    sb_status_t data;
} progress_t;

/* Waits for the buffer's news, passes it on and copies what there is room for. */
static sb_status_t receive_fragment(sb_team_t *team, const sb_news_t *news, uint32_t index,
                                    uint32_t children, progress_t *progress)
{
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    sb_flag_t *control = sb_pipeline_control(team, team->rank, index);
    sb_status_t status = sb_flag_wait(control, pipeline->ring.uses + 1, &team->waiter);

    if (status != SB_OK)
        return status;
    uint32_t note = sb_flag_note(control);
    size_t bytes = note & SB_PIPELINE_BYTES;
    if (bytes > pipeline->stride)
        return sb_out_of_step(team);
    notify(team, children, index, note);
    if (progress->data == SB_OK)
        progress->data = sb_take(news->stream, progress->offset,
                                 sb_pipeline_buffer(team, news->root, index), bytes);
    progress->offset += bytes;
    progress->last = (note & SB_PIPELINE_LAST) != 0;
    return SB_OK;
}

/* The message's first set is open; each of the others will be when its flag says so. */
static sb_status_t receive(sb_team_t *team, const sb_news_t *news)
{
    sb_pipeline_t *pipeline = sb_pipeline(team);
    progress_t progress = {0};
    sb_status_t status = SB_OK;
    uint64_t sent;

    sb_copy(&sent, news->payload, sizeof sent);
    sb_pipeline_place_t place = sb_pipeline_place(team, news->root, sent);
    for (bool first = true; !progress.last; first = false) {
        if (!first)
            status = sb_setring_enter(team, &pipeline->ring);
        for (uint32_t i = 0; status == SB_OK && i < pipeline->ring.per_set && !progress.last; i++) {
            uint32_t index = sb_setring_buffer(&pipeline->ring, i);
            status = receive_fragment(team, news, index, place.count, &progress);
        }
        if (status != SB_OK)
            return status;
        sb_setring_leave(&pipeline->ring);
    }
    sb_slot_finish(team, 1);
    return sb_received_all(progress.data, progress.offset, news->stream);
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    if (team->size == 1) /* nobody would ever empty a set */
        return SB_OK;
    return team->rank == root ? send(team, stream) : sb_bcast_receive(team, root, NULL, stream);
}

/*
 * As the model has it, in the prices of the other algorithms: a set is opened to p - 1 readers and
 * left by as many additions to one line; both copies are paid for, as is one notification for each
 * fragment.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    sb_settings_t settings = {.ring_bytes = shape->ring_bytes};
    sb_pipeline_form_t form = sb_pipeline_form(&settings);
    double ring = (double)form.fragment * form.slots;
    const sb_model_prices_t prices = {
        .byte = price->byte,
        .notify = price->line,
        .open = sb_cost_ring(shape) + price->reader * (shape->ranks - 2),
        .release = price->line * (shape->ranks - 1),
    };
    double turns = (double)bytes > ring ? (double)bytes / ring : 1;

    return sb_model_sets(&prices, bytes, form.fragment, ring,
                         (double)bytes > ring ? form.sets : 1) +
           price->byte * (double)bytes + sb_cost_turns(shape, 2 * turns);
}

const sb_algorithm_t sb_bcast_numa_pipelined = {
    .name = "numa-pipelined",
    .collective = SB_BCAST,
    .doc = "Pipelined through the root's ring in sets of buffers; notifications go down a tree by "
           "SOBOR_BCAST_TREE. The published algorithm.",
    .source = "Kurnosov, Tokmasheva 2020",
    .on_request = true,
    .prepare = sb_pipeline_prepare,
    .cost = cost,
    .bcast = run,
};

const sb_bcast_memory_t sb_announced_numa_pipelined = {sb_pipeline_prepare, SB_RESOURCE_PIPELINE,
                                                       receive};
