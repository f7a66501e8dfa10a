/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/vector.h"

#include "mpi/device.h"
#include "mpi/self.h"
#include "mpi/serve.h"

#include <stdlib.h>

/* The derived type that the call has looked at last. */
typedef struct looked {
    bool known;
    MPI_Datatype type;
    sb_type_t is;
} looked_t;

/* Of a derived type the host is asked, which takes a good part of a short call: once for all looks
 * at the same one. */
static const sb_type_t *look_at(sb_comm_t *comm, looked_t *looked, MPI_Datatype type)
{
    if (looked->known && looked->type == type)
        return &looked->is;
    const sb_type_t *is = sb_other_type(comm, type, &looked->is);
    if (is == NULL || is == &looked->is) {
        looked->known = is != NULL;
        looked->type = type;
    }
    return is;
}

/* As sb_type_of. */
static inline const sb_type_t *type_of(sb_comm_t *comm, looked_t *looked, MPI_Datatype type)
{
    return SB_LIKELY(comm->type == type && comm->type_is != NULL) ? comm->type_is
                                                                  : look_at(comm, looked, type);
}

/* Where a part begins, in bytes from the buffer's address on. */
static uintptr_t place_of(const sb_side_t *side, const sb_type_t *type, int i)
{
    uintptr_t place = (uintptr_t)sb_number(&side->places, i);

    return side->kind == SB_BLOCKS_VARYING ? place * (uintptr_t)type->extent : place;
}

/* A part of nothing has some address: none would mean that its stream has functions. */
static void set_plain(sb_stream_t *stream, void *address, size_t bytes)
{
    static char nothing;

    stream->base = bytes > 0 ? address : &nothing;
    stream->bytes = bytes;
}

/* Opens the next packer. Most often the one before has the same type: then it holds the layout for
 * both, for they are closed backwards. */
static void open_packer(sb_comm_t *comm, sb_stream_t *stream, void *address, int64_t count,
                        MPI_Datatype type, const sb_type_t *is)
{
    sb_packer_t *packer = &comm->scratch->packers[comm->scratch->open++];
    bool held = comm->scratch->open > 1 && packer[-1].view.layout == is->layout;

    (held ? sb_packer_open_beside : sb_packer_open)(packer, stream, address, (size_t)count, type,
                                                    is, comm->comm);
}

/* Opens the stream of one block. */
static void open_block(sb_comm_t *comm, sb_stream_t *stream, void *address, int64_t count,
                       MPI_Datatype type, const sb_type_t *is)
{
    size_t bytes = (size_t)count * is->size;

    if (bytes == 0 || (is->contiguous && !SB_DEVICE_HOLDS(address)))
        set_plain(stream, address, bytes);
    else
        open_packer(comm, stream, address, count, type, is);
}

/* A side of blocks of so many bytes, which are of one piece, one behind the other. */
static inline size_t open_row(const sb_side_t *side, sb_stream_t *streams, size_t bytes)
{
    char *at = side->buffer;

    for (int i = 0; i < side->blocks; i++, at += bytes)
        set_plain(&streams[i], at, bytes);
    return (size_t)side->blocks * bytes;
}

/* lay_out() of equal blocks: what holds for one holds for all. */
static bool lay_out_equal(sb_comm_t *comm, looked_t *looked, const sb_side_t *side,
                          sb_stream_t *streams, size_t *total)
{
    const sb_type_t *is = type_of(comm, looked, side->type);
    size_t bytes;

    if (is == NULL || !sb_message_bytes(side->count, is->size, &bytes) ||
        !sb_message_bytes(side->blocks, bytes, total) ||
        (bytes > 0 && side->buffer == NULL && sb_type_begins_at_buffer(side->type, is)))
        return false;
    if (streams == NULL)
        return true;
    if (SB_LIKELY(is->contiguous && !SB_DEVICE_HOLDS(side->buffer))) {
        open_row(side, streams, bytes);
        return true;
    }
    uintptr_t stride = (uintptr_t)side->count * (uintptr_t)is->extent;
    for (int i = 0; i < side->blocks; i++)
        open_block(comm, &streams[i], (void *)((uintptr_t)side->buffer + (uintptr_t)i * stride),
                   side->count, side->type, is);
    return true;
}

/* Opens the blocks of a side as `streams`, unless that is NULL, and adds up their bytes. False: the
 * host judges. Where it lets anything pass for a type of nothing, none that is new is looked at. */
static bool lay_out(sb_comm_t *comm, looked_t *looked, const sb_side_t *side, sb_stream_t *streams,
                    size_t *total)
{
    MPI_Datatype type = side->kind == SB_BLOCKS_TYPED ? sb_host.datatype_null : side->type;
    const sb_type_t *is = NULL;
    sb_type_t room;

    *total = 0;
    if (side->kind == SB_BLOCKS_EQUAL)
        return side->blocks == 0 || lay_out_equal(comm, looked, side, streams, total);
    for (int i = 0; i < side->blocks; i++) {
        int64_t count = sb_number(&side->counts, i);
        bool none = side->kind == SB_BLOCKS_TYPED && count == 0;
        size_t bytes;

        if (side->kind == SB_BLOCKS_TYPED && side->types[i] != type) {
            type = side->types[i];
            is = NULL;
        }
        is = is == NULL && none ? sb_known_type(comm, type, &room) : is;
        if (is == NULL && none && sb_nothing_passes(SB_ALLTOALLW, NULL, type)) {
            if (streams != NULL)
                set_plain(&streams[i], NULL, 0);
            continue;
        }
        is = is == NULL ? type_of(comm, looked, type) : is;
        if (is == NULL || !sb_message_bytes(count, is->size, &bytes))
            return false;
        void *address = (void *)((uintptr_t)side->buffer + (bytes > 0 ? place_of(side, is, i) : 0));
        *total += bytes;
        if (*total > SB_BYTES_MOST ||
            (bytes > 0 && address == NULL && sb_type_begins_at_buffer(type, is)))
            return false;
        if (streams != NULL)
            open_block(comm, &streams[i], address, count, type, is);
    }
    return true;
}

/* What can be said of a side at one look. */
static bool is_sound(const sb_side_t *side)
{
    if (side->blocks == 0)
        return true;
    if (side->buffer == MPI_IN_PLACE)
        return false;
    if (side->kind == SB_BLOCKS_EQUAL)
        return true;
    return side->counts.at != NULL && side->places.at != NULL &&
           (side->kind != SB_BLOCKS_TYPED || side->types != NULL);
}

/*
 * Which blocks count at this rank. `here`: whether those for all ranks do. MPI_IN_PLACE stands for
 * the side of fewer blocks, or for what is sent. Returns false if it stands where it may not.
 */
static bool count_blocks(sb_vector_call_t *call, int ranks, bool here)
{
    sb_side_t *fewer = call->receive.all ? &call->send : &call->receive;
    int all = here ? ranks : 0;

    call->send.blocks = call->send.all ? all : 1;
    call->receive.blocks = call->receive.all ? all : 1;
    call->in_place = fewer->blocks > 0 && fewer->buffer == MPI_IN_PLACE;
    if (call->in_place)
        fewer->blocks = 0;
    return here || !call->in_place;
}

/* All blocks are of one size, which all members know. */
static bool is_regular(const sb_vector_call_t *call)
{
    return call->send.kind == SB_BLOCKS_EQUAL && call->receive.kind == SB_BLOCKS_EQUAL;
}

/* One block's packed bytes, of a regular call: as the side of more blocks has them, which counts
 * at every rank where it is the only one, and at the root. */
static bool know(sb_vector_call_t *call, sb_comm_t *comm, looked_t *looked)
{
    const sb_side_t *side = call->send.blocks > call->receive.blocks ? &call->send : &call->receive;
    const sb_type_t *is = type_of(comm, looked, side->type);

    return is != NULL && sb_message_bytes(side->count, is->size, &call->known);
}

/* Whether root and buffers can be right; fills what follows from them. Reads no array. */
static bool judge(sb_vector_call_t *call, sb_comm_t *comm, looked_t *looked)
{
    if (call->root < 0 || call->root >= comm->size)
        return false;
    return count_blocks(call, comm->size, !call->rooted || comm->rank == call->root) &&
           is_sound(&call->send) && is_sound(&call->receive) &&
           (!is_regular(call) || know(call, comm, looked));
}

/* ---- buffers that are one ---- */

/* Whether the host raises an error because the buffers are one. */
static bool is_refused(const sb_vector_call_t *call, int rank)
{
    return sb_sides_are_one(call, rank) && sb_alias_is_error(call->collective, 1);
}

/* Whether they may be one: as few looks as there can be, because every call pays for them. */
static inline bool may_alias(const sb_vector_call_t *call, const sb_scratch_t *scratch, int rank)
{
    int sent = call->send.blocks, received = call->receive.blocks;

    if (sent == received)
        return call->send.buffer == call->receive.buffer;
    return sent > 0 && received > 0 &&
           scratch->send[sent > 1 ? rank : 0].base ==
               scratch->receive[received > 1 ? rank : 0].base;
}

/* ---- the call ---- */

/* All that can be wrong at this rank, before it asks the others for the first time. */
static bool is_right(sb_comm_t *comm, looked_t *looked, const sb_vector_call_t *call)
{
    size_t bytes;

    return !is_refused(call, comm->rank) && lay_out(comm, looked, &call->send, NULL, &bytes) &&
           lay_out(comm, looked, &call->receive, NULL, &bytes);
}

static sb_status_t read_nothing(void *context, size_t offset, void *to, size_t bytes)
{
    (void)context;
    (void)offset;
    (void)to;
    (void)bytes;
    return SB_ERR_DATA;
}

/* Whether the algorithm, with this rank's blocks, needs no other place for what is sent. */
static bool swaps(const sb_comm_t *comm, const sb_algorithm_t *algorithm, int parts)
{
    return comm->server.team != NULL && algorithm->swaps && comm->scratch->open == 0 && parts > 0;
}

/*
 * An all-to-all in place sends what lies where it receives: where it cannot be sent from there it
 * goes to a place of its own first. If there is no memory for that the rank still takes part, so
 * that the others are served.
 */
static sb_status_t stage(sb_scratch_t *scratch, int parts)
{
    sb_status_t status = SB_OK;
    size_t at = 0;

    scratch->copy = malloc(scratch->received);
    for (int i = 0; i < parts; i++) {
        size_t bytes = scratch->receive[i].bytes;
        if (scratch->copy == NULL) {
            scratch->send[i] = (sb_stream_t){.bytes = bytes, .read = read_nothing};
            continue;
        }
        set_plain(&scratch->send[i], scratch->copy + at, bytes);
        if (status == SB_OK && bytes > 0)
            status = sb_stream_read(&scratch->receive[i], 0, scratch->copy + at, bytes);
        at += bytes;
    }
    return status;
}

static int close_opened(sb_scratch_t *scratch)
{
    int error = MPI_SUCCESS;

    while (scratch->open > 0) {
        int one = sb_packer_close(&scratch->packers[--scratch->open]);
        error = error == MPI_SUCCESS ? one : error;
    }
    free(scratch->copy);
    scratch->copy = NULL;
    return error;
}

static inline int close_all(sb_scratch_t *scratch)
{
    bool opened = scratch->open > 0 || scratch->copy != NULL;

    return SB_UNLIKELY(opened) ? close_opened(scratch) : MPI_SUCCESS;
}

/* No sum of so many elements of a predefined type for each block is beyond all bounds. */
#define PLAIN_MOST ((uint64_t)1 << 28)

/* Blocks of differing lengths and places, of one piece each, of the type. */
SB_INLINED bool open_varying(const sb_side_t *side, const sb_type_t *is, sb_stream_t *streams,
                             size_t *total)
{
    size_t sum = 0;

    for (int i = 0; i < side->blocks; i++) {
        uint64_t count = (uint64_t)sb_number(&side->counts, i);
        size_t bytes = (size_t)count * is->size;
        uintptr_t address = (uintptr_t)side->buffer + (bytes > 0 ? place_of(side, is, i) : 0);
        if (count > PLAIN_MOST || (bytes > 0 && address == 0))
            return false;
        set_plain(&streams[i], (void *)address, bytes);
        sum += bytes;
    }
    *total = sum;
    return true;
}

/* What most sides are: blocks of one predefined type, that of the last call, which are of one piece
 * each. False: it is to be looked at more closely. */
SB_INLINED bool open_plain(const sb_comm_t *comm, const sb_side_t *side, sb_stream_t *streams,
                           size_t *total)
{
    const sb_type_t *is = comm->type_is;

    *total = 0;
    if (side->blocks == 0)
        return true;
    if (side->type != comm->type || is == NULL || !is->contiguous || side->buffer == NULL ||
        SB_DEVICE_HOLDS(side->buffer))
        return false;
    if (side->kind != SB_BLOCKS_EQUAL)
        return side->kind == SB_BLOCKS_VARYING && open_varying(side, is, streams, total);
    if ((uint64_t)side->count > PLAIN_MOST)
        return false;
    *total = open_row(side, streams, (size_t)side->count * is->size);
    return true;
}

SB_INLINED bool open_side(sb_comm_t *comm, looked_t *looked, const sb_side_t *side,
                          sb_stream_t *streams, size_t *total)
{
    return SB_LIKELY(open_plain(comm, side, streams, total)) ||
           lay_out(comm, looked, side, streams, total);
}

/* False: the host has to judge the arguments. */
static bool open_all(sb_comm_t *comm, looked_t *looked, const sb_vector_call_t *call)
{
    sb_scratch_t *scratch = comm->scratch;

    if (open_side(comm, looked, &call->send, scratch->send, &scratch->sent) &&
        open_side(comm, looked, &call->receive, scratch->receive, &scratch->received) &&
        (SB_LIKELY(!may_alias(call, scratch, comm->rank)) || !is_refused(call, comm->rank)))
        return true;
    close_all(scratch);
    return false;
}

static sb_status_t run(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                       const sb_vector_call_t *call)
{
    sb_scratch_t *scratch = comm->scratch;
    sb_status_t staged = SB_OK;
    sb_parts_t parts = {
        .root = (uint32_t)call->root,
        .in_place = call->in_place,
        .send = call->send.blocks > 0 ? scratch->send : NULL,
        .receive = call->receive.blocks > 0 ? scratch->receive : NULL,
    };

    if (call->in_place && parts.receive == NULL) {
        parts.receive = &scratch->send[comm->rank];
    } else if (call->in_place && call->collective < SB_ALLTOALL) {
        parts.send = &scratch->receive[comm->rank];
    } else if (call->in_place && swaps(comm, algorithm, call->receive.blocks)) {
        parts.send = scratch->receive;
    } else if (call->in_place) {
        staged = stage(scratch, call->receive.blocks);
        parts.send = scratch->send;
    }
    sb_status_t status = sb_server_parts(&comm->server, algorithm, &parts);
    return status == SB_OK ? staged : status;
}

/*
 * The choice, with the call's blocks open; NULL: the host, and the call is counted. Where it is
 * wrong at this rank alone the others may make no such call: so it is judged before a trial counts
 * it.
 */
static sb_planned_t *choose(sb_comm_t *comm, looked_t *looked, sb_vector_call_t *call)
{
    if (SB_UNLIKELY(!open_all(comm, looked, call)))
        return sb_pass(comm, SB_WHY_ARGUMENTS);
    /* Here all members are given the sizes of all blocks. */
    if (call->collective == SB_ALLGATHERV)
        call->known = comm->scratch->received / (size_t)comm->size;
    sb_planned_t *planned = sb_choose_moving(comm, call->collective, call->known);
    if (SB_UNLIKELY(planned == NULL))
        close_all(comm->scratch);
    return planned;
}

bool sb_vector_serve(sb_comm_t *comm, sb_vector_call_t *call, int *result)
{
    looked_t looked;

    looked.known = false;
    sb_fetch_sent(sb_vector_sends(call, comm->rank) ? call->send.buffer : MPI_IN_PLACE);
    if (SB_UNLIKELY(!judge(call, comm, &looked) ||
                    (!sb_server_exists(&comm->server) && !is_right(comm, &looked, call))))
        return sb_pass(comm, SB_WHY_ARGUMENTS) != NULL;
    if (SB_UNLIKELY(!sb_has_server(comm)))
        return sb_is_lost(comm, call->collective, result);
    sb_planned_t *planned = choose(comm, &looked, call);
    if (SB_UNLIKELY(planned == NULL))
        return false;
    uint64_t began = sb_clock_if_wanted(comm);
    bool nothing = is_regular(call) && call->known == 0;
    sb_status_t status = SB_UNLIKELY(nothing) ? sb_server_failure(&comm->server)
                                              : sb_make_ready(comm, planned, call->known);
    if (SB_LIKELY(status == SB_OK && !nothing))
        status = run(comm, planned->algorithm, call);
    int error = close_all(comm->scratch);
    if (SB_UNLIKELY(status == SB_OK && error != MPI_SUCCESS))
        status = SB_ERR_DATA;
    return sb_finish(comm, planned->algorithm, sb_max(comm->scratch->sent, comm->scratch->received),
                     began, (sb_outcome_t){status, error}, result);
}
