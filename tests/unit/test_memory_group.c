/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory in a control group that is really short: a group below that of this process. */
#include "testing.h"

#include "segment/arena.h"
#include "segment/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define SHORT_BYTES (100 * MIB)

typedef struct path {
    char text[1024];
} path_t;

/* The folder of this process's memory group, version 1 or 2, or "". */
static path_t own_group(const char **limit_name)
{
    path_t found = {""};
    char line[512];
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *group = strrchr(line, ':') + 1;
        bool legacy = strstr(line, ":memory:") != NULL, unified = strstr(line, "::") != NULL;
        group[strcspn(group, "\n")] = '\0';
        if (!legacy && !unified)
            continue;
        path_t folder;
        snprintf(folder.text, sizeof folder.text, "/sys/fs/cgroup%s%s", legacy ? "/memory" : "",
                 strcmp(group, "/") == 0 ? "" : group);
        if (legacy || access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
            found = folder;
        *limit_name = legacy ? "memory.limit_in_bytes" : "memory.max";
        if (legacy)
            break;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static bool write_number(const char *folder, const char *name, size_t number)
{
    path_t path;
    bool done = false;

    snprintf(path.text, sizeof path.text, "%s/%s", folder, name);
    FILE *file = fopen(path.text, "we");
    if (file != NULL) {
        bool written = fprintf(file, "%zu\n", number) > 0;
        done = fclose(file) == 0 && written;
    }
    return done;
}

/* An inner group with a large limit in an outer one with a small one. */
typedef struct groups {
    path_t outer, inner;
    bool made;
} groups_t;

static groups_t make_groups(void)
{
    groups_t groups = {.made = false};
    const char *limit = NULL;
    path_t own = own_group(&limit);

    snprintf(groups.outer.text, sizeof groups.outer.text, "%.900s/sobor-test-%d", own.text,
             (int)getpid());
    snprintf(groups.inner.text, sizeof groups.inner.text, "%.1000s/inner", groups.outer.text);
    if (own.text[0] == '\0' || mkdir(groups.outer.text, 0755) != 0)
        return groups;
    write_number(groups.outer.text, "memory.use_hierarchy", 1);
    groups.made = mkdir(groups.inner.text, 0755) == 0 &&
                  write_number(groups.outer.text, limit, SHORT_BYTES) &&
                  write_number(groups.inner.text, limit, 10 * SHORT_BYTES);
    return groups;
}

static void remove_groups(const groups_t *groups)
{
    rmdir(groups->inner.text);
    rmdir(groups->outer.text);
}

/* In the inner group: what the outer one leaves is what there is. */
static bool short_memory_is_noticed(void)
{
    sb_limits_t limits;
    sb_block_t large, small;
    sb_reason_t reason;

    sb_limits_read("", &limits);
    if (limits.group_limit != SHORT_BYTES || limits.group_available > SHORT_BYTES ||
        limits.group_available < SHORT_BYTES / 2)
        return false;
    if (sb_arena_take(&large, 64 * MIB, SB_ARENA_ANY, 2, &reason) != SB_ERR_MEMORY ||
        strstr(reason.text, "control group") == NULL)
        return false;
    return sb_arena_take(&small, 8 * MIB, SB_ARENA_ANY, 2, &reason) == SB_OK;
}

static void a_short_group_bounds_shared_memory(void **state)
{
    groups_t groups = make_groups();
    int status = -1;

    (void)state;
    if (!groups.made) {
        remove_groups(&groups);
        LEAVE_OUT("no memory control group can be made here");
    }
    pid_t child = fork();
    if (child == 0)
        _exit(write_number(groups.inner.text, "cgroup.procs", (size_t)getpid())
                  ? !short_memory_is_noticed()
                  : 2);
    waitpid(child, &status, 0);
    remove_groups(&groups);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_short_group_bounds_shared_memory)};

    setenv("SOBOR_MEMORY", "256MiB", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
