/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_BEYOND_H
#define SB_MPI_BEYOND_H

#include "mpi/predefined.h"

/*
 * Predefined operations on predefined types for which MPI defines none: a sum of MPI_CHAR, say.
 * Hosts accept some of them. Whether this one does, and what it makes of them, is asked of it when
 * a call first brings one: it combines a sample of elements, and where one of Sobor's own operators
 * gives the same bits, that operator takes its place. All ranks have the same host, and find the
 * same.
 *
 * The sample has no sum that leaves the type's range. There hosts do not agree with themselves:
 * Open MPI saturates what goes through vectors, and wraps around behind them.
 *
 * SB_NO_ELEMENT: the host refuses it, or does what no operator here does.
 */
sb_element_t sb_beyond_element(sb_operation_t operation, MPI_Op op, MPI_Datatype type,
                               const sb_type_t *description);

#endif
