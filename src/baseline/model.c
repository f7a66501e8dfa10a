/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/model.h"

double sb_model_sets(const sb_model_prices_t *prices, uint64_t bytes, double fragment, double ring,
                     uint64_t sets)
{
    return (double)sets * sb_model_rounds(bytes, ring) * (prices->open + prices->release) +
           fragment * prices->byte + sb_model_rounds(bytes, fragment) * prices->notify +
           (double)bytes * prices->byte;
}

double sb_model_best_fragment(const sb_model_prices_t *prices, uint64_t bytes, uint64_t ring)
{
    double share = (double)bytes / sb_model_rounds(bytes, (double)ring);
    double best = sqrt(share * prices->notify / prices->byte);

    return fmax(1, fmin(best, (double)ring));
}

sb_model_ring_t sb_model_ring(double best, uint64_t budget, uint64_t page)
{
    uint64_t fragment = sb_model_pages(best, page);

    if (fragment > budget)
        fragment = sb_max(budget, 1);
    return (sb_model_ring_t){fragment, sb_max(budget / fragment, 1)};
}
