/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that waits in a collective must still serve the messages that others need from it.
 *
 * usage: progress MEBIBYTES SCENARIO... */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 11, SMALL = 8, LARGE = 3 << 20, DELAY_MS = 30 };

static size_t bytes;
static unsigned char *message;
static unsigned char *payload;

static MPI_Request start_send(void)
{
    MPI_Request request;
    fill(message, bytes, 1);
    CALL(MPI_Isend(message, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    return request;
}

static MPI_Request start_receive(void)
{
    MPI_Request request;
    CALL(MPI_Irecv(message, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    return request;
}

static void receive(void)
{
    sleep_ms(DELAY_MS);
    CALL(MPI_Recv(message, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(mismatch(message, bytes, 1) == bytes, "the message is wrong");
}

static void send(void)
{
    sleep_ms(DELAY_MS);
    fill(message, bytes, 1);
    CALL(MPI_Send(message, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
}

static void barrier(void)
{
    CALL(MPI_Barrier(MPI_COMM_WORLD));
}

static void broadcast(size_t size, int root)
{
    fill(payload, size, rank_of(MPI_COMM_WORLD) == root ? 8 : 9);
    CALL(MPI_Bcast(payload, (int)size, MPI_BYTE, root, MPI_COMM_WORLD));
    CHECK(mismatch(payload, size, 8) == size, "the broadcast is wrong");
}

static void small_from_last(void)
{
    broadcast(SMALL, size_of(MPI_COMM_WORLD) - 1);
}

static void small_from_one(void)
{
    broadcast(SMALL, 1);
}

/* Larger than any ring: the root has to wait for its readers. */
static void large_from_zero(void)
{
    broadcast(LARGE, 0);
}

static void large_from_one(void)
{
    broadcast(LARGE, 1);
}

static const struct {
    const char *name;
    void (*collective)(void);
} COLLECTIVES[] = {
    {"barrier", barrier},
    {"small-from-last", small_from_last},
    {"small-from-one", small_from_one},
    {"large-from-zero", large_from_zero},
    {"large-from-one", large_from_one},
};

/* Rank 0 starts a message and goes into the collective; rank 1 wants the message first. */
static void scenario(MPI_Request (*start)(void), void (*finish)(void), void (*collective)(void))
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank_of(MPI_COMM_WORLD) == 0)
        request = start();
    if (rank_of(MPI_COMM_WORLD) == 1)
        finish();
    collective();
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void run_scenario(const char *name)
{
    for (size_t i = 0; i < sizeof COLLECTIVES / sizeof *COLLECTIVES; i++)
        if (strcmp(name, COLLECTIVES[i].name) == 0) {
            scenario(start_send, receive, COLLECTIVES[i].collective);
            barrier();
            scenario(start_receive, send, COLLECTIVES[i].collective);
            return;
        }
    test_fail(__FILE__, __LINE__, "no scenario %s", name);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    if (size_of(MPI_COMM_WORLD) < 2)
        return test_skip("needs two ranks");
    CHECK(argc > 2, "usage: progress MEBIBYTES SCENARIO...");
    bytes = (size_t)atoi(argv[1]) << 20;
    message = malloc(bytes);
    payload = malloc(LARGE);
    memset(message, 0, bytes);
    /* Set-up of the communicator is over before a scenario begins. */
    barrier();
    small_from_one();
    for (int i = 2; i < argc; i++)
        run_scenario(argv[i]);
    free(message);
    free(payload);
    return test_end();
}
