/* SPDX-License-Identifier: BSD-3-Clause */
/* Equal blocks and counted ones that lie beyond 4 GiB by the extent of their type alone: 5 GiB of
 * addresses for each block, and hardly any memory. */
#define _GNU_SOURCE
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RANKS = 2, BYTES = 3000, COLLECTIVES = 8 };
static const size_t EXTENT = (size_t)5 << 30;

static const char *const names[COLLECTIVES] = {"scatter",    "gather",    "allgather", "alltoall",
                                               "allgatherv", "alltoallv", "scatterv",  "gatherv"};

/* Pages that are never written cost nothing. */
static unsigned char *reserve(void)
{
    void *memory = mmap(NULL, RANKS * EXTENT, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED, "no addresses");
    return memory;
}

static uint64_t seed_of(int which, int from, int to)
{
    return (uint64_t)(which * 100 + from * RANKS + to + 1);
}

static void call(int which, unsigned char *out, unsigned char *in, MPI_Datatype far)
{
    const int counts[RANKS] = {1, 1}, places[RANKS] = {1, 0}, root = 1;
    MPI_Comm world = MPI_COMM_WORLD;
    switch (which) {
    case 0:
        CALL(MPI_Scatter(out, 1, far, in, BYTES, MPI_BYTE, root, world));
        break;
    case 1:
        CALL(MPI_Gather(out, BYTES, MPI_BYTE, in, 1, far, root, world));
        break;
    case 2:
        CALL(MPI_Allgather(out, BYTES, MPI_BYTE, in, 1, far, world));
        break;
    case 3:
        CALL(MPI_Alltoall(out, 1, far, in, 1, far, world));
        break;
    case 4:
        CALL(MPI_Allgatherv(out, BYTES, MPI_BYTE, in, counts, places, far, world));
        break;
    case 5:
        CALL(MPI_Alltoallv(out, counts, places, far, in, counts, places, far, world));
        break;
    case 6:
        CALL(MPI_Scatterv(out, counts, places, far, in, BYTES, MPI_BYTE, root, world));
        break;
    default:
        CALL(MPI_Gatherv(out, BYTES, MPI_BYTE, in, counts, places, far, root, world));
    }
}

/* Where the block of a rank lies: the counted ones in reverse. */
static size_t place_of(int which, int i)
{
    return (size_t)(which >= 4 ? RANKS - 1 - i : i) * EXTENT;
}

static void run(int which, MPI_Datatype far)
{
    const int root = 1, rank = rank_of(MPI_COMM_WORLD);
    const char *name = names[which];
    bool deals = strncmp(name, "scatter", 7) == 0, exchanges = strncmp(name, "alltoall", 8) == 0;
    bool collects = strncmp(name, "gather", 6) == 0;
    unsigned char *out = reserve(), *in = reserve();
    for (int i = 0; i < RANKS; i++)
        fill(out + (deals || exchanges ? place_of(which, i) : 0), BYTES,
             seed_of(which, rank, deals || exchanges ? i : 0));
    call(which, out, in, far);
    for (int i = 0; i < RANKS; i++) {
        int from = deals ? root : i, to = deals || exchanges ? rank : 0;
        size_t place = deals ? 0 : place_of(which, i);
        if (!collects || rank == root)
            CHECK(mismatch(in + place, BYTES, seed_of(which, from, to)) == BYTES,
                  "%s: wrong data from %d", name, from);
    }
    munmap(out, RANKS * EXTENT);
    munmap(in, RANKS * EXTENT);
}

int main(int argc, char **argv)
{
    MPI_Datatype far;
    test_begin(&argc, &argv);
    CHECK(size_of(MPI_COMM_WORLD) == RANKS, "expected %d ranks", RANKS);
    MPI_Datatype bytes;
    CALL(MPI_Type_contiguous(BYTES, MPI_BYTE, &bytes));
    CALL(MPI_Type_create_resized(bytes, 0, (MPI_Aint)EXTENT, &far));
    CALL(MPI_Type_commit(&far));
    for (int which = 0; which < COLLECTIVES; which++)
        run(which, far);
    CALL(MPI_Type_free(&bytes));
    CALL(MPI_Type_free(&far));
    return test_end();
}
