/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_RESOURCES_H
#define SB_COLL_RESOURCES_H

#include "team/team.h"

/*
 * The slots of what algorithms keep for a team, see team/resource.h.
 */
typedef enum sb_resource_slot {
    SB_RESOURCE_RINGS,     /* coll/bcast/message.h */
    SB_RESOURCE_PIPELINE,  /* baseline/pipeline.h */
    SB_RESOURCE_MESH,      /* coll/vector/mesh.h */
    SB_RESOURCE_RELAYS,    /* coll/vector/relays.h */
    SB_RESOURCE_WORKSPACE, /* coll/reduction/workspace.h */
    SB_RESOURCE_BUFFERS,   /* the same, where windows go step by step */
    SB_RESOURCE_QUEUES,    /* baseline/queues.h */
    SB_RESOURCE_PAIRS,     /* baseline/pairs.h */
    SB_RESOURCE_BARRIERS,  /* baseline/barriers.h */
    SB_RESOURCE_BAGDS,     /* baseline/allgather_bagds.c */
    SB_RESOURCE_COLL_SM,   /* baseline/bcast_coll_sm.c */
    SB_RESOURCE_MVAPICH,   /* baseline/bcast_mvapich.c */
    SB_RESOURCE_HALL,      /* cluster/arrival/hall.c */
    SB_RESOURCE_ROWS,      /* coll/alltoall/rows.h */
    SB_RESOURCES,
} sb_resource_slot_t;

_Static_assert(SB_RESOURCES <= SB_RESOURCES_MOST, "a team has a slot for each");

#endif
