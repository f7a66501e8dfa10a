/* SPDX-License-Identifier: BSD-3-Clause */
/* An all-to-all with displacements beyond 2^31 elements, and with counts beyond it where asked for.
 *
 * usage: far [large] */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

typedef int exchange(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);

enum { RANKS = 2 };
static const size_t FAR = (size_t)5 << 29; /* 2.5 GiB */

/* Pages that are never written cost nothing. */
static unsigned char *reserve(void)
{
    void *memory = mmap(NULL, (RANKS + 1) * FAR, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED, "no addresses");
    return memory;
}

static uint64_t seed_of(int from, int to)
{
    return (uint64_t)(from * RANKS + to + 1);
}

/* What arrives from part to part is checked at both of its ends. */
static void run(exchange *alltoallv_c, size_t bytes)
{
    enum { END = 1000 };
    int rank = rank_of(MPI_COMM_WORLD);
    unsigned char *out = reserve(), *in = reserve();
    MPI_Count counts[RANKS];
    MPI_Aint places[RANKS];
    for (int i = 0; i < RANKS; i++) {
        counts[i] = i == rank ? END : (MPI_Count)bytes;
        places[i] = (MPI_Aint)((size_t)(RANKS - 1 - i) * FAR);
        fill(out + places[i], END, seed_of(rank, i));
        fill(out + places[i] + counts[i] - END, END, seed_of(rank, i));
    }
    CALL(alltoallv_c(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD));
    for (int i = 0; i < RANKS; i++) {
        CHECK(mismatch(in + places[i], END, seed_of(i, rank)) == END, "wrong start from %d", i);
        CHECK(mismatch(in + places[i] + counts[i] - END, END, seed_of(i, rank)) == END,
              "wrong end from %d", i);
    }
    munmap(out, (RANKS + 1) * FAR);
    munmap(in, (RANKS + 1) * FAR);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    exchange *alltoallv_c = NULL;
    *(void **)&alltoallv_c = dlsym(RTLD_DEFAULT, "MPI_Alltoallv_c");
    if (alltoallv_c == NULL)
        return test_skip("this MPI has no MPI_Alltoallv_c");
    CHECK(size_of(MPI_COMM_WORLD) == RANKS, "expected %d ranks", RANKS);
    run(alltoallv_c, argc > 1 && strcmp(argv[1], "large") == 0 ? ((size_t)1 << 31) + 12345 : 5000);
    return test_end();
}
