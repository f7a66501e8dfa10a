/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_CLUSTER_GROUND_H
#define SB_TESTS_CLUSTER_GROUND_H

#include "calls.h"

#include "machine/sim/engine.h"

/*
 * The simulated machine of these tests: nodes of two packages of two cores, joined by a network of
 * 1.5 us and 1.5 GB/s.
 */
#define CORES 4
#define NS 1000

typedef struct machine {
    sb_sim_machine_t model;
    sb_sim_core_t cores[CORES];
    uint32_t core[RANKS_MOST];
    sb_place_t places[RANKS_MOST];
} machine_t;

/* For ranks on that ground. `eager`: of the network. Keeps no pointer but to itself. */
void machine_build(machine_t *machine, const ground_t *ground, uint64_t eager);

#endif
