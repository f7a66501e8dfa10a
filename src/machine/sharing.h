/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SHARING_H
#define SB_MACHINE_SHARING_H

/*
 * Memory that others read by loads, and how that ends while they read: its owner has its later
 * writes go elsewhere. Before, it says so in a word that the others see, and in one of its own.
 * Whoever is told of what was written elsewhere then finds the word, and does not read it so; what
 * was told before is still where it was.
 */
#include "machine/primitive.h"

/* `part` has the owner's later writes go elsewhere; all its threads see that at once. */
static inline void sb_sharing_end(sb_word32_t *ended, sb_word32_t *own, uint32_t state,
                                  void (*part)(void *context), void *context)
{
    sb_store32(ended, 1, SB_RELEASE);
    sb_store32(own, state, SB_RELEASE);
    part(context);
}

/* Whether what the owner has told of just now is where others read. */
static inline bool sb_sharing_lasts(const sb_word32_t *ended)
{
    /* Acquire: pairs with the first store of sb_sharing_end(). */
    return sb_load32(ended, SB_ACQUIRE) == 0;
}

#endif
