/* SPDX-License-Identifier: BSD-3-Clause */
/* The primitives of the real machine that ask the kernel. */
#include "machine/primitive.h"
#include "machine/real/spread.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static bool fence_for_all; /* membarrier works: set once, before the first team */

const sb_heap_t *sb_heap;

static void find_heap(void)
{
    sb_heap_function_t *function =
        (sb_heap_function_t *)(uintptr_t)dlsym(RTLD_DEFAULT, SB_HEAP_FUNCTION);

    sb_heap = function == NULL ? NULL : function();
}

void sb_machine_start(void)
{
    sb_copy_start();
    find_heap();
    fence_for_all = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static sb_word32_t unknown = 1;
static sb_word32_t *counted = &unknown; /* where this process counts itself */

SB_EVERY_CALL sb_word32_t *_Atomic sb_sleepers = &unknown;

void sb_sleepers_share(sb_word32_t *word)
{
    counted = word;
    atomic_store_explicit(&sb_sleepers, word, memory_order_relaxed);
}

void sb_sleepers_unknown(void)
{
    atomic_store_explicit(&sb_sleepers, &unknown, memory_order_relaxed);
}

void sb_count_sleeper(int by)
{
    /* `unknown` stays what it is. Relaxed: a fence follows, or one call to the kernel too many. */
    if (counted != &unknown)
        atomic_fetch_add_explicit(counted, (uint32_t)by, memory_order_relaxed);
}

void sb_fence_all(void)
{
    if (fence_for_all)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

uint64_t sb_page_faults(void)
{
    struct rusage used;

    return getrusage(RUSAGE_THREAD, &used) == 0 ? (uint64_t)used.ru_minflt : 0;
}

uint64_t sb_process_self(void)
{
    return (uint64_t)getpid();
}

typedef ssize_t reach_t(pid_t process, const struct iovec *local, unsigned long locals,
                        const struct iovec *remote, unsigned long remotes, unsigned long flags);

/* The kernel moves at most 2 GiB at once, and fewer bytes where a page cannot be had. */
static bool reach(reach_t *function, uint64_t process, uintptr_t here, uint64_t there, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        struct iovec local = {(void *)(here + done), bytes - done};
        struct iovec remote = {(void *)(uintptr_t)(there + done), bytes - done};
        ssize_t moved = function((pid_t)process, &local, 1, &remote, 1, 0);
        if (moved <= 0)
            return false;
        done += (size_t)moved;
    }
    return true;
}

bool sb_pull(uint64_t process, void *to, uint64_t from, size_t bytes)
{
    return reach(process_vm_readv, process, (uintptr_t)to, from, bytes);
}

bool sb_push(uint64_t process, uint64_t to, const void *from, size_t bytes)
{
    return reach(process_vm_writev, process, (uintptr_t)from, to, bytes);
}

void sb_give_processor(void)
{
    sched_yield();
    sb_spread_given();
}

void sb_futex_wait(uint32_t *word, uint32_t expected, uint64_t limit_ns)
{
    struct timespec limit = {(time_t)(limit_ns / 1000000000u), (long)(limit_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT, expected, &limit, NULL, 0);
}

void sb_futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
