/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/sides.h"

#include "mpi/datatype.h"

/* All parts of both sides: hosts compare where they begin, and what is given for them. */
static bool all_alias(const sb_side_t *send, const sb_side_t *receive)
{
    if (send->buffer != receive->buffer)
        return false;
    if (send->kind == SB_BLOCKS_TYPED)
        return send->types == receive->types && send->counts.at == receive->counts.at;
    if (send->type != receive->type)
        return false;
    return send->kind == SB_BLOCKS_EQUAL ? send->count == receive->count && send->count > 0
                                         : send->counts.at == receive->counts.at;
}

/* Where this rank's part would begin if the type had no gaps: hosts reckon with its size alone. */
static bool find_own(const sb_vector_call_t *call, const sb_side_t *all, int rank, size_t *offset)
{
    sb_type_t type;

    if (all->kind == SB_BLOCKS_EQUAL) {
        *offset = (size_t)rank * call->known;
        return true;
    }
    if (sb_number(&all->counts, rank) == 0 || !sb_type_describe(all->type, &type))
        return false;
    *offset = (size_t)sb_number(&all->places, rank) * type.size;
    return true;
}

/* The one part of a side, and the part of this rank among all of the other. */
static bool own_alias(const sb_vector_call_t *call, const sb_side_t *one, const sb_side_t *all,
                      int rank)
{
    size_t offset;

    if (one->type != all->type || one->count <= 0 ||
        (all->kind == SB_BLOCKS_EQUAL && one->count != all->count))
        return false;
    return find_own(call, all, rank, &offset) &&
           (uintptr_t)one->buffer == (uintptr_t)all->buffer + offset;
}

bool sb_sides_are_one(const sb_vector_call_t *call, int rank)
{
    const sb_side_t *send = &call->send, *receive = &call->receive;

    if (send->blocks == 0 || receive->blocks == 0)
        return false;
    if (send->blocks == receive->blocks)
        return all_alias(send, receive);
    return send->blocks < receive->blocks ? own_alias(call, send, receive, rank)
                                          : own_alias(call, receive, send, rank);
}
