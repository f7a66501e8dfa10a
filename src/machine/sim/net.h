/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_NET_H
#define SB_MACHINE_SIM_NET_H

#include "machine/net.h"

/*
 * The simulated network. A message leaves its node behind those that the node sent before, passes
 * the switch, and enters the other node behind those that came before. A star lets one message pass
 * at a time; through a crossbar pairs of nodes do not meet. Latencies overlap, bytes do not. Ranks
 * of one node send to each other through memory, at the cost of a line and a copy.
 */

/* The network, as the running rank uses it; valid for the run. */
sb_net_t sb_sim_net(void);

/* Messages between nodes so far, and their bytes. */
typedef struct sb_sim_messages {
    uint64_t count;
    uint64_t bytes;
} sb_sim_messages_t;

void sb_sim_messages(sb_sim_messages_t *messages);

#endif
