/* SPDX-License-Identifier: BSD-3-Clause */
#include "cold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MINIMUM_SLOTS = 3, INDEXES = 8, TIMES_CACHES = 4, FREE_SHARE = 4 };

static const uint64_t MINIMUM_RANGE = (uint64_t)256 << 20;

/* A line of what the kernel says of a cache of a processor; false: there is none. */
static bool read_line(const char *root, int processor, int index, const char *name, char *line,
                      int room)
{
    char path[512];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/cache/index%d/%s", root, processor,
             index, name);
    FILE *file = fopen(path, "r");
    bool found = file != NULL && fgets(line, room, file) != NULL;
    if (file != NULL)
        fclose(file);
    return found;
}

/* "2048K" */
static uint64_t bytes_of(const char *text)
{
    char *unit;
    uint64_t number = strtoull(text, &unit, 10);
    return number << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0);
}

/* Of a list such as "0-3,8" the first one that belongs to the set, or -1. */
static int first_shared(const char *list, const cpu_set_t *processors)
{
    for (char *end; *list != '\0'; list = *end == ',' ? end + 1 : "") {
        long first = strtol(list, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i >= 0 && i <= last && i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, processors))
                return (int)i;
    }
    return -1;
}

/* Each cache counts for the first of those that share it. */
static uint64_t counted_for(int processor, int index, const cpu_set_t *processors, const char *root)
{
    char level[64], type[64], size[64], shared[4096];
    if (!read_line(root, processor, index, "level", level, sizeof level) || atoi(level) < 2 ||
        !read_line(root, processor, index, "type", type, sizeof type) ||
        strncmp(type, "Instruction", 11) == 0 ||
        !read_line(root, processor, index, "size", size, sizeof size) ||
        !read_line(root, processor, index, "shared_cpu_list", shared, sizeof shared))
        return 0;
    return first_shared(shared, processors) == processor ? bytes_of(size) : 0;
}

uint64_t bench_caches_of(const cpu_set_t *processors, const char *root)
{
    uint64_t bytes = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        for (int index = 0; CPU_ISSET(i, processors) && index < INDEXES; index++)
            bytes += counted_for(i, index, processors, root);
    long third = bytes == 0 ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
    return third > 0 ? (uint64_t)third : bytes;
}

static uint64_t default_range(const struct bench_node *node)
{
    uint64_t range = TIMES_CACHES * node->caches;
    uint64_t most = node->available / FREE_SHARE;
    if (range < MINIMUM_RANGE)
        range = MINIMUM_RANGE;
    return range < most ? range : most;
}

size_t bench_slots(size_t stride, bool cold, uint64_t range, const struct bench_node *node)
{
    uint64_t ranks = (uint64_t)node->ranks;
    uint64_t share = (range > 0 ? range : default_range(node)) / ranks;
    uint64_t slots = cold ? share / stride : 1;
    if (cold && slots < MINIMUM_SLOTS)
        slots = MINIMUM_SLOTS;
    return slots * stride * ranks > node->available / 2 ? 0 : slots;
}
