/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_SHARE_H
#define SB_TEAM_SHARE_H

#include "segment/arena.h"

/*
 * Memory that each member of a team shows to the others, beyond its lane: one block each, of the
 * same size, in the owner's region and so on the owner's NUMA node. Made by agreement when it is
 * first needed; a refusal is for good.
 */

typedef enum sb_share_state { SB_SHARE_NONE, SB_SHARE_READY, SB_SHARE_REFUSED } sb_share_state_t;

/* All zero: not asked for yet. */
typedef struct sb_share {
    sb_share_state_t state;
    size_t bytes; /* of every member's block, once ready */
    char **bases; /* the blocks of all ranks, where they are mapped here */
    sb_block_t block;
    sb_attachment_t **attachments; /* NULL at this rank's own place */
} sb_share_t;

struct sb_team;

/*
 * Makes the share. Every rank takes the largest block that it can get, from `wish` bytes down to
 * `least`; the smallest of all is used by all. `willing`: whether this rank has all else that it
 * needs. Collective; all members give the same numbers and get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED if some rank is not willing or cannot have `least` bytes; or what the team's
 * wait returned.
 */
sb_status_t sb_share_make(struct sb_team *team, sb_share_t *share, size_t wish, size_t least,
                          bool willing);

/*
 * Ends this rank's use of the others' blocks. Its own is left in `block`, for the caller to give
 * back when nobody uses it any more.
 */
void sb_share_leave(sb_share_t *share, uint32_t size);

#endif
