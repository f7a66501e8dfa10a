/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_COST_H
#define SB_CLUSTER_COST_H

#include "cluster/choice.h"

#include <stdbool.h>

/* What messages between nodes take, and what is chosen by that. Times are in nanoseconds. */

/* Segments that are tried are not shorter. */
#define SB_SEGMENT_LEAST ((size_t)1024)

/* A message of a few bytes. */
static inline double sb_cost_word(const sb_net_prices_t *prices)
{
    return prices->latency + 2 * prices->overhead;
}

/* What a message takes besides its bytes: above the eager limit it is announced, and asked for. */
static inline double sb_cost_empty(const sb_net_prices_t *prices, size_t bytes)
{
    bool announced = bytes > prices->eager;

    return sb_cost_word(prices) + (announced ? 2 * (prices->latency + prices->overhead) : 0);
}

static inline double sb_cost_message(const sb_net_prices_t *prices, size_t bytes)
{
    return sb_cost_empty(prices, bytes) + (double)bytes * prices->byte;
}

/* Candidates come with ever shorter segments: one has to save a tenth to be worth the messages. */
static inline void sb_schedule_take(sb_schedule_t *way, sb_schedule_t other)
{
    if (way->name == NULL || other.cost < 0.9 * way->cost)
        *way = other;
}

#endif
