/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather made of sends and receives, for comparison: in each stage pairs of ranks exchange all
 * that the partner lacks (baseline/exchanges.h), for any number of ranks and parts of any
 * size. Cost: log2 p messages one after the other where p is a power of two, else more; 2 (p - 1)
 * copies of each byte. Memory: a ring of at most 32 KiB and 256 bytes for each other rank, and the
 * schedule. Preconditions: the pairs. Source: see baseline/exchanges.c.
 *
 * No deadlock: both of a pair go through the same stages, and exchange in steps, see
 * sb_pair_exchange.
 */
#include "baseline/exchanges.h"
#include "baseline/pairs.h"
#include "coll/vector/vector.h"

#include <stdlib.h>
#include <string.h>

/* Private to the rank; the memory that it shares is not used. */
typedef struct scheduled {
    sb_resource_t resource;
    sb_bagds_t bagds;
} scheduled_t;

static const sb_bagds_t *schedule_of(const sb_team_t *team)
{
    return &((const scheduled_t *)(const void *)team->resource[SB_RESOURCE_BAGDS])->bagds;
}

static sb_status_t make(sb_team_t *team)
{
    sb_bagds_t *bagds = sb_bagds_new(team->size, team->rank);
    size_t bytes = bagds == NULL ? 0 : sb_bagds_bytes(bagds->members, bagds->stages);
    const sb_resource_size_t size = {.own = offsetof(scheduled_t, bagds) + bytes,
                                     .bytes = SB_PAGE,
                                     .least = SB_PAGE,
                                     .willing = bagds != NULL};
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_BAGDS, &size);

    if (status == SB_OK)
        memcpy((char *)team->resource[SB_RESOURCE_BAGDS] + offsetof(scheduled_t, bagds), bagds,
               bytes);
    free(bagds);
    return status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_BAGDS, make};

static sb_status_t prepare(sb_team_t *team)
{
    sb_status_t status = sb_pairs_prepare(team);

    return status == SB_OK ? sb_resource_need(team, &kind) : status;
}

/* The parts that move in a stage, as one message. */
typedef struct bundle {
    const sb_stream_t *parts;
    const sb_bagds_t *bagds;
    uint32_t stage;
    bool comes;
} bundle_t;

/* Goes through the parts that hold the bytes from `offset` on. */
static sb_status_t walk(const bundle_t *bundle, size_t offset, char *to, const char *from,
                        size_t bytes)
{
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; i < bundle->bagds->members && bytes > 0 && status == SB_OK; i++) {
        size_t whole = bundle->parts[i].bytes;
        if (!sb_bagds_moves(bundle->bagds, bundle->stage, i, bundle->comes))
            continue;
        size_t here = offset < whole ? sb_min(whole - offset, bytes) : 0;
        if (here > 0)
            status = to != NULL ? sb_stream_read(&bundle->parts[i], offset, to, here)
                                : sb_stream_write(&bundle->parts[i], offset, from, here);
        offset = here > 0 ? 0 : offset - whole;
        to = to == NULL ? NULL : to + here;
        from = from == NULL ? NULL : from + here;
        bytes -= here;
    }
    return status;
}

static sb_status_t read_bundle(void *context, size_t offset, void *to, size_t bytes)
{
    return walk(context, offset, to, NULL, bytes);
}

static sb_status_t write_bundle(void *context, size_t offset, const void *from, size_t bytes)
{
    return walk(context, offset, NULL, from, bytes);
}

static sb_stream_t stream_of(bundle_t *bundle)
{
    sb_stream_t stream = {.read = read_bundle, .write = write_bundle, .context = bundle};

    for (uint32_t i = 0; i < bundle->bagds->members; i++) {
        if (sb_bagds_moves(bundle->bagds, bundle->stage, i, bundle->comes))
            stream.bytes += bundle->parts[i].bytes;
    }
    return stream;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    const sb_bagds_t *bagds = schedule_of(team);
    sb_status_t outcome = SB_OK;

    if (!parts->in_place)
        outcome = sb_copy_own(parts->send, &parts->receive[team->rank]);
    for (uint32_t stage = 0; stage < bagds->stages && team->failure == SB_OK; stage++) {
        uint32_t partner = sb_bagds_partner(bagds, stage);
        bundle_t goes = {parts->receive, bagds, stage, false}, comes = goes;
        comes.comes = true;
        sb_stream_t sent = stream_of(&goes), received = stream_of(&comes);
        if (partner != bagds->members)
            outcome = sb_first(outcome, sb_pair_exchange(team, partner, &sent, partner, &received));
    }
    return outcome;
}

/* The stages of numbers that are no powers of two: about twice as many. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    bool whole = (shape->ranks & (shape->ranks - 1)) == 0;
    double stages = sb_rounds(shape->ranks) * (whole ? 1.0 : 2.0);

    return stages * 2 * price->line + (shape->ranks - 1) * 2 * price->byte * (double)bytes +
           sb_cost_turns(shape, stages);
}

#define BAGDS(of)                                                                                  \
    {                                                                                              \
        .name = "bagds", .collective = of,                                                         \
        .doc = "Pairs of ranks exchange all that the partner lacks, for any number of ranks. "     \
               "Over nodes: so do their leaders. For comparison.",                                 \
        .source = "Feldman, Nazarova 2016, the block algorithm of global data distribution",       \
        .on_request = true, .over_nodes = true, .prepare = prepare, .cost = cost, .parts = run,    \
    }

const sb_algorithm_t sb_allgather_bagds = BAGDS(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_bagds = BAGDS(SB_ALLGATHERV);
