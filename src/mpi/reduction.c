/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/reduction.h"

#include "mpi/device.h"
#include "mpi/self.h"
#include "mpi/serve.h"

#include <stdlib.h>
#include <string.h>

/* A call whose arguments were judged. */
typedef struct judged {
    const sb_reduce_call_t *call;
    const sb_type_t *type;
    sb_type_t room; /* of a type that is not predefined */
    size_t bytes;   /* packed, of a contribution */
    sb_combination_t combination;
} judged_t;

/* Everyone is given the counts of all. False: they cannot be right. */
static bool add_counts(sb_reduce_call_t *call, const sb_comm_t *comm)
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
    return true;
}

/* How many elements this rank gives and receives. False: the arguments cannot be right. */
static bool count_elements(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    call->elements = call->received = call->count;
    call->dealt = true;
    if (call->collective == SB_REDUCE_SCATTER)
        return add_counts(call, comm);
    if (call->collective == SB_REDUCE_SCATTER_BLOCK)
        return !__builtin_mul_overflow(call->count, (int64_t)comm->size, &call->elements);
    call->dealt = false;
    return true;
}

/*
 * MPI_IN_PLACE as send buffer: the contribution is in the receive buffer; of a rooted call, at its
 * root. A rank that receives nothing has no receive buffer: in an exscan the first one. False: the
 * buffers cannot be right.
 */
static bool take_sides(sb_reduce_call_t *call, const sb_comm_t *comm)
{
    bool in_place = call->out == MPI_IN_PLACE;
    bool allowed = !call->rooted || comm->rank == call->root;
    bool receives = call->collective == SB_EXSCAN ? comm->rank > 0 : allowed;

    call->send = in_place ? call->in : (void *)(uintptr_t)call->out;
    call->receive = call->in;
    if (!receives)
        call->received = 0;
    return (!in_place || allowed) && ((!receives && !in_place) || call->in != MPI_IN_PLACE);
}

/* Adds up what is contributed. False: the host has to judge. */
static bool measure(sb_comm_t *comm, judged_t *judged)
{
    const sb_reduce_call_t *call = judged->call;

    judged->type = sb_type_of(comm, call->type, &judged->room);
    if (judged->type == NULL ||
        !sb_message_bytes(call->elements, judged->type->size, &judged->bytes))
        return false;
    return judged->bytes == 0 ||
           (call->send != NULL && (call->received == 0 || call->receive != NULL)) ||
           !sb_type_begins_at_buffer(call->type, judged->type);
}

/* Whether the host raises an error because the buffers are one. */
static bool is_refused(const sb_reduce_call_t *call)
{
    int64_t elements = call->rooted ? call->received : call->elements;

    return call->out == call->in && elements > 0 && sb_alias_is_error(call->collective, elements);
}

/* What combines the elements. False: the host has to judge that. */
static bool find_combination(sb_comm_t *comm, const sb_reduce_call_t *call, judged_t *judged)
{
    sb_combination_t *found = &judged->combination;

    if (SB_LIKELY(comm->operation != NULL && comm->op == call->op && comm->op_type == call->type)) {
        found->operation = comm->operation;
        found->error = MPI_SUCCESS;
        return true;
    }
    if (!sb_combination_find(found, call->op, call->type, judged->type, comm->comm))
        return false;
    /* The handles of these are never another's. */
    if (judged->type == comm->type_is && found->operation != &found->user) {
        comm->op = call->op;
        comm->op_type = call->type;
        comm->operation = found->operation;
    }
    return true;
}

static bool judge(sb_comm_t *comm, sb_reduce_call_t *call, judged_t *judged)
{
    judged->call = call;
    if (call->root < 0 || call->root >= comm->size)
        return false;
    return count_elements(call, comm) && take_sides(call, comm) && !is_refused(call) &&
           measure(comm, judged) && find_combination(comm, call, judged);
}

/* What all ranks tell an algorithm alike. */
static sb_reduction_t common(const judged_t *judged, size_t bytes)
{
    return (sb_reduction_t){.root = (uint32_t)judged->call->root,
                            .operation = judged->combination.operation,
                            .bytes = bytes};
}

/* ---- plain memory ---- */

/* NULL where all parts are equal. */
static const size_t *lay_out_parts(const sb_comm_t *comm, const judged_t *judged)
{
    size_t *parts = comm->scratch->parts;

    if (judged->call->counts.at == NULL)
        return NULL;
    for (int i = 0; i < comm->size; i++)
        parts[i] = (size_t)sb_number(&judged->call->counts, i) * judged->type->size;
    return parts;
}

static sb_status_t run_plain(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                             const judged_t *judged, const char *send, char *receive)
{
    sb_reduction_t reduction = common(judged, judged->bytes);

    reduction.parts = lay_out_parts(comm, judged);
    reduction.send = send;
    reduction.receive = judged->call->received > 0 ? receive : NULL;
    return sb_server_reduce(&comm->server, algorithm, &reduction);
}

/* ---- packed ---- */

/* A reduction whose elements are packed from `send` and unpacked to `receive`. */
typedef struct packed {
    sb_packer_t packers[2];
    sb_stream_t send;
    sb_stream_t receive;
    size_t received; /* bytes of the result that have come */
    sb_status_t status;
} packed_t;

static void open_packed(packed_t *packed, const sb_comm_t *comm, const judged_t *judged)
{
    const sb_reduce_call_t *call = judged->call;

    packed->received = 0;
    packed->status = SB_OK;
    sb_packer_open(&packed->packers[0], &packed->send, call->send, (size_t)call->elements,
                   call->type, judged->type, comm->comm);
    if (call->received > 0)
        sb_packer_open(&packed->packers[1], &packed->receive, call->receive, (size_t)call->received,
                       call->type, judged->type, comm->comm);
}

static int close_packed(packed_t *packed, const judged_t *judged)
{
    int sent = sb_packer_close(&packed->packers[0]);
    int received = judged->call->received > 0 ? sb_packer_close(&packed->packers[1]) : MPI_SUCCESS;

    return sent != MPI_SUCCESS ? sent : received;
}

/* ---- packed, some bytes at a time: memory for more this rank alone could lack ---- */

/* What bytes [from, to) of all contributions have in common with each rank's part. */
static void cut_parts(const sb_comm_t *comm, size_t from, size_t to)
{
    const size_t *parts = comm->scratch->parts;
    size_t *some = comm->scratch->some;

    for (size_t i = 0, at = 0; i < (size_t)comm->size; at += parts[i++]) {
        size_t low = sb_max(at, from), high = sb_min(at + parts[i], to);
        some[i] = low < high ? high - low : 0;
    }
}

static void prepare_parts(const sb_comm_t *comm, const judged_t *judged)
{
    if (lay_out_parts(comm, judged) != NULL)
        return;
    for (int i = 0; i < comm->size; i++)
        comm->scratch->parts[i] = judged->bytes / (size_t)comm->size;
}

/*
 * Where a stage's contribution is: in the user's memory, if it lies there as it is sent. Of a
 * reduce_scatter in place it does not: the stage's result goes to another place in that memory,
 * which the contribution may reach into. A rank that cannot pack goes on without its data, so that
 * the others are served.
 */
static const char *contribution(const sb_scratch_t *scratch, const sb_reduce_call_t *call,
                                packed_t *packed, size_t at, size_t bytes)
{
    bool in_the_way = call->dealt && call->send == call->receive;

    if (packed->send.base != NULL && !in_the_way)
        return packed->send.base + at;
    if (packed->status == SB_OK)
        packed->status = sb_stream_read(&packed->send, at, scratch->out, bytes);
    if (packed->status != SB_OK)
        memset(scratch->out, 0, bytes);
    return scratch->out;
}

static sb_status_t run_stage(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                             const judged_t *judged, packed_t *packed, size_t at, size_t bytes)
{
    sb_scratch_t *scratch = comm->scratch;
    size_t gained = judged->call->received > 0 ? bytes : 0;
    sb_reduction_t reduction = common(judged, bytes);

    if (judged->call->dealt) {
        cut_parts(comm, at, at + bytes);
        reduction.parts = scratch->some;
        gained = reduction.parts[comm->rank];
    }
    reduction.send = contribution(scratch, judged->call, packed, at, bytes);
    if (gained > 0)
        reduction.receive =
            packed->receive.base != NULL ? packed->receive.base + packed->received : scratch->in;
    sb_status_t status = sb_server_reduce(&comm->server, algorithm, &reduction);
    if (packed->status == SB_OK && status == SB_OK && reduction.receive == scratch->in)
        packed->status = sb_stream_write(&packed->receive, packed->received, scratch->in, gained);
    packed->received += gained;
    return status;
}

/* Whole elements that fit the stage, in bytes: alike on all ranks. */
static size_t stage_bytes(const judged_t *judged)
{
    return SB_STAGE_BYTES / judged->type->size * judged->type->size;
}

/* Each stage is a reduction of its own, by the algorithm for the whole. */
static sb_status_t run_stages(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                              const judged_t *judged, int *error)
{
    size_t most = stage_bytes(judged);
    sb_status_t first = SB_OK;
    packed_t packed;

    open_packed(&packed, comm, judged);
    if (judged->call->dealt)
        prepare_parts(comm, judged);
    /* A rank without its data goes on; one that waited in vain does not. */
    for (size_t at = 0; at < judged->bytes && (first == SB_OK || first == SB_ERR_DATA);
         at += most) {
        size_t bytes = sb_min(most, judged->bytes - at);
        sb_status_t status = run_stage(comm, algorithm, judged, &packed, at, bytes);
        first = sb_first(first, status);
    }
    *error = close_packed(&packed, judged);
    return sb_first(first, packed.status);
}

/* ---- device memory: the host copies it to memory of ours and back ---- */

static bool is_on_device(const sb_reduce_call_t *call)
{
    return SB_DEVICE_HOLDS(call->send) || (call->received > 0 && SB_DEVICE_HOLDS(call->receive));
}

static sb_status_t run_copied(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                              const judged_t *judged, int *error)
{
    size_t received = (size_t)judged->call->received * judged->type->size;
    char *copy = malloc(judged->bytes + received);
    packed_t packed;

    if (copy == NULL)
        return sb_server_fail(&comm->server, SB_ERR_MEMORY);
    open_packed(&packed, comm, judged);
    packed.status = sb_stream_read(&packed.send, 0, copy, judged->bytes);
    sb_status_t status = run_plain(comm, algorithm, judged, copy, copy + judged->bytes);
    if (status == SB_OK && received > 0 && packed.status == SB_OK)
        packed.status = sb_stream_write(&packed.receive, 0, copy + judged->bytes, received);
    *error = close_packed(&packed, judged);
    free(copy);
    return sb_first(status, packed.status);
}

/* ---- any ---- */

/* Whether it is one element that lies in memory as it is sent, as a pair of MPI_MINLOC: what gap
 * would follow does not matter. */
static bool is_one_run(const sb_reduce_call_t *call, const sb_type_t *type)
{
    return call->elements == 1 && !call->dealt && type->layout != NULL &&
           sb_layout_is_one_run(type->layout) && sb_run_offset(type->layout, 0) == 0;
}

/*
 * Whether this rank may leave out packing. Of a predefined type all ranks know alike how it lies in
 * memory. Of the type that a user's operation is called with they do not: each has its own, and
 * they go through the same stages. What is no longer than a stage is in one, as it is of whole
 * elements.
 */
static bool is_plain(const judged_t *judged)
{
    if (judged->combination.operation == &judged->combination.user)
        return judged->type->contiguous && judged->bytes <= SB_STAGE_BYTES;
    return SB_LIKELY(judged->type->contiguous) || is_one_run(judged->call, judged->type);
}

static sb_status_t run(sb_comm_t *comm, const sb_algorithm_t *algorithm, judged_t *judged,
                       int *error)
{
    const sb_reduce_call_t *call = judged->call;
    sb_status_t status;

    judged->combination.blocks = comm->scratch->fold;
    if (SB_UNLIKELY(!is_plain(judged)))
        status = run_stages(comm, algorithm, judged, error);
    else if (SB_UNLIKELY(is_on_device(call)))
        status = run_copied(comm, algorithm, judged, error);
    else
        status = run_plain(comm, algorithm, judged, call->send, call->receive);
    if (SB_LIKELY(*error == MPI_SUCCESS))
        *error = judged->combination.error;
    return SB_UNLIKELY(status == SB_OK && *error != MPI_SUCCESS) ? SB_ERR_DATA : status;
}

bool sb_reduction_serve(sb_comm_t *comm, sb_reduce_call_t *call, int *result)
{
    int error = MPI_SUCCESS;
    judged_t judged;

    sb_fetch_sent(call->out);
    if (SB_UNLIKELY(!judge(comm, call, &judged)))
        return sb_pass(comm, SB_WHY_ARGUMENTS) != NULL;
    const sb_operator_t *operation = judged.combination.operation;
    if (SB_UNLIKELY(operation == NULL))
        return sb_pass(comm, SB_WHY_OPERATOR) != NULL;
    if (SB_UNLIKELY(!sb_has_server(comm)))
        return sb_is_lost(comm, call->collective, result);
    sb_planned_t *planned =
        sb_choose_for(comm, call->collective, judged.bytes, !operation->commutative);
    if (SB_UNLIKELY(planned == NULL))
        return false;
    uint64_t began = sb_clock_if_wanted(comm);
    sb_status_t status = sb_server_failure(&comm->server);
    if (SB_LIKELY(judged.bytes > 0))
        status = sb_make_ready(comm, planned, judged.bytes);
    if (SB_LIKELY(status == SB_OK && judged.bytes > 0))
        status = run(comm, planned->algorithm, &judged, &error);
    return sb_finish(comm, planned->algorithm, judged.bytes, began, (sb_outcome_t){status, error},
                     result);
}
