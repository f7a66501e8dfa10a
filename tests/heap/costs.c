/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the arena's file takes: what nobody has written, and what was freed. The word says
 * which. To be run with the heap preloaded.
 */
#include "support.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#define MIB ((size_t)1 << 20)
#define KEPT_MOST (68 * MIB) /* what stays, and some more */
#define SKIPPED 77

/* Bytes of this process's arena that are there. */
static size_t taken(void)
{
    char path[64], link[64];
    struct stat status;

    for (int file = 3; file < 64; file++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length > 0 && strncmp(link, "/memfd:sobor-heap", 17) == 0 && fstat(file, &status) == 0)
            return (size_t)status.st_blocks * 512;
    }
    CHECK(false, "no descriptor is an arena's");
    return 0;
}

static char *make_block(size_t bytes)
{
    char *block = malloc(bytes);

    CHECK(is_shared(block), "the heap is not used");
    return memset(block, 1, bytes);
}

/* Much of it is cleared, little is written, all may be read. */
static void sparse(void)
{
    struct sysinfo machine;
    unsigned sum = 0;

    CHECK(sysinfo(&machine) == 0, "the size of memory is not known");
    size_t eighth = (size_t)machine.totalram * machine.mem_unit / 8, gib = (size_t)1 << 30;
    size_t bytes = eighth > gib ? eighth : gib;
    char *less = calloc(1, bytes / 2 < 16 * gib ? bytes / 2 : 16 * gib), *small = make_block(MIB);
    CHECK(is_shared(less), "half as much is not shared");
    size_t before = taken();
    char *block = calloc(bytes / 8, 8);
    CHECK(block != NULL, "no block");
    for (size_t at = 0; at < 256 * MIB; at += 4096)
        sum += (unsigned)block[at];
    CHECK(sum == 0, "it is not zero");
    CHECK(taken() <= before + MIB, "reading took %zu MiB", (taken() - before) / MIB);
    free(block);
    free(less);
    free(small);
}

/* A block that is freed as it was locked does not keep others. */
static void locked(void)
{
    enum { BLOCKS = 24 };
    char *block[BLOCKS], *first = make_block(8 * MIB);

    if (mlock(first, 8 * 4096) != 0)
        exit(SKIPPED);
    free(first);
    for (size_t i = 0; i < BLOCKS; i++)
        block[i] = make_block(8 * MIB);
    for (size_t i = 0; i < BLOCKS; i++)
        free(block[i]);
    CHECK(taken() <= KEPT_MOST, "%zu MiB stay", taken() / MIB);
}

static long locked_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL && kib < 0)
        sscanf(line, "VmLck: %ld kB", &kib);
    if (file != NULL)
        fclose(file);
    return kib;
}

/* Who locks all memory has that locked which comes back out of the heap, too. */
static void all_locked(void)
{
    char *block = make_block(128 * MIB);

    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        exit(SKIPPED);
    long before = locked_kib();
    free(block);
    CHECK(locked_kib() >= before - 1024, "%ld KiB are locked, %ld before", locked_kib(), before);
    munlockall();
    free(make_block(MIB));
    CHECK(taken() <= KEPT_MOST, "%zu MiB stay", taken() / MIB);
}

int main(int count, char **words)
{
    const char *which = count > 1 ? words[1] : "";

    if (strcmp(which, "sparse") == 0)
        sparse();
    else if (strcmp(which, "locked") == 0)
        locked();
    else
        all_locked();
    return 0;
}
