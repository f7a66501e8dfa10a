/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/calibrate.h"

#include "base/middle.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Looks between two offers of the processor: long enough not to show in what is measured. */
#define LOOKS 20000
/* A prime, by which samples that are too many are dealt over those kept. */
#define SPREAD 7919

/* The cores of this machine that this process may use. */
void sb_calibration_read_machine(sb_calibration_t *calibration)
{
    sb_place_t place;

    calibration->topology = sb_topology_self();
    if (calibration->topology == NULL)
        sb_tool_fail("the machine's topology could not be read");
    sb_place_self(&place);
    if (sb_cores_read(calibration->topology, sb_cpus_empty(place.cpus) ? NULL : place.cpus,
                      &calibration->cores, &calibration->count) != SB_OK)
        sb_tool_fail("out of memory");
    size_t count = calibration->count;
    if (count == 0)
        sb_tool_fail("this process may use no core");
    calibration->hops = sb_tool_take(count * count, sizeof calibration->hops[0]);
}

void sb_pin(unsigned cpu)
{
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);

    if (set == NULL)
        sb_tool_fail("out of memory");
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    if (sched_setaffinity(0, bytes, set) != 0)
        sb_tool_fail("processor %u cannot be used: %s", cpu, strerror(errno));
    CPU_FREE(set);
}

static void *map(size_t bytes, int kind, int numa_node)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        sb_tool_fail("no memory for %zu bytes: %s", bytes, strerror(errno));
    /* Where huge pages are to be had, the time of finding pages is not measured along. */
    madvise(memory, bytes, MADV_HUGEPAGE);
    sb_topology_prefer(memory, bytes, numa_node);
    memset(memory, 0, bytes);
    return memory;
}

void *sb_map(size_t bytes, int numa_node)
{
    return map(bytes, MAP_PRIVATE, numa_node);
}

void *sb_map_shared(size_t bytes, int numa_node)
{
    return map(bytes, MAP_SHARED, numa_node);
}

void sb_unmap(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

void sb_sample(sb_samples_t *samples, double value)
{
    size_t most = SB_COUNT_OF(samples->value);
    size_t place = samples->count < most ? samples->count++ : samples->seen * SPREAD % most;

    samples->value[place] = value;
    samples->seen++;
}

double sb_median(sb_samples_t *samples)
{
    return samples->count == 0 ? 0 : sb_middle_of_many(samples->value, samples->count);
}

bool sb_sample_more(const sb_samples_t *samples, size_t least, uint64_t until)
{
    return samples->count < least ||
           (samples->count < SB_COUNT_OF(samples->value) && sb_now_ns() < until);
}

uint64_t sb_until(double seconds)
{
    return sb_now_ns() + (uint64_t)(seconds * 1e9);
}

void sb_await(const sb_word64_t *word, uint64_t value)
{
    while (sb_spin(word, value, LOOKS, false) < value)
        sb_give_processor();
}

struct sb_partner {
    pthread_t thread;
    _Alignas(SB_FLAG_STRIDE) sb_word64_t asked; /* tasks given to it */
    sb_task_t *task;                            /* NULL: to end */
    void *argument;
    _Alignas(SB_FLAG_STRIDE) sb_word64_t done;
};

static void *serve(void *context)
{
    sb_partner_t *partner = context;

    for (uint64_t number = 1;; number++) {
        sb_await(&partner->asked, number);
        if (partner->task == NULL)
            return NULL;
        partner->task(partner->argument);
        sb_store64(&partner->done, number, SB_RELEASE);
    }
}

sb_partner_t *sb_partner_start(void)
{
    sb_partner_t *partner = aligned_alloc(_Alignof(sb_partner_t), sizeof *partner);

    if (partner == NULL)
        sb_tool_fail("out of memory");
    memset(partner, 0, sizeof *partner);
    int error = pthread_create(&partner->thread, NULL, serve, partner);
    if (error != 0)
        sb_tool_fail("no thread could be started: %s", strerror(error));
    return partner;
}

void sb_partner_begin(sb_partner_t *partner, sb_task_t *task, void *argument)
{
    partner->task = task;
    partner->argument = argument;
    sb_add64(&partner->asked, 1, SB_RELEASE);
}

void sb_partner_finish(sb_partner_t *partner)
{
    sb_await(&partner->done, sb_load64(&partner->asked, SB_RELAXED));
}

void sb_partner_run(sb_partner_t *partner, sb_task_t *task, void *argument)
{
    sb_partner_begin(partner, task, argument);
    sb_partner_finish(partner);
}

static void move(void *argument)
{
    sb_pin(*(unsigned *)argument);
}

void sb_partner_move(sb_partner_t *partner, unsigned cpu)
{
    sb_partner_run(partner, move, &cpu);
}

void sb_partner_stop(sb_partner_t *partner)
{
    sb_partner_begin(partner, NULL, NULL);
    pthread_join(partner->thread, NULL);
    free(partner);
}
