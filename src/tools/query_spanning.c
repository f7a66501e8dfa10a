/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "cluster/expected.h"
#include "cluster/network.h"
#include "cluster/operations.h"

/* Of which sizes it is said, where none is asked for. */
static const size_t sizes[] = {8,        64,        1024,       4 << 10,   16 << 10,
                               64 << 10, 256 << 10, 1024 << 10, 4096 << 10};

/* What messages cost, and where that is from: the option, the variable, or nowhere. */
typedef struct network {
    sb_net_prices_t prices;
    const char *file; /* NULL: none */
    char error[1024]; /* of the variable's */
} network_t;

static void find_network(network_t *network, const sb_query_t *query)
{
    const char *own = sb_config()->network.text;

    *network = (network_t){.prices = sb_net_prices_standard};
    network->file = query->network != NULL ? query->network : *own != '\0' ? own : NULL;
    if (network->file == NULL ||
        sb_network_read(network->file, &network->prices, network->error, sizeof network->error))
        return;
    if (query->network != NULL)
        sb_tool_fail("--network: %s", network->error);
}

static json_t *describe_network(const network_t *network)
{
    const char *error = network->error[0] == '\0' ? NULL : network->error;

    return json_pack("{s:f, s:f, s:f, s:f, s:o?, s:o?}", "latency_ns", network->prices.latency,
                     "overhead_ns", network->prices.overhead, "byte_ns", network->prices.byte,
                     "eager_bytes", network->prices.eager, "file",
                     network->file == NULL ? NULL : sb_tool_text(network->file), "error",
                     error == NULL ? NULL : sb_tool_text(error));
}

/* What keeps Sobor from serving any call of these ranks; NULL: nothing does. */
static const char *find_obstacle(const sb_query_t *query)
{
    if (sb_config()->enabled.number == 0)
        return "SOBOR is off";
    if (sb_config()->cluster.number == SB_CLUSTER_OFF)
        return "SOBOR_CLUSTER is off";
    return query->nodes == query->ranks ? "each rank has a node of its own" : NULL;
}

static json_t *describe_size(const sb_query_t *query, const sb_shape_t *shape,
                             const sb_settings_t *settings, size_t bytes)
{
    const char *obstacle = find_obstacle(query);
    sb_choice_t choice = {NULL, obstacle, NULL, NULL};
    sb_schedule_t own = sb_schedule_expected(shape, query->collective, bytes);
    sb_schedule_t host = sb_host_expected(shape, query->collective, bytes);

    if (obstacle == NULL)
        choice = sb_choose(query->collective, shape, settings, bytes, false);
    return json_pack("{s:I, s:s, s:s, s:b, s:s, s:I, s:I, s:f, s:s, s:f}", "bytes",
                     (json_int_t)bytes, "algorithm",
                     choice.algorithm == NULL ? "host" : choice.algorithm->name, "reason",
                     choice.reason, "trials", choice.own != NULL, "schedule", own.name, "lanes",
                     (json_int_t)own.lanes, "segment", (json_int_t)own.segment, "expected_us",
                     own.cost / 1000, "host", host.name, "host_us", host.cost / 1000);
}

static json_t *list_sizes(const sb_query_t *query, const sb_shape_t *shape,
                          const sb_settings_t *settings)
{
    json_t *list = json_array();

    if (query->bytes > 0 || query->collective == SB_BARRIER) {
        size_t bytes = query->collective == SB_BARRIER ? 0 : query->bytes;
        json_array_append_new(list, describe_size(query, shape, settings, bytes));
        return list;
    }
    for (size_t i = 0; i < SB_COUNT_OF(sizes); i++)
        json_array_append_new(list, describe_size(query, shape, settings, sizes[i]));
    return list;
}

json_t *sb_query_spanning(const sb_query_t *query)
{
    sb_settings_t settings;
    network_t network;

    if (query->nodes > query->ranks)
        sb_tool_fail("--nodes: expected at most as many as --ranks %u, found %u", query->ranks,
                     query->nodes);
    find_network(&network, query);
    sb_settings_self(&settings);
    sb_settings_check(&settings);
    const sb_shape_t shape = {.ranks = query->ranks,
                              .prices = &settings.prices,
                              .over_nodes = &sb_cluster_over_nodes,
                              .nodes = query->nodes,
                              .network = &network.prices,
                              .oversubscribed = query->oversubscribed == 1,
                              .scattered = query->dealt};
    return json_pack("{s:s, s:I, s:I, s:b, s:o, s:o}", "collective",
                     sb_collective_name(query->collective), "ranks", (json_int_t)query->ranks,
                     "nodes", (json_int_t)query->nodes, "dealt", query->dealt, "network",
                     describe_network(&network), "sizes", list_sizes(query, &shape, &settings));
}
