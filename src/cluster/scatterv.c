/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatterv over nodes. Only the root knows all sizes, and each rank its own. The root sends each
 * node one letter of its short parts, behind the sizes of these, by which the leader there deals
 * them out. Long parts go straight to their ranks, in pieces; both ends know which are long. The
 * root's own node is served by the root meanwhile. Cost: m b + (N - 1) o at the root for m bytes of
 * all, and a scatter on a node; o is what a message costs a processor. Memory: the window, and the
 * teams' for moving parts.
 *
 * A node's letter may go to whoever of it comes first: it is elected, and asks the root, which
 * answers by the letter. So a late leader holds nobody up, and the root nobody of whose node has
 * come. Cost: a message to the root, and (N - 1) o there. Source: own; the election is that of
 * arrival/hall.c.
 */
#include "cluster/arrival/words.h"
#include "cluster/post.h"
#include "coll/vector/vector.h"

typedef struct scattering {
    sb_cluster_t *cluster;
    const sb_parts_t *parts;
    size_t most; /* bytes of a short part */
    uint32_t leader;
    bool first;       /* leaders are those that come first, and ask */
    uint32_t turn;    /* letters of nodes begun: of the root, to the node so many places behind */
    uint32_t missing; /* at the root: nodes that have not asked, */
    uint32_t asked;   /* and those that have; who, is in doorway->child */
    sb_net_request_t *hearing;
    sb_post_t *post;
    sb_stream_t told; /* cluster->sizes */
    sb_direct_t direct;
    sb_row_t row[SB_LETTERS];
    sb_stream_t stream[SB_LETTERS];
} scattering_t;

static bool is_root(const scattering_t *scattering)
{
    return scattering->cluster->rank == scattering->parts->root;
}

/* A node's sizes, and its short parts, as a row. */
static sb_stream_t letter_to(scattering_t *scattering, uint32_t node, sb_row_t *row)
{
    sb_cluster_t *cluster = scattering->cluster;
    const sb_map_t *map = &cluster->map;
    uint32_t begin = map->begin[node], size = sb_map_size(map, node);
    sb_item_t *item = cluster->items + begin + node;

    item[0] = (sb_item_t){&scattering->told, begin * sizeof *cluster->sizes,
                          size * sizeof *cluster->sizes};
    for (uint32_t i = 0; i < size; i++) {
        const sb_stream_t *part = &scattering->parts->send[map->member[begin + i]];
        item[i + 1] = (sb_item_t){.stream = part, .bytes = sb_short(part->bytes, scattering->most)};
        cluster->sizes[begin + i] = (uint32_t)item[i + 1].bytes;
    }
    return sb_row_stream(row, item, size + 1);
}

/* Who gets the next letter to a node; false: there is none, for now. */
static bool next_leader(scattering_t *scattering, uint32_t *leader)
{
    const sb_cluster_t *cluster = scattering->cluster;
    uint32_t nodes = cluster->map.nodes, turn = scattering->turn;

    if (turn == (scattering->first ? scattering->asked : nodes - 1))
        return false;
    scattering->turn++;
    *leader = scattering->first ? cluster->doorway->child[turn]
                                : sb_leader_of(cluster, (cluster->node + turn + 1) % nodes,
                                               scattering->parts->root);
    return true;
}

static bool next_sent(void *context, sb_letter_t *letter)
{
    scattering_t *scattering = context;
    uint32_t place = scattering->turn % SB_LETTERS, leader;

    if (!next_leader(scattering, &leader))
        return sb_direct_next(&scattering->direct, letter);
    uint32_t node = scattering->cluster->map.node_of[leader];
    scattering->stream[place] = letter_to(scattering, node, &scattering->row[place]);
    *letter = (sb_letter_t){.peer = leader,
                            .kind = SB_KIND_NODE,
                            .stream = &scattering->stream[place],
                            .bytes = scattering->stream[place].bytes};
    return true;
}

/* --- who comes first ----------------------------------------------------------------------- */

static void note(scattering_t *scattering, const sb_word_t *word)
{
    scattering->cluster->doorway->child[scattering->asked++] = word->rank;
    scattering->missing--;
    scattering->post->next[SB_OUT] = next_sent;
}

static void listen(scattering_t *scattering)
{
    if (scattering->missing > 0)
        sb_word_listen(scattering->cluster, SB_NET_ANY, &scattering->cluster->doorway->heard,
                       &scattering->hearing);
}

static void hear(void *context)
{
    scattering_t *scattering = context;
    sb_word_t *heard = &scattering->cluster->doorway->heard;

    while (sb_word_has_come(scattering->cluster, SB_NET_ANY, heard, &scattering->hearing)) {
        note(scattering, heard);
        listen(scattering);
    }
}

static bool is_settled(void *context)
{
    const scattering_t *scattering = context;

    return scattering->missing == 0 && sb_words_are_gone(scattering->cluster);
}

/* The root begins to hear who leads; leaders say so. */
static void ask(scattering_t *scattering)
{
    sb_cluster_t *cluster = scattering->cluster;
    uint32_t root = scattering->parts->root;
    sb_word_t word;

    if (cluster->rank == root) {
        scattering->missing = cluster->map.nodes - 1;
        scattering->post->turn = hear;
        while (cluster->failure == SB_OK && sb_word_kept(cluster, &word))
            note(scattering, &word);
        listen(scattering);
    } else if (scattering->leader == cluster->rank) {
        sb_word_say(cluster, root, true, (sb_word_t){.kind = SB_ASK, .rank = cluster->rank});
    }
}

/* --- the rest ------------------------------------------------------------------------------ */

/* Of the window, what receives have no use for at a leader: it sends nothing. */
static char *packed_at(const scattering_t *scattering)
{
    return sb_cluster_segment(scattering->cluster, 0);
}

static bool next_received(void *context, sb_letter_t *letter)
{
    scattering_t *scattering = context;

    if (scattering->leader != scattering->cluster->rank || scattering->turn++ > 0)
        return sb_direct_next(&scattering->direct, letter);
    *letter = (sb_letter_t){.peer = scattering->parts->root,
                            .kind = SB_KIND_NODE,
                            .data = packed_at(scattering),
                            .bytes = SB_PACKED_MOST,
                            .at_most = true};
    return true;
}

/* The node's parts, at the root and at a leader whose letter has come. */
static void lay_out(const scattering_t *scattering)
{
    sb_cluster_t *cluster = scattering->cluster;
    const sb_map_t *map = &cluster->map;
    uint32_t size = sb_map_size(map, cluster->node);
    const uint32_t *told = (const uint32_t *)(const void *)packed_at(scattering);
    char *packed = packed_at(scattering) + size * sizeof *told;

    for (uint32_t i = 0; i < size; i++) {
        if (is_root(scattering)) {
            cluster->streams[i] = scattering->parts->send[sb_map_rank(map, cluster->node, i)];
        } else {
            cluster->streams[i] = (sb_stream_t){.base = packed, .bytes = told[i]};
            packed += told[i];
        }
    }
}

/* What of this rank's part comes by the node's scatter. */
static sb_stream_t own_share(const scattering_t *scattering)
{
    const sb_cluster_t *cluster = scattering->cluster;
    sb_stream_t share = *scattering->parts->receive;

    if (cluster->map.node_of[scattering->parts->root] != cluster->node)
        share.bytes = sb_short(share.bytes, scattering->most);
    return share;
}

/* A leader has its own part already: it is no part of the team's scatter. */
static sb_status_t deal_out(const scattering_t *scattering)
{
    sb_cluster_t *cluster = scattering->cluster;
    sb_stream_t share = own_share(scattering);

    if (scattering->leader != cluster->rank)
        return sb_node_scatter(cluster, scattering->leader, NULL, &share);
    lay_out(scattering);
    if (!scattering->parts->in_place)
        sb_data_ends(cluster, sb_copy_own(&cluster->streams[cluster->local], &share));
    return sb_node_scatter(cluster, cluster->rank, cluster->streams, NULL);
}

static sb_status_t run(scattering_t *scattering)
{
    sb_cluster_t *cluster = scattering->cluster;
    bool with_root = cluster->map.node_of[scattering->parts->root] == cluster->node;
    sb_post_t post = {.cluster = cluster, .context = scattering};

    scattering->post = &post;
    if (scattering->first)
        ask(scattering);
    if (is_root(scattering))
        post.next[SB_OUT] = next_sent;
    else if (!with_root)
        post.next[SB_IN] = next_received;
    sb_post_begin(&post);
    sb_status_t status = cluster->failure;
    if (scattering->leader == cluster->rank && !with_root)
        status = sb_post_await(&post);
    if (status == SB_OK)
        status = deal_out(scattering);
    if (status == SB_OK && scattering->first)
        status = sb_cluster_wait(cluster, is_settled, scattering);
    if (status == SB_OK)
        sb_post_end(&post);
    return sb_call_ends(cluster);
}

sb_status_t sb_scatter_letters(sb_cluster_t *cluster, const sb_parts_t *parts, bool first)
{
    bool at_root = cluster->rank == parts->root;
    size_t most = sb_short_most(&cluster->map);
    scattering_t scattering = {.cluster = cluster,
                               .parts = parts,
                               .most = most,
                               .leader = sb_leader_of(cluster, cluster->node, parts->root),
                               .first = first,
                               .direct = {.cluster = cluster,
                                          .way = at_root ? SB_OUT : SB_IN,
                                          .part = at_root ? parts->send : parts->receive,
                                          .only = at_root ? SB_NET_ANY : parts->root,
                                          .above = most}};

    sb_status_t status = sb_call_begins(cluster);
    scattering.told = (sb_stream_t){.base = (char *)cluster->sizes,
                                    .bytes = cluster->map.ranks * sizeof *cluster->sizes};
    if (status == SB_OK && first)
        status = sb_heads_elect(cluster, parts->root, &scattering.leader);
    return status == SB_OK ? run(&scattering) : status;
}

sb_status_t sb_cluster_scatterv(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    bool first;
    sb_status_t status = sb_heads_begin(cluster, parts->root, &first);

    if (status != SB_OK)
        return status;
    status = sb_scatter_letters(cluster, parts, first);
    return sb_first(sb_heads_end(cluster, parts->root), status);
}
