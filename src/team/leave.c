/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a team, which is not synchronising. A member that leaves counts itself off in every
 * control block. Its own blocks are freed later, when all have: until then some may still read
 * them.
 */
#include "team/leave.h"

#include "base/lines.h"
#include "team/hierarchy.h"

#include <pthread.h>
#include <stdlib.h>

/* The blocks of a team that this process has left: first its control block. */
typedef struct deferred {
    struct deferred *next;
    uint32_t members;
    uint32_t count;
    sb_block_t block[1 + SB_RESOURCES_MOST];
} deferred_t;

typedef struct deferred_list {
    pthread_mutex_t lock;
    deferred_t *first;
} deferred_list_t;

SB_PROCESS_STATE(deferred_list_t, deferred_list, {.lock = PTHREAD_MUTEX_INITIALIZER})

static bool all_have_left(const deferred_t *deferred)
{
    const sb_control_t *control = (const sb_control_t *)(const void *)deferred->block[0].address;

    return sb_counter_read(&control->closed.counter) >= deferred->members;
}

static void free_deferred(deferred_t *deferred)
{
    for (uint32_t i = 0; i < deferred->count; i++)
        sb_arena_give(&deferred->block[i]);
    free(deferred);
}

void sb_team_sweep(void)
{
    deferred_list_t *list = deferred_list();

    pthread_mutex_lock(&list->lock);
    for (deferred_t **at = &list->first; *at != NULL;) {
        deferred_t *deferred = *at;
        if (all_have_left(deferred)) {
            *at = deferred->next;
            free_deferred(deferred);
        } else {
            at = &deferred->next;
        }
    }
    pthread_mutex_unlock(&list->lock);
}

size_t sb_team_deferred(void)
{
    deferred_list_t *list = deferred_list();
    size_t count = 0;

    sb_team_sweep();
    pthread_mutex_lock(&list->lock);
    for (const deferred_t *at = list->first; at != NULL; at = at->next)
        count++;
    pthread_mutex_unlock(&list->lock);
    return count;
}

/* NULL: no memory for it. Then the blocks stay taken until the process ends. */
static void defer(deferred_t *deferred)
{
    deferred_list_t *list = deferred_list();

    if (deferred == NULL)
        return;
    pthread_mutex_lock(&list->lock);
    deferred->next = list->first;
    list->first = deferred;
    pthread_mutex_unlock(&list->lock);
}

void sb_team_detach(sb_team_t *team)
{
    for (uint32_t i = 0; i < team->size; i++) {
        if (team->attachments[i] != NULL)
            sb_arena_detach(team->attachments[i]);
        team->attachments[i] = NULL;
    }
}

void sb_team_free(sb_team_t *team)
{
    if (team == NULL)
        return;
    free(team->controls);
    free(team->attachments);
    sb_team_hierarchies_free(team);
    sb_locality_free(&team->locality);
    free(team->rules);
    sb_free_lines(team, sizeof *team);
}

/* Ends what this rank has of a resource, but for its block, which is returned. */
static sb_block_t leave_resource(sb_resource_t *resource, uint32_t members)
{
    sb_block_t block = resource->block;

    sb_resource_leave(resource, members);
    sb_free_lines(resource, resource->own);
    return block;
}

void sb_team_destroy(sb_team_t *team)
{
    deferred_t *deferred = malloc(sizeof *deferred);

    for (uint32_t i = 0; i < team->size; i++)
        sb_counter_add(&team->controls[i]->closed.counter, 1);
    sb_team_detach(team);
    if (deferred != NULL)
        *deferred = (deferred_t){.members = team->size, .count = 1, .block = {team->block}};
    for (size_t i = 0; i < SB_RESOURCES_MOST; i++) {
        if (team->resource[i] == NULL)
            continue;
        sb_block_t block = leave_resource(team->resource[i], team->size);
        if (deferred != NULL)
            deferred->block[deferred->count++] = block;
    }
    defer(deferred);
    sb_team_free(team);
    sb_team_sweep();
}
