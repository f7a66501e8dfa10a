/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_SWAP_H
#define SB_COLL_VECTOR_SWAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Two windows that two ranks swap with messages that they send each other: who has read a message
 * has its window from then on, and writes its next one there. Those lines have just come to its
 * core, so the writing fetches nothing and disturbs nobody, and a line crosses once for a message;
 * in an area that only its sender writes, each line has to be taken back from who has read it. Each
 * begins with one window. Who has none, because the other's messages came otherwise, sends as if
 * there were none. A plan says which window a message is in, so nothing else has to be agreed. What
 * nobody receives takes its window away for good. Private to a rank.
 */
typedef struct sb_swap {
    size_t bytes;    /* of a window; 0: there are none */
    char *window[2]; /* by the rank that had it first */
    size_t begin;    /* of the own one in this rank's block, */
    size_t touched;  /* bytes of it that have pages: a message begins where it does */
    uint32_t count;  /* windows that this rank has, */
    uint32_t own[2]; /* and which: the last one that it got is at the end */
} sb_swap_t;

/* The number of a window for a message of so many bytes, which this rank gives away; 2: none. */
static inline uint32_t sb_swap_give(sb_swap_t *swap, size_t bytes)
{
    return bytes > swap->bytes || swap->count == 0 ? 2 : swap->own[--swap->count];
}

/* This rank has read all that is in a window of the other. */
static inline void sb_swap_got(sb_swap_t *swap, const char *window)
{
    if (swap->count < 2)
        swap->own[swap->count++] = window == swap->window[1];
}

#endif
