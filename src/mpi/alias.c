/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/alias.h"

#include "mpi/self.h"

#include <stdatomic.h>

/* What the host does is asked of it: on a communicator of this rank alone such a call does nothing
 * but raise the error, or move a byte to where it is. */
static int try_on_self(sb_collective_t collective, MPI_Comm self)
{
    char byte = 0;
    const int counts[] = {1}, places[] = {0};
    const MPI_Datatype type = sb_host.byte, types[] = {type};
    const MPI_Op op = MPI_BOR;

    switch (collective) {
    case SB_SCATTER:
        return sb_host.Scatter(&byte, 1, type, &byte, 1, type, 0, self);
    case SB_SCATTERV:
        return sb_host.Scatterv(&byte, counts, places, type, &byte, 1, type, 0, self);
    case SB_GATHER:
        return sb_host.Gather(&byte, 1, type, &byte, 1, type, 0, self);
    case SB_GATHERV:
        return sb_host.Gatherv(&byte, 1, type, &byte, counts, places, type, 0, self);
    case SB_ALLGATHER:
        return sb_host.Allgather(&byte, 1, type, &byte, 1, type, self);
    case SB_ALLGATHERV:
        return sb_host.Allgatherv(&byte, 1, type, &byte, counts, places, type, self);
    case SB_ALLTOALL:
        return sb_host.Alltoall(&byte, 1, type, &byte, 1, type, self);
    case SB_ALLTOALLV:
        return sb_host.Alltoallv(&byte, counts, places, type, &byte, counts, places, type, self);
    case SB_ALLTOALLW:
        return sb_host.Alltoallw(&byte, counts, places, types, &byte, counts, places, types, self);
    case SB_REDUCE:
        return sb_host.Reduce(&byte, &byte, 1, type, op, 0, self);
    case SB_ALLREDUCE:
        return sb_host.Allreduce(&byte, &byte, 1, type, op, self);
    case SB_REDUCE_SCATTER:
        return sb_host.Reduce_scatter(&byte, &byte, counts, type, op, self);
    case SB_REDUCE_SCATTER_BLOCK:
        return sb_host.Reduce_scatter_block(&byte, &byte, 1, type, op, self);
    case SB_SCAN:
        return sb_host.Scan(&byte, &byte, 1, type, op, self);
    case SB_EXSCAN:
        return sb_host.Exscan(&byte, &byte, 1, type, op, self);
    default:
        return MPI_SUCCESS;
    }
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
