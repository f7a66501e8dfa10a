/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SELF_SIM_H
#define SB_TOOLS_SELF_SIM_H

#include "topology/topology.h"

/*
 * The machine that the simulated ranks find themselves on, and the place of each. Kept, not copied.
 */
void sb_topology_simulate(const sb_topology_t *topology, const sb_place_t *places);

#endif
