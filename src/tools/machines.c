/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/machines.h"

#include "topology/read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

sb_topology_t *sb_topology_open(const char *machine, char *error, size_t size)
{
    sb_topology_t *topology = sb_topology_read(machine);

    if (topology != NULL)
        return topology;
    if (sb_topology_is_file(machine))
        snprintf(error, size, "%s: expected an hwloc XML file: %s", machine,
                 access(machine, R_OK) != 0 ? strerror(errno) : "the file could not be understood");
    else
        snprintf(error, size,
                 "expected an hwloc XML file or a synthetic description such as "
                 "\"package:2 numa:2 core:8 pu:1\", found \"%s\"",
                 machine);
    return NULL;
}

/* The last processor of the run that starts at `first`. */
static unsigned run_end(const uint64_t *cpus, unsigned first)
{
    while (sb_cpus_has(cpus, first + 1))
        first++;
    return first;
}

char *sb_cpus_format(const uint64_t *cpus, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned first = 0; first < SB_CPUS_MOST && used < size; first++) {
        if (!sb_cpus_has(cpus, first))
            continue;
        unsigned last = run_end(cpus, first);
        const char *comma = used > 0 ? "," : "";
        int length = first == last
                         ? snprintf(text + used, size - used, "%s%u", comma, first)
                         : snprintf(text + used, size - used, "%s%u-%u", comma, first, last);
        used += (size_t)length;
        first = last;
    }
    return text;
}

sb_status_t sb_groups_build(sb_groups_t *groups, const sb_topology_t *topology,
                            const sb_levels_t *levels, const sb_place_t *places, size_t ranks)
{
    sb_locality_t locality;

    *groups = (sb_groups_t){0};
    if (sb_locality_make(&locality, topology, places, ranks) != SB_OK)
        return SB_ERR_MEMORY;
    sb_status_t status = sb_groups_of_locality(groups, levels, &locality, 0);
    sb_locality_free(&locality);
    return status;
}
