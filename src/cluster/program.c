/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/program.h"

#include "cluster/cluster.h"

/* Tags are the call's and the segment's numbers, as far as they go. Messages of one tag between two
 * ranks are in order, and all of a call are received before it ends, so none is mistaken. */
#define SEGMENT_BITS 6
#define TAG_BITS (SEGMENT_BITS + 1) /* one tells segments from words */

_Static_assert((SB_NET_TAGS & (SB_NET_TAGS - 1)) == 0, "a tag is some bits of a number");
_Static_assert(1 << SEGMENT_BITS > SB_WINDOW, "the segments under way have tags of their own");

uint32_t sb_tag_of(const sb_cluster_t *cluster, size_t segment)
{
    uint64_t tag = cluster->calls << TAG_BITS | (segment & ((1u << SEGMENT_BITS) - 1));

    return (uint32_t)(tag & (SB_NET_TAGS - 1));
}

uint32_t sb_word_tag(bool to_root)
{
    return 1u << SEGMENT_BITS | to_root;
}

sb_program_t *sb_program_of(sb_cluster_t *cluster, size_t segment, uint32_t root)
{
    sb_program_t *program = &cluster->program[segment % SB_WINDOW];

    program->tag = sb_tag_of(cluster, segment);
    program->last_leads = false;
    program->nodes = cluster->map.nodes;
    program->self = cluster->node;
    program->laned = false;
    program->partners = NULL;
    program->leaders = NULL;
    program->root = root;
    program->root_node = cluster->map.node_of[root];
    program->scratch = sb_cluster_segment(cluster, segment);
    return program;
}

static uint32_t peer_of(const sb_cluster_t *cluster, const sb_program_t *program, uint32_t node)
{
    if (program->laned)
        return sb_map_rank(&cluster->map, node, cluster->local);
    if (program->partners != NULL)
        return sb_map_rank(&cluster->map, node,
                           sb_partners_rank(program->partners, node, program->self));
    if (program->leaders != NULL)
        return program->leaders[node];
    return program->last_leads ? sb_map_last(&cluster->map, node)
                               : sb_leader_of(cluster, node, program->root);
}

static void begin_message(sb_cluster_t *cluster, const sb_program_t *program, sb_message_t *message)
{
    uint32_t peer = peer_of(cluster, program, message->node);

    if (message->receives)
        sb_message_comes(cluster, peer, program->tag, message->data, message->bytes,
                         &message->request);
    else
        sb_message_sends(cluster, peer, program->tag, message->data, message->bytes, false,
                         &message->request);
}

/* The next step that has messages; false: there is none. */
static bool begin_step(sb_cluster_t *cluster, sb_program_t *program)
{
    do {
        program->step.count = program->step.folds = 0;
        if (!program->write_step(program, program->number, &program->step))
            return false;
        program->number++;
    } while (program->step.count == 0);
    for (uint32_t i = 0; i < program->step.count; i++)
        begin_message(cluster, program, &program->step.message[i]);
    return true;
}

/* Looks before the first that turns programs. */
#define LOOKS_BETWEEN 16

/*
 * A wait inside a node is short, and begins with so many looks that it is over before it makes
 * progress. With messages under way it begins with few: a step waits for this rank to see that the
 * one before is over.
 */
void sb_programs_hurry(sb_cluster_t *cluster, bool under_way)
{
    if (cluster->team == NULL)
        return;
    sb_waiter_t *waiter = &cluster->team->waiter;
    const sb_waiter_t *usual = &cluster->waiter;
    waiter->bare_spins = under_way ? sb_min(LOOKS_BETWEEN, usual->bare_spins) : usual->bare_spins;
    waiter->paused_spins = under_way ? 0 : usual->paused_spins;
    cluster->team->under_way = under_way;
}

void sb_program_begin(sb_cluster_t *cluster, sb_program_t *program)
{
    program->number = 0;
    program->open = begin_step(cluster, program);
    if (program->open)
        sb_programs_hurry(cluster, true);
}

size_t sb_request_look(sb_cluster_t *cluster, sb_net_request_t **request, size_t bytes,
                       bool at_most)
{
    sb_net_news_t news = {.bytes = bytes};
    bool done = sb_message_tested(cluster, request, &news);

    if (done && news.bytes != bytes && !at_most)
        sb_cluster_fails(cluster, SB_ERR_TRUNCATE);
    return done ? news.bytes : bytes;
}

static bool is_step_over(sb_cluster_t *cluster, sb_step_t *step)
{
    bool over = true;

    for (uint32_t i = 0; i < step->count; i++) {
        sb_message_t *message = &step->message[i];
        if (message->request != NULL)
            message->bytes =
                sb_request_look(cluster, &message->request, message->bytes, message->at_most);
        over = over && message->request == NULL;
    }
    return over && cluster->failure == SB_OK;
}

/* The step's messages that land on this side, or in the place itself. */
static uint32_t list(const sb_step_t *step, sb_landing_t landing, const void **from)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < step->count; i++) {
        if (step->message[i].landing == landing)
            from[count++] = step->message[i].data;
    }
    return count;
}

/* What else a message is combined into, too. */
static void land_again(sb_cluster_t *cluster, const sb_program_t *program,
                       const sb_message_t *message)
{
    const void *left[] = {message->data, message->also};
    const void *right[] = {message->also, message->data};

    sb_data_ends(cluster,
                 sb_combine(program->operation, message->also,
                            message->landing == SB_FOLD_LEFT ? left : right, 2, message->bytes));
}

/* All at once, in order. */
static void land(sb_cluster_t *cluster, const sb_program_t *program)
{
    const sb_step_t *step = &program->step;
    const void *from[SB_MESSAGES_MOST + 1];
    const sb_message_t *one = step->message, *end = one + step->count;

    while (one < end && one->landing == SB_STAYS)
        one++;
    if (one == end)
        return;
    uint32_t count = list(step, SB_FOLD_LEFT, from);
    from[count++] = one->into;
    count += list(step, SB_FOLD_RIGHT, from + count);
    sb_data_ends(cluster, sb_combine(program->operation, one->into, from, count, one->bytes));
    for (uint32_t i = 0; i < step->count; i++) {
        if (step->message[i].also != NULL)
            land_again(cluster, program, &step->message[i]);
    }
}

static void turn(sb_cluster_t *cluster, sb_program_t *program)
{
    while (program->open && is_step_over(cluster, &program->step)) {
        land(cluster, program);
        program->open = begin_step(cluster, program);
    }
}

void sb_programs_turn(sb_cluster_t *cluster)
{
    for (uint32_t i = 0; i < SB_WINDOW && cluster->failure == SB_OK; i++) {
        if (cluster->program[i].open)
            turn(cluster, &cluster->program[i]);
    }
    if (cluster->refill != NULL && cluster->failure == SB_OK)
        cluster->refill(cluster->refill_context);
}

/* What a wait of the cluster waits for. */
typedef struct awaited {
    sb_cluster_t *cluster;
    bool (*ready)(void *context);
    void *context;
} awaited_t;

static bool look(void *context)
{
    const awaited_t *awaited = context;

    sb_programs_turn(awaited->cluster);
    return awaited->cluster->failure != SB_OK || awaited->ready(awaited->context);
}

sb_status_t sb_cluster_wait(sb_cluster_t *cluster, bool (*ready)(void *context), void *context)
{
    awaited_t awaited = {.cluster = cluster, .ready = ready, .context = context};

    if (!look(&awaited))
        sb_cluster_fails(cluster, sb_wait_for(look, &awaited, &cluster->waiter));
    return cluster->failure;
}

static bool is_over(void *context)
{
    const sb_program_t *program = context;

    return !program->open;
}

static bool are_over(void *context)
{
    const sb_cluster_t *cluster = context;

    for (uint32_t i = 0; i < SB_WINDOW; i++) {
        if (cluster->program[i].open)
            return false;
    }
    return true;
}

sb_status_t sb_program_wait(sb_cluster_t *cluster, size_t segment)
{
    sb_program_t *program = &cluster->program[segment % SB_WINDOW];

    return program->open ? sb_cluster_wait(cluster, is_over, program) : cluster->failure;
}

sb_status_t sb_programs_end(sb_cluster_t *cluster)
{
    return sb_cluster_wait(cluster, are_over, cluster);
}

sb_status_t sb_segments_run(sb_cluster_t *cluster, size_t segments, sb_segment_step_t *begin,
                            sb_segment_step_t *end, const void *context)
{
    size_t behind = end == NULL ? 0 : SB_BEHIND;
    sb_status_t status = SB_OK;

    for (size_t turn = 0; turn < segments + behind && status == SB_OK; turn++) {
        if (turn < segments)
            status = begin(context, turn);
        if (status == SB_OK && end != NULL && turn >= behind)
            status = end(context, turn - behind);
    }
    if (status == SB_OK)
        sb_programs_end(cluster);
    return sb_call_ends(cluster);
}
