/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_ALIAS_H
#define SB_MPI_ALIAS_H

#include "base/collectives.h"

#include <stdbool.h>

/*
 * Calls whose send buffer is their receive buffer, which MPI forbids. Some hosts look for that and
 * raise an error, MPICH and its relatives; others do not, and often give the result that was meant.
 * With Sobor it has to be as with the host alone: an error at the rank that is wrong, before it
 * waits for anybody, or a call that is served.
 */

/* Whether the host raises an error if both buffers of this collective begin at one address. Found
 * out once for each collective. */
bool sb_alias_is_error(sb_collective_t collective);

#endif
