/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_HASH_H
#define SB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a: tells names apart; no protection against those who want two to agree. */
#define SB_HASH_START 14695981039346656037ULL

static inline uint64_t sb_hash_bytes(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 1099511628211ULL;
    return sum;
}

/* A text and its end: "ab", "c" is not "a", "bc". */
static inline uint64_t sb_hash_text(uint64_t sum, const char *text)
{
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    return sb_hash_bytes(sum, text, length + 1);
}

#endif
