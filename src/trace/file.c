/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing the file: once, whole or not at all, by system calls alone, as a signal's handler may
 * come here.
 */
#include "trace/clock.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* What has been put into the file, and may be: going beyond is told by a signal that ends the
 * program (RLIMIT_FSIZE). */
static uint64_t written, allowed;

static bool put(int file, const void *from, size_t bytes)
{
    const char *at = from;

    written += bytes;
    if (written > allowed) {
        errno = EFBIG;
        return false;
    }
    while (bytes > 0) {
        ssize_t count = write(file, at, bytes);
        if (count < 0 && errno != EINTR)
            return false;
        if (count > 0) {
            at += count;
            bytes -= (size_t)count;
        }
    }
    return true;
}

/* The oldest first: of a ring that went round, those behind the next place. */
static bool put_records(int file, uint64_t next)
{
    const sb_trace_t *trace = &sb_trace_self;
    uint64_t kept = sb_trace_self.header.records;
    uint64_t first = (next - kept) & (trace->room - 1);
    uint64_t before_end = sb_min(kept, trace->room - first);

    return put(file, &trace->records[first], before_end * sizeof *trace->records) &&
           put(file, trace->records, (kept - before_end) * sizeof *trace->records);
}

/* Not on the stack, which may be a handler's of a few KiB: one writes, once. */
static bool put_maps(int file)
{
    static char text[4096];
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool good = true;

    if (maps < 0)
        return true; /* call sites have no names then */
    for (ssize_t got; good && (got = read(maps, text, sizeof text)) > 0;)
        good = put(file, text, (size_t)got);
    close(maps);
    return good;
}

static uint64_t counted_functions(void)
{
    uint64_t count = 0, calls;

    while (sb_trace_self.counted != NULL && sb_trace_self.counted(count, &calls) != NULL)
        count++;
    return count;
}

static bool put_counts(int file)
{
    bool good = true;

    for (uint64_t i = 0; good && i < sb_trace_self.header.counts; i++) {
        sb_trace_count_t count = {.calls = 0};
        const char *name = sb_trace_self.counted(i, &count.calls);
        memcpy(count.name, name, sb_min(strlen(name), sizeof count.name - 1));
        good = put(file, &count, sizeof count);
    }
    return good;
}

static uint64_t all_calls(void)
{
    uint64_t calls = 0;

    for (uint64_t i = 0; i < sb_trace_self.header.cells; i++)
        calls += sb_trace_self.cells[i].calls;
    return calls;
}

/* Ticks become nanoseconds, once: all of what is written. */
static void convert(void)
{
    sb_trace_t *trace = &sb_trace_self;

    sb_trace_clock_end();
    for (uint64_t i = 0; i < trace->header.records; i++) {
        trace->records[i].entered = sb_trace_time_ns(trace->records[i].entered);
        trace->records[i].left = sb_trace_time_ns(trace->records[i].left);
    }
    for (uint64_t i = 0; i < trace->header.cells; i++)
        trace->cells[i].time = sb_trace_length_ns(trace->cells[i].time);
}

static bool put_all(int file)
{
    sb_trace_t *trace = &sb_trace_self;
    sb_trace_header_t *header = &trace->header;
    /* Relaxed: other threads that are in calls write records that are left out. */
    uint64_t next = atomic_load_explicit(&trace->next, memory_order_relaxed);

    header->calls = trace->is_profile ? all_calls() : next;
    header->records = sb_min(next, trace->room);
    header->counts = counted_functions();
    convert();
    return put(file, header, sizeof *header) &&
           put(file, trace->comms, header->comms * sizeof *trace->comms) &&
           put(file, trace->algorithms, header->algorithms * SB_TRACE_NAME) &&
           put_records(file, next) &&
           put(file, trace->cells, header->cells * sizeof *trace->cells) && put_counts(file) &&
           put_maps(file);
}

/* One behind the other; the last is NULL. */
static void join(char *to, const char *const *parts)
{
    for (; *parts != NULL; parts++) {
        memcpy(to, *parts, strlen(*parts) + 1);
        to += strlen(*parts);
    }
}

void sb_trace_name_files(unsigned same)
{
    sb_trace_t *trace = &sb_trace_self;
    char number[16], *digit = number + sizeof number - 1;
    const char *ending = trace->is_profile ? ".profile" : ".trace";

    *digit = '\0';
    for (unsigned rest = same; rest > 0; rest /= 10)
        *--digit = (char)('0' + rest % 10);
    if (same > 0)
        *--digit = '.';
    join(trace->path, (const char *const[]){trace->folder, "/", trace->name, digit, ending, NULL});
    join(trace->partial,
         (const char *const[]){trace->folder, "/.", trace->name, digit, ending, ".part", NULL});
}

/* One more than any folder should have of one name. */
#define SAME_MOST 10000

/*
 * Ranks may have one host's name and the same number of a process, each in a container of its own:
 * what another has written stays. Who has made the partial file is the only one that gives the
 * other name, so it is enough to look then whether that is there.
 */
static int make(void)
{
    const sb_trace_t *trace = &sb_trace_self;
    struct stat status;

    for (unsigned same = 0; same < SAME_MOST; same++) {
        sb_trace_name_files(same);
        int file = open(trace->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return -1;
        if (file >= 0 && lstat(trace->path, &status) != 0)
            return file;
        if (file >= 0) {
            unlink(trace->partial);
            close(file);
        }
    }
    errno = EEXIST;
    return -1;
}

static bool write_file(void)
{
    sb_trace_t *trace = &sb_trace_self;
    struct rlimit limit;

    written = 0;
    allowed = getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
    if (trace->header.closed == 0)
        trace->header.closed = sb_now_ns();
    int file = make();
    if (file < 0)
        return false;
    bool good = put_all(file);
    good = close(file) == 0 && good && rename(trace->partial, trace->path) == 0;
    int error = errno;
    if (!good)
        unlink(trace->partial);
    errno = error;
    return good;
}

/* How far the file is. One word says also which signal was left to who writes: none is missed. */
enum { UNBEGUN, WRITING, WRITTEN, LEFT /* and more: being written, and the signal's number */ };
static _Atomic int stage;

static bool is_own(void)
{
    return sb_trace_self.records != NULL && sb_trace_self.header.pid == (int32_t)getpid();
}

static bool write_once(uint32_t end, int *late)
{
    int seen = UNBEGUN;

    /* Relaxed: who comes second has nothing to do. */
    if (!atomic_compare_exchange_strong_explicit(&stage, &seen, WRITING, memory_order_relaxed,
                                                 memory_order_relaxed))
        return true;
    sb_trace_self.header.end = end;
    bool good = write_file();
    /* Release: pairs with the looks in sb_trace_leave() and is_written(). Of those signals the
     * number alone is wanted. */
    seen = atomic_exchange_explicit(&stage, WRITTEN, memory_order_release);
    *late = seen > LEFT ? seen - LEFT : 0;
    return good;
}

/* No signal interrupts who writes: its handler might wait for the end of that, or go elsewhere. */
bool sb_trace_write(uint32_t end, int *late)
{
    sigset_t all, before;

    *late = 0;
    if (!is_own())
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool good = write_once(end, late);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return good;
}

bool sb_trace_leave(int number)
{
    int seen = WRITING;

    if (!is_own())
        return false;
    /* Acquire: pairs with the exchange in write_once(), which has closed the file before. */
    atomic_compare_exchange_strong_explicit(&stage, &seen, LEFT + number, memory_order_acquire,
                                            memory_order_acquire);
    return seen == WRITING || seen > LEFT;
}

static bool is_written(void *unused)
{
    (void)unused;
    /* Acquire: pairs with the exchange in write_once(). */
    return atomic_load_explicit(&stage, memory_order_acquire) == WRITTEN;
}

static bool never(void *unused)
{
    (void)unused;
    return false;
}

static sb_status_t give_up(void *unused)
{
    (void)unused;
    return SB_ERR_SYSTEM;
}

/* No file system should take as long for what fits into memory. */
void sb_trace_await(void)
{
    const sb_waiter_t waiter = {
        .yield = 1, .check = give_up, .check_every_ns = UINT64_C(10000000000)};

    if (is_own())
        sb_wait_for(is_written, NULL, &waiter);
}

void sb_trace_await_end(void)
{
    const sb_waiter_t waiter = {.yield = 1, .check = give_up, .check_every_ns = 1000000000};

    sb_wait_for(never, NULL, &waiter);
}
