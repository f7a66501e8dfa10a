/* SPDX-License-Identifier: BSD-3-Clause */
/* How much a process may own, on the real machine and on the simulated one. */
#include "base/config.h"
#include "segment/arena.h"
#include "topology/topology.h"

#define LEAST ((uint64_t)4 << 20)
#define MOST ((uint64_t)64 << 20)

/* SOBOR_MEMORY, or 1 % of the memory per core within bounds. */
size_t sb_arena_bound(void)
{
    uint64_t wanted = sb_config()->memory.number;

    return (size_t)(wanted != 0 ? wanted
                                : sb_max(LEAST, sb_min(sb_topology_memory_per_core() / 100, MOST)));
}
