/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BCAST_BCAST_H
#define SB_COLL_BCAST_BCAST_H

#include "coll/coll.h"

/*
 * The broadcasts of a team. Every rank calls with the same root; the streams hold as many bytes on
 * every rank. A rank whose stream holds another number than the root's gets SB_ERR_TRUNCATE; its
 * team stays in order. The root may return before anybody has received anything.
 */
extern const sb_algorithm_t sb_bcast_slots;
extern const sb_algorithm_t sb_bcast_ring;
extern const sb_algorithm_t sb_bcast_tree;
extern const sb_algorithm_t sb_bcast_numa_pipelined;
extern const sb_algorithm_t sb_bcast_numa_relay;

#endif
