/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/join.h"

#include <stdlib.h>

/* Scheduling points for each rank of a run; far more than the longest run needs. */
#define STEPS_PER_RANK 200000

struct sb_join {
    uint32_t ranks;
    sb_check_t *check;
    sb_explore_t *explore; /* NULL: a timed run */
    sb_sim_watch_t watch;
    sb_sim_guide_t guide;
    uint64_t steps;
    void (*describe)(void *context, uint32_t block, uint64_t offset, char *text, size_t size);
    void *describe_context;
};

static void watch_take(void *context, uint32_t rank, uint32_t block, uint64_t bytes,
                       const sb_site_t *site)
{
    sb_check_take(((sb_join_t *)context)->check, rank, block, bytes, site);
}

static void watch_give(void *context, uint32_t rank, uint32_t block, const sb_site_t *site)
{
    sb_check_give(((sb_join_t *)context)->check, rank, block, site);
}

static void watch_read(void *context, uint32_t rank, uint32_t block, uint64_t offset,
                       uint64_t bytes, const sb_site_t *site)
{
    sb_check_read(((sb_join_t *)context)->check, rank, (sb_where_t){block, offset}, bytes, site);
}

static void watch_write(void *context, uint32_t rank, uint32_t block, uint64_t offset,
                        uint64_t bytes, const sb_site_t *site)
{
    sb_check_write(((sb_join_t *)context)->check, rank, (sb_where_t){block, offset}, bytes, site);
}

static uint64_t watch_load(void *context, uint32_t rank, uint32_t block, uint64_t offset,
                           uint64_t now, memory_order order, const sb_site_t *site)
{
    return sb_check_load(((sb_join_t *)context)->check, rank, (sb_where_t){block, offset}, now,
                         order, site);
}

static void watch_store(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t now,
                        uint64_t value, memory_order order, const sb_site_t *site)
{
    sb_check_store(((sb_join_t *)context)->check, rank, (sb_where_t){block, offset}, now, value,
                   order, site);
}

static void watch_add(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t now,
                      uint64_t amount, memory_order order, const sb_site_t *site)
{
    sb_check_add(((sb_join_t *)context)->check, rank, (sb_where_t){block, offset}, now, amount,
                 order, site);
}

static void watch_fence(void *context, uint32_t rank)
{
    sb_check_fence(((sb_join_t *)context)->check, rank);
}

static void watch_fence_all(void *context)
{
    sb_check_fence_all(((sb_join_t *)context)->check);
}

static void watch_meet(void *context)
{
    sb_check_meet(((sb_join_t *)context)->check);
}

static uint32_t *watch_send(void *context, uint32_t rank)
{
    return sb_check_send(((sb_join_t *)context)->check, rank);
}

static void watch_receive(void *context, uint32_t rank, const uint32_t *clock)
{
    sb_check_receive(((sb_join_t *)context)->check, rank, clock);
}

static bool watch_failed(void *context)
{
    return sb_join_violation(context)->kind != SB_VIOLATION_NONE;
}

static void watch_describe(void *context, uint32_t block, uint64_t offset, char *text, size_t size)
{
    const sb_join_t *join = context;

    if (join->describe != NULL)
        join->describe(join->describe_context, block, offset, text, size);
}

/* Before the first scheduling point, in set-up, loads see the newest value. */
static uint32_t choose_value(void *context, uint32_t count)
{
    const sb_join_t *join = context;

    return join->steps == 0 ? 0 : sb_explore_value(join->explore, count);
}

static uint32_t guide_next(void *context, const sb_sim_pending_t *pending, uint32_t ranks)
{
    sb_join_t *join = context;

    if (++join->steps > (uint64_t)STEPS_PER_RANK * ranks)
        return SB_SIM_NOBODY;
    return sb_explore_next(join->explore, pending);
}

static bool guide_gives_up(void *context, uint32_t rank)
{
    (void)rank;
    return sb_explore_choose(((sb_join_t *)context)->explore, SB_CHOICE_PATIENCE, 2) != 0;
}

sb_join_t *sb_join_new(uint32_t ranks, const sb_explore_options_t *explore, const char **problem)
{
    sb_join_t *join = calloc(1, sizeof *join);

    *problem = "private memory is exhausted";
    if (join == NULL)
        return NULL;
    join->ranks = ranks;
    join->watch = (sb_sim_watch_t){
        .context = join,
        .take = watch_take,
        .give = watch_give,
        .read = watch_read,
        .write = watch_write,
        .load = watch_load,
        .store = watch_store,
        .add = watch_add,
        .fence = watch_fence,
        .fence_all = watch_fence_all,
        .meet = watch_meet,
        .send = watch_send,
        .receive = watch_receive,
        .failed = watch_failed,
        .describe = watch_describe,
    };
    join->guide = (sb_sim_guide_t){join, guide_next, guide_gives_up};
    join->check = sb_check_new(ranks);
    if (join->check != NULL && explore != NULL)
        join->explore = sb_explore_new(explore, problem);
    if (join->check != NULL && (explore == NULL || join->explore != NULL))
        return join;
    sb_join_free(join);
    return NULL;
}

void sb_join_free(sb_join_t *join)
{
    if (join == NULL)
        return;
    sb_check_free(join->check);
    sb_explore_free(join->explore);
    free(join);
}

const sb_sim_watch_t *sb_join_watch(const sb_join_t *join)
{
    return &join->watch;
}

const sb_sim_guide_t *sb_join_guide(const sb_join_t *join)
{
    return join->explore == NULL ? NULL : &join->guide;
}

void sb_join_describe(sb_join_t *join,
                      void (*describe)(void *context, uint32_t block, uint64_t offset, char *text,
                                       size_t size),
                      void *context)
{
    join->describe = describe;
    join->describe_context = context;
}

bool sb_join_begin(sb_join_t *join)
{
    bool relaxed = join->explore != NULL && sb_explore_relaxed(join->explore);

    if (join->explore != NULL && !sb_explore_begin(join->explore))
        return false;
    join->steps = 0;
    sb_check_begin(join->check, relaxed ? choose_value : NULL, join);
    return true;
}

const sb_violation_t *sb_join_violation(const sb_join_t *join)
{
    return sb_check_violation(join->check);
}

bool sb_join_endless(const sb_join_t *join)
{
    return join->steps > (uint64_t)STEPS_PER_RANK * join->ranks;
}

uint64_t sb_join_steps(const sb_join_t *join)
{
    return join->steps;
}

const sb_explore_t *sb_join_explore(const sb_join_t *join)
{
    return join->explore;
}
