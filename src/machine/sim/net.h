/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_NET_H
#define SB_MACHINE_SIM_NET_H

#include "machine/net.h"

/*
 * The simulated network. A message leaves its node behind those that the node sent before, passes
 * the switch, and enters the other node behind those that came before. A star lets one message pass
 * at a time; through a crossbar pairs of nodes do not meet. Latencies overlap, bytes do not. Ranks
 * of one node send to each other through memory, at the cost of a line and a copy.
 *
 * A short message leaves at once. A longer one sends word ahead: when its receiver has begun the
 * receive and looks at the network, word goes back, and when the sender next looks at the network
 * the bytes leave. So a rank that computes, or looks too seldom, holds up who sends to it and who
 * receives from it, as with an MPI library that nothing drives but its own calls.
 */

/* The network, as the running rank uses it; valid for the run. */
sb_net_t sb_sim_net(void);

/* Messages between nodes so far, and their bytes. */
typedef struct sb_sim_messages {
    uint64_t count;
    uint64_t bytes;
} sb_sim_messages_t;

void sb_sim_messages(sb_sim_messages_t *messages);

/* Those that left the node. */
void sb_sim_sent(uint32_t node, sb_sim_messages_t *messages);

/*
 * What a program of messages must not do ends the run, with words for sb_sim_problem:
 *   - change bytes that are being sent, read or write bytes that are being received (which hold
 *     nothing of use until then: they are overwritten when the receive is begun);
 *   - end with a send or receive under way, or call sb_sim_net_settled with one: at the end of
 *     each collective call, of the running rank;
 *   - leave a message that nobody has received when all have ended.
 */
void sb_sim_net_settled(void);

#endif
