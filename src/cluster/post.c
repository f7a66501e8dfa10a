/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/post.h"

static uint32_t place_of(sb_direction_t way, uint64_t number)
{
    return way * SB_LETTERS + (uint32_t)(number % SB_LETTERS);
}

/* Where the letter lies while it is under way. */
static char *memory_of(const sb_post_t *post, const sb_letter_t *letter, uint32_t place)
{
    if (letter->data != NULL)
        return letter->data;
    if (letter->stream->base != NULL)
        return letter->stream->base + letter->offset;
    return sb_cluster_segment(post->cluster, place);
}

static bool is_staged(const sb_letter_t *letter)
{
    return letter->data == NULL && letter->stream->base == NULL;
}

/* It has come: to where it belongs. */
static void take(sb_post_t *post, sb_letter_t *letter, const sb_program_t *program)
{
    if (is_staged(letter))
        sb_data_ends(post->cluster, sb_stream_write(letter->stream, letter->offset,
                                                    program->bytes_at, letter->bytes));
}

static bool write_step(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    sb_post_t *post = program->context;
    uint32_t place = (uint32_t)(program - post->cluster->program);
    sb_direction_t way = place < SB_LETTERS ? SB_OUT : SB_IN;
    sb_letter_t *letter = &post->letter[way][place % SB_LETTERS];

    if (number == 0) {
        sb_message_t *message =
            sb_step_add(step, program->root_node, program->bytes_at, letter->bytes);
        message->receives = way == SB_IN;
        message->at_most = letter->at_most;
        return true;
    }
    if (way == SB_IN)
        take(post, letter, program);
    return false;
}

static void begin(sb_post_t *post, sb_direction_t way, const sb_letter_t *letter)
{
    sb_cluster_t *cluster = post->cluster;
    uint32_t place = place_of(way, post->begun[way]++);
    sb_program_t *program = sb_program_of(cluster, place, letter->peer);

    program->tag = sb_tag_of(cluster, letter->kind);
    program->write_step = write_step;
    program->context = post;
    program->bytes_at = memory_of(post, letter, place);
    if (way == SB_OUT && is_staged(letter))
        sb_data_ends(cluster, sb_stream_read(letter->stream, letter->offset, program->bytes_at,
                                             letter->bytes));
    sb_program_begin(cluster, program);
}

static void refill_way(sb_post_t *post, sb_direction_t way)
{
    const sb_program_t *program = post->cluster->program;

    while (post->next[way] != NULL && !program[place_of(way, post->begun[way])].open) {
        sb_letter_t *letter = &post->letter[way][post->begun[way] % SB_LETTERS];
        *letter = (sb_letter_t){0};
        if (post->next[way](post->context, letter))
            begin(post, way, letter);
        else
            post->next[way] = NULL;
    }
}

static void refill(void *context)
{
    sb_post_t *post = context;
    const sb_program_t *program = post->cluster->program;

    if (post->turn != NULL)
        post->turn(post->context);
    while (post->came < post->begun[SB_IN] && !program[place_of(SB_IN, post->came)].open)
        post->came++;
    refill_way(post, SB_OUT);
    refill_way(post, SB_IN);
}

void sb_post_begin(sb_post_t *post)
{
    post->cluster->refill = refill;
    post->cluster->refill_context = post;
    sb_programs_turn(post->cluster);
}

static bool has_come(void *context)
{
    const sb_post_t *post = context;

    return post->came > 0;
}

sb_status_t sb_post_await(sb_post_t *post)
{
    return sb_cluster_wait(post->cluster, has_come, post);
}

sb_status_t sb_post_end(sb_post_t *post)
{
    sb_status_t status = sb_programs_end(post->cluster);

    post->cluster->refill = NULL;
    return status;
}

/* --- long parts ---------------------------------------------------------------------------- */

static uint32_t peer_in(const sb_direct_t *direct, uint32_t turn)
{
    uint64_t rank = direct->cluster->rank, ranks = direct->cluster->map.ranks;

    return (uint32_t)((direct->way == SB_OUT ? rank + turn : rank + ranks - turn) % ranks);
}

/* The part of the turn, if there is one that goes directly. */
static const sb_stream_t *part_in(const sb_direct_t *direct, uint32_t turn)
{
    uint32_t peer = peer_in(direct, turn);

    if (direct->cluster->map.node_of[peer] == direct->cluster->node ||
        (direct->only != SB_NET_ANY && direct->only != peer))
        return NULL;
    const sb_stream_t *part = direct->only == SB_NET_ANY ? &direct->part[peer] : direct->part;
    return part->bytes > direct->above ? part : NULL;
}

bool sb_direct_next(sb_direct_t *direct, sb_letter_t *letter)
{
    uint32_t ranks = direct->cluster->map.ranks;
    const sb_stream_t *part = NULL;

    for (; direct->turn < ranks; direct->turn++, direct->offset = 0) {
        part = part_in(direct, direct->turn);
        if (part != NULL && direct->offset < part->bytes)
            break;
    }
    if (direct->turn == ranks)
        return false;
    letter->peer = peer_in(direct, direct->turn);
    letter->kind = SB_KIND_DIRECT;
    letter->stream = part;
    letter->offset = direct->offset;
    letter->bytes = direct->offset == 0 ? (part->bytes - 1) % SB_PACKED_MOST + 1 : SB_PACKED_MOST;
    direct->offset += letter->bytes;
    return true;
}

/* Longer ones take so long that one message more does not count. */
#define SHORT_MOST ((size_t)4096)

size_t sb_short_most(const sb_map_t *map)
{
    uint32_t largest = 1;

    for (uint32_t node = 0; node < map->nodes; node++)
        largest = (uint32_t)sb_max(largest, sb_map_size(map, node));
    return sb_min(SB_PACKED_MOST / largest - sizeof(uint32_t), SHORT_MOST);
}
