/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "baseline/exchanges.h"

typedef struct listing {
    json_t *stages;
    uint32_t members;
} listing_t;

static uint32_t blocks(const listing_t *listing, const uint64_t *from, const uint64_t *to)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < listing->members; i++)
        count += sb_block_in(from, i) && !sb_block_in(to, i);
    return count;
}

static void add(void *context, uint32_t stage, const uint32_t pair[2], const uint64_t *const has[2])
{
    const listing_t *listing = context;

    if (json_array_size(listing->stages) <= stage)
        json_array_append_new(listing->stages, json_array());
    json_array_append_new(json_array_get(listing->stages, stage),
                          json_pack("[i,i,i,i]", (int)pair[0], (int)pair[1],
                                    (int)blocks(listing, has[0], has[1]),
                                    (int)blocks(listing, has[1], has[0])));
}

json_t *sb_query_exchanges(const sb_query_t *query)
{
    listing_t listing = {json_array(), query->ranks};

    if (sb_exchanges(query->ranks, add, &listing) == UINT32_MAX) {
        json_decref(listing.stages);
        return NULL;
    }
    return listing.stages;
}
