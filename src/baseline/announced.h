/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_ANNOUNCED_H
#define SB_BASELINE_ANNOUNCED_H

#include "baseline/setring.h"
#include "coll/bcast/message.h"

/*
 * The broadcasts among the baselines begin with an announcement in a slot, as all do: so a rank
 * that expects another size, and chose another way for it, can be told. It stands in place of the
 * first flag that the original sets, and costs no line more.
 */

/* By the number behind SB_NOTE_BASELINE. */
enum { SB_ANNOUNCED_NUMA_PIPELINED, SB_ANNOUNCED_COLL_SM, SB_ANNOUNCED_MVAPICH, SB_ANNOUNCED };

extern const sb_bcast_memory_t sb_announced_numa_pipelined;
extern const sb_bcast_memory_t sb_announced_coll_sm;
extern const sb_bcast_memory_t sb_announced_mvapich;

/* Root: announces the message of a baseline, with what its receivers are to know. */
static inline sb_status_t sb_announce(sb_team_t *team, uint32_t baseline, const void *payload,
                                      size_t bytes)
{
    sb_status_t status = sb_slot_wait_free(team, team->slot_uses);

    if (status == SB_OK)
        sb_slot_show(team, SB_NOTE_BASELINE | baseline, payload, bytes);
    return status;
}

/* Root: claims the next set; the first of a message by announcing it, with its bytes. */
static inline sb_status_t sb_announce_set(sb_team_t *team, const sb_setring_t *ring, bool first,
                                          uint32_t baseline, uint64_t bytes)
{
    if (!first)
        return sb_setring_claim(team, ring);
    sb_status_t status = sb_setring_wait_empty(team, ring);
    return status == SB_OK ? sb_announce(team, baseline, &bytes, sizeof bytes) : status;
}

#endif
