/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of peers that this process has mapped: for all teams that use them, and for the next
 * ones. */
#include "segment/arena.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Attachments that no team uses are kept for the next team, up to so many. */
#define IDLE_ATTACHMENTS 64

struct sb_attachment {
    sb_region_t region;
    size_t users;
    sb_attachment_t *next;
};

static struct {
    pthread_mutex_t lock;
    sb_attachment_t *first; /* the most recently used */
    size_t idle;
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the attachment out of the list, or returns NULL. */
static sb_attachment_t *pull(const sb_remote_key_t *key)
{
    for (sb_attachment_t **at = &peers.first; *at != NULL; at = &(*at)->next) {
        sb_attachment_t *found = *at;
        if (memcmp(found->region.key.nonce, key->nonce, sizeof key->nonce) == 0) {
            *at = found->next;
            return found;
        }
    }
    return NULL;
}

/* Unmaps an idle attachment, which is at this place of the list. */
static void drop(sb_attachment_t **at)
{
    sb_attachment_t *dropped = *at;

    *at = dropped->next;
    sb_region_close(&dropped->region);
    free(dropped);
    peers.idle--;
}

/* The one that was used least recently. */
static void drop_oldest_idle(void)
{
    sb_attachment_t **oldest = NULL;

    for (sb_attachment_t **at = &peers.first; *at != NULL; at = &(*at)->next) {
        if ((*at)->users == 0)
            oldest = at;
    }
    if (oldest != NULL)
        drop(oldest);
}

/* Those of regions that are no more: memory that only this process still holds. */
static void drop_ended(void)
{
    for (sb_attachment_t **at = &peers.first; *at != NULL;) {
        if ((*at)->users == 0 && sb_region_ended(&(*at)->region))
            drop(at);
        else
            at = &(*at)->next;
    }
}

static sb_status_t attach_new(sb_attachment_t **attachment, const sb_remote_key_t *key,
                              sb_reason_t *reason)
{
    sb_attachment_t *made = calloc(1, sizeof *made);

    if (made == NULL)
        return SB_ERR_MEMORY;
    drop_ended();
    sb_status_t status = sb_region_attach(&made->region, key, reason);
    if (status != SB_OK) {
        free(made);
        return status;
    }
    *attachment = made;
    peers.idle++; /* until its first user is counted */
    return SB_OK;
}

sb_status_t sb_arena_attach(sb_attachment_t **attachment, const sb_remote_key_t *key,
                            sb_reason_t *reason)
{
    sb_status_t status = SB_OK;

    pthread_mutex_lock(&peers.lock);
    *attachment = pull(key);
    if (*attachment == NULL)
        status = attach_new(attachment, key, reason);
    if (status == SB_OK) {
        peers.idle -= (*attachment)->users == 0;
        (*attachment)->users++;
        (*attachment)->next = peers.first;
        peers.first = *attachment;
    }
    pthread_mutex_unlock(&peers.lock);
    return status;
}

void sb_arena_detach(sb_attachment_t *attachment)
{
    pthread_mutex_lock(&peers.lock);
    if (--attachment->users == 0 && ++peers.idle > IDLE_ATTACHMENTS)
        drop_oldest_idle();
    pthread_mutex_unlock(&peers.lock);
}

char *sb_attachment_base(const sb_attachment_t *attachment)
{
    return attachment->region.base;
}

bool sb_attachment_owner_lost(const sb_attachment_t *attachment)
{
    return !sb_owner_alive(&attachment->region.key) && !sb_region_departed(&attachment->region);
}

size_t sb_arena_attached(void)
{
    size_t count = 0;

    pthread_mutex_lock(&peers.lock);
    for (const sb_attachment_t *at = peers.first; at != NULL; at = at->next)
        count++;
    pthread_mutex_unlock(&peers.lock);
    return count;
}
