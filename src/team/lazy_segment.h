/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_LAZY_SEGMENT_H
#define SB_TEAM_LAZY_SEGMENT_H

#include "segment/arena.h"

/*
 * Memory that each member of a team shows to the others, beyond its control block: one block each,
 * of the same size, in the owner's region and so on the owner's NUMA node. Made by agreement when
 * it is first needed.
 */

/* All zero: not made. */
typedef struct sb_lazy_segment {
    size_t bytes; /* of every member's block */
    char **bases; /* the blocks of all ranks, where they are mapped here */
    sb_block_t block;
    size_t touched;                /* of the own block, from its beginning */
    sb_attachment_t **attachments; /* NULL at this rank's own place */
} sb_lazy_segment_t;

/* What a rank wants; `willing`: whether it has all else that it needs. */
typedef struct sb_wish {
    size_t bytes;
    size_t least;
    size_t near; /* touched and zeroed at once */
    bool willing;
} sb_wish_t;

struct sb_team;

/*
 * Makes the segment. Every rank takes the largest block that it can get, from `bytes` down to
 * `least`; the smallest of all is used by all. Collective; all members give the same numbers,
 * unless they are not willing, and get the same outcome: SB_OK, or SB_ERR_UNSUPPORTED if some rank
 * is not willing or cannot have `least` bytes; or what the team's wait returned. Whatever is not
 * SB_OK leaves the segment all zero.
 */
sb_status_t sb_lazy_segment_make(struct sb_team *team, sb_lazy_segment_t *segment,
                                 const sb_wish_t *wish);

/* The own block is about to be used up to there: touches that, and as much again as was touched,
 * since in many programs each rank sends little. */
void sb_lazy_segment_reach(sb_lazy_segment_t *segment, size_t end);

/*
 * Ends this rank's use of the others' blocks. Its own is left in `block`, for the caller to give
 * back when nobody uses it any more.
 */
void sb_lazy_segment_leave(sb_lazy_segment_t *segment, uint32_t size);

#endif
