/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_COMM_H
#define SB_MPI_COMM_H

#include "mpi/host.h"
#include "select/select.h"

#include <stdatomic.h>

/*
 * What Sobor knows of a communicator: its team, or why it has none, the choice of algorithms, and
 * what was done. Made at the first call that could be served, kept as an attribute, deleted by the
 * host with the communicator. A table by handle makes finding it one look.
 */

/* Why calls on a communicator go to the host MPI. */
typedef enum sb_why_host {
    SB_WHY_NONE,
    SB_WHY_INTERCOMMUNICATOR,
    SB_WHY_SIZE_1,
    SB_WHY_FOREIGN_RANKS, /* of another MPI_COMM_WORLD: they may be without Sobor */
    SB_WHY_DISABLED,
    SB_WHY_SPANS_NODES,
    SB_WHY_NO_SHARED_MEMORY,
    SB_WHY_DEVICE_MEMORY,
    SB_WHY_SETUP_FAILED,
    SB_WHY_ALGORITHM, /* SOBOR_*_ALGORITHM=host or SOBOR_COLLECTIVES */
    SB_WHY_NO_RING,
    SB_WHY_ARGUMENTS, /* for the host to judge */
    SB_WHY_OPERATOR,  /* on this type it is the host's */
    SB_WHY_COUNT,
} sb_why_host_t;

const char *sb_why_host_name(sb_why_host_t why);

#define SB_ALGORITHMS_MOST 160

typedef struct sb_parts_room sb_parts_room_t;         /* parts.h */
typedef struct sb_reduction_room sb_reduction_room_t; /* reduction.h */

typedef struct sb_comm {
    _Atomic uintptr_t handle; /* SB_HANDLE_BITS of comm; 0: this record is free */
    MPI_Comm comm;
    sb_team_t *team; /* NULL: every call goes to the host */
    sb_why_host_t why;
    int rank;
    int size;
    sb_plan_table_t plan;
    sb_parts_room_t *room;               /* with a team: never NULL */
    sb_reduction_room_t *reduction_room; /* likewise */

    uint64_t calls[SB_COLLECTIVES]; /* served by Sobor */
    uint64_t by_algorithm[SB_ALGORITHMS_MOST];
    uint64_t bytes;
    uint64_t host_calls;
    uint64_t time_ns;
    uint32_t reasons;                   /* bit w: a call went to the host because of w */
    char name[MPI_MAX_OBJECT_NAME + 1]; /* kept when the communicator is freed; else empty */

    struct sb_comm *next; /* in the list of all records */
} sb_comm_t;

/*
 * The record of a communicator that was used before, or NULL. Safe against other threads: records
 * are never freed, and the caller's own communicator cannot be freed meanwhile.
 */
sb_comm_t *sb_comm_known(MPI_Comm comm);

/* Prepares what records need; once. False: no records can be made. */
bool sb_comm_start(void);

/* The record, made if there is none. Collective over the communicator if it is made. NULL: let the
 * host judge the handle. */
sb_comm_t *sb_comm_get(MPI_Comm comm);

/* The communicator ends. Called by the attribute's deletion, and after MPI_Comm_free. */
void sb_comm_end(sb_comm_t *comm);

/* Calls `visit` for every communicator that is in use. */
void sb_comm_visit(void (*visit)(sb_comm_t *comm));

static inline void sb_comm_count_host(sb_comm_t *comm, sb_why_host_t why)
{
    comm->host_calls++;
    comm->reasons |= 1u << why;
}

#endif
