/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_COMM_H
#define SB_MPI_COMM_H

#include "base/lines.h"
#include "coll/vector/vector.h"
#include "mpi/datatype.h"
#include "mpi/net.h"
#include "mpi/report.h"
#include "mpi/scratch.h"
#include "mpi/server.h"
#include "select/select.h"
#include "select/trial.h"
#include "trace/trace.h"

#include <stdatomic.h>
#include <string.h>

/* A trial of the communicator. */
typedef struct sb_tried {
    sb_trial_t trial;
    const sb_planned_t *planned; /* the choice that it is about */
    const sb_algorithm_t *own;   /* Sobor's side */
    bool ruled;                  /* it was a rule that first sent the calls to the host */
    struct sb_tried *next;
} sb_tried_t;

/*
 * What Sobor knows of a communicator: its server, or why it has none, the choice of algorithms, and
 * what was done. Made at the first call by this rank alone; the server follows (sb_has_server). A
 * table by handle makes finding it one look.
 *
 * A record is used again for other communicators. The host tells of the end of one that the program
 * does not free, by an attribute that it has once it has a server; perhaps when the record has
 * another by then. So each use of a record has a number of its own, its generation, which the
 * attribute names. Before, MPI_Comm_free and its like are the only end that is known of.
 */
typedef struct sb_comm {
    /* What every call looks at comes first, on two lines; then the counts. What is of use with a
     * server alone is elsewhere: of communicators there may be many that never have one. */
    _Alignas(SB_LINE) _Atomic uintptr_t handle; /* SB_HANDLE_BITS of comm; 0: it is free */
    uint32_t open;                              /* bit c: calls of collective c may be served */
    uint32_t asking; /* or these, but not as long as it is new, or if it is revoked: open is 0 */
    bool timed;      /* calls are: they are reported, or the one at hand is a trial's */
    bool leaving;    /* the host is freeing the communicator: the record is in no chain */
    bool lost; /* this rank had no memory to take part in the set-up, in which the others wait */
    sb_why_host_t why; /* of those that may not */
    int rank;
    int size;
    sb_server_t server;              /* none: not made yet, or refused */
    const void *near[SB_NEAR_LINES]; /* fetched at the beginning of each call */
    MPI_Datatype type; /* a predefined one that calls had, and what it is; NULL: none yet */
    const sb_type_t *type_is;
    sb_scratch_t *scratch; /* with a server: never NULL; */
    sb_plan_table_t *plan; /* the same */
    MPI_Op op; /* a predefined one that a call had with such a type, and what combines them; */
    MPI_Datatype op_type;
    const sb_operator_t *operation; /* NULL: none yet */
    sb_usage_t usage;
    MPI_Comm comm;
    sb_wire_t *wire;      /* of a cluster */
    sb_trial_t *trial;    /* for which the call at hand is timed, or NULL */
    uint64_t trial_began; /* when that call did */
    sb_tried_t *trials;
    uint64_t due; /* the first call for which it is no longer new */
    uint64_t generation;
    sb_trace_comm_t *traced; /* where calls are recorded; NULL: there was none yet */
    void (*leave_cluster)(struct sb_comm *comm); /* of a cluster: ends it and its wire */
    struct sb_comm *next_chained; /* of one hash; of a free record: the next free one */
    struct sb_comm *next;         /* in the list of all records */
} sb_comm_t;

_Static_assert(offsetof(sb_comm_t, usage) + sizeof(uint64_t) <= 2 * SB_LINE &&
                   offsetof(sb_comm_t, type) <= SB_LINE,
               "what every call looks at is two lines");
_Static_assert(sizeof(sb_comm_t) <= 10 * SB_LINE, "a program may have many that are never served");

/* Chains of live records, by hash of the handle: the one that was used last is the first. */
#define SB_COMM_CHAINS 1024 /* a power of two */

extern _Atomic(sb_comm_t *) sb_comm_chains[SB_COMM_CHAINS];

#define SB_COMM_CHAIN(comm) (&sb_comm_chains[sb_hash(SB_HANDLE_BITS(comm)) % SB_COMM_CHAINS])

/* The record of a communicator that is the first of its chain, or NULL. */
static inline sb_comm_t *sb_comm_seen(MPI_Comm handle)
{
    /* Acquire: pairs with the store in put_first(). */
    sb_comm_t *comm = atomic_load_explicit(SB_COMM_CHAIN(handle), memory_order_acquire);

    /* Relaxed: if the handles agree the record is this thread's own communicator, made or found by
     * it before, or by a thread that it has synchronised with since. */
    return SB_LIKELY(comm != NULL && atomic_load_explicit(&comm->handle, memory_order_relaxed) ==
                                         SB_HANDLE_BITS(handle))
               ? comm
               : NULL;
}

/* The live record of the communicator, which is the first of its chain then; or NULL. */
sb_comm_t *sb_comm_find(MPI_Comm handle);

/*
 * Finds the record of a communicator that is not the first of its chain, or makes one; asks nobody
 * else. *comm is NULL: the call is the host's, which judges the handle. False: it is none, or there
 * is no memory for a record; *comm is NULL, and the error was raised; *result is what the call has
 * to return.
 */
bool sb_comm_get(MPI_Comm handle, sb_comm_t **comm, int *result);

/* Calls that may be served are counted from now on, until one is due for which a server is made. */
void sb_count_calls(sb_comm_t *comm);

/* Ties a record with a server to its communicator: the host tells of its end, however it comes. */
void sb_comm_tie(sb_comm_t *comm);

/*
 * Frees a communicator by the host's function, and its record. A host that forgets a communicator
 * by itself (one that was disconnected, or MPI_COMM_SELF at the end) ends the record in turn.
 */
int sb_comm_free(MPI_Comm *handle, int (*host_free)(MPI_Comm *));

/* Ends all clusters: the host's communicators that they use have to be freed before MPI_Finalize.
 */
void sb_comm_finalize(void);

/* Adds what was done on all communicators, those that have ended among them. */
void sb_comm_totals(sb_usage_t *sum);

/* Prints the report, once. */
void sb_comm_report(void);

/* Why the host was chosen: by the user; or of a cluster, because of the order in which it combines,
 * or where it only moves data because of prices, or of how many they are. */
static inline sb_why_host_t sb_why_chosen(const sb_comm_t *comm, sb_collective_t collective)
{
    const sb_settings_t *settings = comm->plan->settings;
    bool asked = strcmp(settings->algorithm[collective], "host") == 0 ||
                 !(settings->collectives & (1u << collective));

    if (comm->server.cluster == NULL || asked)
        return SB_WHY_ALGORITHM;
    if (sb_too_many_for_parts(&comm->plan->shape, collective))
        return SB_WHY_MANY_RANKS;
    return collective < SB_REDUCE ? SB_WHY_FASTER : SB_WHY_ORDER;
}

#endif
