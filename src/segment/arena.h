/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_ARENA_H
#define SB_SEGMENT_ARENA_H

#include "segment/region.h"

/*
 * The shared memory of this process: the regions it owns, from which teams take blocks, and the
 * regions of peers it has attached to. One for each process, whatever the number of communicators;
 * thread-safe; bounded by SOBOR_MEMORY. No function here waits for a peer.
 */

/* A piece of one of this process's own regions. */
typedef struct sb_block {
    sb_region_t *region;
    size_t offset;
    size_t bytes;
    char *address;
    bool settling;    /* peers may still have to find its region by name */
    size_t touched;   /* when it was taken: pages from its beginning */
    uint64_t page_ns; /* what touching SB_PAGE took, up to the last time; 0: unknown */
} sb_block_t;

/* A peer's region, shared by all teams that use it. */
typedef struct sb_attachment sb_attachment_t;

/*
 * Which blocks may be had: ANY region of this process, or one made for the occasion, so that its
 * name still exists and peers that cannot use /proc may open it.
 */
typedef enum sb_arena_source { SB_ARENA_ANY, SB_ARENA_FRESH_NAMED } sb_arena_source_t;

/* Blocks of at most so many bytes are multiples of the grain; larger ones are whole pages. */
#define SB_ARENA_SMALL 16384
#define SB_ARENA_GRAIN 512

/*
 * Takes a zeroed block of at least `bytes`. `sharers`: how many ranks of this node
 * will take as much; they must all fit into what the control group leaves. On failure `reason` says
 * why. The region's name, where it has one, exists until all its blocks are settled.
 */
sb_status_t sb_arena_take(sb_block_t *block, size_t bytes, sb_arena_source_t source, size_t sharers,
                          sb_reason_t *reason);

/*
 * The same for a long block of which only the beginning is touched and zeroed, so many bytes:
 * behind that may be what others had there. Where it is used later, it is touched before, for speed
 * alone.
 */
sb_status_t sb_arena_take_near(sb_block_t *block, size_t bytes, size_t near,
                               sb_arena_source_t source, size_t sharers, sb_reason_t *reason);
void sb_arena_touch(sb_block_t *block, size_t from, size_t to);

/* Bytes that a process may own. */
size_t sb_arena_bound(void);

/* Whether it costs time to have memory that is not used: not on a simulated machine. */
bool sb_arena_pages_cost(void);

/* Every peer of the block's set-up has attached, or never will. */
void sb_arena_settle(sb_block_t *block);

/* Gives a block back, settled or not; every peer must have ceased to use it. */
void sb_arena_give(sb_block_t *block);

/* Attaches to a peer's region, or finds the attachment that exists; counted. */
sb_status_t sb_arena_attach(sb_attachment_t **attachment, const sb_remote_key_t *key,
                            sb_reason_t *reason);
void sb_arena_detach(sb_attachment_t *attachment);

/* Peers' regions that are mapped, in use or kept for the next team. */
size_t sb_arena_attached(void);

/* Where the attached region is mapped. */
char *sb_attachment_base(const sb_attachment_t *attachment);

/* Whether the owner of the attached region has ended without leaving in good order. */
bool sb_attachment_owner_lost(const sb_attachment_t *attachment);

/* Says to all peers that this process leaves in good order. */
void sb_arena_depart(void);

/* What the arena holds, for reports and tests. */
typedef struct sb_arena_usage {
    size_t bound; /* bytes this process may own */
    size_t owned; /* bytes of its regions */
    size_t taken; /* bytes in blocks */
    size_t regions;
    size_t attachments; /* sb_arena_attached */
} sb_arena_usage_t;

void sb_arena_usage(sb_arena_usage_t *usage);

/* Whether so little is taken that a block may be long of which most is hardly ever touched. */
static inline bool sb_arena_is_roomy(void)
{
    sb_arena_usage_t usage;

    sb_arena_usage(&usage);
    return usage.taken < usage.bound / 4;
}

/* The regions that this process owns, one by one; NULL: there are no more. */
const sb_region_t *sb_arena_region(size_t index);

#endif
