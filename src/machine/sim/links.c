/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all cores of a machine share: the memory controller of each NUMA node, and the links between
 * NUMA nodes and between packages, each way by itself. Bytes queue there behind what others have
 * sent before.
 */
#include "machine/sim/state.h"

/* Bytes pass one shared part: others are done with it after `wait`, they themselves at `done`. */
static void pass(sb_passage_t *passage, uint64_t *busy_until, uint64_t kib, uint64_t bytes,
                 uint64_t now)
{
    if (kib == 0)
        return;
    uint64_t begin = *busy_until > now ? *busy_until : now;
    *busy_until = begin + sb_bytes_time(kib, bytes);
    if (passage->wait < begin - now)
        passage->wait = begin - now;
    if (passage->done < *busy_until)
        passage->done = *busy_until;
}

sb_passage_t sb_links_pass(const sb_rank_t *rank, uint32_t numa, sb_source_t source, uint64_t bytes,
                           uint64_t now)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    const sb_sim_core_t *core = &machine->core[rank->core];
    sb_passage_t passage = {0, now};
    size_t node = (size_t)rank->node * machine->numa_nodes + numa;

    if (source.memory)
        pass(&passage, &sb_sim->controller[node], machine->controller_kib, bytes, now);
    if (source.near == SB_NEAR_PACKAGE) {
        size_t link = node * machine->numa_nodes + core->unit[SB_NEAR_NUMA];
        pass(&passage, &sb_sim->link_package[link], machine->link_package_kib, bytes, now);
    } else if (source.near == SB_NEAR_MACHINE) {
        size_t from = (size_t)rank->node * machine->packages + sb_sim->numa_package[numa];
        size_t link = from * machine->packages + core->unit[SB_NEAR_PACKAGE];
        pass(&passage, &sb_sim->link_machine[link], machine->link_machine_kib, bytes, now);
    }
    return passage;
}
