/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rank 0's file, -1 if there is none. */
static int open_file(const struct bench_job *job, long owner, long number)
{
    char path[64];
    if (number < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", owner, number);
    return job->rank == 0 ? dup((int)number) : open(path, O_RDWR | O_CLOEXEC);
}

void *bench_share(const struct bench_job *job, size_t bytes)
{
    int own = job->rank == 0 ? memfd_create("sobor-bench", MFD_CLOEXEC) : -1;
    if (own >= 0 && ftruncate(own, (off_t)bytes) != 0) {
        close(own);
        own = -1;
    }
    long number = bench_agree(job, own);
    int file = open_file(job, bench_agree(job, getpid()), number);
    void *memory =
        file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    bool failed = bench_maximum(job, memory == MAP_FAILED) != 0.0;
    if (own >= 0)
        close(own);
    if (failed && memory != MAP_FAILED)
        munmap(memory, bytes);
    return failed ? NULL : memory;
}

void bench_unshare(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}
