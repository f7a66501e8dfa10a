/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_PRICES_H
#define SB_TEAM_PRICES_H

#include "topology/processor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What steps cost on a kind of machine, see prices.def. All members of a team have to go by the
 * same: those of rank 0.
 */
typedef struct sb_prices {
#define SB_PRICE(name, follows, unit, standard, doc) double name;
#include "team/prices.def"
#undef SB_PRICE
} sb_prices_t;

/* Of an x86 server. Other processors go by them too, as far as nothing is known of them. */
extern const sb_prices_t sb_prices_standard;

/* Makes prices those of several ranks that have a processor of that kind each. */
void sb_prices_suit(sb_prices_t *prices, sb_processor_t processor);

/* Where prices are from. */
typedef enum sb_prices_from {
    SB_PRICES_BUILT_IN,
    SB_PRICES_READ,     /* in a file of what was measured before */
    SB_PRICES_MEASURED, /* by this job */
} sb_prices_from_t;

/* One price in words. */
typedef struct sb_price {
    const char *name;
    const char *follows; /* another of which it is a multiple, or itself */
    const char *unit;    /* "ns", "lines", or "times": a factor */
    const char *doc;
} sb_price_t;

size_t sb_price_count(void);
const sb_price_t *sb_price_at(size_t index);
double sb_price_get(const sb_prices_t *prices, size_t index);

/*
 * So many times more or less than the server's may a price be that was measured or read. What lies
 * beyond was measured while something else ran, or was never measured.
 */
#define SB_PRICE_SPAN 16

/* The place of the price of that name; sb_price_count(): there is none. */
size_t sb_price_find(const char *name);

/* Whether such a price can be. */
bool sb_price_sane(size_t index, double value);

/* Bit i: price i is known; of few enough. */
typedef uint64_t sb_known_prices_t;

/* Sets a price, which is known from now on. False: there is no such price, or it cannot be. */
bool sb_price_learn(sb_prices_t *prices, sb_known_prices_t *known, size_t index, double value);

/* Makes all prices that are not `known` follow those that are. */
void sb_prices_follow(sb_prices_t *prices, sb_known_prices_t known);

#endif
