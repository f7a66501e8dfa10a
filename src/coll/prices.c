/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/prices.h"

const sb_prices_t sb_prices_standard = {
#define SB_PRICE(name, unit, standard, doc) .name = standard,
#include "coll/prices.def"
#undef SB_PRICE
};
