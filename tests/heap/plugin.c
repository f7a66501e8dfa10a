/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program loads while it runs: blocks by the malloc and free that are found here. */
#include <stdlib.h>

#pragma GCC visibility push(default)
void *plugin_make(size_t bytes);
void plugin_free(void *block);
#pragma GCC visibility pop

void *plugin_make(size_t bytes)
{
    return calloc(1, bytes);
}

void plugin_free(void *block)
{
    free(block);
}
