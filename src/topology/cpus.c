/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/cpus.h"

#include <stdio.h>

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
