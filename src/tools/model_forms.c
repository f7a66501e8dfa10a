/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/model_forms.h"

sb_model_regime_t sb_model_regime(uint64_t bytes, double fragment, double ring)
{
    if ((double)bytes <= fragment)
        return SB_MODEL_ONE_FRAGMENT;
    return (double)bytes <= ring ? SB_MODEL_ONE_RING : SB_MODEL_MANY_RINGS;
}

const char *sb_model_regime_name(sb_model_regime_t regime)
{
    static const char *const names[] = {"one-fragment", "one-ring", "many-rings"};

    return names[regime];
}

double sb_model_one_buffer(const sb_model_prices_t *prices, uint64_t bytes, double fragment)
{
    double fragments = sb_model_rounds(bytes, fragment);

    return fragments * (prices->open + prices->release + prices->notify) +
           2 * (double)bytes * prices->byte;
}

double sb_model_buffers(const sb_model_prices_t *prices, uint64_t bytes, double fragment,
                        double ring)
{
    double once = prices->open + prices->release;
    double copy = (double)bytes * prices->byte;

    switch (sb_model_regime(bytes, fragment, ring)) {
    case SB_MODEL_ONE_FRAGMENT:
        return once + prices->notify + 2 * copy;
    case SB_MODEL_ONE_RING:
        return once + fragment * prices->byte + sb_model_rounds(bytes, fragment) * prices->notify +
               copy;
    default:
        return sb_model_rounds(bytes, ring) * (once + fragment * prices->byte) +
               sb_model_rounds(bytes, fragment) * prices->notify + copy;
    }
}

static uint64_t at_least_one(uint64_t number)
{
    return number > 0 ? number : 1;
}

static uint64_t divide_up(uint64_t bytes, uint64_t size)
{
    return bytes / size + (bytes % size != 0);
}

sb_model_ring_t sb_model_choose(sb_model_way_t way, const sb_model_prices_t *prices, uint64_t bytes,
                                sb_model_ring_t given, uint64_t page)
{
    uint64_t root = sb_model_pages(sqrt((double)bytes), page);

    switch (way) {
    case SB_MODEL_BUDGET:
        return sb_model_ring(prices == NULL ? sqrt((double)bytes)
                                            : sb_model_best_fragment(prices, bytes, bytes),
                             bytes, page);
    case SB_MODEL_MESSAGE:
        return (sb_model_ring_t){root, at_least_one(divide_up(bytes, root))};
    case SB_MODEL_FRAGMENT:
        return (sb_model_ring_t){given.fragment, at_least_one(divide_up(bytes, given.fragment))};
    default:
        return (sb_model_ring_t){root, given.slots};
    }
}

uint64_t sb_model_segment_bytes(uint64_t ranks, sb_model_ring_t ring, uint64_t sets, uint64_t page)
{
    uint64_t buffer = divide_up(ring.fragment, page) * page;

    return page + page * sets + ranks * ring.slots * (page + buffer);
}
