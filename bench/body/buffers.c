/* SPDX-License-Identifier: BSD-3-Clause */
#include "buffers.h"

#include "cold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, PAGE = 4096 };

/* The C library puts its own note before a block: a large one begins so far behind a page. */
enum { MALLOC_OFFSET = 16 };

uint64_t bench_available_memory(void)
{
    unsigned long long kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
            break;
    fclose(file);
    return (uint64_t)kilobytes << 10;
}

/* Cold slots do not share a page, so that no prefetcher runs ahead from one into the next. */
static size_t slot_stride(size_t bytes, bool cold)
{
    size_t lines = (bytes + LINE - 1) / LINE * LINE;
    return cold ? lines + PAGE + LINE : lines;
}

int bench_buffers_create(struct bench_buffers *buffers, const struct bench_job *job, size_t bytes,
                         bool cold, const struct bench_options *options)
{
    size_t stride = slot_stride(bytes, cold);
    struct bench_node node = {
        .caches = job->caches, .available = bench_available_memory(), .ranks = job->node_ranks};
    size_t slots = bench_slots(stride, cold, options->range, &node);
    *buffers = (struct bench_buffers){.bytes = bytes, .stride = stride, .slots = slots};
    if (bench_maximum(job, slots == 0 ? 1.0 : 0.0) != 0.0)
        return -1;
    buffers->ahead = buffers->slots / 2;
    buffers->offset = options->page_aligned ? 0 : MALLOC_OFFSET;
    /* Of the malloc family, as a program's are: an allocator that is preloaded is measured too. */
    size_t room = (stride * buffers->slots + MALLOC_OFFSET + PAGE - 1) / PAGE * PAGE;
    buffers->pool = aligned_alloc(PAGE, room);
    if (bench_maximum(job, buffers->pool == NULL ? 1.0 : 0.0) != 0.0) {
        bench_buffers_destroy(buffers);
        return -1;
    }
    memset(buffers->pool, 0x5a, room);
    return 0;
}

void bench_buffers_destroy(struct bench_buffers *buffers)
{
    free(buffers->pool);
    buffers->pool = NULL;
}

unsigned char *bench_buffers_slot(const struct bench_buffers *buffers, size_t call)
{
    return buffers->pool + buffers->offset + call % buffers->slots * buffers->stride;
}

void bench_buffers_renew(const struct bench_buffers *buffers, size_t call, bool root)
{
    unsigned char *slot = bench_buffers_slot(buffers, call + buffers->ahead);
    if (root) {
        memset(slot, (int)(call & 0xff), buffers->bytes);
        return;
    }
    for (size_t i = 0; i < buffers->bytes; i += LINE)
        *(volatile unsigned char *)(slot + i) = (unsigned char)~call;
}

/* A well mixed word for each position (the finaliser of splitmix64). */
static uint64_t pattern_word(uint64_t seed, size_t position)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + position;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t word_length(size_t bytes, size_t at)
{
    return bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);
}

void bench_buffers_fill(const struct bench_buffers *buffers, size_t call, uint64_t seed)
{
    unsigned char *slot = bench_buffers_slot(buffers, call);
    for (size_t i = 0; i < buffers->bytes; i += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, i);
        memcpy(slot + i, &word, word_length(buffers->bytes, i));
    }
}

int bench_buffers_verify(const struct bench_buffers *buffers, size_t call, uint64_t seed)
{
    const unsigned char *slot = bench_buffers_slot(buffers, call);
    for (size_t i = 0; i < buffers->bytes; i += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, i);
        if (memcmp(slot + i, &word, word_length(buffers->bytes, i)) != 0)
            return -1;
    }
    return 0;
}
