/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/alias.h"

#include "mpi/self.h"

#include <stdatomic.h>

/* What the host does is asked of it: on a communicator of this rank alone such a call does nothing
 * but raise the error, or move a byte to where it is. */
static int try_on_self(sb_collective_t collective, MPI_Comm self)
{
    char byte = 0;
    int one = 1, place = 0;
    sb_given_t given = {1, sb_host.byte, &one, &place, &sb_host.byte};

    return collective < SB_REDUCE
               ? sb_host_vector(collective, &byte, &given, &byte, &given, 0, self)
               : sb_host_reduction(collective, &byte, &byte, &given, MPI_BOR, 0, self);
}

bool sb_alias_is_error(sb_collective_t collective)
{
    enum { UNKNOWN, NO_ERROR, ERROR };
    static _Atomic char known[SB_COLLECTIVES];
    /* Relaxed: whoever asks at the same time finds the same, and nothing else is handed over. */
    char answer = atomic_load_explicit(&known[collective], memory_order_relaxed);

    if (answer != UNKNOWN)
        return answer == ERROR;
    MPI_Comm self = sb_private_self_take();
    if (self == sb_host.comm_null)
        return false;
    answer = try_on_self(collective, self) == MPI_SUCCESS ? NO_ERROR : ERROR;
    sb_private_self_give();
    atomic_store_explicit(&known[collective], answer, memory_order_relaxed);
    return answer == ERROR;
}
