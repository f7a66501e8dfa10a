/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "baseline/pipeline.h"
#include "segment/huge.h"
#include "tools/machines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Each rank is a process of its own, bound as a launcher would bind it, that takes memory as the
 * library does and asks the system where it is.
 */
#define RANKS_MOST 1024
#define NODES_MOST 256
#define LEAST_BYTES ((size_t)16 << 10)

/* What one rank found, in memory that it shares with this process. */
typedef struct finding {
    int32_t done;
    int32_t node;
    size_t counts[NODES_MOST];
    size_t elsewhere;
    size_t huge;
    sb_reason_t error; /* empty: none, once done */
} finding_t;

/* What a rank of a team takes in the end: its control block, its ring, its controls and buffers. */
static size_t bytes_of_rank(void)
{
    sb_settings_t settings;

    sb_settings_self(&settings);
    sb_pipeline_form_t form = sb_pipeline_form(&settings);
    return sb_control_bytes(SB_SLOTS) + (size_t)settings.ring_bytes + sb_pipeline_bytes(&form);
}

/* Adds up where the pages of this rank's regions are, and what of them are huge pages. */
static sb_status_t count_pages(finding_t *finding, size_t nodes)
{
    size_t here[NODES_MOST], others;
    const sb_region_t *region;

    for (size_t i = 0; (region = sb_arena_region(i)) != NULL; i++) {
        sb_status_t status =
            sb_topology_pages(region->base, region->key.bytes, here, nodes, &others);
        if (status != SB_OK)
            return status;
        for (size_t node = 0; node < nodes; node++)
            finding->counts[node] += here[node];
        finding->elsewhere += others;
        finding->huge += sb_huge_mapped(region->base, region->key.bytes);
    }
    return SB_OK;
}

/* Takes memory, or as much as there is, and counts the pages of all that this rank then owns. */
static sb_status_t survey_memory(finding_t *finding, uint32_t ranks, size_t nodes)
{
    sb_block_t block;
    sb_status_t status = SB_ERR_MEMORY;

    for (size_t bytes = bytes_of_rank(); status != SB_OK && bytes >= LEAST_BYTES; bytes /= 2)
        status = sb_arena_take(&block, bytes, SB_ARENA_ANY, ranks, &finding->error);
    if (status != SB_OK)
        return status;
    sb_arena_settle(&block);
    snprintf(finding->error.text, sizeof finding->error.text, "the system does not tell");
    return count_pages(finding, nodes);
}

static void run_rank(finding_t *finding, const sb_place_t *place, uint32_t ranks, size_t nodes)
{
    finding->node = place->numa_node;
    if (!sb_place_bind(place))
        snprintf(finding->error.text, sizeof finding->error.text, "binding to a core: %s",
                 strerror(errno));
    else if (survey_memory(finding, ranks, nodes) == SB_OK)
        finding->error.text[0] = '\0';
    finding->done = 1;
}

static void run_ranks(finding_t *findings, const sb_place_t *places, uint32_t ranks, size_t nodes)
{
    uint32_t started = 0;

    for (; started < ranks; started++) {
        pid_t child = fork();
        if (child == 0) {
            run_rank(&findings[started], &places[started], ranks, nodes);
            _exit(0);
        }
        if (child < 0)
            break;
    }
    int error = errno;
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    if (started < ranks)
        sb_tool_fail("sobor-query placement: starting rank %u: %s", started, strerror(error));
}

static json_t *describe_rank(const finding_t *finding, uint32_t rank, const sb_place_t *place,
                             size_t nodes)
{
    char text[SB_CPUS_MOST * 5];
    char node_name[24];
    json_t *pages = json_object();
    size_t wrong = 0;

    for (size_t node = 0; node < nodes; node++) {
        snprintf(node_name, sizeof node_name, "%zu", node);
        if (finding->counts[node] > 0)
            json_object_set_new(pages, node_name, json_integer((json_int_t)finding->counts[node]));
        if (finding->node >= 0 && (size_t)finding->node != node)
            wrong += finding->counts[node];
    }
    const char *error = finding->done ? finding->error.text : "the process ended early";
    return json_pack("{s:I, s:s, s:i, s:o, s:I, s:I, s:I, s:s?}", "rank", (json_int_t)rank, "cpus",
                     sb_cpus_format(place->cpus, text, sizeof text), "node", finding->node, "pages",
                     pages, "wrong", (json_int_t)wrong, "elsewhere", (json_int_t)finding->elsewhere,
                     "huge_bytes", (json_int_t)finding->huge, "error",
                     *error != '\0' ? error : NULL);
}

/* How many pages each node holds, and how many of them belong to ranks of other nodes. */
static json_t *describe_nodes(const finding_t *findings, uint32_t ranks, size_t nodes)
{
    json_t *list = json_array();

    for (size_t node = 0; node < nodes; node++) {
        size_t pages = 0, wrong = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            size_t count = findings[rank].counts[node];
            bool at_home = findings[rank].node < 0 || (size_t)findings[rank].node == node;
            pages += count;
            wrong += at_home ? 0 : count;
        }
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "node", (json_int_t)node, "pages",
                                              (json_int_t)pages, "wrong", (json_int_t)wrong));
    }
    return list;
}

/* One rank for each core, if the number was not given. */
static uint32_t count_ranks(const sb_query_t *query)
{
    sb_topology_counts_t counts;

    if (query->ranks > RANKS_MOST)
        sb_tool_fail("--ranks: expected at most %d for placement, found %u", RANKS_MOST,
                     query->ranks);
    sb_topology_count(sb_topology_self(), &counts);
    return query->ranks > 0
               ? query->ranks
               : (uint32_t)sb_min(sb_min(counts.cores, counts.allowed_pus), RANKS_MOST);
}

json_t *sb_query_placement(const sb_query_t *query)
{
    uint32_t ranks = count_ranks(query);
    size_t nodes = sb_min(sb_topology_numa_nodes(), NODES_MOST);
    size_t bytes = ranks * sizeof(finding_t);
    finding_t *findings =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sb_place_t *places = sb_tool_take(ranks, sizeof *places);
    sb_huge_mode_t mode;

    if (findings == MAP_FAILED)
        return NULL;
    if (sb_places_map(places, ranks, sb_topology_self(), query->mapping) != SB_OK)
        sb_tool_fail("sobor-query placement: the machine shows no core for a rank");
    run_ranks(findings, places, ranks, nodes);
    json_t *list = json_array();
    for (uint32_t rank = 0; rank < ranks; rank++)
        json_array_append_new(list, describe_rank(&findings[rank], rank, &places[rank], nodes));
    json_t *by_node = describe_nodes(findings, ranks, nodes);
    munmap(findings, bytes);
    free(places);
    sb_huge_read("", &mode);
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:s, s:s}", "placement",
                     sb_config()->placement.number != 0 ? "on" : "off", "map", query->map_name,
                     "bytes", (json_int_t)bytes_of_rank(), "nodes", by_node, "ranks", list,
                     "huge_pages", mode.word, "huge_pages_setting",
                     sb_config()->huge_pages.number == SB_HUGE_PAGES_AUTO ? "auto" : "off");
}
