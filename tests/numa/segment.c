/* SPDX-License-Identifier: BSD-3-Clause */
/* One segment for all ranks, as the broadcast placed on NUMA nodes was published with: a part for
 * each, of 64 slots of 8 KiB, in which pages come to be where they are touched first. Writes a line
 * for each part, "part 3 1:128": its pages by node.
 *
 * usage: segment random|normal|one: each rank touches its own part, one after the other, with
 * MADV_RANDOM, as published, or without; or the first rank touches all. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 8, PART = 64 * 8192, PAGE = 4096, NODES = 64 };

static void need(int right, const char *what)
{
    if (right)
        return;
    perror(what);
    exit(1);
}

/* A process on that processor writes parts, one byte of each page. */
static void touch(char *segment, int cpu, size_t first, size_t parts)
{
    cpu_set_t cpus;
    int status = 1;
    pid_t child = fork();

    need(child >= 0, "fork");
    if (child > 0) {
        need(waitpid(child, &status, 0) == child && status == 0, "a rank");
        return;
    }
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    need(sched_setaffinity(0, sizeof cpus, &cpus) == 0, "sched_setaffinity");
    for (size_t at = first * PART; at < (first + parts) * PART; at += PAGE)
        segment[at] = 1;
    _exit(0);
}

static void describe(char *segment, int part)
{
    size_t on[NODES] = {0};

    for (char *at = segment + (size_t)part * PART; at < segment + (part + 1) * (size_t)PART;
         at += PAGE) {
        void *page = at;
        int node = -1;
        (void)*(volatile char *)at;
        need(syscall(SYS_move_pages, 0, 1UL, &page, NULL, &node, 0) == 0, "move_pages");
        need(node >= 0 && node < NODES, "a page");
        on[node]++;
    }
    printf("part %d", part);
    for (int node = 0; node < NODES; node++)
        if (on[node] > 0)
            printf(" %d:%zu", node, on[node]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "random";
    int file = memfd_create("segment", 0);

    need(file >= 0 && ftruncate(file, RANKS * (off_t)PART) == 0, "memfd_create");
    char *segment = mmap(NULL, RANKS * (size_t)PART, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    need(segment != MAP_FAILED, "mmap");
    if (strcmp(how, "random") == 0)
        need(madvise(segment, RANKS * (size_t)PART, MADV_RANDOM) == 0, "madvise");
    if (strcmp(how, "one") == 0)
        touch(segment, 0, 0, RANKS);
    for (int rank = 0; rank < RANKS; rank++)
        touch(segment, rank, (size_t)rank, 1);
    for (int part = 0; part < RANKS; part++)
        describe(segment, part);
    return 0;
}
