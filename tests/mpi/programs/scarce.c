/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank runs out of something after MPI_Init, before any collective: the bare MPI gets through,
 * so must Sobor, in the world and in communicators that are made then. With "mappings" only small
 * memory is there: Intel MPI has no look at whether it got any for a message that came early.
 *
 * usage: scarce nothing|descriptors|memory|mappings|root */
#include "support.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit_to(int resource, rlim_t value)
{
    struct rlimit limit;

    CHECK(getrlimit(resource, &limit) == 0, "getrlimit");
    limit.rlim_cur = value;
    CHECK(setrlimit(resource, &limit) == 0, "setrlimit");
}

/* Every descriptor below the limit is taken. */
static void use_up_descriptors(void)
{
    limit_to(RLIMIT_NOFILE, 256);
    while (dup(STDIN_FILENO) >= 0)
        continue;
}

static void use_up_memory(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1, "/proc/self/statm");
    fclose(file);
    limit_to(RLIMIT_AS, (rlim_t)(pages + 16) * (rlim_t)sysconf(_SC_PAGESIZE));
}

/* So much of the heap is free, and stays the process's. */
static void keep_heap(void)
{
    enum { BLOCKS = 64, BLOCK = 16384 };
    void *blocks[BLOCKS];

    CHECK(mallopt(M_TRIM_THRESHOLD, 2 * BLOCKS * BLOCK) == 1, "mallopt");
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        CHECK(blocks[i] != NULL, "malloc");
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void leave_root(void)
{
    char folder[] = "/tmp/scarce.XXXXXX";

    CHECK(mkdtemp(folder) != NULL, "mkdtemp");
    int here = open("/", O_RDONLY | O_DIRECTORY);
    CHECK(chroot(folder) == 0, "chroot");
    CHECK(fchdir(here) == 0 && rmdir(folder + 1) == 0, "rmdir");
    close(here);
}

static void use(MPI_Comm comm)
{
    int rank = rank_of(comm), size = size_of(comm), sum = 0;

    CALL(MPI_Barrier(comm));
    checked_bcast(comm, 100, 0, 5);
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2, "the sum is %d", sum);
}

static void use_new(void)
{
    MPI_Comm again;

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &again));
    use(again);
    CALL(MPI_Comm_free(&again));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nothing";

    test_begin(&argc, &argv);
    if (rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1) {
        if (strcmp(what, "mappings") == 0)
            keep_heap();
        if (strcmp(what, "descriptors") == 0)
            use_up_descriptors();
        else if (strcmp(what, "memory") == 0 || strcmp(what, "mappings") == 0)
            use_up_memory();
        else if (strcmp(what, "root") == 0)
            leave_root();
    }
    use(MPI_COMM_WORLD);
    use_new();
    struct holdings before = holdings();
    use_new();
    check_holdings(before);
    return test_end();
}
