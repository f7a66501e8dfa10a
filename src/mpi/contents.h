/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_CONTENTS_H
#define SB_MPI_CONTENTS_H

#include "mpi/predefined.h"

/*
 * How a derived type was built, as the host tells it, made into a layout. NULL: the type cannot be
 * described within the layout's bounds, is built in a way not known here, or what the host says of
 * its size and extent does not fit. Not to be called by two threads at once.
 */
sb_layout_t *sb_contents_layout(MPI_Datatype type);

/* Whether the type lives as long as the process and must not be freed. */
bool sb_type_is_permanent(MPI_Datatype type);

#endif
