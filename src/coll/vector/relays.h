/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_RELAYS_H
#define SB_COLL_VECTOR_RELAYS_H

#include "coll/coll.h"
#include "coll/resources.h"
#include "team/flow.h"

/*
 * The memory of an allgather that brings each part only once to the ranks that share a cache or a
 * NUMA node. Each rank owns one block, on its own NUMA node:
 *
 *     done                   rounds that this rank is done with
 *     own[k]                 a chunk of its own part, for all of its group and one of each other
 *     relayed[k][t]          chunks of far parts that it has brought near, for its group
 *
 * The team counts rounds. In each a rank gives one chunk of its part, at most. Far ranks, those of
 * other groups, are numbered; in round u the chunk of number i is brought near by member
 * (i + u) mod g of a group of g, as its relayed chunk i / g: so the parts of a few ranks that have
 * much are brought near by all members in turn. Where it goes depends on its reader's group alone.
 */

#define SB_RELAY_SLOTS 4 /* k */
#define SB_RELAY_CHUNK_MOST ((size_t)32 << 10)

/* A chunk's flag is the number of its round + 1. Its note: bytes, and whether more follow. */
#define SB_RELAY_MORE 0x80000000u
#define SB_RELAY_BYTES 0x7fffffffu

/* A chunk of up to SB_SLOT_IN_LINE bytes is in the flag's own line, another has its own place. */
typedef struct sb_chunk {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t flag;
    unsigned char payload[SB_SLOT_IN_LINE];
} sb_chunk_t;

/* What a rank knows of another. */
typedef struct sb_relay_peer {
    char *base;
    uint64_t came; /* bytes of its part in this call */
    uint64_t seen; /* the round + 1 of the chunk that was announced last, */
    uint32_t note; /* and its note */
    bool ended;    /* of which no more will come */
} sb_relay_peer_t;

/* Private to the rank. */
typedef struct sb_relays {
    sb_resource_t resource;
    size_t chunk;         /* most bytes */
    size_t cached_most;   /* see sb_copy_cached_most */
    bool non_temporal;    /* in this call */
    uint32_t relayed;     /* t: chunks that a member may have to bring near in one round */
    uint64_t rounds;      /* of the team so far */
    sb_flag_t *done;      /* rounds that this rank is done with */
    sb_flow_out_t credit; /* the same of all others: how many rounds what is given stays */
    uint32_t group_size;  /* g */
    uint32_t self;        /* this rank's place in its group */
    uint32_t far_count;   /* ranks that are not in it */
    const uint32_t *near; /* the group's members */
    const uint32_t *far;  /* the other ranks */
    sb_relay_peer_t peer[];
} sb_relays_t;

static inline sb_relays_t *sb_relays(const sb_team_t *team)
{
    return (sb_relays_t *)(void *)team->resource[SB_RESOURCE_RELAYS];
}

/*
 * Makes the team's relays at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_relays_prepare(sb_team_t *team);

/* Chunk number `index` of a round at `rank`: 0 is its own, the others are relayed. */
static inline size_t sb_relay_index(const sb_team_t *team, uint32_t index)
{
    const sb_relays_t *relays = sb_relays(team);

    return relays->rounds % SB_RELAY_SLOTS * (relays->relayed + 1) + index;
}

static inline sb_chunk_t *sb_relay_chunk(const sb_team_t *team, uint32_t rank, uint32_t index)
{
    char *chunks = sb_relays(team)->peer[rank].base + sizeof(sb_wide_flag_t);

    return (sb_chunk_t *)(void *)chunks + sb_relay_index(team, index);
}

/* Where the bytes of a chunk are. */
static inline unsigned char *sb_relay_data(const sb_team_t *team, uint32_t rank, uint32_t index,
                                           size_t bytes)
{
    const sb_relays_t *relays = sb_relays(team);
    size_t chunks = SB_RELAY_SLOTS * ((size_t)relays->relayed + 1);
    size_t before = sizeof(sb_wide_flag_t) + chunks * sizeof(sb_chunk_t);

    if (bytes <= SB_SLOT_IN_LINE)
        return sb_relay_chunk(team, rank, index)->payload;
    return (unsigned char *)relays->peer[rank].base + before +
           sb_relay_index(team, index) * relays->chunk;
}

/* The member of this rank's group that brings the round's chunk of far rank number i near. */
static inline uint32_t sb_relay_of(const sb_relays_t *relays, uint32_t i)
{
    return relays->near[(i + relays->rounds) % relays->group_size];
}

#endif
