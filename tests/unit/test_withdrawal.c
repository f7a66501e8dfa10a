/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a failure of the network leaves behind, with a made-up network that fails at some look, or
 * at some beginning: when a call has returned nothing is under way, since the memory is the
 * caller's.
 */
#include "testing.h"

#include "base/config.h"
#include "base/forms.h"
#include "base/pages.h"
#include "cluster/cluster.h"
#include "data/fold.h"

#include <stdlib.h>
#include <string.h>

#define RANKS 6
#define BYTES ((size_t)256 << 10)
#define UNDER_WAY_MOST 256

struct sb_net_request {
    bool live;
    bool receives;
    uint32_t from;
    uint32_t tag;
    char *data;
    size_t bytes;
};

/* What the cluster has under way, and how it dealt with it. */
static struct {
    struct sb_net_request request[UNDER_WAY_MOST];
    unsigned live;
    unsigned steps; /* looks and beginnings */
    unsigned fails; /* at this one */
    unsigned drops;
    unsigned later; /* steps after that */
    bool lingers;
} wire;

static bool goes_wrong(void)
{
    wire.later += wire.drops > 0;
    return ++wire.steps == wire.fails;
}

static sb_status_t begin(struct sb_net_request given, sb_net_request_t **request)
{
    unsigned place = 0;

    if (goes_wrong())
        return SB_ERR_NETWORK;
    while (wire.request[place].live)
        assert_true(++place < UNDER_WAY_MOST);
    wire.request[place] = given;
    wire.request[place].live = true;
    wire.live++;
    *request = &wire.request[place];
    return SB_OK;
}

static sb_status_t begin_send(void *context, uint32_t to, uint32_t tag, const void *data,
                              size_t bytes, bool met, sb_net_request_t **request)
{
    (void)context;
    (void)to;
    (void)tag;
    (void)met;
    return begin((struct sb_net_request){.data = (char *)(uintptr_t)data, .bytes = bytes}, request);
}

static sb_status_t begin_receive(void *context, uint32_t from, uint32_t tag, void *data,
                                 size_t room, sb_net_request_t **request)
{
    (void)context;
    struct sb_net_request given = {
        .receives = true, .from = from, .tag = tag, .data = data, .bytes = room};
    return begin(given, request);
}

/* All has come whenever it is looked at, and is nothing but zeroes; but one thing fails. */
static sb_status_t test(void *context, sb_net_request_t **request, bool *done, sb_net_news_t *news)
{
    struct sb_net_request *tested = *request;

    (void)context;
    assert_true(tested->live);
    tested->live = false;
    wire.live--;
    *request = NULL;
    *done = !goes_wrong();
    if (*done && tested->receives)
        memset(tested->data, 0, tested->bytes);
    if (*done && news != NULL)
        *news = (sb_net_news_t){tested->from, tested->tag, tested->bytes};
    return *done ? SB_OK : SB_ERR_NETWORK;
}

static bool drop(void *context)
{
    (void)context;
    for (unsigned i = 0; i < UNDER_WAY_MOST; i++)
        wire.request[i].live = false;
    wire.live = 0;
    wire.drops++;
    return !wire.lingers;
}

/* All ranks say what this one says, but that each is on a node of its own. */
static sb_status_t allgather(void *context, const void *mine, void *all, size_t bytes)
{
    bool *first = context;

    for (uint64_t rank = 0; rank < RANKS; rank++) {
        memcpy((char *)all + rank * bytes, mine, bytes);
        if (*first)
            memcpy((char *)all + rank * bytes, &rank, sizeof rank);
    }
    *first = false;
    return SB_OK;
}

/* --- calls --------------------------------------------------------------------------------- */

typedef sb_status_t call_t(sb_cluster_t *cluster, uint32_t root, char *data);

static sb_status_t call_barrier(sb_cluster_t *cluster, uint32_t root, char *data)
{
    (void)root;
    (void)data;
    return sb_cluster_barrier(cluster);
}

static sb_status_t call_bcast(sb_cluster_t *cluster, uint32_t root, char *data)
{
    sb_stream_t stream = {.base = data, .bytes = BYTES};

    return sb_cluster_bcast(cluster, root, &stream);
}

static sb_reduction_t reduction_of(uint32_t root, char *data)
{
    return (sb_reduction_t){.operation = sb_fold_operator(SB_SUM, SB_INT32),
                            .root = root,
                            .bytes = BYTES,
                            .send = data,
                            .receive = data + BYTES};
}

static sb_status_t call_reduce(sb_cluster_t *cluster, uint32_t root, char *data)
{
    sb_reduction_t reduction = reduction_of(root, data);

    reduction.receive = cluster->rank == root ? reduction.receive : NULL;
    return sb_cluster_reduce(cluster, &reduction);
}

static sb_status_t call_allreduce(sb_cluster_t *cluster, uint32_t root, char *data)
{
    sb_reduction_t reduction = reduction_of(root, data);

    return sb_cluster_allreduce(cluster, &reduction);
}

static sb_status_t call_scan(sb_cluster_t *cluster, uint32_t root, char *data)
{
    sb_reduction_t reduction = reduction_of(root, data);

    return sb_cluster_scan(cluster, &reduction);
}

/* Of so many bytes a rank: long parts go straight, short ones do not. */
static size_t part_bytes;

static sb_parts_t parts_of(uint32_t root, char *data, bool gathers, sb_stream_t *streams)
{
    for (uint32_t i = 0; i < 2 * RANKS; i++)
        streams[i] = (sb_stream_t){.base = data + i * part_bytes, .bytes = part_bytes};
    return (sb_parts_t){.root = root,
                        .send = gathers ? streams + 2 * RANKS - 1 : streams,
                        .receive = streams + (gathers ? 0 : RANKS)};
}

#define CALL_PARTS(function, gathers)                                                              \
    static sb_status_t call_##function(sb_cluster_t *cluster, uint32_t root, char *data)           \
    {                                                                                              \
        sb_stream_t streams[2 * RANKS];                                                            \
        sb_parts_t parts = parts_of(root, data, gathers, streams);                                 \
        return sb_cluster_##function(cluster, &parts);                                             \
    }

CALL_PARTS(gather, true)
CALL_PARTS(gatherv, true)
CALL_PARTS(scatter, false)
CALL_PARTS(scatterv, false)
CALL_PARTS(allgather, true)
CALL_PARTS(alltoall, false)

static const struct {
    const char *name;
    call_t *call;
    size_t part;
    sb_form_t form;
} calls[] = {
    {"barrier", call_barrier, 0, SB_FORM_FIXED},
    {"bcast", call_bcast, 0, SB_FORM_FIXED},
    {"bcast by order of arrival", call_bcast, 0, SB_FORM_cp_chain},
    {"reduce", call_reduce, 0, SB_FORM_FIXED},
    {"allreduce", call_allreduce, 0, SB_FORM_FIXED},
    {"scan", call_scan, 0, SB_FORM_FIXED},
    {"gather", call_gather, 4096, SB_FORM_FIXED},
    {"gatherv", call_gatherv, 64, SB_FORM_FIXED},
    {"gatherv, long", call_gatherv, 32768, SB_FORM_FIXED},
    {"scatter", call_scatter, 4096, SB_FORM_FIXED},
    {"scatterv", call_scatterv, 64, SB_FORM_FIXED},
    {"scatterv, long", call_scatterv, 32768, SB_FORM_FIXED},
    {"allgather", call_allgather, 4096, SB_FORM_FIXED},
    {"alltoall", call_alltoall, 64, SB_FORM_FIXED},
    {"alltoall, long", call_alltoall, 32768, SB_FORM_FIXED},
};

/* The call at a rank, whose network fails at that step. Whether it came so far. */
static bool try_call(unsigned i, uint32_t rank, unsigned fails, char *data)
{
    sb_settings_t settings;
    bool first = true;
    sb_front_t front = {.context = &first, .allgather = allgather, .settings = &settings};
    sb_net_t net = {.rank = rank,
                    .ranks = RANKS,
                    .send = begin_send,
                    .receive = begin_receive,
                    .test = test,
                    .drop = drop};
    sb_cluster_t *cluster;

    sb_settings_self(&settings);
    settings.pings = 0;
    settings.bcast_form = calls[i].form;
    settings.scatter_by = SB_SCATTER_FIXED;
    memset(&wire, 0, sizeof wire);
    assert_int_equal(sb_cluster_create(&cluster, &front, &net, rank), SB_OK);
    assert_int_equal(cluster->map.nodes, RANKS);
    wire.steps = 0;
    wire.fails = fails;
    part_bytes = calls[i].part;
    sb_status_t status = calls[i].call(cluster, 1, data);
    bool failed = wire.drops > 0;
    assert_int_equal(wire.live, 0);
    assert_int_equal(wire.later, 0);
    assert_int_equal(wire.drops, failed);
    if (failed)
        assert_true(status != SB_OK && cluster->failure == status);
    /* And nothing follows. */
    unsigned steps = wire.steps;
    if (failed)
        assert_int_equal(calls[i].call(cluster, 1, data), status);
    assert_true(!failed || (wire.steps == steps && wire.drops == 1));
    sb_cluster_destroy(cluster);
    return wire.steps >= fails;
}

static void nothing_is_left_under_way(void **state)
{
    char *data = calloc(2, BYTES);

    (void)state;
    for (unsigned i = 0; i < SB_COUNT_OF(calls); i++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            unsigned fails = 1;
            while (try_call(i, rank, fails, data))
                fails++;
            print_message("%s at rank %u: failed at each of %u steps\n", calls[i].name, rank,
                          fails - 1);
            assert_true(fails > 1);
        }
    }
    free(data);
}

/* What the network may still read is left to it. */
static void what_lingers_is_kept(void **state)
{
    sb_settings_t settings;
    bool first = true;
    sb_front_t front = {.context = &first, .allgather = allgather, .settings = &settings};
    sb_net_t net = {
        .ranks = RANKS, .send = begin_send, .receive = begin_receive, .test = test, .drop = drop};
    sb_cluster_t *cluster;

    (void)state;
    sb_settings_self(&settings);
    settings.pings = 0;
    memset(&wire, 0, sizeof wire);
    assert_int_equal(sb_cluster_create(&cluster, &front, &net, 0), SB_OK);
    char *window = cluster->window;
    wire.lingers = true;
    wire.fails = 1;
    assert_int_equal(sb_cluster_barrier(cluster), SB_ERR_NETWORK);
    sb_cluster_destroy(cluster);
    memset(window, 1, SB_WINDOW_BYTES);
    sb_pages_give(window, SB_WINDOW_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_under_way),
        cmocka_unit_test(what_lingers_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
