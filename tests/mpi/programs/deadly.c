/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded, kills a rank in the middle of a set-up: at step DEADLY_STEP of all that the rank
 * DEADLY_RANK does to files that it gives names of Sobor's. Before, it says on standard error which
 * step that is, and which name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PREFIX "/sobor."

static int steps;
static int of_sobor[64]; /* descriptors */
static int known;
static char last[128]; /* that it opened last */

static int number(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? -1 : atoi(text);
}

static bool is_victim(void)
{
    int rank = number("OMPI_COMM_WORLD_RANK");
    if (rank < 0)
        rank = number("PMI_RANK");
    return rank >= 0 && rank == number("DEADLY_RANK");
}

static void step(const char *what)
{
    if (!is_victim() || ++steps != number("DEADLY_STEP"))
        return;
    char line[256];
    int length = snprintf(line, sizeof line, "deadly: step %d, %s %s\n", steps, what, last);
    if (write(STDERR_FILENO, line, (size_t)length) != length)
        abort();
    raise(SIGKILL);
}

static bool is_known(int fd)
{
    for (int i = 0; i < known; i++)
        if (of_sobor[i] == fd)
            return true;
    return false;
}

int shm_open(const char *name, int flags, mode_t mode)
{
    int (*next)(const char *, int, mode_t) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "shm_open");
    int fd = next(name, flags, mode);
    if (fd < 0 || (flags & O_CREAT) == 0 || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return fd;
    if (known < 64 && !is_known(fd))
        of_sobor[known++] = fd;
    snprintf(last, sizeof last, "%s", name + 1);
    step("after shm_open");
    return fd;
}

int shm_unlink(const char *name)
{
    int (*next)(const char *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "shm_unlink");
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
        step("before shm_unlink");
    return next(name);
}

int ftruncate(int fd, off_t bytes)
{
    int (*next)(int, off_t) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "ftruncate");
    if (is_known(fd))
        step("before ftruncate");
    return next(fd, bytes);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    int (*next)(int, off_t, off_t) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "posix_fallocate");
    if (is_known(fd))
        step("before posix_fallocate");
    return next(fd, offset, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *(*next)(void *, size_t, int, int, int, off_t) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    if (known > 0 && is_known(fd))
        step("before mmap");
    return next(at, bytes, protection, flags, fd, offset);
}

int close(int fd)
{
    int (*next)(int) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "close");
    for (int i = 0; i < known; i++)
        if (of_sobor[i] == fd)
            of_sobor[i] = of_sobor[--known];
    return next(fd);
}
