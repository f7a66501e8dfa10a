/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_ROSTER_H
#define SB_SEGMENT_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Who of a job runs with Sobor, wherever its ranks are. A rank without Sobor takes no part in any
 * exchange of ours, and to wait for its answer would be to wait for ever. So each rank signs a list
 * that the launcher keeps: its key-value space, which the host's MPI_Init carries to all nodes.
 * Afterwards everybody reads the same, and who has not signed is known by that.
 *
 * The spaces of PMIx and of PMI 1 (Hydra) are used. Under other launchers nobody signs.
 */

/* What a rank signs with. */
typedef struct sb_signature {
    uint64_t build;       /* sb_build_id(); 0: it has not signed, or takes no part */
    uint64_t serve_after; /* SOBOR_SERVE_AFTER */
    uint64_t traces;      /* in which format it records calls; 0: it does not */
} sb_signature_t;

/* Each way of a launcher. */
#define SB_ROSTER_TEXT 64

typedef struct sb_roster_keeper {
    bool (*sign)(uint32_t rank, const char *text);
    bool (*read)(uint32_t rank, char *text); /* SB_ROSTER_TEXT bytes; false: there is none */
    void (*close)(void);
} sb_roster_keeper_t;

extern const sb_roster_keeper_t sb_roster_pmix;
extern const sb_roster_keeper_t sb_roster_pmi;

/* Before the host's MPI_Init. `rank`: of this process in the job. */
void sb_roster_sign(const sb_roster_keeper_t *where, uint32_t rank,
                    const sb_signature_t *signature);

/* After it, by the thread that called it. */
sb_signature_t sb_roster_read(uint32_t rank);

/* What the list says of the whole job. */
typedef struct sb_roster_verdict {
    bool whole;           /* all have signed with rank 0's build */
    bool traced;          /* all record calls, in rank 0's format */
    uint64_t serve_after; /* rank 0's */
} sb_roster_verdict_t;

/*
 * Reads all of it, as every rank does, which find the same. Those of a node share the questions, if
 * all of them are on one board: its daemon answers one after the other. Else each asks for all.
 */
sb_roster_verdict_t sb_roster_judge(uint32_t ranks, bool (*progress)(void *context));

/* In its place, by who reads nothing: the others of the node do not wait for it. */
void sb_roster_abstain(void);

/* Nothing more will be read. */
void sb_roster_close(void);

#endif
