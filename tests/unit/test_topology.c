/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing.h"

#include "team/team.h"
#include "tools/cores.h"
#include "tools/machines.h"
#include "tools/mapping.h"
#include "topology/cgroup.h"
#include "topology/launcher.h"
#include "topology/read.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* 4 NUMA nodes of 32 cores, 2 per package; the L3 serves exactly the cores of a NUMA node. */
#define FOUR_NODES "package:2 numa:2 l3:1 l2:32 core:1 pu:1"

#define RANKS_MOST 256

/* A machine and ranks on it. */
typedef struct scene {
    sb_topology_t *topology;
    sb_levels_t levels;
    sb_groups_t groups;
    sb_place_t places[RANKS_MOST];
    char text[4096];
} scene_t;

static scene_t scene;

/* The path of a stored machine. */
static const char *stored(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/topologies/%s", SOBOR_TEST_DATA, name);
    return path;
}

static void open_machine(const char *machine, unsigned kinds)
{
    char error[512] = "";

    scene.topology = sb_topology_open(machine, error, sizeof error);
    if (scene.topology == NULL)
        fail_msg("%s", error);
    sb_levels_read(&scene.levels, scene.topology, kinds);
}

static int close_machine(void **state)
{
    (void)state;
    sb_groups_free(&scene.groups);
    sb_topology_close(scene.topology);
    memset(&scene, 0, sizeof scene);
    return 0;
}

static void append(const char *format, ...)
{
    size_t used = strlen(scene.text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(scene.text + used, sizeof scene.text - used, format, arguments);
    va_end(arguments);
}

/* The levels as "l3 4x8; numa 2x16": units times cores of the largest. */
static const char *show_levels(void)
{
    scene.text[0] = '\0';
    for (size_t i = 0; i < scene.levels.count; i++) {
        const sb_level_t *level = &scene.levels.level[i];
        append("%s%s %zux%zu", i > 0 ? "; " : "", sb_level_name(level->kind), level->count,
               level->cores_per_unit);
    }
    return scene.text;
}

static void append_group(const sb_stage_t *stage, size_t group)
{
    const uint32_t *members = sb_stage_members(stage, group);
    uint64_t set[SB_CPU_WORDS] = {0};
    char text[1024];

    for (size_t i = 0; i < sb_stage_size(stage, group); i++) {
        assert_true(i == 0 || members[i] > members[i - 1]);
        assert_int_equal(sb_stage_group_of(stage, members[i]), (int)group);
        sb_cpus_add(set, members[i]);
    }
    append(" {%s}", sb_cpus_format(set, text, sizeof text));
}

static const char *show_stages(void)
{
    scene.text[0] = '\0';
    for (size_t i = 0; i < scene.groups.count; i++) {
        const sb_stage_t *stage = &scene.groups.stage[i];
        append("%s%s:", i > 0 ? "; " : "", sb_level_name(stage->kind));
        for (size_t group = 0; group < stage->count; group++)
            append_group(stage, group);
    }
    return scene.text;
}

/* The groups as "numa: {0-31} {32-63}; top: {0,32}", or the refusal in brackets. */
static const char *show_groups(size_t ranks)
{
    sb_groups_free(&scene.groups);
    sb_status_t status =
        sb_groups_build(&scene.groups, scene.topology, &scene.levels, scene.places, ranks);
    scene.text[0] = '\0';
    if (scene.groups.refusal != NULL) {
        assert_int_equal(status, SB_ERR_UNSUPPORTED);
        append("[%s]", scene.groups.refusal);
        return scene.text;
    }
    assert_int_equal(status, SB_OK);
    return show_stages();
}

static const char *show_mapped(size_t ranks, sb_mapping_t mapping)
{
    assert_int_equal(sb_places_map(scene.places, ranks, scene.topology, mapping), SB_OK);
    return show_groups(ranks);
}

/* Binds a rank to the processors first to last. */
static void bind_rank(size_t rank, unsigned first, unsigned last)
{
    scene.places[rank] = (sb_place_t){0};
    for (unsigned processor = first; processor <= last; processor++)
        sb_cpus_add(scene.places[rank].cpus, processor);
}

static void four_nodes_have_levels_numa_and_package(void **state)
{
    (void)state;
    open_machine(FOUR_NODES, SB_LEVELS_ALL);
    assert_string_equal(show_levels(), "numa 4x32; package 2x64");
}

static void ranks_by_core_on_four_nodes(void **state)
{
    (void)state;
    open_machine(FOUR_NODES, SB_LEVELS_ALL);
    assert_string_equal(show_mapped(128, SB_MAP_CORE),
                        "numa: {0-31} {32-63} {64-95} {96-127}; package: {0,32} {64,96}; "
                        "top: {0,64}");
}

static void ranks_by_node_on_four_nodes(void **state)
{
    (void)state;
    open_machine(FOUR_NODES, SB_LEVELS_ALL);
    assert_string_equal(show_mapped(14, SB_MAP_NUMA),
                        "numa: {0,4,8,12} {1,5,9,13} {2,6,10} {3,7,11}; package: {0-1} {2-3}; "
                        "top: {0,2}");
}

static void ranks_by_package_on_four_nodes(void **state)
{
    (void)state;
    open_machine("package:2 numa:2 core:4 pu:1", SB_LEVELS_ALL);
    assert_string_equal(show_mapped(10, SB_MAP_SOCKET),
                        "numa: {0,2,4,6} {1,3,5,7}; package: {0,8} {1,9}; top: {0-1}");
}

static void levels_can_be_restricted(void **state)
{
    (void)state;
    open_machine(FOUR_NODES, SB_LEVEL_BIT(SB_LEVEL_NUMA));
    assert_string_equal(show_mapped(128, SB_MAP_CORE),
                        "numa: {0-31} {32-63} {64-95} {96-127}; top: {0,32,64,96}");
    close_machine(NULL);
    open_machine(FOUR_NODES, SB_LEVEL_BIT(SB_LEVEL_PACKAGE));
    assert_string_equal(show_mapped(128, SB_MAP_CORE), "package: {0-63} {64-127}; top: {0,64}");
    close_machine(NULL);
    /* Without the NUMA level its twin is a level of its own right. */
    open_machine(FOUR_NODES, SB_LEVEL_BIT(SB_LEVEL_L3) | SB_LEVEL_BIT(SB_LEVEL_PACKAGE));
    assert_string_equal(show_levels(), "l3 4x32; package 2x64");
}

static void check_levels(const char *machine, const char *expected)
{
    open_machine(machine, SB_LEVELS_ALL);
    assert_string_equal(show_levels(), expected);
    close_machine(NULL);
}

static void levels_of_common_machines(void **state)
{
    (void)state;
    check_levels("package:2 numa:1 l3:1 l2:16 core:1 pu:2", "numa 2x16");
    check_levels("package:2 numa:1 l3:8 l2:8 core:1 pu:2", "l3 16x8; numa 2x64");
    check_levels("package:2 l3:1 numa:2 l2:8 core:1 pu:1", "numa 4x8; l3 2x16");
    check_levels("numa:2 package:2 l3:1 core:4 pu:1", "l3 4x4; numa 2x8");
    check_levels("package:1 numa:1 l3:1 l2:2 core:2 pu:2", "l2 2x2; numa 1x4");
    check_levels("package:1 numa:1 l3:1 l2:1 core:1 pu:2", "");
    /* Where the machine shows no cores, its processors count as cores. */
    check_levels("package:2 numa:1 pu:4", "numa 2x4");
}

static void memory_of_all_processors_makes_no_unit(void **state)
{
    uint64_t cpus[SB_CPU_WORDS] = {0};

    (void)state;
    open_machine("[numa] package:2 [numa] core:4 pu:1", SB_LEVELS_ALL);
    assert_string_equal(show_levels(), "numa 2x4");
    sb_cpus_add(cpus, 4);
    assert_int_equal(sb_topology_node_of(scene.topology, cpus), 1);
    sb_cpus_add(cpus, 0);
    assert_int_equal(sb_topology_node_of(scene.topology, cpus), 2);
}

static void threads_of_a_core_share_no_level(void **state)
{
    (void)state;
    open_machine("package:2 numa:1 l3:2 l2:2 core:1 pu:2", SB_LEVELS_ALL);
    assert_string_equal(show_levels(), "l3 4x2; numa 2x4");
    assert_string_equal(show_mapped(8, SB_MAP_CORE),
                        "l3: {0-1} {2-3} {4-5} {6-7}; numa: {0,2} {4,6}; top: {0,4}");
    for (unsigned rank = 0; rank < 16; rank++)
        bind_rank(rank, rank, rank);
    assert_string_equal(show_groups(16),
                        "l3: {0-3} {4-7} {8-11} {12-15}; numa: {0,4} {8,12}; top: {0,8}");
}

static void uneven_nodes_with_offline_cores(void **state)
{
    sb_topology_counts_t counts;

    (void)state;
    open_machine(stored("uneven.xml"), SB_LEVELS_ALL);
    sb_topology_count(scene.topology, &counts);
    assert_int_equal(counts.packages, 2);
    assert_int_equal(counts.numa_nodes, 4);
    assert_int_equal(counts.cores, 28);
    assert_int_equal(counts.pus, 55);
    assert_string_equal(show_levels(), "numa 4x8; package 2x15");
    assert_string_equal(show_mapped(28, SB_MAP_CORE),
                        "numa: {0-6} {7-14} {15-22} {23-27}; package: {0,7} {15,23}; top: {0,15}");
    assert_string_equal(show_mapped(28, SB_MAP_NUMA),
                        "numa: {0,4,8,12,16,20,23} {1,5,9,13,17,21,24,26} "
                        "{2,6,10,14,18,22,25,27} {3,7,11,15,19}; package: {0-1} {2-3}; top: {0,2}");
    assert_false(sb_cpus_has(scene.places[0].cpus, 0));
    assert_true(sb_cpus_has(scene.places[0].cpus, 2));
}

static void dealing_starts_again_when_all_cores_are_taken(void **state)
{
    (void)state;
    open_machine("package:2 numa:1 core:2 pu:2", SB_LEVELS_ALL);
    assert_string_equal(show_mapped(10, SB_MAP_CORE), "numa: {0-1,4-5,8-9} {2-3,6-7}; top: {0,2}");
    assert_memory_equal(&scene.places[1], &scene.places[5], sizeof scene.places[1]);
    assert_int_equal(scene.places[2].numa_node, 1);
    assert_int_equal(sb_cpus_count(scene.places[2].cpus), 2);
    assert_true(sb_cpus_has(scene.places[2].cpus, 4));
    assert_int_equal(scene.places[2].local_ranks, 10);
}

static void hybrid_cores_without_a_level_go_on_by_themselves(void **state)
{
    (void)state;
    open_machine(stored("hybrid.xml"), SB_LEVELS_ALL);
    assert_string_equal(show_levels(), "l2 5x4; l3 1x10; numa 1x12");
    assert_string_equal(show_mapped(12, SB_MAP_CORE),
                        "l2: {2-5} {6-9} {10-11}; l3: {0-2,6}; numa: {0,10}");
    assert_int_equal(scene.groups.count, 3);
    assert_int_equal(sb_stage_group_of(&scene.groups.stage[1], 10), -1);
}

static void control_group_of_some_cores(void **state)
{
    sb_topology_counts_t counts;

    (void)state;
    open_machine(stored("restricted.xml"), SB_LEVELS_ALL);
    sb_topology_count(scene.topology, &counts);
    assert_int_equal(counts.pus, 32);
    assert_int_equal(counts.allowed_pus, 16);
    assert_string_equal(show_levels(), "l3 8x4; numa 4x8; package 2x16");
    assert_string_equal(show_mapped(16, SB_MAP_CORE),
                        "l3: {0-3} {4-7} {8-11} {12-15}; numa: {8,12}; package: {0,4}; top: {0,8}");
    assert_true(sb_cpus_has(scene.places[4].cpus, 8));
    assert_int_equal(scene.places[8].numa_node, 2);
    assert_int_equal(scene.places[8].allowed_cpus, 16);
}

static void ranks_bound_to_several_units(void **state)
{
    (void)state;
    open_machine("package:2 numa:2 core:4 pu:1", SB_LEVELS_ALL);
    bind_rank(0, 0, 7); /* a package: no NUMA node */
    bind_rank(1, 0, 0);
    bind_rank(2, 1, 1);
    bind_rank(3, 8, 11); /* a NUMA node */
    bind_rank(4, 12, 12);
    bind_rank(5, 6, 9); /* parts of two packages: no place at all */
    assert_string_equal(show_groups(6), "numa: {1-2}; package: {0-1} {3-4}; top: {0,3,5}");
    assert_int_equal(sb_level_unit_of(&scene.levels.level[0], scene.places[0].cpus), -1);
    assert_int_equal(sb_level_unit_of(&scene.levels.level[1], scene.places[0].cpus), 0);
    assert_int_equal(sb_level_unit_of(&scene.levels.level[0], scene.places[3].cpus), 2);
}

/* A rank whose processors are not known has no place, but takes part. */
static void unknown_ranks_come_in_at_the_top(void **state)
{
    (void)state;
    open_machine("package:2 numa:1 core:4 pu:1", SB_LEVELS_ALL);
    bind_rank(0, 0, 0);
    bind_rank(1, 1, 1);
    assert_string_equal(show_groups(3), "numa: {0-1}; top: {0,2}");
}

static void ranks_alone_in_their_units_meet_at_the_top(void **state)
{
    (void)state;
    open_machine("package:4 numa:1 core:4 pu:1", SB_LEVELS_ALL);
    assert_string_equal(show_mapped(4, SB_MAP_SOCKET), "top: {0-3}");
}

/* Groups of at most `most` ranks. */
static const char *show_parts(size_t ranks, size_t most)
{
    sb_locality_t locality;

    assert_int_equal(sb_locality_make(&locality, scene.topology, scene.places, ranks), SB_OK);
    sb_groups_free(&scene.groups);
    assert_int_equal(sb_groups_of_locality(&scene.groups, &scene.levels, &locality, most), SB_OK);
    sb_locality_free(&locality);
    return show_stages();
}

static void large_groups_are_divided(void **state)
{
    unsigned near = SB_LEVEL_BIT(SB_LEVEL_L3) | SB_LEVEL_BIT(SB_LEVEL_NUMA);

    (void)state;
    open_machine("pack:2 numa:2 core:32 pu:1", near);
    show_mapped(128, SB_MAP_CORE);
    assert_string_equal(show_parts(128, 10),
                        "numa: {0-7} {8-15} {16-23} {24-31} {32-39} {40-47} {48-55} {56-63} "
                        "{64-71} {72-79} {80-87} {88-95} {96-103} {104-111} {112-119} {120-127}; "
                        "numa: {0,8,16,24} {32,40,48,56} {64,72,80,88} {96,104,112,120}; "
                        "top: {0,32,64,96}");
    show_mapped(14, SB_MAP_NUMA);
    assert_string_equal(show_parts(14, 3), "numa: {0,4} {1,5} {2,6,10} {3,7,11} {8,12} {9,13}; "
                                           "numa: {0,8} {1,9}; top: {0-1} {2-3}; top: {0,2}");
    assert_string_equal(show_parts(14, 0), "numa: {0,4,8,12} {1,5,9,13} {2,6,10} {3,7,11}; "
                                           "top: {0-3}");
    close_machine(NULL);
    /* Eight cores around a cache are no more than ten. */
    open_machine("pack:2 numa:1 l3:12 core:8 pu:2", near);
    show_mapped(192, SB_MAP_CORE);
    show_parts(192, 10);
    assert_int_equal(scene.groups.count, 4);
    assert_int_equal(scene.groups.stage[0].count, 24);
    assert_int_equal(sb_stage_largest(&scene.groups.stage[1]), 6);
    assert_int_equal(sb_stage_largest(&scene.groups.stage[3]), 2);
}

static void ranks_side_by_side_form_parts(void **state)
{
    (void)state;
    assert_int_equal(sb_groups_of_ranks(&scene.groups, 7, 3), SB_OK);
    assert_string_equal(show_stages(), "top: {0-2} {3-4} {5-6}; top: {0,3,5}");
    sb_groups_free(&scene.groups);
    assert_int_equal(sb_groups_of_ranks(&scene.groups, 5, 5), SB_OK);
    assert_string_equal(show_stages(), "top: {0-4}");
    for (size_t ranks = 2; ranks < 200; ranks++) {
        for (size_t most = 2; most < 12; most++) {
            sb_groups_free(&scene.groups);
            assert_int_equal(sb_groups_of_ranks(&scene.groups, ranks, most), SB_OK);
            const sb_stage_t *last = &scene.groups.stage[scene.groups.count - 1];
            assert_int_equal(last->count, 1);
            for (size_t i = 0; i < scene.groups.count; i++)
                assert_true(sb_stage_largest(&scene.groups.stage[i]) <= most);
        }
    }
}

/* Homes are the units of every kind of level, whatever the set of levels that is used later. */
static void locality_tells_ranks_apart(void **state)
{
    sb_locality_t locality, others;

    (void)state;
    open_machine("pack:2 numa:2 l3:2 core:4 pu:2", SB_LEVELS_ALL);
    show_mapped(32, SB_MAP_SOCKET);
    assert_int_equal(sb_locality_make(&locality, scene.topology, scene.places, 32), SB_OK);
    assert_int_equal(locality.bound, 32);
    assert_int_equal(locality.unit[1][SB_LEVEL_PACKAGE], 1);
    assert_int_equal(locality.unit[1][SB_LEVEL_NUMA], 2);
    assert_int_equal(locality.unit[1][SB_LEVEL_L3], 4);
    assert_int_equal(locality.unit[1][SB_LEVEL_L2], SB_NO_UNIT);
    bind_rank(31, 0, 0);
    assert_int_equal(sb_locality_make(&others, scene.topology, scene.places, 32), SB_OK);
    assert_int_not_equal(sb_locality_hash(&locality), sb_locality_hash(&others));
    sb_locality_free(&locality);
    sb_locality_free(&others);
}

static void unbound_ranks_are_dealt_to_all_cores(void **state)
{
    (void)state;
    open_machine(stored("restricted.xml"), SB_LEVELS_ALL);
    assert_string_equal(show_mapped(4, SB_MAP_NONE),
                        "[every rank is bound to more than one unit of each level]");
    assert_int_equal(sb_cpus_count(scene.places[3].cpus), 16);
    close_machine(NULL);
    open_machine(FOUR_NODES, SB_LEVELS_ALL);
    assert_string_equal(show_mapped(4, SB_MAP_NONE), "[the ranks are not bound to processors]");
}

/* The examples of the specification, on a machine as a user would write it. */
static void examples_of_the_specification(void **state)
{
    (void)state;
    open_machine("pack:2 numa:2 core:32", SB_LEVELS_ALL);
    assert_string_equal(show_levels(), "numa 4x32; package 2x64");
    assert_string_equal(show_mapped(128, SB_MAP_CORE),
                        "numa: {0-31} {32-63} {64-95} {96-127}; package: {0,32} {64,96}; "
                        "top: {0,64}");
    assert_string_equal(show_mapped(14, SB_MAP_NUMA),
                        "numa: {0,4,8,12} {1,5,9,13} {2,6,10} {3,7,11}; package: {0-1} {2-3}; "
                        "top: {0,2}");
}

static void hierarchy_is_refused_with_a_reason(void **state)
{
    (void)state;
    open_machine("package:2 numa:1 core:4 pu:1", SB_LEVELS_ALL);
    assert_string_equal(show_mapped(1, SB_MAP_CORE), "[there are fewer than two ranks]");
    bind_rank(0, 0, 7);
    bind_rank(1, 0, 7);
    assert_string_equal(show_groups(2), "[the ranks are not bound to processors]");
    bind_rank(0, 1, 7);
    assert_string_equal(show_groups(2),
                        "[every rank is bound to more than one unit of each level]");
    scene.places[0] = scene.places[1] = (sb_place_t){0};
    assert_string_equal(show_groups(2), "[the ranks are not bound to processors]");
    close_machine(NULL);
    open_machine("package:1 core:1 pu:2", SB_LEVELS_ALL);
    assert_string_equal(show_mapped(2, SB_MAP_CORE),
                        "[no level of this machine is shared by two or more cores]");
    close_machine(NULL);
    sb_levels_read(&scene.levels, NULL, SB_LEVELS_ALL);
    assert_int_equal(scene.levels.count, 0);
}

/* Unbound ranks on a machine of one unit have a place in it, but no binding. */
static void one_unit_for_all(void **state)
{
    (void)state;
    open_machine("package:1 numa:1 core:2 pu:1", SB_LEVELS_ALL);
    bind_rank(0, 0, 1);
    bind_rank(1, 0, 1);
    assert_string_equal(show_groups(2), "[the ranks are not bound to processors]");
    assert_string_equal(show_mapped(4, SB_MAP_CORE), "numa: {0-3}");
}

/* Each rank but the last leader is a follower exactly once, and no one after that. */
static void check_hierarchy(size_t ranks)
{
    uint32_t followed[RANKS_MOST] = {0};

    show_groups(ranks);
    assert_null(scene.groups.refusal);
    for (size_t i = 0; i < scene.groups.count; i++) {
        const sb_stage_t *stage = &scene.groups.stage[i];
        for (size_t group = 0; group < stage->count; group++) {
            const uint32_t *members = sb_stage_members(stage, group);
            assert_true(sb_stage_size(stage, group) >= 2);
            for (size_t m = 0; m < sb_stage_size(stage, group); m++)
                assert_int_equal(followed[members[m]], 0);
            for (size_t m = 1; m < sb_stage_size(stage, group); m++)
                followed[members[m]]++;
        }
    }
    assert_int_equal(followed[0], 0);
    for (size_t rank = 1; rank < ranks; rank++)
        assert_int_equal(followed[rank], 1);
}

static void every_rank_follows_once(void **state)
{
    static const char *const machines[] = {"package:2 numa:2 l3:2 core:4 pu:1", "hybrid.xml",
                                           "uneven.xml", "restricted.xml"};
    unsigned seed = 20240611;

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        const char *machine = machines[i % SB_COUNT_OF(machines)];
        open_machine(strchr(machine, '.') != NULL ? stored(machine) : machine, SB_LEVELS_ALL);
        size_t ranks = 2 + (size_t)rand_r(&seed) % 40;
        for (size_t rank = 0; rank < ranks; rank++) {
            unsigned first = (unsigned)rand_r(&seed) % 24;
            unsigned more = rand_r(&seed) % 3 == 0 ? (unsigned)rand_r(&seed) % 12 : 0;
            bind_rank(rank, first, first + more);
        }
        bind_rank(ranks - 1, 6, 6);
        check_hierarchy(ranks);
        close_machine(NULL);
    }
}

static void wrong_machines_are_refused(void **state)
{
    char error[512];

    (void)state;
    assert_null(sb_topology_open("package:2 nonsense:3", error, sizeof error));
    assert_non_null(strstr(error, "found \"package:2 nonsense:3\""));
    assert_null(sb_topology_open("/nowhere/machine.xml", error, sizeof error));
    assert_non_null(strstr(error, "/nowhere/machine.xml"));
    assert_non_null(strstr(error, "No such file"));
    assert_null(sb_topology_open(stored("README.md"), error, sizeof error));
    assert_non_null(strstr(error, "could not be understood"));
}

static void names_of_levels_and_mappings(void **state)
{
    sb_mapping_t mapping;
    unsigned kinds;

    (void)state;
    assert_true(sb_levels_parse("numa,socket", &kinds));
    assert_int_equal(kinds, SB_LEVEL_BIT(SB_LEVEL_NUMA) | SB_LEVEL_BIT(SB_LEVEL_PACKAGE));
    assert_true(sb_levels_parse("package", &kinds));
    assert_int_equal(kinds, SB_LEVEL_BIT(SB_LEVEL_PACKAGE));
    assert_true(sb_levels_parse("l2,l3", &kinds));
    assert_int_equal(kinds, SB_LEVEL_BIT(SB_LEVEL_L2) | SB_LEVEL_BIT(SB_LEVEL_L3));
    assert_false(sb_levels_parse("numa,top", &kinds));
    assert_false(sb_levels_parse("numa,", &kinds));
    assert_false(sb_levels_parse("", &kinds));
    assert_true(sb_mapping_parse("socket", &mapping));
    assert_int_equal(mapping, SB_MAP_SOCKET);
    assert_false(sb_mapping_parse("sockets", &mapping));
}

static void sets_of_processors(void **state)
{
    uint64_t cpus[SB_CPU_WORDS] = {0};
    char text[32];

    (void)state;
    assert_string_equal(sb_cpus_format(cpus, text, sizeof text), "");
    sb_cpus_add(cpus, 0);
    sb_cpus_add(cpus, 2);
    sb_cpus_add(cpus, 3);
    sb_cpus_add(cpus, 63);
    sb_cpus_add(cpus, 64);
    sb_cpus_add(cpus, 1023);
    sb_cpus_add(cpus, 1024);
    assert_int_equal(sb_cpus_count(cpus), 6);
    assert_string_equal(sb_cpus_format(cpus, text, sizeof text), "0,2-3,63-64,1023");
    assert_string_equal(sb_cpus_format(cpus, text, 6), "0,2-3");
}

/* --- Where this process may run --- */

#define ROOT "/tmp/sobor-test-XXXXXX"
#define PROCESSOR "/tmp/sobor-processor-XXXXXX"

static char root[] = ROOT;

static int make_root(void **state)
{
    (void)state;
    strcpy(root, ROOT);
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* Writes a file below the root, and the folders on the way to it. */
static void write_file(const char *path, const char *text)
{
    char name[4096];

    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *slash = strchr(name + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_cpus(double expected)
{
    double found = sb_cgroup_cpus(root);

    if (found != expected)
        fail_msg("expected a quota of %g processors, found %g", expected, found);
}

static void count_look(void *looks, const char *folder, bool unified)
{
    assert_true(unified && folder[strlen(folder) - 1] != '/');
    ++*(int *)looks;
}

/* Where both may be mounted: the root once, and a group and what it is in. */
static void each_group_is_looked_at_once(void **state)
{
    int looks = 0;

    (void)state;
    write_file("/proc/self/cgroup", "0::/\n");
    sb_cgroup_each(root, "cpu", count_look, &looks);
    assert_int_equal(looks, 2);
    write_file("/proc/self/cgroup", "0::/a/b\n");
    sb_cgroup_each(root, "cpu", count_look, &looks);
    assert_int_equal(looks, 2 + 6);
}

static void no_control_group_no_limit(void **state)
{
    (void)state;
    assert_cpus(0);
    write_file("/proc/self/cgroup", "0::/\n");
    assert_cpus(0);
    write_file("/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_cpus(0);
    write_file("/proc/self/cgroup", "nonsense\n0:\n");
    assert_cpus(0);
}

static void quota_of_unified_groups(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "0::/user.slice/job/step\n");
    write_file("/sys/fs/cgroup/user.slice/job/step/cpu.max", "max 100000\n");
    write_file("/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
    assert_cpus(1.5);
    write_file("/sys/fs/cgroup/user.slice/cpu.max", "800000 100000\n");
    assert_cpus(1.5);
    write_file("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    assert_cpus(0.5);
    write_file("/sys/fs/cgroup/other/cpu.max", "1000 100000\n");
    assert_cpus(0.5);
}

static void quota_of_legacy_groups(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "5:cpuset:/a\n4:cpuacct,cpu:/a/b\n1:name=systemd:/a\n0::/\n");
    write_file("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    assert_cpus(0);
    write_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n");
    write_file("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
    assert_cpus(4);
    /* The cpu set's group has another path, and a quota there means nothing. */
    write_file("/proc/self/cgroup", "5:cpuset:/a\n4:cpu,cpuacct:/c\n");
    assert_cpus(0);
}

/* Inside a container the kernel may show the path outside, while the mount is the container's. */
static void quota_of_a_container(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "4:cpu,cpuacct:/docker/0123\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_cpus(3);
    write_file("/proc/self/cgroup", "0::/../../other\n");
    write_file("/sys/fs/cgroup/cpu.max", "700000 100000\n");
    assert_cpus(7);
}

static void quota_is_rounded_up(void **state)
{
    sb_place_t place;

    (void)state;
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/unified/cpu.max", "150000 100000\n");
    sb_place_read(&place, root, NULL);
    assert_int_equal(place.quota_cpus, 2);
    write_file("/sys/fs/cgroup/unified/cpu.max", "200000 100000\n");
    sb_place_read(&place, root, NULL);
    assert_int_equal(place.quota_cpus, 2);
    write_file("/sys/fs/cgroup/unified/cpu.max", "1000 100000\n");
    sb_place_read(&place, root, NULL);
    assert_int_equal(place.quota_cpus, 1);
    assert_int_equal(place.numa_node, 0);
    /* The largest quota that the kernel takes is none. */
    write_file("/sys/fs/cgroup/unified/cpu.max", "17592186044415 1000\n");
    sb_place_read(&place, root, NULL);
    assert_int_equal(place.quota_cpus, 0);
}

static const char *const launcher_variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                                 "MPI_LOCALNRANKS",
                                                 "PMI_LOCAL_SIZE",
                                                 "MV2_COMM_WORLD_LOCAL_SIZE",
                                                 "SLURM_NTASKS_PER_NODE",
                                                 "SLURM_STEP_TASKS_PER_NODE",
                                                 "SLURM_NODEID"};

static int clear_launcher(void **state)
{
    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(launcher_variables); i++)
        unsetenv(launcher_variables[i]);
    return 0;
}

static void launchers_tell_local_ranks(void **state)
{
    (void)state;
    assert_int_equal(sb_launcher_local_ranks(), 0);
    for (size_t i = 0; i < 5; i++) {
        setenv(launcher_variables[i], "12", 1);
        assert_int_equal(sb_launcher_local_ranks(), 12);
        setenv(launcher_variables[i], "12x", 1);
        assert_int_equal(sb_launcher_local_ranks(), 0);
        setenv(launcher_variables[i], "-1", 1);
        assert_int_equal(sb_launcher_local_ranks(), 0);
        unsetenv(launcher_variables[i]);
    }
}

static void the_nearest_launcher_is_believed(void **state)
{
    (void)state;
    setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)", 1);
    setenv("SLURM_NTASKS_PER_NODE", "9", 1);
    assert_int_equal(sb_launcher_local_ranks(), 1);
    setenv("MPI_LOCALNRANKS", "16", 1);
    assert_int_equal(sb_launcher_local_ranks(), 16);
}

static void check_slurm(const char *list, const char *node, unsigned expected)
{
    setenv("SLURM_STEP_TASKS_PER_NODE", list, 1);
    setenv("SLURM_NODEID", node, 1);
    assert_int_equal(sb_launcher_local_ranks(), expected);
}

static void slurm_lists_tasks_by_node(void **state)
{
    (void)state;
    check_slurm("4", "0", 4);
    check_slurm("4(x2)", "1", 4);
    check_slurm("4(x2)", "2", 0);
    check_slurm("4(x2),3,7(x10)", "2", 3);
    check_slurm("4(x2),3,7(x10)", "12", 7);
    check_slurm("4(x2),3,7(x10)", "13", 0);
    check_slurm("4(x", "0", 0);
    check_slurm("4(x2", "0", 0);
    check_slurm("4(x0),3", "0", 0);
    check_slurm("4(y2)", "1", 0);
    check_slurm("", "0", 0);
    unsetenv("SLURM_NODEID");
    assert_int_equal(sb_launcher_local_ranks(), 0);
    setenv("SLURM_STEP_TASKS_PER_NODE", "5(x3)", 1);
    assert_int_equal(sb_launcher_local_ranks(), 5);
}

static void this_process_has_a_place(void **state)
{
    sb_place_t place;
    cpu_set_t set;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    sb_place_self(&place);
    assert_int_equal(sb_cpus_count(place.cpus), CPU_COUNT(&set));
    for (unsigned processor = 0; processor < CPU_SETSIZE; processor++)
        assert_int_equal(sb_cpus_has(place.cpus, processor), CPU_ISSET(processor, &set) != 0);
    assert_true(place.allowed_cpus >= sb_cpus_count(place.cpus));
    assert_true(place.numa_node < (int)sb_topology_numa_nodes());
}

/* Runs a check in a child, so that it meets a process that has not read its topology yet. */
static void run_in_child(void (*check)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHILD_EXPECTS(condition, code)                                                             \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(code);                                                                           \
    } while (0)

static void bound_to_one_processor(void)
{
    sb_place_t place;
    cpu_set_t set;
    unsigned last = 0;

    CHILD_EXPECTS(sched_getaffinity(0, sizeof set, &set) == 0, 1);
    for (unsigned processor = 0; processor < CPU_SETSIZE; processor++)
        last = CPU_ISSET(processor, &set) ? processor : last;
    CPU_ZERO(&set);
    CPU_SET(last, &set);
    CHILD_EXPECTS(sched_setaffinity(0, sizeof set, &set) == 0, 2);
    sb_place_self(&place);
    CHILD_EXPECTS(sb_cpus_count(place.cpus) == 1, 3);
    CHILD_EXPECTS(sb_cpus_has(place.cpus, last), 4);
    CHILD_EXPECTS(place.numa_node >= 0, 5);
}

/* Loading the topology must not move this thread over the processors. */
static void binding_is_seen(void **state)
{
    (void)state;
    run_in_child(bound_to_one_processor);
}

static void works_without_hwloc(void)
{
    sb_topology_counts_t counts;
    sb_place_t place, places[2];
    sb_levels_t levels;
    sb_groups_t groups;

    setenv("HWLOC_COMPONENTS", "stop", 1);
    CHILD_EXPECTS(dup2(fileno(tmpfile()), STDERR_FILENO) >= 0, 1);
    CHILD_EXPECTS(sb_topology_self() == NULL, 2);
    CHILD_EXPECTS(lseek(STDERR_FILENO, 0, SEEK_CUR) > 0, 3);
    CHILD_EXPECTS(sb_topology_numa_nodes() == 1, 4);
    CHILD_EXPECTS(sb_topology_memory_per_core() > 0, 5);
    CHILD_EXPECTS(sb_topology_prefer(&place, sizeof place, 0) == SB_OK, 6);
    sb_place_self(&place);
    CHILD_EXPECTS(sb_cpus_count(place.cpus) > 0 && place.numa_node == 0, 7);
    CHILD_EXPECTS(place.allowed_cpus > 0, 8);
    sb_topology_count(sb_topology_self(), &counts);
    CHILD_EXPECTS(counts.numa_nodes == 1 && counts.cores > 0, 9);
    sb_levels_read(&levels, sb_topology_self(), SB_LEVELS_ALL);
    CHILD_EXPECTS(levels.count == 0, 11);
    CHILD_EXPECTS(sb_places_map(places, 2, NULL, SB_MAP_NUMA) == SB_OK, 12);
    CHILD_EXPECTS(sb_cpus_count(places[0].cpus) == 1 && places[1].numa_node == 0, 13);
    CHILD_EXPECTS(sb_cpus_inside(places[1].cpus, place.cpus), 14);
    CHILD_EXPECTS(sb_groups_build(&groups, NULL, &levels, places, 2) == SB_ERR_UNSUPPORTED, 15);
}

static void a_machine_that_cannot_be_read_is_one_node(void **state)
{
    (void)state;
    run_in_child(works_without_hwloc);
}

static void another_machine_by_environment(void)
{
    char memory[4096];

    setenv("HWLOC_SYNTHETIC", FOUR_NODES, 1);
    CHILD_EXPECTS(sb_topology_numa_nodes() == 4, 1);
    CHILD_EXPECTS(sb_topology_prefer(memory, sizeof memory, -1) == SB_OK, 2);
    CHILD_EXPECTS(sb_topology_prefer(memory, sizeof memory, 4) == SB_ERR_SYSTEM, 3);
    CHILD_EXPECTS(sb_topology_memory_per_core() == 4 * (UINT64_C(1) << 30) / 128, 4);
}

static void memory_is_wished_on_nodes_that_exist(void **state)
{
    (void)state;
    run_in_child(another_machine_by_environment);
}

static int count_plugin(struct dl_phdr_info *object, size_t size, void *count)
{
    (void)size;
    *(int *)count += strstr(object->dlpi_name, "/hwloc_") != NULL;
    return 0;
}

static int loaded_plugins(void)
{
    int count = 0;

    dl_iterate_phdr(count_plugin, &count);
    return count;
}

static int plugins_of_a_program(void)
{
    hwloc_topology_t topology;

    assert_int_equal(hwloc_topology_init(&topology), 0);
    int count = loaded_plugins();
    hwloc_topology_destroy(topology);
    return count;
}

/* Another thread's setenv, while hwloc begins. */
static const char *set_meanwhile;

int hwloc_topology_init(hwloc_topology_t *topology)
{
    int (*begin)(hwloc_topology_t *);
    void *symbol = dlsym(RTLD_NEXT, "hwloc_topology_init");

    memcpy(&begin, &symbol, sizeof begin);
    if (set_meanwhile != NULL)
        setenv("SOBOR_OF_A_THREAD", set_meanwhile, 1);
    return begin(topology);
}

static void reads_while_a_variable_is_set(void)
{
    setenv("SOBOR_OF_A_THREAD", "before", 1);
    set_meanwhile = "meanwhile";
    CHILD_EXPECTS(sb_topology_self() != NULL, 1);
    CHILD_EXPECTS(strcmp(getenv("SOBOR_OF_A_THREAD"), "meanwhile") == 0, 2);
    CHILD_EXPECTS(getenv("HWLOC_PLUGINS_PATH") == NULL, 3);
}

/* What another thread says to the environment meanwhile is not lost. */
static void variables_stay_the_programs(void **state)
{
    (void)state;
    run_in_child(reads_while_a_variable_is_set);
}

static void reads_without_plugins(void)
{
    char **before = environ;

    CHILD_EXPECTS(sb_topology_self() != NULL, 1);
    CHILD_EXPECTS(loaded_plugins() == 0, 2);
    CHILD_EXPECTS(environ == before && getenv("HWLOC_PLUGINS_PATH") == NULL, 3);
    CHILD_EXPECTS(plugins_of_a_program() > 0, 4);
}

static void reads_beside_a_program_that_has_them(void)
{
    hwloc_topology_t topology;

    CHILD_EXPECTS(hwloc_topology_init(&topology) == 0, 1);
    int count = loaded_plugins();
    CHILD_EXPECTS(sb_topology_self() != NULL && loaded_plugins() == count, 2);
    hwloc_topology_destroy(topology);
    CHILD_EXPECTS(loaded_plugins() == 0, 3);
}

/* Reading the machine loads none of hwloc's plug-ins, and takes none away from the program. */
static void plugins_of_hwloc_stay_the_programs(void **state)
{
    (void)state;
    if (plugins_of_a_program() == 0)
        LEAVE_OUT("hwloc has no plug-ins here");
    run_in_child(reads_without_plugins);
    run_in_child(reads_beside_a_program_that_has_them);
}

static void another_machine_by_file(void)
{
    setenv("HWLOC_XMLFILE", stored("restricted.xml"), 1);
    CHILD_EXPECTS(sb_topology_numa_nodes() == 4, 1);
    CHILD_EXPECTS(sb_topology_self()->cores.count == 32, 2);
}

/* hwloc's own reader of files is enough for what users name in its variables. */
static void a_file_stands_for_the_machine(void **state)
{
    (void)state;
    run_in_child(another_machine_by_file);
}

/* More pages than one batch: touched ones are on a node, untouched ones elsewhere. */
static void pages_are_counted_by_node(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t nodes = sb_topology_numa_nodes();
    size_t counts[64] = {0};
    size_t elsewhere, found = 0;
    size_t pages = 1500;
    char *memory =
        mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(memory != MAP_FAILED);
    assert_int_equal(sb_topology_prefer(memory, pages * page, 0), SB_OK);
    for (size_t i = 0; i < 1100; i++)
        memory[i * page] = 1;
    nodes = sb_min(nodes, SB_COUNT_OF(counts));
    if (sb_topology_pages(memory, pages * page, counts, nodes, &elsewhere) != SB_OK)
        LEAVE_OUT("a kernel without NUMA, or a filter of system calls");
    for (size_t i = 0; i < nodes; i++)
        found += counts[i];
    assert_int_equal(found, 1100);
    assert_int_equal(elsewhere, 400);
    assert_int_equal(sb_topology_pages(memory + 10, 2 * page, counts, nodes, &elsewhere), SB_OK);
    assert_int_equal(counts[0] + elsewhere, 3);
    munmap(memory, pages * page);
}

/* --- Oversubscription --- */

static bool crowded(size_t ranks)
{
    return sb_places_oversubscribed(scene.places, ranks);
}

static void unbound_ranks_share_when_there_are_more(void **state)
{
    (void)state;
    for (size_t rank = 0; rank < 5; rank++)
        bind_rank(rank, 0, 3);
    assert_false(crowded(1));
    assert_false(crowded(4));
    assert_true(crowded(5));
}

/* No two of them must share, but not all of them can run at once. */
static void ranks_share_the_union_of_their_sets(void **state)
{
    (void)state;
    bind_rank(0, 0, 1);
    bind_rank(1, 1, 2);
    bind_rank(2, 2, 3);
    sb_cpus_add(scene.places[3].cpus, 0);
    sb_cpus_add(scene.places[3].cpus, 2);
    assert_false(crowded(4));
    sb_cpus_add(scene.places[4].cpus, 1);
    sb_cpus_add(scene.places[4].cpus, 3);
    scene.places[4].allowed_cpus = 8;
    assert_true(crowded(5));
}

static void bound_ranks_share_when_they_meet(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < 4; rank++)
        bind_rank(rank, 2 * rank, 2 * rank + 1);
    assert_false(crowded(4));
    bind_rank(4, 2, 3);
    assert_false(crowded(5));
    bind_rank(5, 8, 15);
    bind_rank(6, 2, 3);
    assert_true(crowded(7)); /* three of them on processors 2 and 3, though 16 are used */
    bind_rank(6, 2, 2);
    assert_true(crowded(7)); /* one of the three on part of them */
    bind_rank(6, 2, 4);
    assert_false(crowded(7));
}

static void a_quota_counts(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < 4; rank++)
        bind_rank(rank, rank, rank);
    scene.places[3].quota_cpus = 4;
    assert_false(crowded(4));
    scene.places[1].quota_cpus = 3;
    assert_true(crowded(4));
    assert_false(crowded(1));
    assert_false(crowded(3));
}

static void other_ranks_on_the_node_count(void **state)
{
    (void)state;
    bind_rank(0, 0, 3);
    bind_rank(1, 0, 3);
    scene.places[0].local_ranks = scene.places[1].local_ranks = 4;
    assert_false(crowded(2));
    scene.places[1].local_ranks = 5;
    assert_true(crowded(2));
    /* The others may run where this team does not. */
    scene.places[0].allowed_cpus = 8;
    assert_false(crowded(2));
    scene.places[0].local_ranks = 9;
    assert_true(crowded(2));
    scene.places[0].local_ranks = scene.places[1].local_ranks = 3;
    assert_false(crowded(2));
    scene.places[0].quota_cpus = 2;
    assert_true(crowded(2));
}

/* Launchers may give each rank a cpuset: that of the job is all of them together. */
static void ranks_may_have_cpusets_of_their_own(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < 4; rank++) {
        bind_rank(rank, rank, rank);
        scene.places[rank].allowed_cpus = 1;
        scene.places[rank].local_ranks = 8;
    }
    assert_false(crowded(4));
    assert_true(crowded(1)); /* a rank alone does not tell */
    scene.places[2].allowed_cpus = 4;
    assert_true(crowded(4));
    scene.places[2].allowed_cpus = 1;
    bind_rank(3, 2, 2);
    assert_true(crowded(4));
}

static void unknown_places_are_not_judged(void **state)
{
    (void)state;
    bind_rank(0, 0, 0);
    scene.places[1] = (sb_place_t){0};
    assert_false(crowded(2));
    scene.places[1].quota_cpus = 1;
    assert_true(crowded(2));
}

static void mapped_ranks_share_past_the_cores(void **state)
{
    (void)state;
    open_machine(FOUR_NODES, SB_LEVELS_ALL);
    assert_int_equal(sb_places_map(scene.places, 128, scene.topology, SB_MAP_NUMA), SB_OK);
    assert_false(crowded(128));
    assert_false(crowded(2));
    assert_int_equal(sb_places_map(scene.places, 129, scene.topology, SB_MAP_CORE), SB_OK);
    assert_true(crowded(129));
}

static void cores_know_their_units(void **state)
{
    sb_core_t *cores;
    size_t count;

    (void)state;
    open_machine("package:2 numa:2 l3:2(size=16777216) l2:2(size=1048576) core:2 pu:2",
                 SB_LEVELS_ALL);
    assert_int_equal(sb_cores_read(scene.topology, NULL, &cores, &count), SB_OK);
    assert_int_equal(count, 32);
    assert_int_equal(cores[1].cpu, 2);
    assert_int_equal(cores[31].unit[SB_LEVEL_L2], 15);
    assert_int_equal(cores[31].unit[SB_LEVEL_L3], 7);
    assert_int_equal(cores[31].unit[SB_LEVEL_NUMA], 3);
    assert_int_equal(cores[31].unit[SB_LEVEL_PACKAGE], 1);
    assert_int_equal(sb_cores_level(&cores[0], &cores[1]), SB_LEVEL_L2);
    assert_int_equal(sb_cores_level(&cores[0], &cores[2]), SB_LEVEL_L3);
    assert_int_equal(sb_cores_level(&cores[0], &cores[4]), SB_LEVEL_NUMA);
    assert_int_equal(sb_cores_level(&cores[0], &cores[8]), SB_LEVEL_PACKAGE);
    assert_int_equal(sb_cores_level(&cores[0], &cores[16]), SB_LEVEL_TOP);
    assert_int_equal(sb_topology_cache(scene.topology, SB_LEVEL_L2), 1 << 20);
    assert_int_equal(sb_topology_cache(scene.topology, SB_LEVEL_L3), 16 << 20);
    assert_int_equal(sb_topology_cache(scene.topology, SB_LEVEL_NUMA), 0);
    free(cores);
}

/* Of a core whose first processor is not this process's another one counts. */
static void cores_have_several_processors(void **state)
{
    uint64_t mine[SB_CPU_WORDS] = {0};
    sb_core_t *cores;
    size_t count;

    (void)state;
    open_machine("package:1 core:4 pu:2", SB_LEVELS_ALL);
    for (unsigned cpu = 1; cpu < 8; cpu += 2)
        sb_cpus_add(mine, cpu);
    assert_int_equal(sb_cores_read(scene.topology, mine, &cores, &count), SB_OK);
    assert_int_equal(count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(cores[i].cpu, 2 * i + 1);
    free(cores);
}

static void cores_of_an_uneven_machine(void **state)
{
    sb_core_t *cores;
    size_t count;

    (void)state;
    open_machine(stored("restricted.xml"), SB_LEVELS_ALL);
    assert_int_equal(sb_cores_read(scene.topology, NULL, &cores, &count), SB_OK);
    assert_in_range(count, 1, RANKS_MOST);
    for (size_t i = 0; i < count; i++) {
        assert_true(sb_cpus_has(scene.topology->cpus, cores[i].cpu));
        assert_int_equal(sb_cores_level(&cores[i], &cores[i]),
                         cores[i].unit[SB_LEVEL_L2] >= 0 ? SB_LEVEL_L2 : SB_LEVEL_L3);
    }
    free(cores);
}

static void a_machine_can_be_written_and_read_again(void **state)
{
    char text[1024];
    char path[] = "/tmp/topology-XXXXXX.xml";
    sb_topology_counts_t before;
    sb_topology_counts_t after;

    (void)state;
    open_machine(FOUR_NODES, SB_LEVELS_ALL);
    sb_topology_count(scene.topology, &before);
    assert_true(sb_topology_describe(FOUR_NODES, text, sizeof text));
    assert_false(sb_topology_describe(FOUR_NODES, text, 8));
    assert_true(sb_topology_describe(FOUR_NODES, text, sizeof text));
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(sb_topology_save(FOUR_NODES, path), SB_OK);
    const char *written[] = {text, path};
    for (size_t i = 0; i < SB_COUNT_OF(written); i++) {
        close_machine(NULL);
        open_machine(written[i], SB_LEVELS_ALL);
        sb_topology_count(scene.topology, &after);
        assert_memory_equal(&before, &after, sizeof before);
    }
    unlink(path);
    assert_int_not_equal(sb_topology_save(FOUR_NODES, "/nowhere/machine.xml"), SB_OK);
}

static void processors_are_known_by_what_they_say(void **state)
{
    static const struct {
        const char *maker, *family, *model;
        sb_processor_t processor;
    } said[] = {
        {"AuthenticAMD", "25", "17", SB_PROCESSOR_ZEN4},
        {"AuthenticAMD", "25", "1", SB_PROCESSOR_OTHER},
        {"AuthenticAMD", "26", "17", SB_PROCESSOR_OTHER},
        {"GenuineIntel", "25", "17", SB_PROCESSOR_OTHER},
        {"GenuineIntel", "6", "143", SB_PROCESSOR_SAPPHIRE_RAPIDS},
        {"0x41", "0xd4f", NULL, SB_PROCESSOR_NEOVERSE_V2},
        {"0x48", "0xd01", NULL, SB_PROCESSOR_TSV110},
        {"0x41", "0xd01", NULL, SB_PROCESSOR_OTHER},
        {NULL, "25", "17", SB_PROCESSOR_OTHER},
        {"AuthenticAMD", NULL, NULL, SB_PROCESSOR_OTHER},
    };
    char names[256];

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(said); i++)
        assert_int_equal(sb_processor_find(said[i].maker, said[i].family, said[i].model),
                         said[i].processor);
    for (sb_processor_t processor = 0; processor < SB_PROCESSORS; processor++) {
        assert_int_equal(sb_processor_named(sb_processor_name(processor)), processor);
        assert_non_null(
            strstr(sb_processor_names(names, sizeof names), sb_processor_name(processor)));
    }
    assert_int_equal(sb_processor_named("zen"), SB_PROCESSORS);
}

/* Writes a machine whose first package says so much of itself. */
static void write_machine_that_says(const char *path, const char *const said[][2], size_t count)
{
    hwloc_topology_t machine;

    hwloc_topology_init(&machine);
    hwloc_topology_set_synthetic(machine, FOUR_NODES);
    hwloc_topology_load(machine);
    for (size_t i = 0; i < count; i++)
        hwloc_obj_add_info(hwloc_get_obj_by_type(machine, HWLOC_OBJ_PACKAGE, 0), said[i][0],
                           said[i][1]);
    assert_int_equal(hwloc_topology_export_xml(machine, path, 0), 0);
    hwloc_topology_destroy(machine);
}

static sb_processor_t processor_that_says(const char *const said[][2], size_t count)
{
    char path[] = PROCESSOR;
    int file = mkstemp(path);

    assert_true(file >= 0);
    close(file);
    write_machine_that_says(path, said, count);
    open_machine(path, SB_LEVELS_ALL);
    unlink(path);
    return scene.topology->processor;
}

static const char *const zen4[][2] = {
    {"CPUVendor", "AuthenticAMD"}, {"CPUFamilyNumber", "25"}, {"CPUModelNumber", "17"}};

static void a_machine_says_its_processor(void **state)
{
    static const char *const arm[][2] = {{"CPUImplementer", "0x41"}, {"CPUPart", "0xd4f"}};

    (void)state;
    assert_int_equal(processor_that_says(zen4, SB_COUNT_OF(zen4)), SB_PROCESSOR_ZEN4);
    close_machine(NULL);
    assert_int_equal(processor_that_says(arm, SB_COUNT_OF(arm)), SB_PROCESSOR_NEOVERSE_V2);
    assert_string_equal(scene.topology->model, "implementer 0x41, part 0xd4f");
    close_machine(NULL);
    assert_int_equal(processor_that_says(NULL, 0), SB_PROCESSOR_OTHER);
}

static void goes_by_its_processor(void)
{
    sb_settings_t settings;

    sb_settings_self(&settings);
    CHILD_EXPECTS(settings.processor == SB_PROCESSOR_ZEN4, 1);
}

static void goes_by_no_processor(void)
{
    sb_settings_t settings;

    setenv("SOBOR_PRICES", "built-in", 1);
    sb_settings_self(&settings);
    CHILD_EXPECTS(settings.processor == SB_PROCESSOR_OTHER, 1);
}

/* Prices that are the same on every machine are not those of its processor. */
static void built_in_prices_are_of_no_processor(void **state)
{
    char path[] = PROCESSOR;
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    close(file);
    write_machine_that_says(path, zen4, SB_COUNT_OF(zen4));
    setenv("HWLOC_XMLFILE", path, 1);
    run_in_child(goes_by_its_processor);
    run_in_child(goes_by_no_processor);
    unsetenv("HWLOC_XMLFILE");
    unlink(path);
}

#define SCENE(test) cmocka_unit_test_teardown(test, close_machine)
#define FILES(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)
#define LAUNCHER(test) cmocka_unit_test_setup_teardown(test, clear_launcher, clear_launcher)

static const struct CMUnitTest machines[] = {
    /* These fork; they come before any test that reads this machine's topology. */
    SCENE(binding_is_seen),
    SCENE(a_machine_that_cannot_be_read_is_one_node),
    SCENE(memory_is_wished_on_nodes_that_exist),
    SCENE(plugins_of_hwloc_stay_the_programs),
    SCENE(variables_stay_the_programs),
    SCENE(a_file_stands_for_the_machine),
    SCENE(built_in_prices_are_of_no_processor),
    SCENE(four_nodes_have_levels_numa_and_package),
    SCENE(ranks_by_core_on_four_nodes),
    SCENE(ranks_by_node_on_four_nodes),
    SCENE(ranks_by_package_on_four_nodes),
    SCENE(levels_can_be_restricted),
    SCENE(levels_of_common_machines),
    SCENE(memory_of_all_processors_makes_no_unit),
    SCENE(threads_of_a_core_share_no_level),
    SCENE(uneven_nodes_with_offline_cores),
    SCENE(dealing_starts_again_when_all_cores_are_taken),
    SCENE(hybrid_cores_without_a_level_go_on_by_themselves),
    SCENE(control_group_of_some_cores),
    SCENE(ranks_bound_to_several_units),
    SCENE(unknown_ranks_come_in_at_the_top),
    SCENE(ranks_alone_in_their_units_meet_at_the_top),
    SCENE(large_groups_are_divided),
    SCENE(ranks_side_by_side_form_parts),
    SCENE(locality_tells_ranks_apart),
    SCENE(unbound_ranks_are_dealt_to_all_cores),
    SCENE(examples_of_the_specification),
    SCENE(hierarchy_is_refused_with_a_reason),
    SCENE(one_unit_for_all),
    SCENE(every_rank_follows_once),
    SCENE(wrong_machines_are_refused),
    SCENE(names_of_levels_and_mappings),
    cmocka_unit_test(processors_are_known_by_what_they_say),
    SCENE(a_machine_says_its_processor),
    SCENE(sets_of_processors),
};

static const struct CMUnitTest places[] = {
    FILES(each_group_is_looked_at_once),
    FILES(no_control_group_no_limit),
    FILES(quota_of_unified_groups),
    FILES(quota_of_legacy_groups),
    FILES(quota_of_a_container),
    FILES(quota_is_rounded_up),
    LAUNCHER(launchers_tell_local_ranks),
    LAUNCHER(the_nearest_launcher_is_believed),
    LAUNCHER(slurm_lists_tasks_by_node),
    SCENE(this_process_has_a_place),
    SCENE(pages_are_counted_by_node),
    SCENE(unbound_ranks_share_when_there_are_more),
    SCENE(ranks_share_the_union_of_their_sets),
    SCENE(bound_ranks_share_when_they_meet),
    SCENE(a_quota_counts),
    SCENE(other_ranks_on_the_node_count),
    SCENE(ranks_may_have_cpusets_of_their_own),
    SCENE(unknown_places_are_not_judged),
    SCENE(mapped_ranks_share_past_the_cores),
    SCENE(cores_know_their_units),
    SCENE(cores_have_several_processors),
    SCENE(cores_of_an_uneven_machine),
    SCENE(a_machine_can_be_written_and_read_again),
};

int main(void)
{
    int failed = cmocka_run_group_tests(machines, NULL, NULL);

    return failed + cmocka_run_group_tests(places, NULL, NULL);
}
