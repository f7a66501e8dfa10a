/* SPDX-License-Identifier: BSD-3-Clause */
#include "ground.h"

static void place_ranks(machine_t *machine, const ground_t *ground)
{
    uint32_t on[NODES_MOST] = {0};

    for (uint32_t i = 0; i < ground->ranks; i++)
        machine->core[i] = on[ground->node[i]]++ % CORES;
    for (uint32_t i = 0; i < ground->ranks; i++) {
        machine->places[i] = (sb_place_t){.local_ranks = on[ground->node[i]],
                                          .allowed_cpus = CORES,
                                          .numa_node = (int32_t)(machine->core[i] / 2)};
        machine->places[i].cpus[0] = UINT64_C(1) << machine->core[i];
    }
}

void machine_build(machine_t *machine, const ground_t *ground, uint64_t eager)
{
    sb_sim_machine_t *model = &machine->model;

    for (uint32_t i = 0; i < CORES; i++) {
        uint32_t *unit = machine->cores[i].unit;
        unit[SB_NEAR_CORE] = unit[SB_NEAR_L2] = i;
        unit[SB_NEAR_L3] = unit[SB_NEAR_NUMA] = unit[SB_NEAR_PACKAGE] = i / 2;
    }
    *model = (sb_sim_machine_t){.nodes = ground->nodes,
                                .cores = CORES,
                                .numa_nodes = 2,
                                .packages = 2,
                                .core = machine->cores,
                                .read_overlap = 1,
                                .page_bytes = 4096,
                                .readahead_pages = 1};
    for (int i = 0; i < SB_DISTANCES; i++) {
        model->read[i] = model->memory[i] = 50 * NS;
        model->copy_kib[i] = 100 * NS;
    }
    model->context_switch = model->yield = model->pause = 10 * NS;
    model->futex_wait = model->futex_wake = 1000 * NS;
    model->slice = 1000000 * NS;
    model->network = (sb_sim_network_t){.latency = 1500 * NS,
                                        .kib = 700 * NS,
                                        .injection_kib = 700 * NS,
                                        .overhead = 400 * NS,
                                        .eager = eager};
    place_ranks(machine, ground);
}
