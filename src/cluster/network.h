/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_NETWORK_H
#define SB_CLUSTER_NETWORK_H

#include "machine/net.h"

/*
 * Reads what messages cost from the parameters net_* of a machine file. Returns false, with one
 * line in `error` and `prices` as they were, if it cannot be read or says nothing of a network.
 */
bool sb_network_read(const char *path, sb_net_prices_t *prices, char *error, size_t room);

/* By the file that SOBOR_NETWORK names, read once; all 0: there is none, or it is wrong, which is
 * said once. */
sb_net_prices_t sb_network_self(void);

/* What messages took in this process, for the communicators that come later; all 0: none yet. From
 * any thread. */
void sb_network_note(const sb_net_prices_t *prices);
sb_net_prices_t sb_network_seen(void);

#endif
