/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_RESOURCE_H
#define SB_TEAM_RESOURCE_H

#include "segment/arena.h"

/*
 * What a family of algorithms keeps for a team beside the control blocks: memory that every member
 * shows to the others, and private memory that says where things are in it. The team keeps
 * resources without knowing what they are. Each is made by agreement when a call first needs it,
 * and ends with the team: the shared block when all members have left.
 *
 * A kind belongs to the algorithms that use it. It has a slot of its own (coll/resources.h), a
 * struct that begins with sb_resource_t, and a function that makes it by sb_resource_make.
 * Algorithms find it in team->resource[slot], which is NULL until it is ready.
 */

#define SB_RESOURCES_MOST 16

/* The memory: one block of each member, of the same size, in the owner's region and so on the
 * owner's NUMA node. */
typedef struct sb_resource {
    size_t own;   /* bytes of the struct that begins with this */
    size_t bytes; /* of every member's block */
    char **bases; /* the blocks of all ranks, where they are mapped here */
    sb_block_t block;
    size_t touched;                /* of the own block, from its beginning */
    sb_attachment_t **attachments; /* NULL at this rank's own place */
} sb_resource_t;

struct sb_team;

typedef struct sb_resource_kind {
    uint32_t slot;
    /* Collective; all get the same outcome. Once sb_resource_make was successful, the rest may fail
     * only as the team does: nothing follows. */
    sb_status_t (*prepare)(struct sb_team *team);
} sb_resource_kind_t;

/* What a resource takes. Alike on all members, unless this one is not `willing`. */
typedef struct sb_resource_size {
    size_t own;   /* bytes of the struct, private and zeroed */
    size_t bytes; /* of each member's block */
    size_t least; /* with which it can do, if memory is short */
    size_t near;  /* of its beginning, that are touched and zeroed at once; 0: all */
    bool willing; /* this rank has all else that it needs */
} sb_resource_size_t;

/*
 * Makes the resource of that slot, for `prepare`. Every rank takes the largest block that it can
 * get, from `bytes` down to `least`; the smallest of all is used by all. Collective; all get the
 * same outcome: SB_OK, or SB_ERR_UNSUPPORTED if some rank is not willing or cannot have `least`
 * bytes; or what the team's wait returned.
 */
sb_status_t sb_resource_make(struct sb_team *team, uint32_t slot, const sb_resource_size_t *size);

/*
 * Puts other memory in the place of what a resource has, of which nothing is kept; `own` does not
 * count. Every member has ended its earlier calls when it comes here, and so does not use the old
 * memory any more. Collective; all get the same outcome. SB_ERR_UNSUPPORTED: the resource has what
 * it had.
 */
sb_status_t sb_resource_renew(struct sb_team *team, uint32_t slot, const sb_resource_size_t *size);

/* Touches the own block up to there, and as much again as was touched, since in many programs each
 * rank sends little. */
void sb_resource_touch(sb_resource_t *resource, size_t end);

/* The own block is about to be used up to there. */
static inline void sb_resource_reach(sb_resource_t *resource, size_t end)
{
    if (SB_UNLIKELY(end > resource->touched))
        sb_resource_touch(resource, end);
}

/*
 * Ends this rank's use of the others' blocks. Its own is left in `block`, for the caller to give
 * back when nobody uses it any more.
 */
void sb_resource_leave(sb_resource_t *resource, uint32_t members);

/* Makes what is not ready yet, for sb_resource_need. */
sb_status_t sb_resource_prepare(struct sb_team *team, const sb_resource_kind_t *kind);

#endif
