/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process reads others, one after another, which then end: what they had is not kept for it. To
 * be run with the heap preloaded.
 */
#include "support.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define BYTES ((size_t)16 << 20)
#define CHILDREN 8
#define ARENA_KIB (64L << 20)

static time_t later;
static char into[BYTES];

/* The heap's clock: nobody waits for it here. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    now->tv_sec += later;
    return result;
}

static ssize_t read_of(pid_t child, char *block)
{
    struct iovec local = {into, BYTES}, remote = {block, BYTES};

    return process_vm_readv(child, &local, 1, &remote, 1, 0);
}

static void be_read(int told)
{
    char *block = memset(malloc(BYTES), 7, BYTES);

    CHECK(is_shared(block), "the heap is not used");
    CHECK(write(told, &block, sizeof block) == (ssize_t)sizeof block, "not told");
    pause();
}

static void read_one(void)
{
    char *block = NULL;
    int told[2];

    CHECK(pipe(told) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0)
        be_read(told[1]);
    CHECK(read(told[0], &block, sizeof block) == (ssize_t)sizeof block, "not told");
    CHECK(read_of(child, block) == (ssize_t)BYTES, "not read: errno %d", errno);
    CHECK(into[0] == 7 && into[BYTES - 1] == 7, "read %d", into[0]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(told[0]);
    close(told[1]);
}

/* Arenas of others of which this process has pages. */
static unsigned with_pages(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long begin, end, kib;
    bool inside = false;
    unsigned count = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = strstr(line, "memfd:sobor-heap") != NULL;
        else if (inside && sscanf(line, "Rss: %lu kB", &kib) == 1)
            count += kib > 0;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

static long address_space(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL && kib == 0)
        sscanf(line, "VmSize: %ld kB", &kib);
    if (file != NULL)
        fclose(file);
    return kib;
}

int main(void)
{
    for (int i = 0; i < CHILDREN; i++)
        read_one();
    CHECK(own_heap() != NULL && with_pages() > 0, "nothing was read by loads");
    /* The last of them and the new one have not been seen to have ended. */
    later += 10;
    read_one();
    CHECK(with_pages() <= 2, "%u arenas of processes that have ended have pages", with_pages());
    later += 100;
    read_one();
    CHECK(address_space() < 5 * ARENA_KIB, "%ld KiB of addresses", address_space());
    return 0;
}
