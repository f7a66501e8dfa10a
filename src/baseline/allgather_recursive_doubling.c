/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather made of sends and receives, for comparison: in round i two ranks that differ in bit i
 * exchange all parts that they have. Where p is not a power of two, each rank beyond the largest
 * one, P, first gives its part to the rank P below, and gets everything from it at the end. Cost:
 * log2 p messages one after the other; 2 (p - 1) copies of each byte. Memory: a ring of at most 32
 * KiB and 256 bytes for each other rank. Preconditions: the pairs. Source: the recursive doubling
 * of MPI libraries.
 *
 * No deadlock: two ranks that exchange do so in steps, see sb_pair_exchange; a rank beyond P only
 * sends or only receives, and its partner the other way round.
 */
#include "baseline/pairs.h"
#include "coll/vector/mesh.h"
#include "coll/vector/vector.h"

/* The parts of ranks [first, first + count), and of those P above them, as one message. */
typedef struct bundle {
    const sb_stream_t *parts;
    uint32_t first;
    uint32_t count;
    uint32_t power; /* P */
    uint32_t size;
    uint32_t above; /* how many of the ranks have one above */
} bundle_t;

static const sb_stream_t *part_of(const bundle_t *bundle, uint32_t i)
{
    return i < bundle->count ? &bundle->parts[bundle->first + i]
                             : &bundle->parts[bundle->first + i - bundle->count + bundle->power];
}

typedef sb_status_t pass_t(const sb_stream_t *part, size_t offset, char *buffer, size_t bytes);

static sb_status_t pass_out(const sb_stream_t *part, size_t offset, char *buffer, size_t bytes)
{
    return sb_stream_read(part, offset, buffer, bytes);
}

static sb_status_t pass_in(const sb_stream_t *part, size_t offset, char *buffer, size_t bytes)
{
    return sb_stream_write(part, offset, buffer, bytes);
}

/* Goes through the parts that hold the bytes from `offset` on. */
static sb_status_t walk(const bundle_t *bundle, size_t offset, char *buffer, size_t bytes,
                        pass_t *pass)
{
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; bytes > 0 && status == SB_OK; i++) {
        const sb_stream_t *part = part_of(bundle, i);
        if (offset >= part->bytes) {
            offset -= part->bytes;
            continue;
        }
        size_t here = sb_min(part->bytes - offset, bytes);
        status = pass(part, offset, buffer, here);
        buffer += here;
        bytes -= here;
        offset = 0;
    }
    return status;
}

static sb_status_t read_bundle(void *context, size_t offset, void *to, size_t bytes)
{
    return walk(context, offset, to, bytes, pass_out);
}

static sb_status_t write_bundle(void *context, size_t offset, const void *from, size_t bytes)
{
    return walk(context, offset, (char *)(uintptr_t)from, bytes, pass_in);
}

static sb_stream_t stream_of(bundle_t *bundle, uint32_t first, uint32_t count)
{
    sb_stream_t stream = {.read = read_bundle, .write = write_bundle, .context = bundle};
    uint32_t beyond = bundle->size - bundle->power;

    bundle->first = first;
    bundle->count = count;
    bundle->above = first < beyond ? (uint32_t)sb_min(count, beyond - first) : 0;
    for (uint32_t i = 0; i < count + bundle->above; i++)
        stream.bytes += part_of(bundle, i)->bytes;
    return stream;
}

/* A rank beyond P. */
static sb_status_t run_beyond(sb_team_t *team, const sb_stream_t *parts, bundle_t *bundle)
{
    uint32_t partner = team->rank - bundle->power;
    sb_status_t outcome = sb_pair_send(team, partner, &parts[team->rank]);
    sb_stream_t all = stream_of(bundle, 0, bundle->power);

    return sb_first(outcome, sb_pair_receive(team, partner, &all));
}

static sb_status_t run_below(sb_team_t *team, const sb_stream_t *parts, bundle_t *bundle)
{
    uint32_t rank = team->rank, above = rank + bundle->power;
    bundle_t other = *bundle;
    sb_status_t outcome = SB_OK;

    if (above < team->size)
        outcome = sb_pair_receive(team, above, &parts[above]);
    for (uint32_t count = 1; count < bundle->power && team->failure == SB_OK; count *= 2) {
        uint32_t partner = rank ^ count;
        sb_stream_t sent = stream_of(bundle, rank & ~(count - 1), count);
        sb_stream_t received = stream_of(&other, partner & ~(count - 1), count);
        outcome = sb_first(outcome, sb_pair_exchange(team, partner, &sent, partner, &received));
    }
    if (above < team->size) {
        sb_stream_t all = stream_of(bundle, 0, bundle->power);
        outcome = sb_first(outcome, sb_pair_send(team, above, &all));
    }
    return outcome;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    bundle_t bundle = {.parts = parts->receive, .power = 1, .size = team->size};
    sb_status_t outcome = SB_OK;

    while (bundle.power * 2 <= team->size)
        bundle.power *= 2;
    if (!parts->in_place)
        outcome = sb_copy_own(parts->send, &parts->receive[team->rank]);
    sb_status_t moved = team->rank >= bundle.power ? run_beyond(team, parts->receive, &bundle)
                                                   : run_below(team, parts->receive, &bundle);
    return sb_first(moved, outcome);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_rounds(shape->ranks) * 2 * price->line +
           (shape->ranks - 1) * 2 * price->byte * (double)bytes +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

#define DOUBLING(of)                                                                               \
    {                                                                                              \
        .name = "p2p-recursive-doubling", .collective = of,                                        \
        .doc = "Two ranks exchange all parts that they have, in log2 p rounds. For comparison.",   \
        .source = "the recursive doubling of MPI libraries", .on_request = true,                   \
        .prepare = sb_pairs_prepare, .cost = cost, .parts = run,                                   \
    }

const sb_algorithm_t sb_allgather_p2p_recursive_doubling = DOUBLING(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_p2p_recursive_doubling = DOUBLING(SB_ALLGATHERV);
