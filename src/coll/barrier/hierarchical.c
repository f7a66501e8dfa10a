/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical barrier: ranks that share a unit of the machine, such as a NUMA node, form a group
 * led by the lowest of them; the leaders form groups by the next level, and so on up. Every rank
 * counts its arrival in its own line when the groups that it leads are complete; its leader looks
 * at the lines of the whole group. The leader at the top, rank 0, writes one number on which all
 * spin. Cost: for each level a line transfer between neighbours at that level and the lines of a
 * group looked at; then one line read by p - 1 ranks. However ranks are placed, few lines cross the
 * boundary of a level. Memory: one line a rank and one more, each written by its owner; O(group)
 * private. Preconditions: ranks bound to processors; where groups were refused, all ranks form one,
 * and this is `flat-counter`. Source: Kurnosov, "Barrier synchronization hierarchical algorithm for
 * multicore shared-memory systems", 2022.
 */
#include "coll/barrier/barrier.h"

static sb_status_t run(sb_team_t *team, unsigned levels)
{
    const sb_hierarchy_t *hierarchy = sb_team_hierarchy(team, levels, 0);
    uint64_t number = ++team->barriers;
    sb_status_t status = hierarchy == NULL ? SB_ERR_MEMORY : SB_OK;

    for (uint32_t i = 0; status == SB_OK && i < hierarchy->led; i++)
        status = sb_barrier_gather(team, &hierarchy->group[i], number);
    return status == SB_OK ? sb_barrier_meet_at_root(team, number) : status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double time = price->line + price->next_line * (shape->ranks - 2);

    (void)bytes;
    for (uint32_t i = 0; i < shape->stages; i++)
        time += price->line + price->next_line * (shape->fan[i] - 2);
    return time + sb_cost_turns(shape, 1 + shape->stages);
}

/*
 * One algorithm for each set of levels. They differ in nothing else. The sets that are compared in
 * the literature, and the one of all levels, are listed; the others go by their names.
 */
#define L2 SB_LEVEL_BIT(SB_LEVEL_L2)
#define L3 SB_LEVEL_BIT(SB_LEVEL_L3)
#define NUMA SB_LEVEL_BIT(SB_LEVEL_NUMA)
#define PACKAGE SB_LEVEL_BIT(SB_LEVEL_PACKAGE)

#define LEVEL_SETS(SET)                                                                            \
    SET(1, "l2", L2, false)                                                                        \
    SET(2, "l3", L3, false)                                                                        \
    SET(3, "l2+l3", L2 | L3, false)                                                                \
    SET(4, "numa", NUMA, true)                                                                     \
    SET(5, "l2+numa", L2 | NUMA, false)                                                            \
    SET(6, "l3+numa", L3 | NUMA, false)                                                            \
    SET(7, "l2+l3+numa", L2 | L3 | NUMA, false)                                                    \
    SET(8, "package", PACKAGE, true)                                                               \
    SET(9, "l2+package", L2 | PACKAGE, false)                                                      \
    SET(10, "l3+package", L3 | PACKAGE, false)                                                     \
    SET(11, "l2+l3+package", L2 | L3 | PACKAGE, false)                                             \
    SET(12, "numa+package", NUMA | PACKAGE, true)                                                  \
    SET(13, "l2+numa+package", L2 | NUMA | PACKAGE, false)                                         \
    SET(14, "l3+numa+package", L3 | NUMA | PACKAGE, false)

#define RUN(index, label, set, listed)                                                             \
    static sb_status_t run_##index(sb_team_t *team)                                                \
    {                                                                                              \
        return run(team, set);                                                                     \
    }

#define ENTRY(index, label, set, listed)                                                           \
    [(index)-1] = {                                                                                \
        .name = "hierarchical-" label,                                                             \
        .collective = SB_BARRIER,                                                                  \
        .doc = "Groups by these levels of the machine alone (" label                               \
               "), led by their lowest ranks, and one group of what is left.",                     \
        .source = "Kurnosov 2022, hierarchical barrier over the levels of hwloc",                  \
        .levels = set,                                                                             \
        .on_request = true,                                                                        \
        .unlisted = !(listed),                                                                     \
        .cost = cost,                                                                              \
        .barrier = run_##index,                                                                    \
    },

LEVEL_SETS(RUN)
RUN(15, "auto", SB_LEVELS_ALL, true)

const sb_algorithm_t sb_barrier_hierarchical[SB_LEVELS_ALL] = {
    LEVEL_SETS(ENTRY)[SB_LEVELS_ALL - 1] =
        {
            .name = "hierarchical-auto",
            .collective = SB_BARRIER,
            .doc = "Groups by all levels of the machine that cores share, from the lowest up; "
                   "hierarchical-LEVELS, such as hierarchical-l3+numa, goes by these levels alone.",
            .source = "Kurnosov 2022, hierarchical barrier over the levels of hwloc",
            .levels = SB_LEVELS_ALL,
            .cost = cost,
            .barrier = run_15,
        },
};
