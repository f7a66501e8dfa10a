/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/process.h"

#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t sb_process_namespace(void)
{
    struct stat file;

    return stat("/proc/self/ns/pid", &file) == 0 ? (uint64_t)file.st_ino : 0;
}

/* Reads state and start time from /proc/PID/stat; the name in it may hold blanks and brackets. */
static bool read_stat(int pid, char *state, uint64_t *start_time)
{
    char path[64], text[1024];

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL &&
           sscanf(name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%" SCNu64,
                  state, start_time) == 2;
}

uint64_t sb_process_start_time(int pid)
{
    char state;
    uint64_t start_time = 0;

    return read_stat(pid, &state, &start_time) ? start_time : 0;
}

bool sb_process_alive(int pid, uint64_t start_time)
{
    char state;
    uint64_t started;

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    if (!read_stat(pid, &state, &started))
        return true;
    if (state == 'Z' || state == 'X')
        return false;
    return start_time == 0 || started == start_time;
}

#define FNV_START 14695981039346656037ULL
#define FNV_PRIME 1099511628211ULL

static uint64_t hash(uint64_t sum, const char *text)
{
    for (; *text != '\0'; text++)
        sum = (sum ^ (unsigned char)*text) * FNV_PRIME;
    return (sum ^ '/') * FNV_PRIME;
}

/*
 * Names only ever tell ranks apart: two that agree here must still prove by their memory that they
 * share a node. Hosts that share a kernel (containers, emulated nodes) differ in the host name.
 */
uint64_t sb_process_node(void)
{
    char boot[64] = "", host[256] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file != NULL) {
        if (fgets(boot, sizeof boot, file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    if (sb_config()->node.text[0] != '\0')
        snprintf(host, sizeof host, "%s", sb_config()->node.text);
    else if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    return hash(hash(FNV_START, boot), host);
}
