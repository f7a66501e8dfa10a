/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many barriers with random delays over random sub-communicators that come and go, on a machine
 * whose cores the ranks are bound to at random: nobody leaves before everybody has come, which each
 * rank checks in a shared counter. Every algorithm has its turn, drawn anew for each barrier.
 *
 * usage: fork_barriers [BARRIERS [SEED]]; 1000000 barriers are the long run.
 */
#include "../long_form.h"
#include "../random.h"
#include "job.h"

#include "select/select.h"
#include "tools/machines.h"
#include "tools/mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 6, SPLITS = 5, BARRIERS_PER_ROUND = 500, LINE = 128 };

/* Splits of all ranks by colour, alive at once; each rank is in one team of each. */
typedef struct split {
    const rank_context_t *context;
    uint32_t colour[RANKS];
    uint32_t member[RANKS]; /* rank in the job of each member of this rank's team */
    uint32_t size;
    uint32_t rank; /* in the team */
    sb_team_t *team;
} split_t;

typedef struct run {
    uint64_t barriers;
    uint64_t seed;
    const sb_topology_t *topology;
    unsigned char *counts; /* shared: barriers entered, by split and rank, each on its own lines */
} run_t;

static uint64_t *entered(const run_t *run, uint32_t split, uint32_t rank)
{
    return (uint64_t *)(void *)(run->counts + (size_t)(split * RANKS + rank) * LINE);
}

/* The job exchanges; the team keeps what its members gave. */
static sb_status_t allgather(void *argument, const void *mine, void *all, size_t bytes)
{
    const split_t *split = argument;
    const rank_context_t *context = split->context;
    char *everything = malloc(RANKS * bytes);
    sb_status_t status = everything == NULL ? SB_ERR_MEMORY : SB_OK;

    if (status == SB_OK)
        status = job_allgather(context, mine, everything, bytes);
    for (uint32_t i = 0; status == SB_OK && i < split->size; i++)
        memcpy((char *)all + i * bytes, everything + split->member[i] * bytes, bytes);
    free(everything);
    return status;
}

static void colour(split_t *split, const rank_context_t *context, uint64_t *common)
{
    uint32_t colours = 1 + draw(common, 3);

    *split = (split_t){.context = context};
    for (uint32_t i = 0; i < RANKS; i++)
        split->colour[i] = draw(common, colours);
    for (uint32_t i = 0; i < RANKS; i++) {
        if (split->colour[i] != split->colour[context->rank])
            continue;
        split->rank = i == context->rank ? split->size : split->rank;
        split->member[split->size++] = i;
    }
}

static int make_team(split_t *split, const run_t *run, const sb_place_t *place)
{
    sb_front_t front = {
        .context = split, .allgather = allgather, .topology = run->topology, .place = place};
    sb_refusal_t refusal;
    sb_reason_t reason;

    return sb_team_create(&split->team, &front, split->rank, split->size, &refusal, &reason) !=
           SB_OK;
}

/* A core, or now and then two, or the whole machine. */
static void draw_place(sb_place_t *place, uint64_t *own)
{
    uint32_t kind = draw(own, 8), first = draw(own, 16);

    *place = (sb_place_t){.allowed_cpus = 16};
    for (uint32_t cpu = 0; cpu < 16; cpu++) {
        if (cpu == first || kind == 0 || (kind == 1 && cpu == first + 1))
            sb_cpus_add(place->cpus, cpu);
    }
}

static const sb_algorithm_t *draw_barrier(uint64_t *common)
{
    for (;;) {
        const sb_algorithm_t *drawn = sb_algorithm_at(draw(common, (uint32_t)sb_algorithm_count()));
        if (drawn->collective == SB_BARRIER)
            return drawn;
    }
}

static void dawdle(uint64_t *own)
{
    uint32_t kind = draw(own, 200);

    if (kind == 0)
        usleep(draw(own, 200));
    for (volatile uint32_t i = 0; kind < 60 && i < 20 * kind; i++)
        continue;
}

static int check(const run_t *run, uint32_t index, const split_t *split,
                 const sb_algorithm_t *algorithm)
{
    uint32_t self = split->member[split->rank];
    uint64_t mine = *entered(run, index, self) + 1;

    __atomic_store_n(entered(run, index, self), mine, __ATOMIC_RELAXED);
    sb_status_t status = sb_algorithm_prepare(algorithm, split->team, 0);
    if (status == SB_OK)
        status = algorithm->barrier(split->team);
    for (uint32_t i = 0; status == SB_OK && i < split->size; i++) {
        uint64_t theirs = __atomic_load_n(entered(run, index, split->member[i]), __ATOMIC_RELAXED);
        if (theirs == mine || theirs == mine + 1)
            continue;
        fprintf(stderr, "%s: rank %u of %u left barrier %lu, rank %u is at %lu\n", algorithm->name,
                split->rank, split->size, (unsigned long)mine, i, (unsigned long)theirs);
        return 1;
    }
    return status != SB_OK;
}

/* Draws that all ranks make are from `common`, those of one rank from `own`. */
static int run_round(rank_context_t *context, const run_t *run, uint64_t *common, uint64_t *own)
{
    split_t splits[SPLITS];
    sb_place_t place;
    int failures = 0;

    draw_place(&place, own);
    for (uint32_t i = 0; i < SPLITS; i++) {
        *entered(run, i, context->rank) = 0;
        colour(&splits[i], context, common);
        failures += make_team(&splits[i], run, &place);
    }
    for (uint32_t i = 0; i < BARRIERS_PER_ROUND && failures == 0; i++) {
        uint32_t drawn = draw(common, SPLITS);
        uint32_t called = draw(common, 2) == 0 ? UINT32_MAX : draw(common, 3);
        const sb_algorithm_t *algorithm = draw_barrier(common);
        dawdle(own);
        if (called == UINT32_MAX || called == splits[drawn].colour[context->rank])
            failures += check(run, drawn, &splits[drawn], algorithm);
    }
    for (uint32_t i = 0; i < SPLITS; i++) {
        if (splits[i].team != NULL)
            sb_team_destroy(splits[i].team);
    }
    return failures;
}

static int run_all(rank_context_t *context, void *argument)
{
    const run_t *run = argument;
    uint64_t common = run->seed, own = run->seed * 1000003u + context->rank;
    int failures = 0;

    for (uint64_t done = 0; done < run->barriers && failures == 0; done += BARRIERS_PER_ROUND) {
        failures = run_round(context, run, &common, &own);
        if (failures == 0) /* else the job ends the others, which may wait for this rank */
            job_synchronise(context);
    }
    return failures;
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)SPLITS * RANKS * LINE;
    char error[512];
    run_t run = {.barriers = argc > 1 ? strtoull(argv[1], NULL, 10) : drawn(20000),
                 .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};

    setenv("SOBOR_WAIT", "yield", 1);
    sb_topology_t *topology =
        sb_topology_open("package:2 numa:2 l3:2 core:2 pu:1", error, sizeof error);
    run.topology = topology;
    run.counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.topology == NULL || run.counts == MAP_FAILED)
        return 1;
    unsigned seconds = (unsigned)(100 + run.barriers / 1000);
    int failures = job_run(RANKS, seconds, run_all, &run);
    sb_topology_close(topology);
    printf("%lu barriers of %d ranks in random teams, seed %lu: %s\n", (unsigned long)run.barriers,
           RANKS, (unsigned long)run.seed, failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
