/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/trace.h"

#include "base/config.h"
#include "base/log.h"
#include "base/pages.h"
#include "trace/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

sb_trace_t sb_trace_self;
sb_trace_last_t sb_trace_last[SB_COLLECTIVES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The names as they were given: to compare pointers is enough. Only grows, under the lock. */
static const char *_Atomic given_names[SB_TRACE_ALGORITHMS];

bool sb_trace_is_wanted(void)
{
    return sb_config()->trace.text[0] != '\0' || sb_config()->profile.text[0] != '\0';
}

void sb_trace_touch(void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += SB_PAGE)
        *((volatile char *)memory + at) = 0;
}

static const char *variable(void)
{
    return sb_trace_self.is_profile ? "SOBOR_PROFILE" : "SOBOR_TRACE";
}

static bool has_folder(char *folder)
{
    const sb_config_t *config = sb_config();
    const char *wanted = sb_trace_self.is_profile ? config->profile.text : config->trace.text;

    if ((mkdir(wanted, 0700) == 0 || errno == EEXIST) && realpath(wanted, folder) != NULL &&
        access(folder, W_OK | X_OK) == 0)
        return true;
    sb_log("%s: expected a folder that files can be written to, found \"%s\": %s; calls are not "
           "recorded",
           variable(), wanted, strerror(errno));
    return false;
}

static void name_files(void)
{
    sb_trace_t *trace = &sb_trace_self;

    snprintf(trace->name, sizeof trace->name, "%.63s-%d", trace->header.host,
             (int)trace->header.pid);
    sb_trace_name_files(0);
}

static void touch_first(sb_trace_t *trace)
{
    enum { CALLS = 2048, COMMS = 64 };

    sb_trace_touch(trace->records, sb_min(CALLS, trace->room) * sizeof *trace->records);
    sb_trace_touch(trace->comms, COMMS * sizeof *trace->comms);
}

static bool has_room(void)
{
    sb_trace_t *trace = &sb_trace_self;
    uint64_t wanted = sb_config()->trace_buffer.number / sizeof(sb_trace_record_t);

    trace->room = 1;
    while (2 * trace->room <= wanted)
        trace->room *= 2;
    trace->comms = sb_pages_take(SB_TRACE_COMMS_MOST * sizeof *trace->comms);
    if (trace->comms != NULL)
        trace->records = sb_pages_take(trace->room * sizeof *trace->records);
    if (trace->records == NULL)
        sb_log("SOBOR_TRACE_BUFFER: no memory for %zu bytes; calls are not recorded",
               (size_t)(trace->room * sizeof *trace->records));
    else
        touch_first(trace);
    return trace->records != NULL;
}

bool sb_trace_begin(int rank, int size)
{
    sb_trace_header_t *header = &sb_trace_self.header;

    *header = (sb_trace_header_t){.magic = SB_TRACE_MAGIC,
                                  .version = SB_TRACE_VERSION,
                                  .header_bytes = sizeof *header,
                                  .record_bytes = sizeof(sb_trace_record_t),
                                  .comm_bytes = sizeof(sb_trace_comm_t),
                                  .rank = rank,
                                  .size = size,
                                  .pid = (int32_t)getpid(),
                                  .comms = 1};
    sb_trace_clock_begin();
    gethostname(header->host, sizeof header->host - 1);
    sb_trace_self.is_profile = sb_config()->trace.text[0] == '\0';
    if (!has_folder(sb_trace_self.folder))
        return false;
    name_files();
    return (!sb_trace_self.is_profile || sb_trace_begin_sums()) && has_room();
}

/* The next one of these members; the last that had them is most likely the last of all. */
static uint32_t next_ordinal(uint64_t members)
{
    for (uint64_t i = sb_trace_self.header.comms; i > 1; i--) {
        if (sb_trace_self.comms[i - 1].members == members)
            return sb_trace_self.comms[i - 1].ordinal + 1;
    }
    return 0;
}

sb_trace_comm_t *sb_trace_add_comm(const sb_trace_comm_t *comm)
{
    sb_trace_t *trace = &sb_trace_self;
    sb_trace_comm_t *added = trace->comms;

    pthread_mutex_lock(&lock);
    if (trace->header.comms < SB_TRACE_COMMS_MOST) {
        uint32_t ordinal = next_ordinal(comm->members);
        added = &trace->comms[trace->header.comms++];
        *added = *comm;
        added->ordinal = ordinal;
    }
    pthread_mutex_unlock(&lock);
    return added;
}

static uint8_t add_algorithm(const char *name)
{
    size_t i = 0;

    pthread_mutex_lock(&lock);
    /* Relaxed: written under the lock. */
    while (i < sb_trace_self.header.algorithms &&
           atomic_load_explicit(&given_names[i], memory_order_relaxed) != name)
        i++;
    if (i == sb_trace_self.header.algorithms && i < SB_TRACE_ALGORITHMS) {
        snprintf(sb_trace_self.algorithms[i], SB_TRACE_NAME, "%s", name);
        /* Relaxed: others only compare it. */
        atomic_store_explicit(&given_names[i], name, memory_order_relaxed);
        sb_trace_self.header.algorithms++;
    }
    pthread_mutex_unlock(&lock);
    return (uint8_t)(i + 1);
}

static uint8_t algorithm_number(uint8_t collective, const char *name)
{
    _Atomic uint8_t *last = &sb_trace_last[collective].algorithm;
    /* Relaxed: a guess, and names that never change once they are there. */
    uint8_t number = atomic_load_explicit(last, memory_order_relaxed);

    if (SB_LIKELY(number > 0 &&
                  atomic_load_explicit(&given_names[number - 1], memory_order_relaxed) == name))
        return number;
    number = add_algorithm(name);
    atomic_store_explicit(last, number, memory_order_relaxed);
    return number;
}

/* Relaxed: a place of one's own is all that is asked for. */
static uint64_t take_place(sb_trace_t *trace)
{
    if (SB_UNLIKELY(trace->is_shared))
        return atomic_fetch_add_explicit(&trace->next, 1, memory_order_relaxed);
    uint64_t place = atomic_load_explicit(&trace->next, memory_order_relaxed);
    atomic_store_explicit(&trace->next, place + 1, memory_order_relaxed);
    return place;
}

void sb_trace_add(sb_trace_comm_t *comm, uint8_t collective, const char *algorithm,
                  const sb_trace_record_t *call)
{
    sb_trace_t *trace = &sb_trace_self;
    uint64_t number = ++comm->calls;
    sb_trace_record_t record = *call;

    record.comm = (uint16_t)(comm - trace->comms);
    record.number = (uint32_t)number;
    record.collective = collective;
    record.algorithm = algorithm == NULL ? 0 : algorithm_number(collective, algorithm);
    sb_trace_record_t *kept = NULL;
    if (!trace->is_profile || sb_trace_samples(number)) {
        kept = &trace->records[take_place(trace) & (trace->room - 1)];
        *kept = record;
    }
    uint64_t left = trace->is_profile ? sb_trace_sum(&record) : sb_trace_left();
    if (kept != NULL)
        kept->left = left;
}

void sb_trace_finish(sb_trace_end_t end)
{
    int late = 0;

    if (sb_trace_self.records != NULL && !sb_trace_write(end, &late))
        sb_log("%s: %s: %s", variable(), sb_trace_self.path, strerror(errno));
    sb_trace_await();
    if (late != 0)
        sb_trace_end_late(late);
}
