/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/cgroup.h"
#include "topology/launcher.h"
#include "topology/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kernel refuses a set that is smaller than its own, so this one grows until it fits. */
#define PROCESSORS_MOST (1 << 20)

static bool read_affinity(uint64_t *cpus, unsigned processors)
{
    cpu_set_t *set = CPU_ALLOC(processors);
    size_t bytes = CPU_ALLOC_SIZE(processors);

    if (set == NULL)
        return false;
    bool done = sched_getaffinity(0, bytes, set) == 0;
    for (unsigned i = 0; done && i < sb_min(processors, SB_CPUS_MOST); i++) {
        if (CPU_ISSET_S(i, bytes, set))
            sb_cpus_add(cpus, i);
    }
    CPU_FREE(set);
    return done;
}

static void read_cpus(uint64_t *cpus)
{
    for (unsigned processors = SB_CPUS_MOST; processors <= PROCESSORS_MOST; processors *= 2) {
        if (read_affinity(cpus, processors) || errno != EINVAL)
            return;
    }
}

/* 0: no quota, and so is one of more processors than can be counted. */
static uint32_t whole_cpus(double cpus)
{
    if (cpus >= (double)UINT32_MAX)
        return 0;
    uint32_t whole = (uint32_t)cpus;
    return whole + (cpus > (double)whole);
}

void sb_place_read(sb_place_t *place, const char *root, const sb_topology_t *topology)
{
    sb_topology_counts_t counts;

    *place = (sb_place_t){0};
    sb_topology_count(topology, &counts);
    read_cpus(place->cpus);
    place->numa_node = sb_topology_node_of(topology, place->cpus);
    place->quota_cpus = whole_cpus(sb_cgroup_cpus(root));
    place->local_ranks = sb_launcher_local_ranks();
    place->allowed_cpus = (uint32_t)counts.allowed_pus;
}

/* What all the places say together. */
typedef struct summary {
    uint64_t cpus[SB_CPU_WORDS];
    bool known;      /* every rank's set is */
    size_t disjoint; /* processors the sets would have together if no two overlapped */
    size_t quota;    /* the smallest; 0: none */
    size_t local;    /* ranks on the node, the team's own included */
    size_t allowed;  /* processors open to the job, at least those of `cpus` */
    bool apart; /* several ranks, each with a cpuset of its own: nothing is known of the job's */
} summary_t;

static summary_t summarise(const sb_place_t *places, size_t ranks)
{
    summary_t all = {.known = true, .local = ranks, .apart = ranks > 1};

    for (size_t i = 0; i < ranks; i++) {
        size_t quota = places[i].quota_cpus, own = sb_cpus_count(places[i].cpus);
        sb_cpus_join(all.cpus, places[i].cpus);
        all.disjoint += own;
        all.known = all.known && own > 0;
        if (quota > 0 && (all.quota == 0 || quota < all.quota))
            all.quota = quota;
        all.local = sb_max(all.local, places[i].local_ranks);
        all.allowed = sb_max(all.allowed, places[i].allowed_cpus);
        all.apart = all.apart && places[i].allowed_cpus == own;
    }
    size_t together = sb_cpus_count(all.cpus);
    all.apart = all.apart && all.disjoint == together;
    all.allowed = sb_max(all.allowed, together);
    return all;
}

/* Whether the ranks that must run within `cpus` outnumber its processors. */
static bool is_crowded(const uint64_t *cpus, const sb_place_t *places, size_t ranks)
{
    size_t room = sb_cpus_count(cpus);
    size_t inside = 0;

    for (size_t i = 0; i < ranks; i++)
        inside += sb_cpus_inside(places[i].cpus, cpus);
    return inside > room;
}

size_t sb_places_processors(const sb_place_t *places, size_t ranks)
{
    summary_t all = summarise(places, ranks);
    size_t together = all.known ? sb_cpus_count(all.cpus) : ranks;

    return all.quota > 0 ? sb_min(together, all.quota) : together;
}

bool sb_places_oversubscribed(const sb_place_t *places, size_t ranks)
{
    summary_t all = summarise(places, ranks);

    if (all.quota > 0 && all.local > all.quota)
        return true;
    if (!all.known)
        return false;
    size_t together = sb_cpus_count(all.cpus);
    if ((!all.apart && all.local > all.allowed) || ranks > together)
        return true;
    if (all.disjoint == together)
        return false;
    for (size_t i = 0; i < ranks; i++) {
        bool seen = i > 0 && sb_cpus_equal(places[i].cpus, places[i - 1].cpus);
        if (!seen && is_crowded(places[i].cpus, places, ranks))
            return true;
    }
    return false;
}
