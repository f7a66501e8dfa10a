/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between neighbours and collectives with blocks of malloc and MPI_Alloc_mem, while a
 * thread makes children that overwrite all of them. Words: how many calls; then "shared" if blocks
 * must be readable by others at first, and messages be read by loads. Prints what was. */
#include "../../../src/base/heap.h"
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST ((size_t)1 << 20)
#define FORKS 10

typedef struct buffers {
    unsigned char *send, *receive, *all;
    uint32_t *number, *sum;
} buffers_t;

static buffers_t buffers;
static const sb_heap_t *heap;
static int rank, size;

static void *make_children(void *unused)
{
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            memset(buffers.send, 255, MOST);
            memset(buffers.receive, 255, MOST);
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, NULL, 0) == child, "no child");
        usleep(300);
    }
    return unused;
}

static void exchange(uint64_t call, size_t bytes)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    fill(buffers.send, bytes, call * 1000 + (uint64_t)rank);
    CALL(MPI_Sendrecv(buffers.send, (int)bytes, MPI_BYTE, right, 0, buffers.receive, (int)bytes,
                      MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    size_t wrong = mismatch(buffers.receive, bytes, call * 1000 + (uint64_t)left);
    CHECK(wrong == bytes, "call %lu: byte %zu of %zu from %d", (unsigned long)call, wrong, bytes,
          left);
}

static void gather(uint64_t call, size_t bytes)
{
    CALL(MPI_Allgather(buffers.send, (int)bytes, MPI_BYTE, buffers.all, (int)bytes, MPI_BYTE,
                       MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) {
        size_t wrong = mismatch(buffers.all + (size_t)i * bytes, bytes, call * 1000 + (uint64_t)i);
        CHECK(wrong == bytes, "allgather %lu: byte %zu of %d", (unsigned long)call, wrong, i);
    }
}

static void add(uint64_t call, size_t bytes)
{
    size_t count = bytes / sizeof *buffers.number;

    for (size_t i = 0; i < count; i++)
        buffers.number[i] = (uint32_t)(call + i * 7 + (size_t)rank);
    CALL(MPI_Allreduce(buffers.number, buffers.sum, (int)count, MPI_UINT32_T, MPI_SUM,
                       MPI_COMM_WORLD));
    uint32_t ranks = (uint32_t)size;
    for (size_t i = 0; i < count; i++)
        CHECK(buffers.sum[i] == ranks * (uint32_t)(call + i * 7) + ranks * (ranks - 1) / 2,
              "allreduce %lu: word %zu", (unsigned long)call, i);
}

static void go(uint64_t from, uint64_t end)
{
    for (uint64_t call = from; call < end; call++) {
        size_t bytes = ((size_t)4 << 10 << call % 9) / (call % 2 + 1);
        exchange(call, bytes);
        gather(call, bytes);
        add(call, bytes);
    }
}

static void check_shared(uint64_t loads)
{
    CHECK(heap != NULL, "there is no heap");
    CHECK(heap->shares(buffers.send, MOST), "MPI_Alloc_mem's block is not shared");
    CHECK(heap->shares(buffers.receive, MOST), "malloc's block is not shared");
    CHECK(loads > 0, "nothing was read by loads");
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    sb_heap_function_t *function =
        (sb_heap_function_t *)(uintptr_t)dlsym(RTLD_DEFAULT, SB_HEAP_FUNCTION);
    uint64_t calls = (uint64_t)atoi(argv[1]);
    sb_heap_counts_t counts = {0};
    pthread_t thread;

    heap = function == NULL ? NULL : function();
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    CALL(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &buffers.send));
    buffers.receive = malloc(MOST);
    buffers.all = malloc(MOST * (size_t)size);
    buffers.number = malloc(MOST);
    buffers.sum = calloc(MOST, 1);
    go(0, calls);
    if (heap != NULL)
        heap->count(&counts);
    printf("rank %d: blocks %lu, loads %lu\n", rank, (unsigned long)counts.blocks,
           (unsigned long)counts.loads);
    if (argc > 2)
        check_shared(counts.loads);
    if (argc > 2 && strcmp(argv[2], "mapping") == 0) {
        CHECK(munmap(aligned_alloc(4096, MOST), 4096) == 0, "a page stays mapped");
    } else {
        CHECK(pthread_create(&thread, NULL, make_children, NULL) == 0, "no thread");
        go(calls, 2 * calls);
        pthread_join(thread, NULL);
    }
    go(2 * calls, 3 * calls);
    CALL(MPI_Free_mem(buffers.send));
    return test_end();
}
