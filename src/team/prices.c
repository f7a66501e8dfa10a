/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/prices.h"

#include "base/compiler.h"

#include <string.h>

const sb_prices_t sb_prices_standard = {
#define SB_PRICE(name, follows, unit, standard, doc) .name = standard,
#include "team/prices.def"
#undef SB_PRICE
};

void sb_prices_suit(sb_prices_t *of, sb_processor_t processor)
{
    switch (processor) {
#define SB_PROCESSOR_BEGIN(id) case SB_PROCESSOR_##id:
#define SB_PROCESSOR_PRICE(price, times) of->price *= times;
#define SB_PROCESSOR_END break;
#include "team/processor_prices.def"
#undef SB_PROCESSOR_BEGIN
#undef SB_PROCESSOR_PRICE
#undef SB_PROCESSOR_END
    default:
        break;
    }
}

static const struct {
    sb_price_t words;
    size_t offset;
    size_t followed; /* offset of the price that it follows */
} prices[] = {
#define SB_PRICE(name, follows, unit, standard, doc)                                               \
    {{#name, #follows, unit, doc}, offsetof(sb_prices_t, name), offsetof(sb_prices_t, follows)},
#include "team/prices.def"
#undef SB_PRICE
};

size_t sb_price_count(void)
{
    return SB_COUNT_OF(prices);
}

const sb_price_t *sb_price_at(size_t index)
{
    return &prices[index].words;
}

_Static_assert(SB_COUNT_OF(prices) <= 64, "a word holds a bit for each price");

static double *at_offset(sb_prices_t *of, size_t offset)
{
    return (double *)(void *)((char *)of + offset);
}

static double standard_at(size_t offset)
{
    return *(const double *)(const void *)((const char *)&sb_prices_standard + offset);
}

double sb_price_get(const sb_prices_t *of, size_t index)
{
    return *(const double *)(const void *)((const char *)of + prices[index].offset);
}

size_t sb_price_find(const char *name)
{
    size_t index = 0;

    while (index < SB_COUNT_OF(prices) && strcmp(prices[index].words.name, name) != 0)
        index++;
    return index;
}

bool sb_price_sane(size_t index, double value)
{
    double standard = sb_price_get(&sb_prices_standard, index);

    return value >= standard / SB_PRICE_SPAN && value <= standard * SB_PRICE_SPAN;
}

bool sb_price_learn(sb_prices_t *of, sb_known_prices_t *known, size_t index, double value)
{
    if (index >= SB_COUNT_OF(prices) || !sb_price_sane(index, value))
        return false;
    *at_offset(of, prices[index].offset) = value;
    *known |= (sb_known_prices_t)1 << index;
    return true;
}

void sb_prices_follow(sb_prices_t *of, sb_known_prices_t known)
{
    for (size_t i = 0; i < SB_COUNT_OF(prices); i++) {
        size_t followed = prices[i].followed;
        bool itself = followed == prices[i].offset;
        if (known >> i & 1)
            continue;
        *at_offset(of, prices[i].offset) =
            standard_at(prices[i].offset) *
            (itself ? 1 : *at_offset(of, followed) / standard_at(followed));
    }
}
