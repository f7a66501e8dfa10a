/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_DESCRIPTOR_H
#define SB_BASE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 6.3. */
#if !defined MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

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

/*
 * Likewise of a new anonymous file. Where a system is set to it (vm.memfd_noexec), it makes none
 * that could be executed; earlier ones know of no other kind.
 */
static inline int sb_descriptor_of_memory(const char *name, unsigned flags)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL | flags);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | flags);
    return sb_descriptor_kept(fd);
}

#endif
