/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SOURCE_H
#define SB_MPI_SOURCE_H

#include "mpi/host.h"

/* What a type was built from. */
typedef struct sb_source {
    int combiner;
    bool large; /* by a constructor with large counts */
    size_t numbers;
    size_t types;
    MPI_Count *number; /* integers, then addresses or large counts */
    MPI_Datatype *type;
} sb_source_t;

/* Reads how the type was built; what was read is released in any case. Named types, which may not
 * be asked for more, have no types. Returns false if the host does not say, or for lack of memory.
 */
bool sb_source_read(MPI_Datatype type, sb_source_t *source);

/* Reading hands out derived types as new handles, which are freed. */
void sb_source_release(sb_source_t *source, bool read);

/* Whether this is known to be a constructor's combiner. */
bool sb_combiner_is_known(int combiner);

/* Whether the type lives as long as the process and must not be freed. */
bool sb_type_is_permanent(MPI_Datatype type);

#endif
