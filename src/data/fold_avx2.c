/* SPDX-License-Identifier: BSD-3-Clause */
/* For processors with AVX2. */
#if defined(__x86_64__)
#include "data/fold_steps.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define SB_FOLD_LOOPS sb_fold_avx2
#include "data/fold_loops.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
