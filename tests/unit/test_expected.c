/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected times of calls over nodes, prices of networks from files, and what is chosen by them. */
#include "../long_form.h"
#include "testing.h"

#include "base/config.h"
#include "cluster/expected.h"
#include "cluster/network.h"
#include "cluster/operations.h"
#include "cluster/pings.h"
#include "cluster/reduce.h"
#include "select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sb_shape_t shape_of(uint32_t nodes, uint32_t ranks, bool scattered)
{
    return (sb_shape_t){.ranks = ranks,
                        .prices = &sb_prices_standard,
                        .over_nodes = &sb_cluster_over_nodes,
                        .nodes = nodes,
                        .network = &sb_net_prices_standard,
                        .scattered = scattered};
}

/* However many nodes there are, with however many lanes, an allreduce goes some way, in segments.
 */
static void every_allreduce_has_a_way(void **state)
{
    const uint32_t lanes[] = {0, 1, 2, 3, 4, 8, 64}, most_by_one = takes_few() ? 20 : 300;
    const size_t times = takes_few() ? 32 : 4;

    (void)state;
    for (uint32_t nodes = 2; nodes <= 2100; nodes += nodes < most_by_one ? 1 : 97)
        for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
            for (size_t bytes = 8; bytes <= 32 << 20; bytes *= times)
                for (unsigned commutative = 0; commutative < 2; commutative++) {
                    sb_schedule_t way = sb_schedule_of_allreduce(
                        nodes, lanes[i], &sb_net_prices_standard, bytes, commutative != 0);
                    assert_non_null(way.name);
                    assert_true(way.segment > 0 && way.cost > 0);
                    assert_true((way.write_step != NULL) != (way.partners > 0));
                    assert_true(way.segment >= way.parts);
                }
}

/* Every operation has a price of its own and one of the host's, which grow with the bytes. */
static void all_have_prices(void **state)
{
    (void)state;
    for (unsigned c = 0; c < SB_COLLECTIVES; c++) {
        for (uint32_t nodes = 2; nodes <= 16; nodes++) {
            sb_shape_t shape = shape_of(nodes, 4 * nodes, nodes % 2 == 0);
            sb_schedule_t few = sb_schedule_expected(&shape, (sb_collective_t)c, 8);
            sb_schedule_t many = sb_schedule_expected(&shape, (sb_collective_t)c, 1 << 20);
            sb_schedule_t host = sb_host_expected(&shape, (sb_collective_t)c, 8);
            assert_non_null(few.name);
            assert_non_null(host.name);
            assert_true(few.cost > 0 && host.cost > 0);
            if (c != SB_BARRIER)
                assert_true(many.cost > few.cost);
        }
    }
}

/* The programs are those that run: of short segments of many ranks a ring would be no faster. */
static void programs_are_those_that_run(void **state)
{
    const struct {
        uint32_t nodes, ranks;
        sb_collective_t collective;
        size_t bytes;
        const char *name;
    } known[] = {
        {128, 1024, SB_ALLGATHER, 1024, "bruck"},      {16, 96, SB_ALLGATHER, 4096, "bruck"},
        {4, 32, SB_ALLGATHERV, 1 << 17, "ring"},       {2, 16, SB_ALLGATHER, 1 << 17, "bruck"},
        {8, 64, SB_SCAN, SB_SCAN_SEGMENT, "doubling"}, {8, 64, SB_EXSCAN, 1 << 20, "chain"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sb_shape_t shape = shape_of(known[i].nodes, known[i].ranks, false);
        sb_schedule_t way = sb_schedule_expected(&shape, known[i].collective, known[i].bytes);
        assert_string_equal(way.name, known[i].name);
    }
}

/* A flat ring crosses the links with every message where ranks are dealt round the nodes. */
static void placement_counts_for_hosts(void **state)
{
    sb_shape_t block = shape_of(4, 32, false), dealt = shape_of(4, 32, true);

    (void)state;
    assert_true(sb_host_expected(&dealt, SB_ALLREDUCE, 1 << 20).cost >
                2 * sb_host_expected(&block, SB_ALLREDUCE, 1 << 20).cost);
    assert_true(sb_schedule_expected(&dealt, SB_ALLREDUCE, 1 << 20).cost ==
                sb_schedule_expected(&block, SB_ALLREDUCE, 1 << 20).cost);
}

static double little(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    (void)shape;
    (void)collective;
    (void)bytes;
    return 1;
}

static double much(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    return 2 * little(shape, collective, bytes);
}

/* A cheaper host gets what trials may take back, and nothing else. */
static void cheaper_hosts(void **state)
{
    const sb_over_nodes_t dear = {sb_cluster_operation_find, much, little, UINT32_MAX};
    const sb_over_nodes_t cheap = {sb_cluster_operation_find, little, much, UINT32_MAX};
    sb_shape_t shape = shape_of(4, 16, false);
    sb_settings_t settings;

    (void)state;
    sb_settings_self(&settings);
    shape.over_nodes = &dear;
    sb_choice_t choice = sb_choose(SB_BCAST, &shape, &settings, 1024, false);
    assert_null(choice.algorithm);
    assert_non_null(choice.own);
    assert_non_null(sb_choose(SB_ALLREDUCE, &shape, &settings, 1024, false).algorithm);
    settings.trials = SB_TRIALS_OFF;
    assert_non_null(sb_choose(SB_BCAST, &shape, &settings, 1024, false).algorithm);
    settings.trials = SB_TRIALS_RULES;
    shape.over_nodes = &cheap;
    assert_non_null(sb_choose(SB_BCAST, &shape, &settings, 1024, false).algorithm);
}

/* Parts of so many ranks are not worth their messages; what no part is of does not count them. */
static void too_many_ranks_move_no_parts(void **state)
{
    sb_settings_t settings;

    (void)state;
    sb_settings_self(&settings);
    settings.trials = SB_TRIALS_OFF;
    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++) {
        sb_shape_t most = shape_of(128, 8192, false), more = shape_of(128, 8320, false);
        bool moves = c > SB_BCAST && c < SB_REDUCE;
        assert_non_null(sb_choose(c, &most, &settings, 64, false).algorithm);
        sb_choice_t choice = sb_choose(c, &more, &settings, 64, false);
        assert_int_equal(choice.algorithm == NULL, moves);
        assert_null(choice.own);
        assert_int_equal(strcmp(choice.reason, "too many ranks for parts between nodes") == 0,
                         moves);
    }
}

/* Reads a file of these words. */
static bool read_words(const char *words, sb_net_prices_t *prices, char *error, size_t room)
{
    char path[] = "/tmp/sobor-network-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, strlen(words)), strlen(words));
    close(fd);
    bool read = sb_network_read(path, prices, error, room);
    unlink(path);
    return read;
}

#define NUMBER(name, value) "\"" name "\": {\"value\": " value "}"

static void files_are_read(void **state)
{
    static const char all[] = "{\"parameters\": {" NUMBER("net_latency", "1300") ", " NUMBER(
        "net_byte", "0.5") ", " NUMBER("net_injection", "1") ", " NUMBER("net_eager", "0") "}}";
    sb_net_prices_t prices = {0};
    char error[256];

    (void)state;
    assert_true(read_words(all, &prices, error, sizeof error));
    assert_true(prices.latency == 1300 && prices.byte == 1 && prices.eager == 1e12);
    assert_true(prices.overhead == sb_net_prices_standard.overhead);
}

static void wrong_files_are_refused(void **state)
{
    static const struct {
        const char *words;
        const char *said;
    } wrong[] = {
        {"x", "expected a machine file"},
        {"{\"parameters\": {}}", "found no network"},
        {"{\"parameters\": {" NUMBER("net_latency", "0") "," NUMBER("net_byte", "1") "}}",
         "net_latency: value: expected a number from 1e-06 to 1e+12, found 0"},
        {"{\"parameters\": {" NUMBER("net_latency", "1") "," NUMBER("net_byte", "\"x\"") "}}",
         "net_byte: value: expected a number from 1e-06 to 1e+12, found \"x\""},
        {"{\"parameters\": {\"net_latency\": 1500, " NUMBER("net_byte", "1") "}}",
         "net_latency: expected an object with a value"},
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(wrong); i++) {
        sb_net_prices_t prices = {.latency = 7};
        char error[256] = "";
        assert_false(read_words(wrong[i].words, &prices, error, sizeof error));
        assert_non_null(strstr(error, wrong[i].said));
        assert_true(prices.latency == 7);
    }
}

/* Rounds that are alike but for two: the first opened a connection, the third was held up. */
static void tell_pings(sb_ping_t ping[SB_PINGS][SB_PING_ROUNDS], double sent, double empty,
                       double shorter, double longer)
{
    const double back[SB_PINGS] = {empty, shorter, longer};

    for (unsigned kind = 0; kind < SB_PINGS; kind++) {
        for (unsigned i = 0; i < SB_PING_ROUNDS; i++)
            ping[kind][i] = (sb_ping_t){sent, back[kind]};
        ping[kind][0] = (sb_ping_t){1e6, 2e6};
        ping[kind][2] = (sb_ping_t){sent, 1e9};
    }
}

static void pings_give_prices(void **state)
{
    sb_ping_t ping[SB_PINGS][SB_PING_ROUNDS];
    const double shorter = 32768, longer = 49152;

    (void)state;
    /* 2 us, 0.5 us at each end, and 0.25 ns a byte. */
    tell_pings(ping, 500, 6000, 6000 + 0.25 * shorter, 6000 + 0.25 * longer);
    sb_net_prices_t found = sb_prices_of_pings((const sb_ping_t(*)[SB_PING_ROUNDS])ping);
    assert_true(found.latency == 2000 && found.overhead == 500 && found.byte == 0.25);
    assert_true(found.eager == sb_net_prices_standard.eager);
    /* A longer one that came sooner, and one that was held up: the whole of its time bounds it. */
    tell_pings(ping, 500, 6000, longer, longer);
    assert_true(sb_prices_of_pings((const sb_ping_t(*)[SB_PING_ROUNDS])ping).byte == 0.25);
    tell_pings(ping, 500, 6000, 6000, 2 * longer);
    assert_true(sb_prices_of_pings((const sb_ping_t(*)[SB_PING_ROUNDS])ping).byte == 2);
    /* A clock that stands still, and a processor that takes all of the time. */
    tell_pings(ping, 0, 0, 0, 0);
    found = sb_prices_of_pings((const sb_ping_t(*)[SB_PING_ROUNDS])ping);
    assert_true(found.latency > 0 && found.byte > 0);
    tell_pings(ping, 6000, 6000, 6000, 6000);
    found = sb_prices_of_pings((const sb_ping_t(*)[SB_PING_ROUNDS])ping);
    assert_true(found.latency == 750 && found.overhead == 1125);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allreduce_has_a_way),
        cmocka_unit_test(all_have_prices),
        cmocka_unit_test(programs_are_those_that_run),
        cmocka_unit_test(placement_counts_for_hosts),
        cmocka_unit_test(cheaper_hosts),
        cmocka_unit_test(too_many_ranks_move_no_parts),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(pings_give_prices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
