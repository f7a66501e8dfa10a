/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_PRICES_H
#define SB_COLL_PRICES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What steps cost on a kind of machine, see prices.def. All members of a team have to go by the
 * same: those of rank 0.
 */
typedef struct sb_prices {
#define SB_PRICE(name, unit, standard, doc) double name;
#include "coll/prices.def"
#undef SB_PRICE
} sb_prices_t;

/* Of an x86 server. Other processors go by them too: nothing else is known yet. */
extern const sb_prices_t sb_prices_standard;

/* One price in words. */
typedef struct sb_price {
    const char *name;
    const char *unit; /* "ns", "lines", or "times": a factor */
    const char *doc;
} sb_price_t;

size_t sb_price_count(void);
const sb_price_t *sb_price_at(size_t index);
double sb_price_get(const sb_prices_t *prices, size_t index);

/* Sets a price by its name. False: there is none of that name, or it is below 0. */
bool sb_price_set(sb_prices_t *prices, const char *name, double value);

#endif
