/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_PRICES_H
#define SB_COLL_PRICES_H

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

#endif
