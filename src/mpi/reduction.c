/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/reduction.h"

#include "mpi/alias.h"
#include "mpi/packer.h"
#include "mpi/serve.h"

#include <stdlib.h>
#include <string.h>

/* What is not plain memory is packed and combined so many bytes at a time: on the stack, as memory
 * that this rank alone could not get would leave it unable to take part. */
#define STAGE_BYTES ((size_t)16 << 10)

struct sb_reduction_room {
    size_t *parts; /* packed bytes of each rank's part */
    size_t *some;  /* of these, what is in the stage */
};

sb_reduction_room_t *sb_reduction_room_new(int size)
{
    sb_reduction_room_t *room = malloc(sizeof *room);
    size_t *parts = calloc(2 * (size_t)size, sizeof *parts);

    if (room == NULL || parts == NULL) {
        free(room);
        free(parts);
        return NULL;
    }
    *room = (sb_reduction_room_t){.parts = parts, .some = parts + size};
    return room;
}

void sb_reduction_room_free(sb_reduction_room_t *room)
{
    if (room == NULL)
        return;
    free(room->parts);
    free(room);
}

bool sb_reduction_sides(sb_reduction_call_t *call, bool allowed, bool receives)
{
    bool in_place = call->out == MPI_IN_PLACE;

    call->send = in_place ? call->in : (void *)(uintptr_t)call->out;
    call->receive = call->in;
    if (!receives)
        call->received = 0;
    return (!in_place || allowed) && ((!receives && !in_place) || call->in != MPI_IN_PLACE);
}

/* Adds up what is contributed; fills what follows from the type. False: the host has to judge. */
static bool measure(sb_reduction_call_t *call)
{
    const sb_type_t *type = &call->description;

    if (call->elements < 0 || !sb_type_describe(call->type, &call->description) ||
        __builtin_mul_overflow((size_t)call->elements, type->size, &call->bytes) ||
        call->bytes > SB_BYTES_MOST)
        return false;
    /* MPI_BOTTOM, with a type of absolute addresses, is no null pointer's misuse. */
    return call->bytes == 0 || !type->contiguous ||
           (call->send != NULL && (call->received == 0 || call->receive != NULL));
}

/* Whether the host raises an error because the buffers are one. */
static bool is_refused(const sb_reduction_call_t *call)
{
    int64_t elements = call->rules->rooted ? call->received : call->elements;

    return call->out == call->in && elements > 0 && sb_alias_is_error(call->rules->collective);
}

static bool judge(sb_reduction_call_t *call, int rank, int size)
{
    if (call->rules->rooted && (call->root < 0 || call->root >= size))
        return false;
    return call->rules->judge(call, rank, size) && !is_refused(call) && measure(call) &&
           sb_combination_find(&call->combination, call->op, call->type, &call->description,
                               call->handle);
}

/* For sb_find_comm. */
static bool is_right(void *call, int rank, int size)
{
    return judge(call, rank, size);
}

/* The algorithm; NULL: the host, and the call is counted. */
static const sb_algorithm_t *choose(sb_comm_t *comm, sb_reduction_call_t *call)
{
    if (SB_UNLIKELY(!judge(call, comm->rank, comm->size))) {
        sb_pass(comm, SB_WHY_ARGUMENTS);
        return NULL;
    }
    if (SB_UNLIKELY(call->combination.operation == NULL)) {
        sb_pass(comm, SB_WHY_OPERATOR);
        return NULL;
    }
    const sb_algorithm_t *algorithm =
        sb_planned_reduction(&comm->plan, call->rules->collective, call->bytes,
                             call->combination.operation->commutative)
            ->algorithm;
    if (SB_UNLIKELY(algorithm == NULL))
        sb_pass(comm, SB_WHY_ALGORITHM);
    return algorithm;
}

/* ---- plain memory ---- */

/* NULL where all parts are equal. */
static const size_t *lay_out_parts(const sb_reduction_call_t *call, const sb_comm_t *comm)
{
    size_t *parts = comm->reduction_room->parts;

    if (call->counts.at == NULL)
        return NULL;
    for (int i = 0; i < comm->size; i++)
        parts[i] = (size_t)sb_number(&call->counts, i) * call->description.size;
    return parts;
}

static sb_status_t run_plain(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                             const sb_reduction_call_t *call)
{
    sb_reduction_t reduction = {
        .root = call->rules->rooted ? (uint32_t)call->root : 0,
        .operation = call->combination.operation,
        .bytes = call->bytes,
        .parts = lay_out_parts(call, comm),
        .send = call->send,
        .receive = call->received > 0 ? call->receive : NULL,
    };

    return algorithm->reduction(comm->team, &reduction);
}

/* ---- packed, some bytes at a time ---- */

/* A reduction whose elements are packed into `out` and unpacked from `in`. */
typedef struct packed {
    sb_packer_t packers[2];
    sb_stream_t send;
    sb_stream_t receive;
    size_t received; /* bytes of the result that have come */
    sb_status_t status;
    _Alignas(64) char out[STAGE_BYTES];
    _Alignas(64) char in[STAGE_BYTES];
} packed_t;

/* What bytes [from, to) of all contributions have in common with each rank's part. */
static void cut_parts(const sb_comm_t *comm, size_t from, size_t to)
{
    const size_t *parts = comm->reduction_room->parts;
    size_t *some = comm->reduction_room->some;

    for (size_t i = 0, at = 0; i < (size_t)comm->size; at += parts[i++]) {
        size_t low = sb_max(at, from), high = sb_min(at + parts[i], to);
        some[i] = low < high ? high - low : 0;
    }
}

static bool is_cut(const sb_reduction_call_t *call)
{
    return call->rules->collective == SB_REDUCE_SCATTER ||
           call->rules->collective == SB_REDUCE_SCATTER_BLOCK;
}

static void prepare_parts(const sb_reduction_call_t *call, const sb_comm_t *comm)
{
    if (lay_out_parts(call, comm) != NULL)
        return;
    for (int i = 0; i < comm->size; i++)
        comm->reduction_room->parts[i] = call->bytes / (size_t)comm->size;
}

/* One stage. A rank that cannot pack goes on without its data, so that the others are served. */
static sb_status_t run_stage(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                             const sb_reduction_call_t *call, packed_t *packed, size_t at,
                             size_t bytes)
{
    size_t gained = call->received > 0 ? bytes : 0;
    sb_reduction_t reduction = {.root = call->rules->rooted ? (uint32_t)call->root : 0,
                                .operation = call->combination.operation,
                                .bytes = bytes,
                                .send = packed->out};

    if (is_cut(call)) {
        cut_parts(comm, at, at + bytes);
        reduction.parts = comm->reduction_room->some;
        gained = reduction.parts[comm->rank];
    }
    reduction.receive = gained > 0 ? packed->in : NULL;
    if (packed->status == SB_OK)
        packed->status = sb_stream_read(&packed->send, at, packed->out, bytes);
    if (packed->status != SB_OK)
        memset(packed->out, 0, bytes);
    sb_status_t status = algorithm->reduction(comm->team, &reduction);
    if (packed->status == SB_OK && status == SB_OK && gained > 0)
        packed->status = sb_stream_write(&packed->receive, packed->received, packed->in, gained);
    packed->received += gained;
    return status;
}

static void open_packed(packed_t *packed, const sb_reduction_call_t *call)
{
    packed->received = 0;
    packed->status = SB_OK;
    sb_packer_open(&packed->packers[0], &packed->send, call->send, (size_t)call->elements,
                   call->type, &call->description, call->handle);
    if (call->received > 0)
        sb_packer_open(&packed->packers[1], &packed->receive, call->receive, (size_t)call->received,
                       call->type, &call->description, call->handle);
}

static int close_packed(packed_t *packed, const sb_reduction_call_t *call)
{
    int sent = sb_packer_close(&packed->packers[0]);
    int received = call->received > 0 ? sb_packer_close(&packed->packers[1]) : MPI_SUCCESS;

    return sent != MPI_SUCCESS ? sent : received;
}

/* Whole elements that fit the stage, in bytes: alike on all ranks. */
static size_t stage_bytes(const sb_reduction_call_t *call)
{
    return STAGE_BYTES / call->description.size * call->description.size;
}

/*
 * Whether this rank may leave out packing. Of a predefined type all ranks know alike how it lies in
 * memory. Of the type that a user's operation is called with they do not: each has its own, and
 * they go through the same stages.
 */
static bool is_plain(const sb_reduction_call_t *call)
{
    bool users = call->combination.operation == &call->combination.user;

    return call->description.contiguous && (!users || call->bytes <= stage_bytes(call));
}

/* Each stage is a reduction of its own, by the algorithm for the whole. */
static sb_status_t run_packed(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                              const sb_reduction_call_t *call, int *error)
{
    size_t most = stage_bytes(call);
    sb_status_t first = SB_OK;
    packed_t packed;

    open_packed(&packed, call);
    if (is_cut(call))
        prepare_parts(call, comm);
    /* A rank without its data goes on; one that waited in vain does not. */
    for (size_t at = 0; at < call->bytes && (first == SB_OK || first == SB_ERR_DATA); at += most) {
        size_t bytes = sb_min(most, call->bytes - at);
        sb_status_t status = run_stage(comm, algorithm, call, &packed, at, bytes);
        first = first == SB_OK ? status : first;
    }
    *error = close_packed(&packed, call);
    return first != SB_OK ? first : packed.status;
}

/* ---- either ---- */

/* Serves the call; SB_ERR_UNSUPPORTED: by agreement of all ranks the host has to. */
static sb_status_t serve(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                         const sb_reduction_call_t *call, int *error)
{
    sb_status_t status = comm->team->failure;

    if (SB_LIKELY(status == SB_OK && call->bytes > 0))
        status = sb_algorithm_prepare(algorithm, comm->team, call->bytes);
    if (SB_UNLIKELY(status != SB_OK || call->bytes == 0))
        return status;
    status = is_plain(call) ? run_plain(comm, algorithm, call)
                            : run_packed(comm, algorithm, call, error);
    if (SB_UNLIKELY(*error == MPI_SUCCESS))
        *error = call->combination.error;
    return SB_UNLIKELY(status == SB_OK && *error != MPI_SUCCESS) ? SB_ERR_DATA : status;
}

bool sb_reduction_serve(sb_reduction_call_t *call, int *result)
{
    sb_comm_t *comm = sb_find_comm(call->handle, is_right, call);
    int error = MPI_SUCCESS;

    if (SB_UNLIKELY(comm == NULL))
        return false;
    const sb_algorithm_t *algorithm = choose(comm, call);
    if (SB_UNLIKELY(algorithm == NULL))
        return false;
    uint64_t began = sb_clock_if_wanted();
    sb_status_t status = serve(comm, algorithm, call, &error);
    return sb_finish_call(comm, algorithm, call->bytes, began, (sb_outcome_t){status, error},
                          result);
}
