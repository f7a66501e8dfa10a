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
    MPI_Comm self = sb_private_self();
    if (self == sb_host.comm_null)
        return false;
    answer = try_on_self(collective, self) == MPI_SUCCESS ? NO_ERROR : ERROR;
    atomic_store_explicit(&known[collective], answer, memory_order_relaxed);
    return answer == ERROR;
}

/* All parts of both sides: hosts compare where they begin, and what is given for them. */
static bool all_alias(const sb_side_t *send, const sb_side_t *receive)
{
    if (send->buffer != receive->buffer)
        return false;
    if (send->kind == SB_PARTS_TYPED)
        return send->types == receive->types && send->counts.at == receive->counts.at;
    if (send->type != receive->type)
        return false;
    return send->kind == SB_PARTS_EQUAL ? send->count == receive->count && send->count > 0
                                        : send->counts.at == receive->counts.at;
}

/* Where this rank's part would begin if the type had no gaps: hosts reckon with its size alone. */
static bool find_own(const sb_parts_call_t *call, const sb_side_t *all, int rank, size_t *offset)
{
    sb_type_t type;

    if (all->kind == SB_PARTS_EQUAL) {
        *offset = (size_t)rank * call->known;
        return true;
    }
    if (sb_number(&all->counts, rank) == 0 || !sb_type_describe(all->type, &type))
        return false;
    *offset = (size_t)sb_number(&all->places, rank) * type.size;
    return true;
}

/* The one part of a side, and the part of this rank among all of the other. */
static bool own_alias(const sb_parts_call_t *call, const sb_side_t *one, const sb_side_t *all,
                      int rank)
{
    size_t offset;

    if (one->type != all->type || one->count <= 0 ||
        (all->kind == SB_PARTS_EQUAL && one->count != all->count))
        return false;
    return find_own(call, all, rank, &offset) &&
           (uintptr_t)one->buffer == (uintptr_t)all->buffer + offset;
}

bool sb_parts_alias(const sb_parts_call_t *call, int rank)
{
    const sb_side_t *send = &call->send, *receive = &call->receive;

    if (send->parts == 0 || receive->parts == 0)
        return false;
    if (send->parts == receive->parts)
        return all_alias(send, receive);
    return send->parts < receive->parts ? own_alias(call, send, receive, rank)
                                        : own_alias(call, receive, send, rank);
}
