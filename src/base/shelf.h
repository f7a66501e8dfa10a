/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_SHELF_H
#define SB_BASE_SHELF_H

#include <pthread.h>
#include <stddef.h>

/*
 * Large places of one size that few of their owners touch. On the heap they would put everything
 * that is allocated between them on pages of its own, and make the allocator look for room each
 * time. Shelves are mapped, sixty-four places at a time, and kept: places are used again. Any
 * thread.
 */
typedef struct sb_shelves {
    size_t bytes; /* of a place: a multiple of a cache line */
    pthread_mutex_t lock;
    struct sb_shelf *newest;
} sb_shelves_t;

#define SB_SHELVES(bytes)                                                                          \
    {                                                                                              \
        bytes, PTHREAD_MUTEX_INITIALIZER, NULL                                                     \
    }

/* A place, on a line of its own, holding anything. NULL: memory is exhausted. */
char *sb_shelves_take(sb_shelves_t *shelves);

/* Gives back a place that was taken; not NULL. */
void sb_shelves_give(sb_shelves_t *shelves, char *place);

#endif
