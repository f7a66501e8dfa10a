/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing the file: once, whole or not at all, by system calls alone, as a signal's handler may
 * come here.
 */
#include "trace/clock.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
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

static bool put_maps(int file)
{
    char text[4096];
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

static int make(const char *path)
{
    struct rlimit limit;

    written = 0;
    allowed = getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool sb_trace_write(uint32_t end)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    sb_trace_t *trace = &sb_trace_self;

    /* Relaxed: a thread that comes second has nothing to do. */
    if (trace->records == NULL || trace->header.pid != (int32_t)getpid() ||
        atomic_flag_test_and_set_explicit(&begun, memory_order_relaxed))
        return true;
    trace->header.end = end;
    if (trace->header.closed == 0)
        trace->header.closed = sb_now_ns();
    int file = make(trace->partial);
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
