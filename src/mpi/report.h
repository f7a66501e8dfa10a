/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_REPORT_H
#define SB_MPI_REPORT_H

#include "cluster/cluster.h"
#include "coll/coll.h"
#include "mpi/host.h"
#include "select/select.h"

/*
 * What SOBOR_VERBOSE reports: one line for each communicator, from its rank 0, in the order in
 * which they ended, at MPI_Finalize (or, without it, at the end of the process).
 */

/* Why calls on a communicator go to the host MPI, and the word for it in the report. */
#define SB_EACH_WHY(X)                                                                             \
    X(SB_WHY_NONE, "-")                                                                            \
    X(SB_WHY_INTERCOMMUNICATOR, "intercommunicator")                                               \
    X(SB_WHY_SIZE_1, "size-1")                                                                     \
    X(SB_WHY_FOREIGN_RANKS, "foreign-ranks") /* of another world: perhaps without Sobor */         \
    X(SB_WHY_ABSENT, "absent-ranks")         /* on no board of this node */                        \
    X(SB_WHY_NEW, "new")                     /* SOBOR_SERVE_AFTER */                               \
    X(SB_WHY_DISABLED, "disabled")                                                                 \
    X(SB_WHY_SPANS_NODES, "spans-nodes")                                                           \
    X(SB_WHY_ONE_RANK_NODES, "one-rank-nodes") /* as many nodes as ranks */                        \
    X(SB_WHY_CLUSTERS, "too-many-clusters")    /* SOBOR_CLUSTERS */                                \
    X(SB_WHY_NO_SHARED_MEMORY, "no-shared-memory")                                                 \
    X(SB_WHY_DEVICE_MEMORY, "device-memory")                                                       \
    X(SB_WHY_SETUP_FAILED, "setup-failed")                                                         \
    X(SB_WHY_ALGORITHM, "algorithm-host")  /* SOBOR_*_ALGORITHM=host or SOBOR_COLLECTIVES */       \
    X(SB_WHY_TRIAL, "trial")               /* of the host against Sobor */                         \
    X(SB_WHY_FASTER, "host-faster")        /* as trials have found */                              \
    X(SB_WHY_ORDER, "order")               /* cannot be kept over several nodes */                 \
    X(SB_WHY_MANY_RANKS, "too-many-ranks") /* to move parts between nodes */                       \
    X(SB_WHY_NO_RING, "no-ring")                                                                   \
    X(SB_WHY_ARGUMENTS, "arguments") /* for the host to judge */                                   \
    X(SB_WHY_OPERATOR, "operator")   /* on this type it is the host's */

typedef enum sb_why_host {
#define SB_ENUMERATOR(enumerator, word) enumerator,
    SB_EACH_WHY(SB_ENUMERATOR)
#undef SB_ENUMERATOR
        SB_WHY_COUNT
} sb_why_host_t;

/* The reason's word. */
const char *sb_why_word(int why);

/* What was done on a communicator. */
typedef struct sb_usage {
    uint64_t bytes;
    uint64_t calls[SB_COLLECTIVES]; /* served by Sobor */
    uint64_t passed[SB_WHY_COUNT];  /* that went to the host, by reason */
    int rank;
    int size;
    bool served;    /* it has a team or a cluster, */
    uint32_t nodes; /* and that many nodes; 0: a team */
    uint64_t time_ns;
    uint64_t *by_algorithm; /* counted where calls are timed; else NULL */
    MPI_Comm comm;          /* asked for its name at the end */
    char *name;             /* as it was when that was last asked for; NULL: it was not */
} sb_usage_t;

/* This process is the one that prints. Before any record. */
void sb_report_start(void);

/* A communicator comes into use; a record of its ranks alone. With sessions alone its name is asked
 * for at once: when the process ends MPI may have ended too, and nobody says when it does. */
void sb_report_begin(sb_usage_t *usage);

/* A team was made, whose choices are these: one line at SOBOR_VERBOSE=2. */
void sb_report_team(sb_team_t *team, sb_plan_table_t *plan);

/* The same of a cluster. */
void sb_report_cluster(const sb_cluster_t *cluster);

/* Counts a call where calls are counted by algorithm. */
void sb_report_count(sb_usage_t *usage, const sb_algorithm_t *algorithm);

/* The communicator is about to be freed: its name can still be asked for. */
void sb_report_name(sb_usage_t *usage);

/* The communicator has ended: keeps its line. */
void sb_report_end(sb_usage_t *usage);

/* Calls that Sobor served, and that went to the host. */
uint64_t sb_usage_served(const sb_usage_t *usage);
uint64_t sb_usage_passed(const sb_usage_t *usage);

/* Adds what was done on a communicator to a sum; on all that have ended. */
void sb_report_add(sb_usage_t *sum, const sb_usage_t *usage);
void sb_report_add_ended(sb_usage_t *sum);

/*
 * Prints the lines of those that have ended. Returns false if there is nothing to print: no report
 * is wanted, it was printed already, or this process is a child of the one that was to print it.
 * After it, sb_report_live prints the line of one that is still in use.
 */
bool sb_report_ended(void);
void sb_report_live(sb_usage_t *usage);

/* What became of the heap of this process, if it has one: of MPI_COMM_WORLD's first rank, and of
 * those that have forked. */
void sb_report_heap(const sb_usage_t *world);

#endif
