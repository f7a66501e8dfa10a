/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/parts.h"

#include "mpi/alias.h"
#include "mpi/packer.h"
#include "mpi/serve.h"

#include <stdlib.h>

_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t),
               "large counts and displacements are read as 64 bits");

/* For each side room for as many parts as the communicator has ranks. */
struct sb_parts_room {
    sb_stream_t *send;
    sb_stream_t *receive;
    sb_packer_t *packers; /* for parts that are not contiguous, in the order of their opening */
    size_t open;
    size_t sent; /* bytes of all parts of this call */
    size_t received;
    char *stage; /* what a call in place sends while it receives; NULL: nothing */
};

sb_parts_room_t *sb_parts_room_new(int size)
{
    size_t parts = 2 * (size_t)size;
    sb_parts_room_t *room = malloc(sizeof *room);
    sb_stream_t *streams = calloc(parts, sizeof *streams);
    sb_packer_t *packers = malloc(parts * sizeof *packers);

    if (room == NULL || streams == NULL || packers == NULL) {
        free(room);
        free(streams);
        free(packers);
        return NULL;
    }
    *room = (sb_parts_room_t){.send = streams, .receive = streams + size, .packers = packers};
    return room;
}

void sb_parts_room_free(sb_parts_room_t *room)
{
    if (room == NULL)
        return;
    free(room->send);
    free(room->packers);
    free(room);
}

bool sb_parts_keep(sb_parts_call_t *call, sb_side_t *side, int parts, bool allowed)
{
    side->parts = parts;
    if (side->buffer != MPI_IN_PLACE || parts == 0)
        return true;
    side->parts = 0;
    call->in_place = true;
    return allowed;
}

/* The packed bytes of so many elements. False: the host has to judge them. */
static bool measure(int64_t count, const sb_type_t *type, size_t *bytes)
{
    return count >= 0 && !__builtin_mul_overflow((size_t)count, type->size, bytes) &&
           *bytes <= SB_BYTES_MOST;
}

bool sb_parts_know(sb_parts_call_t *call, const sb_side_t *side)
{
    sb_type_t description;

    return sb_type_describe(side->type, &description) &&
           measure(side->count, &description, &call->known);
}

/* Where a part begins, in bytes from the buffer's address on. */
static uintptr_t place_of(const sb_side_t *side, const sb_type_t *type, int i)
{
    uintptr_t extent = (uintptr_t)type->extent;

    switch (side->kind) {
    case SB_PARTS_EQUAL:
        return (uintptr_t)i * (uintptr_t)side->count * extent;
    case SB_PARTS_VARYING:
        return (uintptr_t)sb_number(&side->places, i) * extent;
    default:
        return (uintptr_t)sb_number(&side->places, i);
    }
}

/* A part of nothing has some address: none would mean that its stream has functions. */
static void set_plain(sb_stream_t *stream, void *address, size_t bytes)
{
    static char nothing;

    stream->base = bytes > 0 ? address : &nothing;
    stream->bytes = bytes;
}

/*
 * Makes the streams of a side and adds up their bytes; without a room it only checks. False: the
 * host has to judge the arguments.
 */
static bool lay_out(const sb_side_t *side, sb_parts_room_t *room, sb_stream_t *streams,
                    MPI_Comm comm, size_t *total)
{
    MPI_Datatype type = side->kind == SB_PARTS_TYPED ? sb_host.datatype_null : side->type;
    sb_type_t description;
    bool described = false;

    *total = 0;
    for (int i = 0; i < side->parts; i++) {
        int64_t count = side->kind == SB_PARTS_EQUAL ? side->count : sb_number(&side->counts, i);
        size_t bytes;

        if (side->kind == SB_PARTS_TYPED && side->types[i] != type) {
            type = side->types[i];
            described = false;
        }
        described = described || sb_type_describe(type, &description);
        if (!described || !measure(count, &description, &bytes))
            return false;
        void *address =
            (void *)((uintptr_t)side->buffer + (bytes > 0 ? place_of(side, &description, i) : 0));
        *total += bytes;
        /* MPI_BOTTOM, with a type of absolute addresses, is no null pointer's misuse. */
        if (*total > SB_BYTES_MOST || (bytes > 0 && address == NULL && description.contiguous))
            return false;
        if (room == NULL)
            continue;
        if (bytes == 0 || description.contiguous)
            set_plain(&streams[i], address, bytes);
        else
            sb_packer_open(&room->packers[room->open++], &streams[i], address, (size_t)count, type,
                           &description, comm);
    }
    return true;
}

/* What can be said of a side at one look. */
static bool is_sound(const sb_side_t *side)
{
    if (side->parts == 0)
        return true;
    if (side->buffer == MPI_IN_PLACE)
        return false;
    if (side->kind == SB_PARTS_EQUAL)
        return true;
    return side->counts.at != NULL && side->places.at != NULL &&
           (side->kind != SB_PARTS_TYPED || side->types != NULL);
}

/* Whether root and buffers can be right; fills what the rules set. Reads no array. */
static bool judge(sb_parts_call_t *call, int rank, int size)
{
    if (call->rules->rooted && (call->root < 0 || call->root >= size))
        return false;
    return call->rules->judge(call, rank, size) && is_sound(&call->send) &&
           is_sound(&call->receive);
}

/* Whether the host raises an error because the buffers are one. */
static bool is_refused(const sb_parts_call_t *call, int rank)
{
    return sb_parts_alias(call, rank) && sb_alias_is_error(call->rules->collective);
}

/* For sb_find_comm. */
static bool is_right(void *context, int rank, int size)
{
    sb_parts_call_t *call = context;
    size_t bytes;

    return judge(call, rank, size) && !is_refused(call, rank) &&
           lay_out(&call->send, NULL, NULL, call->handle, &bytes) &&
           lay_out(&call->receive, NULL, NULL, call->handle, &bytes);
}

static sb_status_t read_nothing(void *context, size_t offset, void *to, size_t bytes)
{
    (void)context;
    (void)offset;
    (void)to;
    (void)bytes;
    return SB_ERR_DATA;
}

/*
 * An all-to-all in place sends what lies where it receives: it goes to a place of its own first. If
 * there is no memory for that the rank still takes part, so that the others are served.
 */
static sb_status_t stage(sb_parts_room_t *room, int parts)
{
    sb_status_t status = SB_OK;
    size_t at = 0;

    room->stage = malloc(room->received);
    for (int i = 0; i < parts; i++) {
        size_t bytes = room->receive[i].bytes;
        if (room->stage == NULL) {
            room->send[i] = (sb_stream_t){.bytes = bytes, .read = read_nothing};
            continue;
        }
        set_plain(&room->send[i], room->stage + at, bytes);
        if (status == SB_OK && bytes > 0)
            status = sb_stream_read(&room->receive[i], 0, room->stage + at, bytes);
        at += bytes;
    }
    return status;
}

static int close_all(sb_parts_room_t *room)
{
    int error = MPI_SUCCESS;

    while (room->open > 0) {
        int one = sb_packer_close(&room->packers[--room->open]);
        error = error == MPI_SUCCESS ? one : error;
    }
    free(room->stage);
    room->stage = NULL;
    return error;
}

/* Whether the buffers may be one: as few looks as there can be, because every call pays for them.
 */
static inline bool may_alias(const sb_parts_call_t *call, const sb_parts_room_t *room, int rank)
{
    int sent = call->send.parts, received = call->receive.parts;

    if (sent == received)
        return call->send.buffer == call->receive.buffer;
    return sent > 0 && received > 0 &&
           room->send[sent > 1 ? rank : 0].base == room->receive[received > 1 ? rank : 0].base;
}

/* False: the host has to judge the arguments. */
static bool open_all(const sb_parts_call_t *call, sb_parts_room_t *room, int rank)
{
    if (lay_out(&call->send, room, room->send, call->handle, &room->sent) &&
        lay_out(&call->receive, room, room->receive, call->handle, &room->received) &&
        (SB_LIKELY(!may_alias(call, room, rank)) || !is_refused(call, rank)))
        return true;
    close_all(room);
    return false;
}

static sb_status_t run(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                       const sb_parts_call_t *call)
{
    sb_parts_room_t *room = comm->room;
    sb_status_t staged = SB_OK;
    sb_parts_t parts = {
        .root = call->rules->rooted ? (uint32_t)call->root : 0,
        .in_place = call->in_place,
        .send = call->send.parts > 0 ? room->send : NULL,
        .receive = call->receive.parts > 0 ? room->receive : NULL,
    };

    if (call->in_place && parts.receive == NULL) {
        parts.receive = &room->send[comm->rank];
    } else if (call->in_place && call->rules->collective < SB_ALLTOALL) {
        parts.send = &room->receive[comm->rank];
    } else if (call->in_place) {
        staged = stage(room, call->receive.parts);
        parts.send = room->send;
    }
    sb_status_t status = algorithm->parts(comm->team, &parts);
    return status == SB_OK ? staged : status;
}

/* Serves the call; SB_ERR_UNSUPPORTED: by agreement of all ranks the host has to. */
static sb_status_t serve(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                         const sb_parts_call_t *call, int *error)
{
    sb_status_t status = comm->team->failure;

    bool nothing = call->rules->regular && call->known == 0;
    if (SB_LIKELY(status == SB_OK && !nothing))
        status = sb_algorithm_prepare(algorithm, comm->team, call->known);
    if (SB_LIKELY(status == SB_OK && !nothing))
        status = run(comm, algorithm, call);
    *error = close_all(comm->room);
    return status == SB_OK && *error != MPI_SUCCESS ? SB_ERR_DATA : status;
}

/* The algorithm; NULL: the host, and the call is counted. */
static const sb_algorithm_t *choose(sb_comm_t *comm, sb_parts_call_t *call)
{
    sb_collective_t collective = call->rules->collective;

    if (SB_UNLIKELY(!judge(call, comm->rank, comm->size))) {
        sb_pass(comm, SB_WHY_ARGUMENTS);
        return NULL;
    }
    bool open = false;
    if (call->rules->counted) {
        open = open_all(call, comm->room, comm->rank);
        call->known = open ? comm->room->received / (size_t)comm->size : 0;
    }
    if (SB_UNLIKELY(call->rules->counted && !open)) {
        sb_pass(comm, SB_WHY_ARGUMENTS);
        return NULL;
    }
    const sb_algorithm_t *algorithm = sb_planned(&comm->plan, collective, call->known)->algorithm;
    if (SB_UNLIKELY(algorithm == NULL)) {
        if (open)
            close_all(comm->room);
        sb_pass(comm, SB_WHY_ALGORITHM);
        return NULL;
    }
    if (SB_UNLIKELY(!open && !open_all(call, comm->room, comm->rank))) {
        sb_pass(comm, SB_WHY_ARGUMENTS);
        return NULL;
    }
    return algorithm;
}

bool sb_parts_serve(sb_parts_call_t *call, int *result)
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
    return sb_finish_call(comm, algorithm, sb_max(comm->room->sent, comm->room->received), began,
                          (sb_outcome_t){status, error}, result);
}
