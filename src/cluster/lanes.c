/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short parts of an Alltoall between nodes. Each rank gives every lane of its node what it has for
 * the nodes of that lane; lanes exchange one letter with each; then each lane gives every rank of
 * its node what has come for it. Where only sender and receiver know the size of a part, a rank
 * tells its lanes the sizes first, and a letter begins with those of its parts. Cost: ceil((N - 1)
 * / n) letters at each of n lanes, and two exchanges on the node, or three. Memory: the window.
 * Source: node-aware aggregation of MPI_Alltoall is folklore; see Bienz, Olson, Gropp, "Node-aware
 * improvements to allreduce", 2019, for lanes.
 */
#include "cluster/lanes.h"

/* Half of the window is for what goes, half for what comes. */
#define ROOM (SB_WINDOW * SB_SEGMENT_BYTES)

typedef uint16_t size_told_t;

static uint32_t local_ranks(const sb_lanes_t *lanes)
{
    return sb_map_size(&lanes->cluster->map, lanes->cluster->node);
}

/* The node that is so many places away, in that way. */
static uint32_t node_at(const sb_lanes_t *lanes, sb_direction_t way, uint32_t distance)
{
    uint64_t node = lanes->cluster->node, nodes = lanes->cluster->map.nodes;

    return (uint32_t)((way == SB_OUT ? node + distance : node + nodes - distance) % nodes);
}

/* Parts that go between this node and the other, in one way. */
static size_t pairs(const sb_lanes_t *lanes, uint32_t node)
{
    return (size_t)local_ranks(lanes) * sb_map_size(&lanes->cluster->map, node);
}

static size_t head_bytes(const sb_lanes_t *lanes, uint32_t node)
{
    return lanes->told ? pairs(lanes, node) * sizeof(size_told_t) : 0;
}

/* Room of a letter to or from the node. */
static size_t room_of(const sb_lanes_t *lanes, uint32_t node)
{
    return head_bytes(lanes, node) + pairs(lanes, node) * lanes->piece;
}

/* What of a part goes this time. */
static size_t share_of(const sb_lanes_t *lanes, const sb_stream_t *part)
{
    return lanes->told ? sb_short(part->bytes, lanes->piece) : lanes->piece;
}

/* Of the part with that number in a letter. */
static size_t share_told(const sb_lanes_t *lanes, const char *letter, size_t number)
{
    return lanes->told ? ((const size_told_t *)(const void *)letter)[number] : lanes->piece;
}

/* --- rows: what a rank has with a lane ----------------------------------------------------- */

typedef struct shelf {
    sb_lanes_t *lanes;
    sb_item_t *item; /* the next that is free */
    sb_stream_t window;
} shelf_t;

static shelf_t open_shelf(sb_lanes_t *lanes)
{
    sb_cluster_t *cluster = lanes->cluster;

    return (shelf_t){.lanes = lanes,
                     .item = cluster->items,
                     .window = {.base = cluster->window, .bytes = 2 * ROOM}};
}

/* So many items are a row: with the local rank of that number, in that way. */
static void make_row(const shelf_t *shelf, const sb_item_t *first, size_t count, sb_direction_t way,
                     uint32_t local)
{
    sb_cluster_t *cluster = shelf->lanes->cluster;
    uint32_t place = way * local_ranks(shelf->lanes) + local;

    cluster->streams[place] = sb_row_stream(&cluster->rows[place], first, (uint32_t)count);
}

/* This rank's parts for, or from, the nodes of each lane. */
static void lay_own(shelf_t *shelf, sb_direction_t way)
{
    const sb_lanes_t *lanes = shelf->lanes;
    const sb_map_t *map = &lanes->cluster->map;
    const sb_stream_t *part = way == SB_OUT ? lanes->parts->send : lanes->parts->receive;

    for (uint32_t lane = 0; lane < local_ranks(lanes); lane++) {
        uint32_t count = 0;

        for (uint32_t d = lane + 1; d < map->nodes; d += local_ranks(lanes)) {
            uint32_t node = node_at(lanes, way, d);
            for (uint32_t i = map->begin[node]; i < map->begin[node + 1]; i++)
                count = sb_items_add(shelf->item, count, &part[map->member[i]], lanes->from,
                                     share_of(lanes, &part[map->member[i]]));
        }
        make_row(shelf, shelf->item, count, way, lane);
        shelf->item += count;
    }
}

static sb_item_t memory_item(const shelf_t *shelf, const char *at, size_t bytes)
{
    return (sb_item_t){&shelf->window, (size_t)(at - shelf->window.base), bytes};
}

/* The bytes that a rank gives to a letter, which holds the sizes: of these parts, so many. */
static size_t shares_told(const sb_lanes_t *lanes, const char *letter, size_t first, size_t count)
{
    size_t bytes = 0;

    for (size_t i = first; i < first + count; i++)
        bytes += share_told(lanes, letter, i);
    return bytes;
}

/* What each rank of the node gives to this lane's letters: sizes of its parts, or these. */
static void lay_given(shelf_t *shelf, bool sizes)
{
    const sb_lanes_t *lanes = shelf->lanes;
    uint32_t ours = local_ranks(lanes), nodes = lanes->cluster->map.nodes;
    size_t letters = (nodes - 1 - lanes->cluster->local + ours - 1) / ours;
    char *letter = lanes->cluster->window;
    sb_item_t *item = shelf->item;

    for (uint32_t d = lanes->cluster->local + 1; d < nodes; d += ours, item++) {
        uint32_t node = node_at(lanes, SB_OUT, d);
        size_t theirs = sb_map_size(&lanes->cluster->map, node);
        const char *at = sizes ? letter : letter + head_bytes(lanes, node);
        for (uint32_t local = 0; local < ours; local++) {
            size_t bytes = sizes ? theirs * sizeof(size_told_t)
                                 : shares_told(lanes, letter, local * theirs, theirs);
            item[local * letters] = memory_item(shelf, at, bytes);
            at += bytes;
        }
        letter += room_of(lanes, node);
    }
    for (uint32_t local = 0; local < ours; local++)
        make_row(shelf, shelf->item + local * letters, letters, SB_IN, local);
    shelf->item += ours * letters;
}

static size_t ranks_of_lane(const sb_lanes_t *lanes)
{
    size_t ranks = 0;

    for (uint32_t d = lanes->cluster->local + 1; d < lanes->cluster->map.nodes;
         d += local_ranks(lanes))
        ranks += sb_map_size(&lanes->cluster->map, node_at(lanes, SB_IN, d));
    return ranks;
}

/* What each rank of the node gets of this lane's letters: a part of each rank of other nodes. */
static void lay_taken(shelf_t *shelf)
{
    const sb_lanes_t *lanes = shelf->lanes;
    uint32_t ours = local_ranks(lanes), nodes = lanes->cluster->map.nodes;
    size_t count = ranks_of_lane(lanes);
    char *letter = lanes->cluster->window + ROOM;
    sb_item_t *item = shelf->item;

    for (uint32_t d = lanes->cluster->local + 1; d < nodes; d += ours) {
        uint32_t node = node_at(lanes, SB_IN, d);
        const char *at = letter + head_bytes(lanes, node);
        for (size_t i = 0; i < pairs(lanes, node); i++) {
            size_t bytes = share_told(lanes, letter, i);
            item[i % ours * count + i / ours] = memory_item(shelf, at, bytes);
            at += bytes;
        }
        item += pairs(lanes, node) / ours;
        letter += room_of(lanes, node);
    }
    for (uint32_t local = 0; local < ours; local++)
        make_row(shelf, shelf->item + local * count, count, SB_OUT, local);
    shelf->item += ours * count;
}

/* --- letters -------------------------------------------------------------------------------- */

static size_t letter_bytes(const sb_lanes_t *lanes, const char *letter, uint32_t node)
{
    return head_bytes(lanes, node) + shares_told(lanes, letter, 0, pairs(lanes, node));
}

/* With the lane of the node that is next in that way. */
static bool next(sb_lanes_t *lanes, sb_direction_t way, sb_letter_t *letter)
{
    const sb_map_t *map = &lanes->cluster->map;
    uint32_t distance = lanes->distance[way], node = node_at(lanes, way, distance);

    if (distance >= map->nodes)
        return false;
    *letter = (sb_letter_t){.peer = sb_map_rank(map, node, (distance - 1) % sb_map_size(map, node)),
                            .kind = SB_KIND_NODE,
                            .data = lanes->place[way],
                            .bytes = way == SB_OUT ? letter_bytes(lanes, lanes->place[way], node)
                                                   : room_of(lanes, node),
                            .at_most = lanes->told};
    lanes->distance[way] += local_ranks(lanes);
    lanes->place[way] += room_of(lanes, node);
    return true;
}

static bool next_sent(void *context, sb_letter_t *letter)
{
    return next(context, SB_OUT, letter);
}

static bool next_received(void *context, sb_letter_t *letter)
{
    return next(context, SB_IN, letter);
}

/* --- the exchange --------------------------------------------------------------------------- */

static sb_status_t exchange_on_node(const sb_lanes_t *lanes)
{
    sb_cluster_t *cluster = lanes->cluster;

    return sb_node_alltoall(cluster, cluster->streams, cluster->streams + local_ranks(lanes));
}

/* Sizes of what this rank has for the nodes of the lane, in the order in which the parts go. */
static size_told_t *write_sizes(const sb_lanes_t *lanes, uint32_t lane, size_told_t *size)
{
    const sb_map_t *map = &lanes->cluster->map;

    for (uint32_t d = lane + 1; d < map->nodes; d += local_ranks(lanes)) {
        uint32_t node = node_at(lanes, SB_OUT, d);
        for (uint32_t i = map->begin[node]; i < map->begin[node + 1]; i++)
            *size++ = (size_told_t)share_of(lanes, &lanes->parts->send[map->member[i]]);
    }
    return size;
}

static sb_status_t tell_sizes(sb_lanes_t *lanes)
{
    sb_cluster_t *cluster = lanes->cluster;
    size_told_t *size = (size_told_t *)cluster->sizes;
    shelf_t shelf = open_shelf(lanes);

    for (uint32_t lane = 0; lane < local_ranks(lanes); lane++) {
        size_told_t *end = write_sizes(lanes, lane, size);
        cluster->streams[lane] =
            (sb_stream_t){.base = (char *)size, .bytes = (size_t)(end - size) * sizeof *size};
        size = end;
    }
    lay_given(&shelf, true);
    return exchange_on_node(lanes);
}

static sb_status_t collect(sb_lanes_t *lanes)
{
    shelf_t shelf = open_shelf(lanes);

    lay_own(&shelf, SB_OUT);
    lay_given(&shelf, false);
    return exchange_on_node(lanes);
}

static sb_status_t deliver(sb_lanes_t *lanes)
{
    shelf_t shelf = open_shelf(lanes);

    lay_taken(&shelf);
    lay_own(&shelf, SB_IN);
    return exchange_on_node(lanes);
}

sb_status_t sb_lanes_exchange(sb_lanes_t *lanes, sb_status_t (*meanwhile)(void *context),
                              void *context)
{
    sb_cluster_t *cluster = lanes->cluster;
    sb_post_t post = {.cluster = cluster, .context = lanes, .next = {next_sent, next_received}};
    sb_status_t status = lanes->told ? tell_sizes(lanes) : SB_OK;

    for (unsigned way = 0; way < SB_DIRECTIONS; way++) {
        lanes->distance[way] = cluster->local + 1;
        lanes->place[way] = cluster->window + way * ROOM;
    }
    if (status == SB_OK)
        status = collect(lanes);
    if (status != SB_OK)
        return status;
    sb_post_begin(&post);
    if (meanwhile != NULL)
        status = meanwhile(context);
    if (status == SB_OK)
        status = sb_post_end(&post);
    return status == SB_OK ? deliver(lanes) : status;
}

/* --- room ----------------------------------------------------------------------------------- */

size_t sb_lanes_most(const sb_map_t *map, bool told)
{
    size_t most = 1, largest = 1, head = told ? sizeof(size_told_t) : 0;

    for (uint32_t node = 0; node < map->nodes; node++) {
        uint32_t size = sb_map_size(map, node);
        most = sb_max(most, (size_t)(map->nodes - 1 + size - 1) / size * size);
        largest = sb_max(largest, size);
    }
    size_t room = ROOM / most / largest;
    return room > head ? (room - head) / 2 * 2 : 0;
}

size_t sb_lane_items(const sb_map_t *map, uint32_t rank)
{
    uint32_t node = map->node_of[rank], size = sb_map_size(map, node);
    size_t items = 0;

    for (uint32_t d = map->local_of[rank] + 1; d < map->nodes; d += size)
        items += (size_t)size * sb_map_size(map, (node + map->nodes - d) % map->nodes);
    return items;
}
