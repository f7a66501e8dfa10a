/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_DESCRIPTOR_H
#define SB_BASE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * A descriptor to be kept, from one that was just opened; -1 with errno set if there is none. It is
 * none of the standard ones: a program that has closed such a one writes to whatever has its number
 * next.
 */
static inline int sb_descriptor_kept(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(fd);
    errno = error;
    return kept;
}

#endif
