/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_OPERATOR_H
#define SB_MPI_OPERATOR_H

#include "mpi/datatype.h"

/*
 * What combines the elements of a reduction. A predefined operation on a predefined type is Sobor's
 * own (data/fold.h) as far as the standard defines it, or the host does what one of them does
 * (beyond.h). A user's operation is called through the host's MPI_Reduce_local, with the user's own
 * handles. Anything else is the host's: it may know more, or raise its error.
 *
 * All ranks find the same, though each asks about its own handles: they must give the same
 * operation and elements of the same signature.
 */
typedef struct sb_combination {
    const sb_operator_t *operation; /* elements are packed; NULL: the host's */
    sb_operator_t user;             /* *operation, of a user's operation */
    MPI_Op op;
    MPI_Datatype type;
    const sb_type_t *description;
    MPI_Comm comm;
    char *const *blocks; /* two of SB_FOLD_BYTES and more, to call the user's operation on */
    int error;           /* the host's, if calling the user's operation failed */
    /* How the elements lie that the user's function takes, with their gaps. */
    MPI_Aint lower;
    MPI_Aint span;
} sb_combination_t;

/* Learns the predefined operations; once, before the first use. */
void sb_operations_start(void);

/*
 * Finds what combines elements of this type, described by *description, which must outlive the
 * combination. Returns false if the host has to judge the operation: it is the null handle.
 */
bool sb_combination_find(sb_combination_t *combination, MPI_Op op, MPI_Datatype type,
                         const sb_type_t *description, MPI_Comm comm);

#endif
