/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_POST_H
#define SB_CLUSTER_POST_H

#include "cluster/packed.h"

/*
 * Letters from rank to rank, in both directions at once: a few of each are under way at a time, in
 * the order in which they are listed. Each is a program of one message, so they go on in all waits.
 * Two ranks exchange letters of one kind in one order; no rank waits for ever if everybody lists
 * its letters by one order of all.
 */

#define SB_LETTERS (SB_WINDOW / 2)

typedef struct sb_letter {
    uint32_t peer;             /* on another node */
    uint32_t kind;             /* those of a kind are in order */
    char *data;                /* where it lies; NULL: */
    const sb_stream_t *stream; /* there; in pieces of at most SB_PACKED_MOST */
    size_t offset;
    size_t bytes;
    bool at_most; /* as in sb_message_t */
} sb_letter_t;

/* Writes the next letter; false: there is none, until `next` is set again. */
typedef bool sb_letter_next_t(void *context, sb_letter_t *letter);

/* One for each direction: */
typedef enum sb_direction { SB_OUT, SB_IN, SB_DIRECTIONS } sb_direction_t;

typedef struct sb_post {
    sb_cluster_t *cluster;
    sb_letter_next_t *next[SB_DIRECTIONS]; /* NULL: there are none */
    void *context;                         /* of these */
    void (*turn)(void *context);           /* before each look at them; or NULL */
    uint64_t begun[SB_DIRECTIONS];
    uint64_t came; /* received so far, if each has come before the next */
    sb_letter_t letter[SB_DIRECTIONS][SB_LETTERS];
} sb_post_t;

/* Letters begin to go; what the node does meanwhile is the caller's. */
void sb_post_begin(sb_post_t *post);

/* Waits until the first letter has come. Returns the cluster's failure. */
sb_status_t sb_post_await(sb_post_t *post);

/* Waits until all have gone and come. Returns the cluster's failure. */
sb_status_t sb_post_end(sb_post_t *post);

/*
 * Parts of more bytes than `above`, each straight from rank to rank, in pieces: in turn t to the
 * rank t places further, from the one t places before. Parts of ranks of one node are left out. A
 * rank that expects another number of bytes notices it at the first piece, which is what is over
 * whole ones, unless whole ones are missing.
 */
typedef struct sb_direct {
    const sb_cluster_t *cluster;
    sb_direction_t way;
    const sb_stream_t *part; /* of each rank; or of one alone: */
    uint32_t only;           /* SB_NET_ANY: of each */
    size_t above;
    uint32_t turn; /* 0 at first */
    size_t offset;
} sb_direct_t;

#define SB_KIND_NODE 0   /* of a node's short parts */
#define SB_KIND_DIRECT 1 /* of long ones */

bool sb_direct_next(sb_direct_t *direct, sb_letter_t *letter);

/* In an operation with a root a part of so many bytes or less goes with the others of its node: a
 * letter has room for them and a number for each. */
size_t sb_short_most(const sb_map_t *map);

/* A scatter by letters, see scatterv.c; `first`: to whoever of a node comes first. The teams have
 * what moving parts needs. */
sb_status_t sb_scatter_letters(sb_cluster_t *cluster, const sb_parts_t *parts, bool first);

/* What of a part goes with its node: all or nothing. */
static inline size_t sb_short(size_t bytes, size_t most)
{
    return bytes <= most ? bytes : 0;
}

#endif
