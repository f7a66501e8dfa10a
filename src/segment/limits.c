/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/limits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The files of one version of control groups. */
typedef struct flavour {
    const char *mount;
    const char *limit;
    const char *usage;
    const char *reclaimable; /* key in memory.stat */
} flavour_t;

static const flavour_t unified = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                  "inactive_file "};
static const flavour_t legacy = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                 "memory.usage_in_bytes", "total_inactive_file "};

typedef struct path {
    char text[1024];
} path_t;

static bool read_number(const char *path, uint64_t *number)
{
    FILE *file = fopen(path, "re");
    bool found = file != NULL && fscanf(file, "%" SCNu64, number) == 1;

    if (file != NULL)
        fclose(file);
    return found;
}

/* The number behind `key` at the start of a line, or 0. */
static uint64_t read_keyed(const char *path, const char *key)
{
    char line[256];
    uint64_t number = 0;
    FILE *file = fopen(path, "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            sscanf(line + strlen(key), "%" SCNu64, &number);
    }
    if (file != NULL)
        fclose(file);
    return number;
}

/* Narrows the limits by one group. The root group has no limit file, or an enormous number in it.
 */
static void apply_group(const char *root, const flavour_t *flavour, const char *group,
                        sb_limits_t *limits)
{
    path_t path;
    uint64_t limit, usage;

    snprintf(path.text, sizeof path.text, "%s%s%s/%s", root, flavour->mount, group, flavour->limit);
    if (!read_number(path.text, &limit) || limit >= UINT64_MAX / 4)
        return;
    snprintf(path.text, sizeof path.text, "%s%s%s/%s", root, flavour->mount, group, flavour->usage);
    if (!read_number(path.text, &usage))
        return;
    snprintf(path.text, sizeof path.text, "%s%s%s/memory.stat", root, flavour->mount, group);
    uint64_t reclaimable = read_keyed(path.text, flavour->reclaimable);
    usage -= reclaimable < usage ? reclaimable : usage;
    uint64_t available = limit > usage ? limit - usage : 0;
    if (limit < limits->group_limit)
        limits->group_limit = limit;
    if (available < limits->group_available)
        limits->group_available = available;
}

/* The group itself and every group above it, the mount's root (inside a container: ours) included.
 */
static void apply_chain(const char *root, const flavour_t *flavour, char *group,
                        sb_limits_t *limits)
{
    for (;;) {
        apply_group(root, flavour, strcmp(group, "/") == 0 ? "" : group, limits);
        char *slash = strrchr(group, '/');
        if (slash == NULL || group[0] == '\0')
            return;
        *slash = '\0';
    }
}

static bool lists_memory(const char *controllers)
{
    char list[256];

    snprintf(list, sizeof list, ",%s,", controllers);
    return strstr(list, ",memory,") != NULL;
}

static void apply_membership(const char *root, char *line, sb_limits_t *limits)
{
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (group == NULL)
        return;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    controllers++;
    if (*controllers == '\0')
        apply_chain(root, &unified, group, limits);
    else if (lists_memory(controllers))
        apply_chain(root, &legacy, group, limits);
}

void sb_limits_read(const char *root, sb_limits_t *limits)
{
    path_t path;
    char line[1024];

    *limits = (sb_limits_t){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    snprintf(path.text, sizeof path.text, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path.text, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        apply_membership(root, line, limits);
    if (file != NULL)
        fclose(file);
    snprintf(path.text, sizeof path.text, "%s/proc/meminfo", root);
    uint64_t kib = read_keyed(path.text, "MemAvailable:");
    if (kib > 0)
        limits->machine_available = kib * 1024;
}

uint64_t sb_limits_available(const sb_limits_t *limits)
{
    return limits->group_available < limits->machine_available ? limits->group_available
                                                               : limits->machine_available;
}
