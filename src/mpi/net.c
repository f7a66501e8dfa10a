/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/net.h"

#include "base/compiler.h"
#include "machine/machine.h"
#include "mpi/self.h"

#include <stdlib.h>

/* Bytes that the host is given at once: its counts are ints. */
#define PIECE ((size_t)1 << 30)

/* Requests that are had at a time: a leader's window is a few. */
#define CHUNK 32

struct sb_net_request {
    MPI_Request request; /* of the piece under way */
    char *data;
    size_t left;  /* bytes from the piece under way on */
    size_t moved; /* before it */
    int peer;
    int tag;
    bool live; /* begun, and not over */
    bool receives;
    bool met;               /* a send is done when the receiver is there */
    bool looked_for;        /* from anybody, and nothing has come: the host has no request of it */
    sb_net_request_t *next; /* unused ones */
};

typedef struct sb_wire_chunk {
    struct sb_wire_chunk *next;
    sb_net_request_t request[CHUNK];
} chunk_t;

static bool add_chunk(sb_wire_t *wire)
{
    chunk_t *chunk = malloc(sizeof *chunk);

    if (chunk == NULL)
        return false;
    chunk->next = wire->chunks;
    wire->chunks = chunk;
    for (int i = 0; i < CHUNK; i++) {
        chunk->request[i].live = false;
        chunk->request[i].next = wire->unused;
        wire->unused = &chunk->request[i];
    }
    return true;
}

static sb_net_request_t *take(sb_wire_t *wire)
{
    if (wire->unused == NULL && !add_chunk(wire))
        return NULL;
    sb_net_request_t *request = wire->unused;
    wire->unused = request->next;
    return request;
}

static void give(sb_wire_t *wire, sb_net_request_t *request)
{
    request->live = false;
    request->next = wire->unused;
    wire->unused = request;
}

sb_status_t sb_wire_status(int error)
{
    int class = MPI_ERR_OTHER;

    if (SB_LIKELY(error == MPI_SUCCESS))
        return SB_OK;
    sb_host.Error_class(error, &class);
    if (class == MPI_ERR_TRUNCATE)
        return SB_ERR_TRUNCATE;
    if (class == MPI_SUCCESS)
        return SB_ERR_NETWORK;
    if (class == sb_host.class_proc_failed)
        return SB_ERR_PEER_DEAD;
    return class == sb_host.class_revoked ? SB_ERR_REVOKED : SB_ERR_NETWORK;
}

/* Who is given a whole piece expects another, which may be empty: so both know the last one. */
static int begin_piece(const sb_wire_t *wire, sb_net_request_t *request)
{
    int count = (int)sb_min(request->left, PIECE);

    if (request->receives)
        return sb_host.Irecv(request->data, count, sb_host.byte, request->peer, request->tag,
                             wire->comm, &request->request);
    return (request->met ? sb_host.Issend : sb_host.Isend)(request->data, count, sb_host.byte,
                                                           request->peer, request->tag, wire->comm,
                                                           &request->request);
}

static sb_status_t begin(sb_wire_t *wire, const sb_net_request_t *wanted,
                         sb_net_request_t **request)
{
    *request = take(wire);
    if (*request == NULL)
        return SB_ERR_MEMORY;
    **request = *wanted;
    (*request)->live = true;
    if (wanted->looked_for)
        return SB_OK;
    sb_status_t status = sb_wire_status(begin_piece(wire, *request));
    if (status != SB_OK) {
        give(wire, *request);
        *request = NULL;
    }
    return status;
}

static sb_status_t send(void *context, uint32_t to, uint32_t tag, const void *data, size_t bytes,
                        bool met, sb_net_request_t **request)
{
    return begin(context,
                 &(sb_net_request_t){
                     .data = (char *)(uintptr_t)data,
                     .left = bytes,
                     .peer = (int)to,
                     .tag = (int)tag,
                     .met = met,
                 },
                 request);
}

static sb_status_t receive(void *context, uint32_t from, uint32_t tag, void *data, size_t room,
                           sb_net_request_t **request)
{
    return begin(context,
                 &(sb_net_request_t){
                     .data = data,
                     .left = room,
                     .peer = from == SB_NET_ANY ? MPI_ANY_SOURCE : (int)from,
                     .tag = (int)tag,
                     .receives = true,
                     .looked_for = from == SB_NET_ANY,
                 },
                 request);
}

/*
 * A message from anybody is looked for, and received once it is known from whom it comes. Receives
 * from MPI_ANY_SOURCE are what hosts have trouble with that have one network inside a node and
 * another one outside: in MPICH 5.0 such a request was seen never to complete, although the bytes
 * are there. No other receive on this communicator can take the message.
 */
static sb_status_t look_for(const sb_wire_t *wire, sb_net_request_t *request)
{
    MPI_Status status;
    int found = 0;
    int error = sb_host.Iprobe(MPI_ANY_SOURCE, request->tag, wire->comm, &found, &status);

    if (error != MPI_SUCCESS || !found)
        return sb_wire_status(error);
    request->looked_for = false;
    request->peer = status.MPI_SOURCE;
    return sb_wire_status(begin_piece(wire, request));
}

/* A piece is done: notes it, and begins the next one, if there is one. */
static sb_status_t advance(const sb_wire_t *wire, sb_net_request_t *request,
                           const MPI_Status *status, bool *done)
{
    int count = (int)sb_min(request->left, PIECE);

    if (request->receives) {
        sb_host.Get_count(status, sb_host.byte, &count);
        request->peer = status->MPI_SOURCE;
    }
    request->data += count;
    request->left -= (size_t)count;
    request->moved += (size_t)count;
    *done = (size_t)count < PIECE;
    return *done ? SB_OK : sb_wire_status(begin_piece(wire, request));
}

static sb_status_t test(void *context, sb_net_request_t **request, bool *done, sb_net_news_t *news)
{
    sb_wire_t *wire = context;
    sb_net_request_t *tested = *request;
    MPI_Status status;
    int complete = 0;

    *done = false;
    sb_status_t outcome = tested->looked_for ? look_for(wire, tested) : SB_OK;
    if (outcome == SB_OK && tested->looked_for)
        return SB_OK;
    if (outcome == SB_OK)
        outcome = sb_wire_status(sb_host.Test(&tested->request, &complete, &status));
    if (outcome == SB_OK && complete)
        outcome = advance(wire, tested, &status, done);
    if (outcome == SB_OK && !*done)
        return SB_OK;
    if (*done && tested->receives && news != NULL)
        *news = (sb_net_news_t){(uint32_t)tested->peer, (uint32_t)tested->tag, tested->moved};
    give(wire, tested);
    *request = NULL;
    return outcome;
}

/* --- after a failure ----------------------------------------------------------------------- */

/* Its piece under way is over, and no other follows. */
static bool is_over(sb_net_request_t *request)
{
    MPI_Status status;
    int complete = 0;

    return request->looked_for ||
           sb_host.Test(&request->request, &complete, &status) != MPI_SUCCESS || complete;
}

static bool are_over(void *context)
{
    sb_wire_t *wire = context;
    bool over = true;

    for (chunk_t *chunk = wire->chunks; chunk != NULL; chunk = chunk->next) {
        for (int i = 0; i < CHUNK; i++) {
            sb_net_request_t *request = &chunk->request[i];
            if (request->live && is_over(request))
                give(wire, request);
            over = over && !request->live;
        }
    }
    return over;
}

static void cancel_receives(const sb_wire_t *wire)
{
    for (chunk_t *chunk = wire->chunks; chunk != NULL; chunk = chunk->next) {
        for (int i = 0; i < CHUNK; i++) {
            sb_net_request_t *request = &chunk->request[i];
            if (request->live && request->receives && !request->looked_for)
                sb_host.Cancel(&request->request);
        }
    }
}

/* What is still under way belongs to a rank that does not come. */
static sb_status_t give_up(void *context)
{
    (void)context;
    return SB_ERR_UNSUPPORTED;
}

/*
 * A receive that is cancelled ends by itself, unless its message has begun to come: then with it.
 * Sends cannot be cancelled: those that their receiver has been promised end when it comes, or by
 * the host when it revokes the communicator, by which the other ranks too learn of the failure.
 */
static bool drop(void *context)
{
    static const sb_waiter_t waiter = {
        .yield = 1, .check = give_up, .check_every_ns = SB_NET_PATIENCE};
    sb_wire_t *wire = context;

    if (sb_host.revoke != NULL && sb_host_revokes())
        sb_host.revoke(wire->comm);
    cancel_receives(wire);
    return sb_wait_for(are_over, wire, &waiter) == SB_OK;
}

bool sb_wire_open(sb_wire_t *wire, MPI_Comm users)
{
    MPI_Errhandler handler;

    *wire = (sb_wire_t){.comm = sb_host.comm_null};
    if (sb_host.Comm_get_errhandler(users, &handler) != MPI_SUCCESS)
        return false;
    sb_return_errors(users);
    wire->comm = sb_host_comm_like(users);
    sb_host.Comm_set_errhandler(users, handler);
    sb_host.Errhandler_free(&handler);
    return wire->comm != sb_host.comm_null && sb_return_errors(wire->comm) && add_chunk(wire);
}

void sb_wire_close(sb_wire_t *wire)
{
    if (wire->comm != sb_host.comm_null)
        sb_host.Comm_free(&wire->comm);
    while (wire->chunks != NULL) {
        chunk_t *next = wire->chunks->next;
        free(wire->chunks);
        wire->chunks = next;
    }
}

sb_net_t sb_wire_net(sb_wire_t *wire, int rank, int ranks)
{
    return (sb_net_t){.context = wire,
                      .rank = (uint32_t)rank,
                      .ranks = (uint32_t)ranks,
                      .send = send,
                      .receive = receive,
                      .test = test,
                      .drop = drop};
}
