/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that move parts of data, called by number, through MPI's names or past whatever
 * is preloaded, with counts of int or of MPI_Count. */
#ifndef SOBOR_TESTS_MOVING_H
#define SOBOR_TESTS_MOVING_H

#include "support.h"

enum moving {
    SCATTER,
    SCATTERV,
    GATHER,
    GATHERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    MOVING
};

/* The arguments of one side; what a collective does not take is ignored. */
struct side {
    void *buffer;
    int count;
    int *counts;
    int *places;
    MPI_Datatype type;
    MPI_Datatype *types;
};

enum entry { PROGRAM, PROGRAM_LARGE, HOST, ENTRIES };

const char *moving_name(enum moving which);
bool moving_has_large(void); /* otherwise PROGRAM_LARGE is PROGRAM */
bool moving_has_root(enum moving which);
bool moving_varies(enum moving which); /* counts and displacements instead of a count */

void moving_begin(void);
int moving_call(enum moving which, enum entry entry, const struct side *send,
                const struct side *receive, int root, MPI_Comm comm);

#endif
