/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_MACHINES_H
#define SB_TOOLS_MACHINES_H

#include "topology/groups.h"

/*
 * What those need who speak of machines, their own or another: how it is named, its processors in
 * words, and the hierarchy that ranks would have on it.
 */

/*
 * Reads another machine (sb_topology_read), to be closed by the caller. Returns NULL and fills
 * `error` if it cannot be read.
 */
sb_topology_t *sb_topology_open(const char *machine, char *error, size_t size);

/* Writes the set as "0-3,8", cut to `size`; an empty set gives "". Returns `text`. */
char *sb_cpus_format(const uint64_t *cpus, char *text, size_t size);

/*
 * The hierarchy of `ranks` ranks at `places` over the levels of the machine that count, as
 * sb_groups_of_locality makes it.
 */
sb_status_t sb_groups_build(sb_groups_t *groups, const sb_topology_t *topology,
                            const sb_levels_t *levels, const sb_place_t *places, size_t ranks);

#endif
