/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_MODEL_FORMS_H
#define SB_TOOLS_MODEL_FORMS_H

#include "baseline/model.h"

/* What of the published model the broadcast itself does not need. */

/* Which of the three forms T(m, s) takes. */
typedef enum sb_model_regime {
    SB_MODEL_ONE_FRAGMENT, /* m <= f: nothing overlaps */
    SB_MODEL_ONE_RING,     /* f < m <= b: copies overlap, no buffer is used twice */
    SB_MODEL_MANY_RINGS,   /* b < m */
} sb_model_regime_t;

/* The regime of m bytes. `fragment` and `ring` may be fractions: an optimum is one. */
sb_model_regime_t sb_model_regime(uint64_t bytes, double fragment, double ring);

/* "one-fragment", "one-ring", "many-rings". */
const char *sb_model_regime_name(sb_model_regime_t regime);

/*
 * T(m) with one buffer of f bytes: ceil(m/f) (t_WO + t_A) + ceil(m/f) t_W + 2 m t. The copies in
 * and out take turns.
 */
double sb_model_one_buffer(const sb_model_prices_t *prices, uint64_t bytes, double fragment);

/*
 * T(m, s), a ring of b = `ring` bytes in one set, by regime:
 *   m <= f      t_WO + t_A + t_W + 2 m t
 *   f < m <= b  t_WO + t_A + f t + ceil(m/f) t_W + m t
 *   b < m       ceil(m/b) (t_WO + t_A + f t) + ceil(m/f) t_W + m t
 */
double sb_model_buffers(const sb_model_prices_t *prices, uint64_t bytes, double fragment,
                        double ring);

/* The four ways of choosing f and s. */
typedef enum sb_model_way {
    SB_MODEL_BUDGET,   /* b is given: f* of a message that fills it, in whole pages; s = b / f */
    SB_MODEL_MESSAGE,  /* m is given: f = sqrt(m) in whole pages, s = ceil(m/f) */
    SB_MODEL_FRAGMENT, /* f and m are given: s = ceil(m/f) */
    SB_MODEL_SLOTS,    /* s and m are given: b = m, f = sqrt(b) in whole pages */
} sb_model_way_t;

/*
 * Chooses. `given` holds what the way takes as given; `bytes`: m, or b for SB_MODEL_BUDGET; `page`
 * bytes of a page. Without prices (NULL) a budget's f is sqrt(b), the pessimistic reading t_W = t.
 * The result has at least one buffer of at least one byte.
 */
sb_model_ring_t sb_model_choose(sb_model_way_t way, const sb_model_prices_t *prices, uint64_t bytes,
                                sb_model_ring_t given, uint64_t page);

/*
 * Bytes of the published segment of p ranks: w + w q + p s (w + f), where each control block and
 * each buffer is rounded up to whole pages of w bytes.
 */
uint64_t sb_model_segment_bytes(uint64_t ranks, sb_model_ring_t ring, uint64_t sets, uint64_t page);

#endif
