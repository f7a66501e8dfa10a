/* SPDX-License-Identifier: BSD-3-Clause */
/* For processors with AVX-512, as far as servers have it. */
#if defined(__x86_64__)
#include "data/fold_steps.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),        \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define SB_FOLD_LOOPS sb_fold_avx512
#include "data/fold_loops.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
