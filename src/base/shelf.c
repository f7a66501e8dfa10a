/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/shelf.h"

#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>

#define PLACES 64

typedef struct sb_shelf {
    uint64_t taken; /* bit i: place i */
    char *base;
    struct sb_shelf *next;
} sb_shelf_t;

static sb_shelf_t *new_shelf(sb_shelves_t *shelves)
{
    sb_shelf_t *shelf = malloc(sizeof *shelf);
    void *base = shelf == NULL ? NULL : sb_pages_take(PLACES * shelves->bytes);

    if (base == NULL) {
        free(shelf);
        return NULL;
    }
    *shelf = (sb_shelf_t){.base = base, .next = shelves->newest};
    shelves->newest = shelf;
    return shelf;
}

static char *take_from(sb_shelf_t *shelf, size_t bytes)
{
    unsigned place = (unsigned)__builtin_ctzll(~shelf->taken);

    shelf->taken |= 1ULL << place;
    return shelf->base + place * bytes;
}

char *sb_shelves_take(sb_shelves_t *shelves)
{
    pthread_mutex_lock(&shelves->lock);
    sb_shelf_t *shelf = shelves->newest;
    while (shelf != NULL && shelf->taken == UINT64_MAX)
        shelf = shelf->next;
    if (shelf == NULL)
        shelf = new_shelf(shelves);
    char *place = shelf == NULL ? NULL : take_from(shelf, shelves->bytes);
    pthread_mutex_unlock(&shelves->lock);
    return place;
}

void sb_shelves_give(sb_shelves_t *shelves, char *place)
{
    size_t all = PLACES * shelves->bytes;

    pthread_mutex_lock(&shelves->lock);
    sb_shelf_t *shelf = shelves->newest;
    /* A place before the base is at a huge distance. */
    while ((uintptr_t)place - (uintptr_t)shelf->base >= all)
        shelf = shelf->next;
    shelf->taken &= ~(1ULL << (size_t)(place - shelf->base) / shelves->bytes);
    pthread_mutex_unlock(&shelves->lock);
}
