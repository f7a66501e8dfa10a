/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/levels.h"

#include <string.h>

static const char *const names[] = {
    [SB_LEVEL_L2] = "l2",           [SB_LEVEL_L3] = "l3",   [SB_LEVEL_NUMA] = "numa",
    [SB_LEVEL_PACKAGE] = "package", [SB_LEVEL_TOP] = "top",
};

const char *sb_level_name(sb_level_kind_t kind)
{
    return names[kind];
}

static bool parse_name(const char *name, size_t length, unsigned *kinds)
{
    if (length == strlen("socket") && strncmp(name, "socket", length) == 0) {
        *kinds |= SB_LEVEL_BIT(SB_LEVEL_PACKAGE);
        return true;
    }
    for (unsigned kind = 0; kind < SB_LEVELS_MOST; kind++) {
        if (strlen(names[kind]) == length && strncmp(names[kind], name, length) == 0) {
            *kinds |= SB_LEVEL_BIT(kind);
            return true;
        }
    }
    return false;
}

bool sb_levels_parse(const char *text, unsigned *kinds)
{
    *kinds = 0;
    for (;;) {
        size_t length = strcspn(text, ",+");
        if (!parse_name(text, length, kinds))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

int sb_level_unit_of(const sb_level_t *level, const uint64_t *cpus)
{
    if (sb_cpus_empty(cpus))
        return -1;
    for (size_t i = 0; i < level->count; i++) {
        if (sb_cpus_inside(cpus, level->units[i].cpus))
            return (int)i;
    }
    return -1;
}

static bool same_units(const sb_level_t *a, const sb_level_t *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!sb_cpus_equal(a->units[i].cpus, b->units[i].cpus))
            return false;
    }
    return true;
}

static void insert_level(sb_levels_t *levels, const sb_level_t *level)
{
    size_t at = levels->count++;

    while (at > 0 && levels->level[at - 1].cores_per_unit > level->cores_per_unit) {
        levels->level[at] = levels->level[at - 1];
        at--;
    }
    levels->level[at] = *level;
}

static void add_level(sb_levels_t *levels, const sb_level_t *level)
{
    sb_level_t *twin = NULL;

    for (size_t i = 0; i < levels->count; i++) {
        if (same_units(&levels->level[i], level))
            twin = &levels->level[i];
    }
    if (twin == NULL && level->cores_per_unit >= 2)
        insert_level(levels, level);
    else if (twin != NULL && level->kind == SB_LEVEL_NUMA)
        twin->kind = SB_LEVEL_NUMA;
}

void sb_levels_read(sb_levels_t *levels, const sb_topology_t *topology, unsigned kinds)
{
    *levels = (sb_levels_t){0};
    if (topology == NULL)
        return;
    for (unsigned kind = 0; kind < SB_LEVELS_MOST; kind++) {
        if ((kinds & SB_LEVEL_BIT(kind)) != 0)
            add_level(levels, &topology->level[kind]);
    }
}
