/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaders that came first, as the root hears of them and tells all of them. */
#include "baseline/forms.h"
#include "cluster/arrival/words.h"

typedef struct roll {
    sb_cluster_t *cluster;
    uint32_t root;
    size_t bytes;
    uint32_t missing; /* at the root: nodes that have not asked */
    sb_net_request_t *hearing;
} roll_t;

static bool is_root(const roll_t *roll)
{
    return roll->cluster->rank == roll->root;
}

static void note(roll_t *roll, const sb_word_t *word)
{
    sb_cluster_t *cluster = roll->cluster;

    if (word->bytes != roll->bytes)
        sb_cluster_fails(cluster, SB_ERR_TRUNCATE);
    cluster->doorway->leader[cluster->map.node_of[word->rank]] = word->rank;
    roll->missing--;
}

static void listen(roll_t *roll)
{
    if (roll->missing > 0)
        sb_word_listen(roll->cluster, SB_NET_ANY, &roll->cluster->doorway->heard, &roll->hearing);
}

static void turn(void *context)
{
    roll_t *roll = context;
    sb_word_t *heard = &roll->cluster->doorway->heard;

    while (sb_word_has_come(roll->cluster, SB_NET_ANY, heard, &roll->hearing)) {
        note(roll, heard);
        listen(roll);
    }
}

static bool is_complete(void *context)
{
    const roll_t *roll = context;

    return roll->missing == 0 && sb_words_are_gone(roll->cluster);
}

/* From the root to all leaders, as one step of a program, or from it. */
static bool write_step(sb_program_t *program, uint32_t number, sb_step_t *step)
{
    const sb_cluster_t *cluster = program->context;
    uint32_t *leader = cluster->doorway->leader;
    size_t bytes = cluster->map.nodes * sizeof *leader;
    bool at_root = cluster->rank == program->root;

    if (!at_root && number == 0)
        sb_step_receive(step, program->root_node, leader, bytes);
    if (!at_root)
        return number == 0;
    for (uint32_t i = 0; i < SB_MESSAGES_MOST; i++) {
        uint64_t node = (uint64_t)number * SB_MESSAGES_MOST + i;
        if (node < cluster->map.nodes && node != cluster->node)
            sb_step_send(step, (uint32_t)node, leader, bytes);
    }
    return (uint64_t)number * SB_MESSAGES_MOST < cluster->map.nodes;
}

static sb_status_t hear_all(roll_t *roll)
{
    sb_cluster_t *cluster = roll->cluster;
    sb_word_t word;

    cluster->doorway->leader[cluster->node] = cluster->rank;
    roll->missing = cluster->map.nodes - 1;
    while (cluster->failure == SB_OK && sb_word_kept(cluster, &word))
        note(roll, &word);
    listen(roll);
    cluster->refill = turn;
    cluster->refill_context = roll;
    sb_status_t status = sb_cluster_wait(cluster, is_complete, roll);
    cluster->refill = NULL;
    return status;
}

sb_status_t sb_leaders_elected(sb_cluster_t *cluster, uint32_t root, size_t bytes)
{
    roll_t roll = {.cluster = cluster, .root = root, .bytes = bytes};
    sb_status_t status = SB_OK;

    if (is_root(&roll))
        status = hear_all(&roll);
    else
        sb_word_say(cluster, root, true,
                    (sb_word_t){.kind = SB_ASK, .rank = cluster->rank, .bytes = bytes});
    if (status != SB_OK || cluster->failure != SB_OK)
        return cluster->failure;
    sb_program_t *program = sb_program_of(cluster, 1, root);
    program->leaders = is_root(&roll) ? cluster->doorway->leader : NULL;
    program->write_step = write_step;
    program->context = cluster;
    sb_program_begin(cluster, program);
    sb_programs_end(cluster);
    return sb_cluster_wait(cluster, is_complete, &roll);
}
