/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/prices.h"

#include "base/compiler.h"

#include <string.h>

const sb_prices_t sb_prices_standard = {
#define SB_PRICE(name, unit, standard, doc) .name = standard,
#include "coll/prices.def"
#undef SB_PRICE
};

static const struct {
    sb_price_t words;
    size_t offset;
} prices[] = {
#define SB_PRICE(name, unit, standard, doc) {{#name, unit, doc}, offsetof(sb_prices_t, name)},
#include "coll/prices.def"
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

double sb_price_get(const sb_prices_t *of, size_t index)
{
    return *(const double *)(const void *)((const char *)of + prices[index].offset);
}

bool sb_price_set(sb_prices_t *of, const char *name, double value)
{
    for (size_t i = 0; i < SB_COUNT_OF(prices); i++) {
        if (strcmp(prices[i].words.name, name) != 0 || !(value >= 0))
            continue;
        *(double *)(void *)((char *)of + prices[i].offset) = value;
        return true;
    }
    return false;
}
