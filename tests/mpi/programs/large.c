/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages beyond 2^31 bytes: many elements of a large type, and a count beyond int.
 *
 * usage: large type|count|both [whole]   (two ranks; about 3 GiB of memory, 5 GiB with "whole")
 *
 * The root sends the same pages over and over: a machine's hypervisor may take seconds to find as
 * much memory again as is received. What comes from a wrong place is wrong all the same, unless
 * that is a multiple of their bytes away, an odd number of pages. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, COUNT = 2049, HUGE_PAGE = 2 * MEBIBYTE, PAGES = 15331, PAGE = 4096 };
static const size_t BYTES = (size_t)MEBIBYTE * COUNT, PERIOD = (size_t)PAGES * PAGE;

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

/* Bytes from one that begins a period to its end, or that of the message. */
static size_t period_at(size_t at)
{
    return BYTES - at < PERIOD ? BYTES - at : PERIOD;
}

static void *own_pages(void)
{
    void *buffer = aligned_alloc(HUGE_PAGE, BYTES + HUGE_PAGE - BYTES % HUGE_PAGE);
    CHECK(buffer != NULL, "no memory for %zu bytes", BYTES);
    madvise(buffer, BYTES, MADV_HUGEPAGE); /* a million small pages take a second to be made */
    return buffer;
}

/* Room for all bytes, every period of it the same memory. */
static void *same_pages(void)
{
    int file = memfd_create("period", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, (off_t)PERIOD) == 0, "no memory for %zu bytes", PERIOD);
    char *buffer = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(buffer != MAP_FAILED, "no room for %zu bytes", BYTES);
    for (size_t at = 0; at < BYTES; at += PERIOD)
        CHECK(mmap(buffer + at, period_at(at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                   0) == buffer + at,
              "the memory is not mapped again at %zu", at);
    close(file);
    return buffer;
}

/* By a count if there is a function for it, else by a type. */
static void broadcast(void *buffer, large_bcast *by_count, bool root, bool whole)
{
    if (!root)
        memset(buffer, 0x33, BYTES);
    if (by_count != NULL)
        CALL(by_count(buffer, (MPI_Count)BYTES, MPI_BYTE, 0, MPI_COMM_WORLD));
    else
        broadcast_type(buffer);
    for (size_t at = 0; at < BYTES; at += PERIOD) {
        size_t wrong = mismatch((char *)buffer + at, period_at(at), whole ? 1 + at : 1);
        CHECK(wrong == period_at(at), "byte %zu of %zu is wrong", at + wrong, BYTES);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "type";
    bool by_count = strcmp(how, "type") != 0, by_type = strcmp(how, "count") != 0;
    large_bcast *bcast_c = find_large_bcast();
    if (by_count && bcast_c == NULL)
        return test_skip("this MPI has no MPI_Bcast_c");
    bool root = rank_of(MPI_COMM_WORLD) == 0, whole = argc > 2 && strcmp(argv[2], "whole") == 0;
    void *buffer = root && !whole ? same_pages() : own_pages();
    for (size_t at = 0; root && at < (whole ? BYTES : PERIOD); at += PERIOD)
        fill((char *)buffer + at, period_at(at), whole ? 1 + at : 1);
    if (by_type)
        broadcast(buffer, NULL, root, whole);
    if (by_count)
        broadcast(buffer, bcast_c, root, whole);
    if (root && !whole)
        munmap(buffer, BYTES);
    else
        free(buffer);
    return test_end();
}
