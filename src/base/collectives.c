/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/collectives.h"

#include "base/config.h"

static const struct {
    const char *name;
    const char *function;
    const char *variable;
} collectives[] = {
#define SB_ROW(enumerator, name, function)                                                         \
    {#name, "MPI_" #function, "SOBOR_" #enumerator "_ALGORITHM"},
    SB_EACH_COLLECTIVE(SB_ROW)
#undef SB_ROW
};

_Static_assert(SB_COLLECTIVES <= 32, "a set of collectives fits 32 bits");

const char *sb_collective_name(sb_collective_t collective)
{
    return collectives[collective].name;
}

const char *sb_collective_function(sb_collective_t collective)
{
    return collectives[collective].function;
}

const char *sb_collective_variable(sb_collective_t collective)
{
    return collectives[collective].variable;
}

uint32_t sb_collectives_among(const char *words)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < SB_COLLECTIVES; i++) {
        if (sb_words_contain(words, "all") || sb_words_contain(words, collectives[i].name))
            set |= 1u << i;
    }
    return set;
}
