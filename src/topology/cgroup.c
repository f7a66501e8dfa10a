/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/cgroup.h"

#include "base/config.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

typedef struct visit {
    const char *root;
    const char *controller;
    sb_cgroup_look_t *look;
    void *context;
} visit_t;

static void climb(const visit_t *visit, const char *mount, const char *group, bool unified)
{
    char folder[4096];
    int length = snprintf(folder, sizeof folder, "%s%s%s", visit->root, mount, group);

    if (length >= (int)sizeof folder)
        return;
    if (strcmp(group, "/") == 0)
        folder[length - 1] = '\0';
    for (;;) {
        visit->look(visit->context, folder, unified);
        char *slash = strrchr(folder + strlen(visit->root) + strlen(mount), '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* One line of /proc/self/cgroup: "number:controllers:group"; no controllers are named for v2. */
static void visit_membership(const visit_t *visit, char *line)
{
    char mount[128];
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (group == NULL)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", visit->controller);
    if (*controllers == '\0') {
        climb(visit, "/sys/fs/cgroup", group, true);
        climb(visit, "/sys/fs/cgroup/unified", group, true);
    } else if (sb_words_contain(controllers, visit->controller)) {
        climb(visit, mount, group, false);
    }
}

void sb_cgroup_each(const char *root, const char *controller, sb_cgroup_look_t *look, void *context)
{
    const visit_t visit = {root, controller, look, context};
    char line[1024];

    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        visit_membership(&visit, line);
    if (file != NULL)
        fclose(file);
}

/* v2: "150000 100000", or "max 100000" for none. v1: two files; a quota of -1 for none. */
static void look_at_quota(void *tightest, const char *folder, bool unified)
{
    char quotas[64], periods[64];
    double quota, period, *least = tightest;

    if (!sb_file_line(quotas, sizeof quotas, "%s/%s", folder,
                      unified ? "cpu.max" : "cpu.cfs_quota_us"))
        return;
    if (!unified && sb_file_line(periods, sizeof periods, "%s/cpu.cfs_period_us", folder))
        snprintf(quotas + strcspn(quotas, "\n"), 32, " %.30s", periods);
    if (sscanf(quotas, "%lf %lf", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return;
    if (*least == 0 || quota / period < *least)
        *least = quota / period;
}

double sb_cgroup_cpus(const char *root)
{
    double tightest = 0;

    sb_cgroup_each(root, "cpu", look_at_quota, &tightest);
    return tightest;
}
