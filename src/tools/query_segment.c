/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "segment/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Each mechanism is tried between this process and a child that takes the part of a peer: a child
 * has no more rights over its parent than ranks have over each other.
 */
#define MARK "a peer reads this"

/* Outcome of one trial, in memory that the child shares. */
typedef struct trial {
    int32_t ok;
    sb_reason_t detail;
} trial_t;

typedef void peer_t(trial_t *trial, const void *subject);

/* Runs the peer's part in a child and waits for it. */
static void run_peer(trial_t *trial, peer_t *peer, const void *subject)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        peer(trial, subject);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        snprintf(trial->detail.text, sizeof trial->detail.text, "fork: %s", strerror(errno));
    else if (!WIFEXITED(status))
        snprintf(trial->detail.text, sizeof trial->detail.text, "the peer ended early");
}

static void attach_region(trial_t *trial, const void *subject)
{
    const sb_remote_key_t *key = subject;
    sb_region_t region;

    if (sb_region_attach(&region, key, &trial->detail) != SB_OK)
        return;
    trial->ok = strcmp(region.base + SB_REGION_HEADER, MARK) == 0;
    snprintf(trial->detail.text, sizeof trial->detail.text,
             trial->ok ? "%llu KiB shared with a peer" : "the peer saw other memory",
             (unsigned long long)key->bytes >> 10);
    sb_region_close(&region);
}

/* Reserving what is not there would get this process killed. */
static bool is_affordable(size_t bytes, sb_reason_t *reason)
{
    sb_limits_t limits;

    sb_limits_read("", &limits);
    if (sb_limits_available(&limits) / 2 >= bytes)
        return true;
    snprintf(reason->text, sizeof reason->text, "only %llu KiB of memory are left",
             (unsigned long long)sb_limits_available(&limits) >> 10);
    return false;
}

/* A ring is the largest thing that a team may want at a time, within the bound. */
static void try_region(trial_t *trial, sb_region_kind_t kind, size_t bound)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t ring = sb_round_up(sb_query_ring(), page);
    size_t bytes = sb_min(ring, bound & ~(page - 1)) + page;
    sb_region_t region;

    if (!is_affordable(bytes, &trial->detail) ||
        sb_region_create(&region, kind, bytes, -1, &trial->detail) != SB_OK)
        return;
    strcpy(region.base + SB_REGION_HEADER, MARK);
    run_peer(trial, attach_region, &region.key);
    sb_region_close(&region);
}

static void read_memory(trial_t *trial, const void *subject)
{
    char copy[sizeof MARK] = "";
    struct iovec local = {copy, sizeof copy};
    struct iovec remote = {(void *)(uintptr_t)subject, sizeof copy};
    ssize_t bytes = process_vm_readv(getppid(), &local, 1, &remote, 1, 0);

    trial->ok = bytes == (ssize_t)sizeof copy && strcmp(copy, MARK) == 0;
    if (trial->ok)
        snprintf(trial->detail.text, sizeof trial->detail.text, "a peer's memory can be read");
    else
        snprintf(trial->detail.text, sizeof trial->detail.text, "process_vm_readv: %s",
                 bytes < 0 ? strerror(errno) : "other memory was read");
}

/* The child's copy of the text is at another place, so that it cannot be read by mistake. */
static void try_single_copy(trial_t *trial)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *text = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (text == MAP_FAILED || madvise(text, page, MADV_DONTFORK) != 0) {
        snprintf(trial->detail.text, sizeof trial->detail.text, "mmap: %s", strerror(errno));
        return;
    }
    strcpy(text, MARK);
    run_peer(trial, read_memory, text);
    munmap(text, page);
}

static json_t *describe(const trial_t *trial)
{
    return json_pack("{s:b, s:o}", "ok", trial->ok, "detail", sb_tool_text(trial->detail.text));
}

static json_t *show_limit(uint64_t bytes)
{
    return bytes < UINT64_MAX / 4 ? json_integer((json_int_t)bytes) : json_null();
}

static json_t *show_free_bytes(const char *folder)
{
    struct statvfs info;

    if (statvfs(folder, &info) != 0)
        return json_null();
    return json_integer((json_int_t)info.f_bavail * (json_int_t)info.f_frsize);
}

json_t *sb_query_segment(const sb_query_t *query)
{
    enum { MEMFD, NAMED, CMA, TRIALS };
    sb_limits_t limits;
    sb_arena_usage_t usage;
    trial_t *trials = mmap(NULL, TRIALS * sizeof *trials, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)query;
    if (trials == MAP_FAILED)
        return NULL;
    sb_arena_usage(&usage);
    try_region(&trials[MEMFD], SB_REGION_MEMFD, usage.bound);
    try_region(&trials[NAMED], SB_REGION_NAMED, usage.bound);
    try_single_copy(&trials[CMA]);
    sb_limits_read("", &limits);
    json_t *answer = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:I}", "memfd", describe(&trials[MEMFD]), "named",
        describe(&trials[NAMED]), "cma", describe(&trials[CMA]), "shm_free_bytes",
        show_free_bytes("/dev/shm"), "memory_limit_bytes", show_limit(limits.group_limit),
        "memory_limit_left_bytes", show_limit(limits.group_available), "memory_limit_version",
        (int)limits.group_version, "memory_left_bytes", show_limit(sb_limits_available(&limits)),
        "bound_bytes", (json_int_t)usage.bound);
    munmap(trials, TRIALS * sizeof *trials);
    return answer;
}
