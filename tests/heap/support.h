/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOBOR_TESTS_HEAP_SUPPORT_H
#define SOBOR_TESTS_HEAP_SUPPORT_H

#include "base/heap.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(holds, ...)                                                                          \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "FAILED %s:%d: ", __FILE__, __LINE__);                                 \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* NULL: this process has no heap of ours. */
static inline const sb_heap_t *own_heap(void)
{
    sb_heap_function_t *heap =
        (sb_heap_function_t *)(uintptr_t)dlsym(RTLD_DEFAULT, SB_HEAP_FUNCTION);

    return heap == NULL ? NULL : heap();
}

/* Whether others can read the block by loads. */
static inline bool is_shared(const void *block)
{
    return own_heap() != NULL && own_heap()->shares(block, 1);
}

#endif
