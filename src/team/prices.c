/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/prices.h"

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

/* Each price is a member of its own, of one type: by their order they are an array. */
enum {
#define SB_PRICE(name, follows, unit, standard, doc) PLACE_##name,
#include "team/prices.def"
#undef SB_PRICE
    PRICES
};

_Static_assert(sizeof(sb_prices_t) == PRICES * sizeof(double), "prices lie side by side");
_Static_assert(PRICES <= 64, "a word holds a bit for each price");

static const struct {
    sb_price_t words;
    size_t followed; /* place of the price that it follows */
} prices[PRICES] = {
#define SB_PRICE(name, follows, unit, standard, doc)                                               \
    {{#name, #follows, unit, doc}, PLACE_##follows},
#include "team/prices.def"
#undef SB_PRICE
};

size_t sb_price_count(void)
{
    return PRICES;
}

const sb_price_t *sb_price_at(size_t index)
{
    return &prices[index].words;
}

double sb_price_get(const sb_prices_t *of, size_t index)
{
    return ((const double *)(const void *)of)[index];
}

static void set(sb_prices_t *of, size_t index, double value)
{
    ((double *)(void *)of)[index] = value;
}

size_t sb_price_find(const char *name)
{
    size_t index = 0;

    while (index < PRICES && strcmp(prices[index].words.name, name) != 0)
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
    if (index >= PRICES || !sb_price_sane(index, value))
        return false;
    set(of, index, value);
    *known |= (sb_known_prices_t)1 << index;
    return true;
}

void sb_prices_follow(sb_prices_t *of, sb_known_prices_t known)
{
    const sb_prices_t *standard = &sb_prices_standard;

    for (size_t i = 0; i < PRICES; i++) {
        size_t followed = prices[i].followed;
        double times =
            followed == i ? 1 : sb_price_get(of, followed) / sb_price_get(standard, followed);
        if ((known >> i & 1) == 0)
            set(of, i, sb_price_get(standard, i) * times);
    }
}
