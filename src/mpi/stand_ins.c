/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that stand in for MPI's vector collectives and reductions, and what MPI says of
 * each: which arguments count at which rank, and what all ranks know alike.
 */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/reduction.h"
#include "mpi/serve.h"
#include "mpi/vector.h"

/* ---- vector collectives ---- */

/* The side keeps `blocks` blocks, unless it is MPI_IN_PLACE: then it has none, and the call is in
 * place. Returns false if that is not `allowed` here. */
static bool keep(sb_vector_call_t *call, sb_side_t *side, int blocks, bool allowed)
{
    side->blocks = blocks;
    if (side->buffer != MPI_IN_PLACE || blocks == 0)
        return true;
    side->blocks = 0;
    call->in_place = true;
    return allowed;
}

/* One block's packed bytes, of a side whose blocks are equal, are known to all. */
static bool know(sb_vector_call_t *call, const sb_side_t *side)
{
    sb_type_t type;

    return sb_type_describe(side->type, &type) &&
           sb_packed_bytes(side->count, type.size, &call->known);
}

/* Only the root knows the counts: the choice follows from none. MPI_IN_PLACE: at the root, as
 * receive buffer. Elsewhere what concerns sending is insignificant. */
static bool judge_scatterv(sb_vector_call_t *call, const sb_comm_t *comm)
{
    bool root = comm->rank == call->root;

    return keep(call, &call->send, root ? comm->size : 0, false) &&
           keep(call, &call->receive, 1, root);
}

/* The root knows the packed bytes of a block of what it sends, the others of what they receive. */
static bool judge_scatter(sb_vector_call_t *call, const sb_comm_t *comm)
{
    return judge_scatterv(call, comm) &&
           know(call, comm->rank == call->root ? &call->send : &call->receive);
}

/* As scatterv, the other way round. */
static bool judge_gatherv(sb_vector_call_t *call, const sb_comm_t *comm)
{
    bool root = comm->rank == call->root;

    return keep(call, &call->send, 1, root) &&
           keep(call, &call->receive, root ? comm->size : 0, false);
}

static bool judge_gather(sb_vector_call_t *call, const sb_comm_t *comm)
{
    return judge_gatherv(call, comm) &&
           know(call, comm->rank == call->root ? &call->receive : &call->send);
}

/* The choice follows from the packed bytes of all blocks, whose counts all are given. */
static bool judge_allgatherv(sb_vector_call_t *call, const sb_comm_t *comm)
{
    return keep(call, &call->send, 1, true) && keep(call, &call->receive, comm->size, false);
}

/* Everyone knows the packed bytes of a block of what it receives, also where it sends in place. */
static bool judge_allgather(sb_vector_call_t *call, const sb_comm_t *comm)
{
    return judge_allgatherv(call, comm) && know(call, &call->receive);
}

/* Nobody knows the counts of others: the choice follows from none. */
static bool judge_alltoallv(sb_vector_call_t *call, const sb_comm_t *comm)
{
    return keep(call, &call->send, comm->size, true) &&
           keep(call, &call->receive, comm->size, false);
}

static bool judge_alltoall(sb_vector_call_t *call, const sb_comm_t *comm)
{
    return judge_alltoallv(call, comm) && know(call, &call->receive);
}

static const sb_vector_rules_t scatter = {SB_SCATTER, .rooted = true, .regular = true,
                                          .judge = judge_scatter},
                               scatterv = {SB_SCATTERV, .rooted = true, .judge = judge_scatterv},
                               gather = {SB_GATHER, .rooted = true, .regular = true,
                                         .judge = judge_gather},
                               gatherv = {SB_GATHERV, .rooted = true, .judge = judge_gatherv},
                               allgather = {SB_ALLGATHER, .regular = true,
                                            .judge = judge_allgather},
                               allgatherv = {SB_ALLGATHERV, .counted = true,
                                             .judge = judge_allgatherv},
                               alltoall = {SB_ALLTOALL, .regular = true, .judge = judge_alltoall},
                               alltoallv = {SB_ALLTOALLV, .judge = judge_alltoallv},
                               alltoallw = {SB_ALLTOALLW, .judge = judge_alltoallv};

/* ---- reductions ---- */

/*
 * The rank contributes what its send buffer holds or, if that is MPI_IN_PLACE and this is `allowed`
 * here, its receive buffer; it receives if `receives`. Returns false if the buffers cannot be
 * right.
 */
static bool take_sides(sb_reduce_call_t *call, bool allowed, bool receives)
{
    bool in_place = call->out == MPI_IN_PLACE;

    call->send = in_place ? call->in : (void *)(uintptr_t)call->out;
    call->receive = call->in;
    if (!receives)
        call->received = 0;
    return (!in_place || allowed) && ((!receives && !in_place) || call->in != MPI_IN_PLACE);
}

/* MPI_IN_PLACE: at the root, as send buffer. Elsewhere the receive buffer is insignificant. */
static bool judge_reduce(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    call->elements = call->received = call->count;
    return take_sides(call, comm->rank == call->root, comm->rank == call->root);
}

static bool judge_allreduce(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    (void)comm;
    call->elements = call->received = call->count;
    return take_sides(call, true, true);
}

/* Rank 0 receives nothing: its receive buffer is left alone. */
static bool judge_exscan(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    call->elements = call->received = call->count;
    return take_sides(call, true, comm->rank > 0);
}

/* Everyone is given the counts of all. */
static bool judge_reduce_scatter(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    if (call->counts.at == NULL)
        return false;
    call->elements = 0;
    for (int i = 0; i < comm->size; i++) {
        int64_t count = sb_number(&call->counts, i);
        if (count < 0 || __builtin_add_overflow(call->elements, count, &call->elements))
            return false;
        call->received = i == comm->rank ? count : call->received;
    }
    return take_sides(call, true, true);
}

static bool judge_reduce_scatter_block(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    call->received = call->count;
    return !__builtin_mul_overflow(call->count, (int64_t)comm->size, &call->elements) &&
           take_sides(call, true, true);
}

static const sb_reduce_rules_t reduce = {SB_REDUCE, .rooted = true, .judge = judge_reduce},
                               allreduce = {SB_ALLREDUCE, .judge = judge_allreduce},
                               reduce_scatter = {SB_REDUCE_SCATTER, .dealt = true,
                                                 .judge = judge_reduce_scatter},
                               reduce_scatter_block = {SB_REDUCE_SCATTER_BLOCK, .dealt = true,
                                                       .judge = judge_reduce_scatter_block},
                               scan = {SB_SCAN, .judge = judge_allreduce},
                               exscan = {SB_EXSCAN, .judge = judge_exscan};

/* ---- the functions ---- */

/* The call is made only where it may be served: what is passed by costs next to nothing. */
#define STAND_IN(kind, serve, by, ...)                                                             \
    sb_comm_t *comm = sb_enter(SB_CALLER(), handle, (by).collective);                              \
    if (SB_LIKELY(comm != NULL)) {                                                                 \
        kind call = {.rules = &(by), __VA_ARGS__};                                                 \
        int result;                                                                                \
        if (SB_LIKELY(serve(comm, &call, &result)))                                                \
            return result;                                                                         \
    }
#define VECTOR(by, host, arguments, ...)                                                           \
    STAND_IN(sb_vector_call_t, sb_vector_serve, by, __VA_ARGS__)                                   \
    HOST(host, arguments, sb_large_vector(&(sb_vector_call_t){.rules = &(by), __VA_ARGS__}, handle))
#define REDUCTION(by, host, arguments, ...)                                                        \
    STAND_IN(sb_reduce_call_t, sb_reduction_serve, by, .out = out, .in = in, .type = type,         \
             .op = op, __VA_ARGS__)                                                                \
    HOST(host, arguments,                                                                          \
         sb_large_reduction(                                                                       \
             &(sb_reduce_call_t){                                                                  \
                 .rules = &(by), .out = out, .in = in, .type = type, .op = op, __VA_ARGS__},       \
             handle))

#define NAME(function) sb_mpi_##function
#define COUNT int
#define PLACE int
#define NUMBERS(array) SB_SMALL(array)
#define HOST(function, arguments, otherwise) return sb_host.function arguments
#include "mpi/stand_ins.def"
#undef NAME
#undef COUNT
#undef PLACE
#undef NUMBERS
#undef HOST

#define NAME(function) sb_mpi_##function##_c
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define NUMBERS(array) SB_LARGE(array)
#define HOST(function, arguments, otherwise)                                                       \
    return sb_host.function##_c != NULL ? sb_host.function##_c arguments : otherwise
#include "mpi/stand_ins.def"
