/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_CLUSTER_MAILBOX_H
#define SB_TESTS_CLUSTER_MAILBOX_H

#include "machine/net.h"

/*
 * A network between forked processes: a socket between every two of them, made before they are.
 * Bytes move when a request is tested, in both directions; what comes before its receive is kept.
 */
typedef struct mailbox mailbox_t;

mailbox_t *mailbox_new(uint32_t ranks);
void mailbox_free(mailbox_t *box);

/* The network, as the process of that rank uses it. */
sb_net_t mailbox_net(mailbox_t *box, uint32_t rank);

/* Whether this process has nothing under way, and no message that nobody took. */
bool mailbox_is_empty(mailbox_t *box);

#endif
