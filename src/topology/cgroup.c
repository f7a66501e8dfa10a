/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct path {
    char text[4096];
} path_t;

/* Reads one group's quota, in processors. Returns false if it has none. */
typedef bool (*read_quota_t)(const char *folder, double *cpus);

static bool read_line(const char *folder, const char *name, char *line, int size)
{
    path_t path;

    if (snprintf(path.text, sizeof path.text, "%s/%s", folder, name) >= (int)sizeof path.text)
        return false;
    FILE *file = fopen(path.text, "re");
    if (file == NULL)
        return false;
    bool found = fgets(line, size, file) != NULL;
    fclose(file);
    return found;
}

static bool divide(double quota, double period, double *cpus)
{
    *cpus = period > 0 ? quota / period : 0;
    return *cpus > 0;
}

/* v2: "150000 100000", or "max 100000" for none. */
static bool read_unified(const char *folder, double *cpus)
{
    char line[128];
    double quota, period;

    return read_line(folder, "cpu.max", line, sizeof line) &&
           sscanf(line, "%lf %lf", &quota, &period) == 2 && divide(quota, period, cpus);
}

/* v1: two files; a quota of -1 for none. */
static bool read_legacy(const char *folder, double *cpus)
{
    char line[128];
    double quota, period;

    return read_line(folder, "cpu.cfs_quota_us", line, sizeof line) &&
           sscanf(line, "%lf", &quota) == 1 &&
           read_line(folder, "cpu.cfs_period_us", line, sizeof line) &&
           sscanf(line, "%lf", &period) == 1 && divide(quota, period, cpus);
}

/*
 * The group and every group above it. The mount itself comes last: inside a container it is the
 * container's own group, whatever path the kernel shows.
 */
static void apply_chain(const char *root, const char *mount, char *group, read_quota_t read_quota,
                        double *tightest)
{
    path_t folder;
    double cpus;

    for (;;) {
        int length = snprintf(folder.text, sizeof folder.text, "%s%s%s", root, mount, group);
        if (length < (int)sizeof folder.text && read_quota(folder.text, &cpus) &&
            (*tightest == 0 || cpus < *tightest))
            *tightest = cpus;
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

static bool lists_cpu(const char *controllers)
{
    char list[256];

    snprintf(list, sizeof list, ",%s,", controllers);
    return strstr(list, ",cpu,") != NULL;
}

/* One line of /proc/self/cgroup: "number:controllers:group"; no controllers are named for v2. */
static void apply_membership(const char *root, char *line, double *tightest)
{
    path_t again;
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (group == NULL)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0') {
        snprintf(again.text, sizeof again.text, "%s", group);
        apply_chain(root, "/sys/fs/cgroup", again.text, read_unified, tightest);
        apply_chain(root, "/sys/fs/cgroup/unified", group, read_unified, tightest);
    } else if (lists_cpu(controllers)) {
        apply_chain(root, "/sys/fs/cgroup/cpu", group, read_legacy, tightest);
    }
}

double sb_cgroup_cpus(const char *root)
{
    path_t path;
    char line[4096];
    double tightest = 0;

    snprintf(path.text, sizeof path.text, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path.text, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        apply_membership(root, line, &tightest);
    if (file != NULL)
        fclose(file);
    return tightest;
}
