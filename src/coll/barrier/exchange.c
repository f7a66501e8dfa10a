/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange barrier: ranks that share a cache, then those of a NUMA node, form small groups, divided
 * where they would be large; arrivals go up to the leaders, and the leaders of the last group look
 * at each other's arrival, so that none of them waits for a release. The release goes down again:
 * each leader wakes the leaders below it one by one, and those who lead nobody by one line a group.
 * Cost: a group costs the line of each member at its leader, and a release line read by its members
 * at once; both lines are served one reader after another, which is why groups are small and all
 * but the last stage stay within a node. Only the exchange crosses nodes: one line transfer there
 * and none back. Two ranks take their lines back at the end. Memory: three lines a rank, two
 * written by the owner, one by who wakes it; private memory O(p). Preconditions: none; without
 * places, ranks side by side form the groups. Source: ours; the hierarchy is that of
 * `hierarchical`, the exchange the n-way dissemination of Hoefler, Mehlan, Mietke, Rehm, 2006, the
 * release by one line a group that of tree barriers such as Scott and Mellor-Crummey, "Fast,
 * contention-free combining tree barriers", 1994.
 */
#include "coll/barrier/barrier.h"

/* All members look at the arrivals of all others, each beginning with the next after itself. */
static sb_status_t meet(sb_team_t *team, const sb_group_t *group, uint64_t number)
{
    sb_status_t status = SB_OK;
    uint32_t self = 0;

    while (group->members[self] != team->rank)
        self++;
    sb_flag_publish(&team->self->arrived.flag, number);
    for (uint32_t i = 1; status == SB_OK && i < group->size; i++)
        status = sb_barrier_await(team, group->members[(self + i) % group->size], number);
    return status;
}

/* Says that this rank's groups are complete, and waits for the release. */
static sb_status_t report(sb_team_t *team, const sb_hierarchy_t *hierarchy, uint64_t number)
{
    const sb_group_t *group = &hierarchy->group[hierarchy->count - 1];
    sb_flag_t *release = hierarchy->led > 0 ? &team->self->woken.flag
                                            : &team->controls[group->members[0]]->released.flag;

    sb_flag_publish(&team->self->arrived.flag, number);
    return sb_flag_wait(release, number, &team->waiter);
}

/* Leaders first: they have others to release. */
static void release(sb_team_t *team, const sb_hierarchy_t *hierarchy, uint32_t led, uint64_t number)
{
    for (uint32_t i = led; i-- > 0;) {
        const sb_group_t *group = &hierarchy->group[i];
        for (uint32_t k = 0; k < group->leaders; k++)
            sb_flag_publish(&team->controls[group->leader[k]]->woken.flag, number);
    }
    if (led > 0)
        sb_flag_publish(&team->self->released.flag, number);
}

static sb_status_t run(sb_team_t *team)
{
    const sb_hierarchy_t *hierarchy = sb_team_subgroups(team);
    uint64_t number = ++team->barriers;

    if (hierarchy == NULL)
        return SB_ERR_MEMORY;
    bool meets = hierarchy->meets;
    uint32_t led = hierarchy->led - (meets && team->rank == 0);
    sb_status_t status = SB_OK;
    for (uint32_t i = 0; status == SB_OK && i < led; i++)
        status = sb_barrier_gather(team, &hierarchy->group[i], number);
    if (status == SB_OK && meets)
        status = meet(team, &hierarchy->group[hierarchy->count - 1], number);
    else if (status == SB_OK && team->rank != 0)
        status = report(team, hierarchy, number);
    if (status != SB_OK)
        return status;
    release(team, hierarchy, led, number);
    sb_barrier_take_back(team);
    sb_team_all_arrived(team);
    return SB_OK;
}

/* Members of the last group, who look at each other, and how many stages are below it. */
static uint32_t last_group(const sb_shape_t *shape, uint32_t most, uint32_t *below)
{
    uint32_t levels = shape->ungrouped == NULL ? shape->stages : 0, members = shape->ranks;

    *below = 0;
    for (uint32_t i = 0; i < sb_max(levels, 1); i++) {
        members = levels > 0 ? shape->fan[i] : members;
        *below += i > 0;
        for (; members > most; members = (members + most - 1) / most)
            ++*below;
    }
    return members;
}

/*
 * A stage up is a line transfer and the lines of a group looked at; a stage down is the same. A
 * group of the machine that is too large is a stage more. Few ranks are one group, if they are on
 * one node: then this is `flat`.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t most = shape->barrier_arity < 2 ? SB_SUBGROUP_MOST : shape->barrier_arity;
    uint32_t last = shape->ranks, stages = 0;
    double time = 2 * price->line;

    (void)bytes;
    if (shape->ranks > most) {
        last = last_group(shape, most, &stages);
        time = stages * (3.25 * price->line + 0.75 * price->next_line * (most - 2));
    }
    time += price->line + 0.5 * price->line * (last - 2);
    if (shape->oversubscribed)
        time *= sb_cost_crowd(shape);
    return time + sb_cost_turns(shape, 1 + 2.0 * stages);
}

const sb_algorithm_t sb_barrier_exchange = {
    .name = "exchange",
    .collective = SB_BARRIER,
    .doc = "Small groups by shared cache and NUMA node, of at most SOBOR_BARRIER_ARITY, 10 if not "
           "set; the last leaders look at each other; a release line for each group.",
    .source = "Sobor; see docs/barrier.md",
    .cost = cost,
    .barrier = run,
};
