/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that a program takes before any constructor has run, the heap's neither: they stay what
 * they are, may grow, and go back. Prints what is wrong. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 1 << 20, LONGER = 3 << 20 };

static char *taken, *cleared;

static void take_early(void)
{
    taken = malloc(LONG);
    cleared = calloc(1, LONG);
    if (taken != NULL)
        memset(taken, 7, LONG);
}

typedef void early_t(void);
__attribute__((section(".preinit_array"), used)) static early_t *const early = take_early;

static bool holds(const char *block, char value, size_t bytes)
{
    size_t i = 0;

    while (block != NULL && i < bytes && block[i] == value)
        i++;
    return i == bytes;
}

int main(void)
{
    char *later = malloc(LONG);

    if (later == NULL)
        return 2;
    memset(later, 1, LONG);
    bool right = holds(taken, 7, LONG) && holds(cleared, 0, LONG);
    taken = realloc(taken, LONGER);
    right = right && holds(taken, 7, LONG);
    free(taken);
    free(cleared);
    right = right && holds(later, 1, LONG);
    free(later);
    puts(right ? "right" : "a block from before the constructors is not what it was");
    return right ? 0 : 1;
}
