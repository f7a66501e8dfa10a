/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded behind the heap, refuses it what REFUSED says: FUNCTION:NUMBER, one call, or
 * FUNCTION:NUMBER:on, that one and all that follow. */
#include "base/compiler.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORTED __attribute__((__visibility__("default")))

/* Function, what it returns, its parameters and arguments, what it returns where it fails, and why.
 * The variable arguments of some come as others do. */
#define EACH(X)                                                                                    \
    X(mmap, void *, (void *at, size_t bytes, int rights, int flags, int file, off_t from),         \
      (at, bytes, rights, flags, file, from), MAP_FAILED, ENOMEM)                                  \
    X(munmap, int, (void *at, size_t bytes), (at, bytes), -1, ENOMEM)                              \
    X(mprotect, int, (void *at, size_t bytes, int rights), (at, bytes, rights), -1, ENOMEM)        \
    X(madvise, int, (void *at, size_t bytes, int advice), (at, bytes, advice), -1, EINVAL)         \
    X(mremap, void *, (void *at, size_t had, size_t bytes, int flags, void *to),                   \
      (at, had, bytes, flags, to), MAP_FAILED, ENOMEM)                                             \
    X(memfd_create, int, (const char *name, unsigned flags), (name, flags), -1, EMFILE)            \
    X(fchmod, int, (int file, mode_t mode), (file, mode), -1, EPERM)                               \
    X(ftruncate, int, (int file, off_t bytes), (file, bytes), -1, ENOSPC)                          \
    X(fcntl, int, (int file, int command, long argument), (file, command, argument), -1, EPERM)    \
    X(pread, ssize_t, (int file, void *to, size_t bytes, off_t from), (file, to, bytes, from), -1, \
      EIO)                                                                                         \
    X(getrandom, ssize_t, (void *to, size_t bytes, unsigned flags), (to, bytes, flags), -1,        \
      ENOSYS)                                                                                      \
    X(fopen, FILE *, (const char *path, const char *how), (path, how), NULL, EMFILE)               \
    X(opendir, DIR *, (const char *path), (path), NULL, EMFILE)                                    \
    X(readlink, ssize_t, (const char *path, char *to, size_t room), (path, to, room), -1, EACCES)

enum {
#define NUMBER(name, ...) OF_##name,
    EACH(NUMBER)
#undef NUMBER
        FUNCTIONS
};

static const char *const names[] = {
#define NAME(name, ...) #name,
    EACH(NAME)
#undef NAME
};

static unsigned calls[FUNCTIONS];

static bool is_refused(int function)
{
    const char *wish = getenv("REFUSED");
    size_t length = strlen(names[function]);
    unsigned number = ++calls[function];
    char *end;

    if (wish == NULL || strncmp(wish, names[function], length) != 0 || wish[length] != ':')
        return false;
    unsigned from = (unsigned)strtoul(wish + length + 1, &end, 10);
    return *end == ':' ? number >= from : number == from;
}

#define STAND_IN(name, result, parameters, arguments, failure, error)                              \
    EXPORTED result stand_in_##name parameters __asm__(#name);                                     \
    result stand_in_##name parameters                                                              \
    {                                                                                              \
        static result(*next) parameters;                                                           \
        if (next == NULL)                                                                          \
            next = (result(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name);                       \
        if (!is_refused(OF_##name))                                                                \
            return next arguments;                                                                 \
        errno = error;                                                                             \
        return failure;                                                                            \
    }
EACH(STAND_IN)
#undef STAND_IN

EXPORTED const char *refusing_calls(unsigned function, unsigned *number);

/* How often a function was called so far; NULL: there are no more. */
const char *refusing_calls(unsigned function, unsigned *number)
{
    if (function >= FUNCTIONS)
        return NULL;
    *number = calls[function];
    return names[function];
}
