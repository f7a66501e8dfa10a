/* SPDX-License-Identifier: BSD-3-Clause */
/* Cold buffers of the bench go through more than the caches of their node hold. */
#include "testing.h"

#include "../../bench/body/cold.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* --- a made-up /sys ------------------------------------------------------------------------- */

static char root[] = "/tmp/sobor-cold-XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL;
}

static int end(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void write_line(const char *folder, const char *name, const char *line)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

/* Of the machine `root`/`machine`. */
static void add_cache(const char *machine, int processor, int index, const char *level,
                      const char *type, const char *size, const char *shared)
{
    char folder[192], command[256];

    snprintf(folder, sizeof folder, "%s/%s/sys/devices/system/cpu/cpu%d/cache/index%d", root,
             machine, processor, index);
    snprintf(command, sizeof command, "mkdir -p '%s'", folder);
    assert_int_equal(system(command), 0);
    write_line(folder, "level", level);
    write_line(folder, "type", type);
    write_line(folder, "size", size);
    write_line(folder, "shared_cpu_list", shared);
}

static uint64_t caches_of(const char *machine, int first, int last)
{
    char path[128];
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = first; i <= last; i++)
        CPU_SET(i, &set);
    snprintf(path, sizeof path, "%s/%s", root, machine);
    return bench_caches_of(&set, path);
}

/* Four cores, each with a second hardware thread four processors on; two last caches. */
static void add_complexes(void)
{
    for (int i = 0; i < 8; i++) {
        char core[16];
        snprintf(core, sizeof core, "%d,%d", i % 4, i % 4 + 4);
        add_cache("complexes", i, 0, "1", "Data", "32K", core);
        add_cache("complexes", i, 1, "1", "Instruction", "32K", core);
        add_cache("complexes", i, 2, "2", "Unified", "1024K", core);
        add_cache("complexes", i, 3, "3", "Unified", "32M", i % 4 < 2 ? "0-1,4-5" : "2-3,6-7");
    }
}

/* --- caches --------------------------------------------------------------------------------- */

static void each_cache_counts_once(void **state)
{
    (void)state;
    add_complexes();
    assert_int_equal(caches_of("complexes", 0, 7), 2 * 32 * MIB + 4 * MIB);
    assert_int_equal(caches_of("complexes", 0, 0), 33 * MIB);
    assert_int_equal(caches_of("complexes", 6, 7), 34 * MIB);
    assert_int_equal(caches_of("complexes", 1, 2), 66 * MIB);
}

static void there_need_not_be_a_third_level(void **state)
{
    (void)state;
    add_cache("two", 0, 0, "2", "Unified", "512K", "0");
    add_cache("two", 1, 0, "2", "Unified", "512K", "1");
    assert_int_equal(caches_of("two", 0, 1), MIB);
}

static void the_library_is_asked_where_the_kernel_says_nothing(void **state)
{
    long third = sysconf(_SC_LEVEL3_CACHE_SIZE);

    (void)state;
    assert_int_equal(caches_of("nothing", 0, 1), third > 0 ? third : 0);
}

/* --- slots ---------------------------------------------------------------------------------- */

static void hot_is_one_buffer(void **state)
{
    const struct bench_node node = {.caches = 32 * MIB, .available = 4 * MIB, .ranks = 4};

    (void)state;
    assert_int_equal(bench_slots(MIB / 2, false, 0, &node), 1);
    assert_int_equal(bench_slots(MIB, false, 0, &node), 0);
}

static void all_ranks_of_a_node_go_through_four_times_the_caches(void **state)
{
    const struct bench_node node = {
        .caches = 768 * MIB, .available = 1024 * 1024 * MIB, .ranks = 96};

    (void)state;
    for (size_t stride = 4096; stride < 8 * MIB; stride *= 4) {
        size_t together = stride * (size_t)node.ranks;
        assert_in_range(bench_slots(stride, true, 0, &node) * together, 4 * node.caches - together,
                        4 * node.caches);
    }
}

static void small_caches_and_little_memory_have_limits(void **state)
{
    const struct bench_node small = {.caches = MIB, .available = 65536 * MIB, .ranks = 2};
    const struct bench_node little = {.caches = 32 * MIB, .available = 64 * MIB, .ranks = 2};

    (void)state;
    assert_int_equal(bench_slots(MIB, true, 0, &small), 128);
    assert_int_equal(bench_slots(MIB, true, 0, &little), 8);
    assert_int_equal(bench_slots(4 * MIB, true, 0, &little), 3);
    assert_int_equal(bench_slots(8 * MIB, true, 0, &little), 0);
}

static void a_range_that_is_asked_for_is_kept(void **state)
{
    const struct bench_node node = {.caches = 32 * MIB, .available = 64 * MIB, .ranks = 2};

    (void)state;
    assert_int_equal(bench_slots(MIB, true, 32 * MIB, &node), 16);
    assert_int_equal(bench_slots(MIB, true, 64 * MIB, &node), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cache_counts_once),
        cmocka_unit_test(there_need_not_be_a_third_level),
        cmocka_unit_test(the_library_is_asked_where_the_kernel_says_nothing),
        cmocka_unit_test(hot_is_one_buffer),
        cmocka_unit_test(all_ranks_of_a_node_go_through_four_times_the_caches),
        cmocka_unit_test(small_caches_and_little_memory_have_limits),
        cmocka_unit_test(a_range_that_is_asked_for_is_kept),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
