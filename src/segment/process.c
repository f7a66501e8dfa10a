/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/process.h"

#include "base/config.h"
#include "base/file.h"
#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a line of /proc/PID/task/PID/stat says, which is that of /proc/PID/stat. */
typedef struct stat_line {
    char state;
    long threads; /* alive, the first one counted even after its end */
    uint64_t start_time;
} stat_line_t;

/*
 * The name in the line may hold blanks and brackets; one with a newline cannot be read. By way of
 * the first thread: of /proc/PID/stat qemu's user emulation shows a process a line of its own, with
 * another start time than others see.
 */
static bool read_stat(int pid, stat_line_t *line)
{
    char text[1024];
    bool read = sb_file_line(text, sizeof text, "/proc/%d/task/%d/stat", pid, pid);
    const char *name_end = read ? strrchr(text, ')') : NULL;

    return name_end != NULL &&
           sscanf(name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
                  "%" SCNu64,
                  &line->state, &line->threads, &line->start_time) == 3;
}

uint64_t sb_process_start_time(int pid)
{
    stat_line_t line;

    return read_stat(pid, &line) ? line.start_time : 0;
}

static uint64_t own_start;
static int own_pid;

/*
 * Whether this process began later than it did: checkpointing tools that make processes anew, with
 * the numbers that they had, cannot make them as old as they were. Others of its job are then what
 * they were with another start time too.
 */
static bool was_restored(void)
{
    uint64_t now = own_pid == getpid() && own_start != 0 ? sb_process_start_time(own_pid) : 0;

    return now != 0 && now != own_start;
}

bool sb_process_alive(int pid, uint64_t start_time)
{
    stat_line_t line;

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    if (!read_stat(pid, &line))
        return true;
    /* A first thread that has ended looks like a process that has, while others of it live on. */
    if ((line.state == 'Z' || line.state == 'X') && line.threads <= 1)
        return false;
    return start_time == 0 || line.start_time == start_time || was_restored();
}

/*
 * Names only ever tell ranks apart: two that agree here must still prove by their memory that they
 * share a node. Hosts that share a kernel (containers, emulated nodes) differ in the host name.
 */
static uint64_t read_node(void)
{
    char boot[64], host[256] = "";

    sb_file_line(boot, sizeof boot, "/proc/sys/kernel/random/boot_id");
    if (sb_config()->node.text[0] != '\0')
        snprintf(host, sizeof host, "%s", sb_config()->node.text);
    else if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    return sb_hash_text(sb_hash_text(SB_HASH_START, boot), host);
}

/* Read once: a process that moves its root later on still is who and where it was. */
static uint64_t own_namespace, own_node;
static pthread_once_t identity_once = PTHREAD_ONCE_INIT;

static void read_identity(void)
{
    struct stat file;

    own_pid = getpid();
    own_start = sb_process_start_time(own_pid);
    own_namespace = stat("/proc/self/ns/pid", &file) == 0 ? (uint64_t)file.st_ino : 0;
    own_node = read_node();
}

uint64_t sb_process_namespace(void)
{
    pthread_once(&identity_once, read_identity);
    return own_namespace;
}

bool sb_process_reachable(uint64_t pid_namespace)
{
    return pid_namespace != 0 && pid_namespace == sb_process_namespace();
}

uint64_t sb_process_node(void)
{
    pthread_once(&identity_once, read_identity);
    return own_node;
}

void sb_process_sweep(bool (*is_left)(const char *name))
{
    DIR *folder = opendir("/dev/shm");
    struct dirent *entry;
    char name[300];

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(name, sizeof name, "/%s", entry->d_name);
        if (strncmp(name, "/sobor.", strlen("/sobor.")) == 0 && is_left(name))
            shm_unlink(name); /* refused by the system if another user's */
    }
    if (folder != NULL)
        closedir(folder);
}
