/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/limits.h"

#include "base/file.h"
#include "topology/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool read_number(uint64_t *number, const char *folder, const char *name)
{
    char line[64];

    return sb_file_line(line, sizeof line, "%s/%s", folder, name) &&
           sscanf(line, "%" SCNu64, number) == 1;
}

/* The number behind `key` at the start of a line, or 0. */
static uint64_t read_keyed(const char *folder, const char *name, const char *key)
{
    char line[4096];
    uint64_t number = 0;

    snprintf(line, sizeof line, "%s/%s", folder, name);
    FILE *file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            sscanf(line + strlen(key), "%" SCNu64, &number);
    }
    if (file != NULL)
        fclose(file);
    return number;
}

/* Narrows the limits by one group. The root group has no limit file, or an enormous number in it.
 * Above memory.high nobody is killed, but each of the group waits whenever it takes a page. */
static void look_at_memory(void *context, const char *folder, bool unified)
{
    sb_limits_t *limits = context;
    uint64_t limit = UINT64_MAX, high = UINT64_MAX, usage;

    read_number(&limit, folder, unified ? "memory.max" : "memory.limit_in_bytes");
    if (unified)
        read_number(&high, folder, "memory.high");
    limit = sb_min(limit, high);
    if (limit >= UINT64_MAX / 4 ||
        !read_number(&usage, folder, unified ? "memory.current" : "memory.usage_in_bytes"))
        return;
    uint64_t reclaimable =
        read_keyed(folder, "memory.stat", unified ? "inactive_file " : "total_inactive_file ");
    usage -= sb_min(usage, reclaimable);
    uint64_t available = limit - sb_min(limit, usage);
    if (available >= limits->group_available)
        return;
    limits->group_limit = limit;
    limits->group_available = available;
    limits->group_version = unified ? 2 : 1;
}

void sb_limits_read(const char *root, sb_limits_t *limits)
{
    *limits = (sb_limits_t){UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
    sb_cgroup_each(root, "memory", look_at_memory, limits);
    uint64_t kib = read_keyed(root, "proc/meminfo", "MemAvailable:");
    if (kib > 0)
        limits->machine_available = kib * 1024;
}

uint64_t sb_limits_available(const sb_limits_t *limits)
{
    return sb_min(limits->group_available, limits->machine_available);
}
