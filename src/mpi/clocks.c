/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/clocks.h"

#include "machine/machine.h"
#include "mpi/world.h"
#include "segment/process.h"

#include <stdlib.h>

enum { EXCHANGES = 64, TAG = 1 };

static MPI_Comm private_world; /* programs do not see these messages */
static uint64_t *nodes;        /* of each rank; NULL: there is nothing to compare */

static void send_time(uint64_t time, int rank)
{
    sb_host.Send(&time, sizeof time, sb_host.byte, rank, TAG, private_world);
}

static uint64_t receive_time(int rank)
{
    uint64_t time = 0;

    sb_host.Recv(&time, sizeof time, sb_host.byte, rank, TAG, private_world, MPI_STATUS_IGNORE);
    return time;
}

/* Rank 0's side: the other's clock, as the fastest exchange shows it. */
static sb_trace_clock_t compare(int rank)
{
    sb_trace_clock_t best = {.error = UINT64_MAX, .known = 1};

    for (int i = 0; i < EXCHANGES; i++) {
        uint64_t sent = sb_now_ns();
        send_time(sent, rank);
        uint64_t there = receive_time(rank);
        uint64_t took = sb_now_ns() - sent;
        if ((took + 1) / 2 < best.error) {
            best.own = there;
            best.offset = (int64_t)(sent + took / 2 - there);
            best.error = (took + 1) / 2;
        }
    }
    return best;
}

static void answer(void)
{
    for (int i = 0; i < EXCHANGES; i++) {
        receive_time(0);
        send_time(sb_now_ns(), 0);
    }
}

static bool is_first_of_node(int rank)
{
    int first = 0;

    while (nodes[first] != nodes[rank])
        first++;
    return first == rank;
}

static void tell(int rank, const sb_trace_clock_t *clock)
{
    sb_host.Send(clock, sizeof *clock, sb_host.byte, rank, TAG, private_world);
}

static void measure(const sb_trace_header_t *header, sb_trace_clock_t *own)
{
    if (header->rank == 0)
        *own = (sb_trace_clock_t){.own = sb_now_ns(), .known = 1};
    for (int rank = 1; header->rank == 0 && rank < header->size; rank++) {
        if (is_first_of_node(rank)) {
            sb_trace_clock_t clock = compare(rank);
            tell(rank, &clock);
        }
    }
    if (header->rank != 0 && is_first_of_node(header->rank)) {
        answer();
        sb_host.Recv(own, sizeof *own, sb_host.byte, 0, TAG, private_world, MPI_STATUS_IGNORE);
    }
}

static void survey(sb_trace_header_t *header)
{
    uint64_t mine[2] = {header->node, sb_world_key()};
    uint64_t *all = malloc(2 * (size_t)header->size * sizeof *all);

    if (all == NULL || sb_host.Comm_dup(sb_host.comm_world, &private_world) != MPI_SUCCESS)
        abort(); /* the others wait */
    sb_host.Allgather(mine, sizeof mine, sb_host.byte, all, sizeof mine, sb_host.byte,
                      private_world);
    header->world = all[1];
    for (int rank = 0; rank < header->size; rank++)
        all[rank] = all[2 * rank];
    nodes = all;
}

void sb_clocks_begin(sb_trace_header_t *header)
{
    bool is_one_node = header->size == 1 || sb_world_is_one_node();

    header->node = sb_process_node();
    header->world = is_one_node ? sb_world_key() : 0;
    /* Who does not record would be waited for. */
    if (is_one_node || !sb_world_is_traced())
        return;
    survey(header);
    measure(header, &header->clock[0]);
}

void sb_clocks_end(sb_trace_header_t *header)
{
    if (nodes == NULL)
        return;
    measure(header, &header->clock[1]);
    sb_host.Comm_free(&private_world);
    free(nodes);
    nodes = NULL;
}
