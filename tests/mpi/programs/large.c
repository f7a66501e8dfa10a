/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages beyond 2^31 bytes: many elements of a large type, and a count beyond int.
 *
 * usage: large type|count   (two ranks; about 5 GiB of memory) */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEBIBYTE = 1 << 20, COUNT = 2049, HUGE_PAGE = 2 * MEBIBYTE };
static const size_t BYTES = (size_t)MEBIBYTE * COUNT;

typedef int large_bcast(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);

static void broadcast_type(void *buffer)
{
    MPI_Datatype block;
    CALL(MPI_Type_contiguous(MEBIBYTE, MPI_BYTE, &block));
    CALL(MPI_Type_commit(&block));
    CALL(MPI_Bcast(buffer, COUNT, block, 0, MPI_COMM_WORLD));
    CALL(MPI_Type_free(&block));
}

/* Looked up at run time: some MPIs have it only through a preloaded library. */
static large_bcast *find_large_bcast(void)
{
    large_bcast *function = NULL;
    *(void **)&function = dlsym(RTLD_DEFAULT, "MPI_Bcast_c");
    return function;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    bool by_count = argc > 1 && strcmp(argv[1], "count") == 0;
    large_bcast *bcast_c = find_large_bcast();
    if (by_count && bcast_c == NULL)
        return test_skip("this MPI has no MPI_Bcast_c");
    void *buffer = aligned_alloc(HUGE_PAGE, BYTES + HUGE_PAGE - BYTES % HUGE_PAGE);
    CHECK(buffer != NULL, "no memory for %zu bytes", BYTES);
    madvise(buffer, BYTES, MADV_HUGEPAGE); /* a million small pages take a second to be made */
    if (rank_of(MPI_COMM_WORLD) == 0)
        fill(buffer, BYTES, 1);
    else
        memset(buffer, 0x33, BYTES);
    if (by_count)
        CALL(bcast_c(buffer, (MPI_Count)BYTES, MPI_BYTE, 0, MPI_COMM_WORLD));
    else
        broadcast_type(buffer);
    size_t wrong = mismatch(buffer, BYTES, 1);
    CHECK(wrong == BYTES, "byte %zu of %zu is wrong", wrong, BYTES);
    free(buffer);
    return test_end();
}
