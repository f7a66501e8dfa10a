/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/packer.h"

#include "mpi/device.h"
#include "mpi/self.h"

#include <limits.h>
#include <stdlib.h>

/* What the host packs at a time: large enough to be worth the call, small enough to stay in cache.
 */
#define STAGE_BYTES ((size_t)64 << 10)

static char *element(const sb_packer_t *packer, size_t index)
{
    return (char *)((uintptr_t)packer->view.base + index * (uintptr_t)packer->view.extent);
}

/* An element of more than 2^31 bytes is beyond MPI_Pack: it is sent to this rank itself. */
static int send_to_self(void *from, MPI_Datatype from_type, void *to, MPI_Datatype to_type)
{
    MPI_Comm self = sb_private_self_take();

    if (self == sb_host.comm_null)
        return MPI_ERR_TYPE;
    int error =
        sb_host.Sendrecv(from, 1, from_type, 0, 1, to, 1, to_type, 0, 1, self, MPI_STATUS_IGNORE);
    sb_private_self_give();
    return error;
}

static int convert_huge(sb_packer_t *packer, char *user, char *stage, bool pack)
{
    MPI_Datatype bytes_type;
    int error = sb_make_large_type((MPI_Count)packer->size, sb_host.byte, &bytes_type);

    if (error != MPI_SUCCESS)
        return error;
    error = pack ? send_to_self(user, packer->type, stage, bytes_type)
                 : send_to_self(stage, bytes_type, user, packer->type);
    sb_host.Type_free(&bytes_type);
    return error;
}

/* Moves `elements` elements from the one with this index on between the user's memory and `stage`.
 */
static sb_status_t convert(sb_packer_t *packer, size_t index, size_t elements, char *stage,
                           bool pack)
{
    char *user = element(packer, index);
    int bytes = (int)(elements * packer->size), position = 0, error;

    if (packer->size > INT_MAX)
        error = convert_huge(packer, user, stage, pack);
    else if (pack)
        error =
            sb_host.Pack(user, (int)elements, packer->type, stage, bytes, &position, packer->comm);
    else
        error = sb_host.Unpack(stage, bytes, &position, user, (int)elements, packer->type,
                               packer->comm);
    if (error == MPI_SUCCESS)
        return SB_OK;
    packer->error = error;
    return SB_ERR_DATA;
}

static sb_status_t read_packed(void *context, size_t offset, void *to, size_t bytes)
{
    sb_packer_t *packer = context;

    if (packer->error != MPI_SUCCESS)
        return SB_ERR_DATA;
    for (size_t some; bytes > 0; offset += some, bytes -= some) {
        size_t index = offset / packer->size;
        if (index < packer->first || index >= packer->first + packer->held) {
            packer->first = index;
            packer->held = sb_min(packer->room, packer->view.count - index);
            sb_status_t status = convert(packer, index, packer->held, packer->stage, true);
            if (status != SB_OK)
                return status;
        }
        size_t from = offset - packer->first * packer->size;
        some = sb_min(bytes, packer->held * packer->size - from);
        sb_copy(to, packer->stage + from, some);
        to = (char *)to + some;
    }
    return SB_OK;
}

/*
 * Fills what the stage lacks of an element that has not come whole with what is in the user's
 * memory, so that unpacking it changes nothing there.
 */
static sb_status_t complete(sb_packer_t *packer, size_t place)
{
    size_t low = place * packer->size, high = low + packer->size;
    char *present = malloc(packer->size);

    if (present == NULL) {
        packer->error = MPI_ERR_NO_MEM;
        return SB_ERR_DATA;
    }
    sb_status_t status = convert(packer, packer->first + place, 1, present, true);
    if (status == SB_OK && low < packer->begin)
        sb_copy(packer->stage + low, present, packer->begin - low);
    if (status == SB_OK && packer->end < high)
        sb_copy(packer->stage + packer->end, present + (packer->end - low), high - packer->end);
    free(present);
    return status;
}

/* Unpacks what is new in the stage. */
static sb_status_t flush(sb_packer_t *packer)
{
    size_t size = packer->size, low = packer->begin / size, high = sb_divide_up(packer->end, size);
    sb_status_t status = SB_OK;

    if (packer->begin == packer->end)
        return SB_OK;
    if (packer->begin % size != 0)
        status = complete(packer, low);
    if (status == SB_OK && packer->end % size != 0 &&
        (high - 1 != low || packer->begin % size == 0))
        status = complete(packer, high - 1);
    if (status == SB_OK)
        status =
            convert(packer, packer->first + low, high - low, packer->stage + low * size, false);
    packer->begin = packer->end = 0;
    return status;
}

/* Prepares the stage for bytes that come at `offset`. */
static sb_status_t turn_to(sb_packer_t *packer, size_t offset)
{
    size_t room = packer->room * packer->size, behind = packer->first * packer->size + packer->end;
    sb_status_t status = SB_OK;

    if (packer->begin < packer->end && offset == behind && packer->end < room)
        return SB_OK;
    status = flush(packer);
    packer->first = offset / packer->size;
    packer->begin = packer->end = offset % packer->size;
    return status;
}

static sb_status_t write_packed(void *context, size_t offset, const void *from, size_t bytes)
{
    sb_packer_t *packer = context;
    size_t all = packer->view.count * packer->size;

    if (packer->error != MPI_SUCCESS)
        return SB_ERR_DATA;
    for (size_t some; bytes > 0; offset += some, bytes -= some) {
        sb_status_t status = turn_to(packer, offset);
        if (status != SB_OK)
            return status;
        some = sb_min(bytes, packer->room * packer->size - packer->end);
        sb_copy(packer->stage + packer->end, from, some);
        packer->end += some;
        from = (const char *)from + some;
        if (packer->end == packer->room * packer->size || offset + some == all)
            status = flush(packer);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

/*
 * MPI_BOTTOM is a null pointer, which some hosts do not take for packing. The same places are
 * reached from another address by a type that leads back.
 */
static int move_origin(sb_packer_t *packer)
{
    int length = 1;
    MPI_Aint back = -(MPI_Aint)(uintptr_t)packer;
    MPI_Datatype moved;
    int error = sb_host.Type_create_struct(1, &length, &back, &packer->type, &moved);

    if (error == MPI_SUCCESS)
        error = sb_host.Type_commit(&moved);
    if (error != MPI_SUCCESS)
        return error;
    packer->view.base = packer;
    packer->type = moved;
    packer->moved = true;
    return MPI_SUCCESS;
}

static sb_status_t read_view(void *context, size_t offset, void *to, size_t bytes)
{
    const sb_packer_t *packer = context;

    sb_view_pack(&packer->view, offset, to, bytes);
    return SB_OK;
}

static sb_status_t write_view(void *context, size_t offset, const void *from, size_t bytes)
{
    const sb_packer_t *packer = context;

    sb_view_unpack(&packer->view, offset, from, bytes);
    return SB_OK;
}

static void open_host(sb_packer_t *packer, MPI_Datatype type, MPI_Comm comm)
{
    packer->type = type;
    packer->comm = comm;
    packer->room = sb_min(sb_max(STAGE_BYTES / packer->size, 1), packer->view.count);
    packer->stage = malloc(packer->room * packer->size);
    packer->error = packer->stage == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (packer->view.base == NULL && packer->error == MPI_SUCCESS)
        packer->error = move_origin(packer);
}

void sb_packer_open_beside(sb_packer_t *packer, sb_stream_t *stream, void *buffer, size_t count,
                           MPI_Datatype type, const sb_type_t *description, MPI_Comm comm)
{
    /* What is not the processor's to read the host packs. */
    const sb_layout_t *layout = SB_DEVICE_HOLDS(buffer) ? NULL : description->layout;

    *packer = (sb_packer_t){
        .view = {buffer, count, description->extent, layout},
        .size = description->size,
        .error = MPI_SUCCESS,
    };
    *stream = (sb_stream_t){.bytes = count * description->size, .context = packer};
    if (layout == NULL) {
        open_host(packer, type, comm);
        stream->read = read_packed;
        stream->write = write_packed;
        return;
    }
    stream->base = sb_view_plain(&packer->view);
    stream->read = read_view;
    stream->write = write_view;
}

void sb_packer_open(sb_packer_t *packer, sb_stream_t *stream, void *buffer, size_t count,
                    MPI_Datatype type, const sb_type_t *description, MPI_Comm comm)
{
    sb_packer_open_beside(packer, stream, buffer, count, type, description, comm);
    /* Another thread may free the type once this call has begun. */
    if (packer->view.layout != NULL && !description->permanent)
        packer->hold = sb_layout_hold(description->layout);
}

int sb_packer_close(sb_packer_t *packer)
{
    if (packer->view.layout == NULL && packer->error == MPI_SUCCESS)
        flush(packer);
    sb_layout_release(packer->hold);
    free(packer->stage);
    if (packer->moved)
        sb_host.Type_free(&packer->type);
    return packer->error;
}
