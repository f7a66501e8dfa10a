/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_PREDEFINED_H
#define SB_MPI_PREDEFINED_H

#include "mpi/datatype.h"

/* Types that live as long as the process: the predefined ones, and those that the host makes from
 * a precision or range in Fortran. Found by handle, by any thread. */

/* Learns the types that the header names. Once, before anything else here. */
void sb_predefined_start(void);

/* NULL: not known, or not of this kind. */
const sb_type_t *sb_predefined_find(MPI_Datatype type);

/* Learns one more that nobody else is learning at this time. NULL: the host does not say enough. */
const sb_type_t *sb_predefined_add(MPI_Datatype type);

#endif
