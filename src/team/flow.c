/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seldom needed of a flow: looking at the readers, when all the known credit is used up. */
#include "team/flow.h"

/* Here they are functions. */
#undef sb_peers_least
#undef sb_peers_missing

uint64_t sb_peers_least(const sb_peers_t *peers)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t rank = 0; rank < peers->count; rank++) {
        uint64_t seen = rank == peers->self ? UINT64_MAX : sb_flag_read(sb_peers_flag(peers, rank));
        least = sb_min(least, seen);
    }
    return least;
}

uint32_t sb_peers_missing(const sb_peers_t *peers, uint64_t value)
{
    uint32_t missing = 0;

    for (uint32_t rank = 0; rank < peers->count; rank++)
        missing += rank != peers->self && sb_flag_read(sb_peers_flag(peers, rank)) < value;
    return missing;
}

sb_status_t sb_flow_wait_credit(sb_flow_out_t *out, uint64_t end, const sb_waiter_t *waiter)
{
    uint64_t least;
    sb_status_t status = sb_peers_wait(&out->readers, end - out->room, waiter, &least);

    if (status == SB_OK)
        sb_flow_credit(out, least);
    return status;
}

bool sb_flow_look_credit(sb_flow_out_t *out, uint64_t end)
{
    sb_flow_credit(out, sb_peers_least(&out->readers));
    return out->known >= end - out->room;
}
