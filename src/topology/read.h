/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_READ_H
#define SB_TOPOLOGY_READ_H

#include "topology/topology.h"

/*
 * Reads a machine by hwloc, to be closed by the caller: an hwloc XML file, a synthetic description
 * such as "package:2 numa:2 core:8 pu:1", or this one if NULL. Nothing of hwloc stays open. Returns
 * NULL with errno set.
 */
sb_topology_t *sb_topology_read(const char *machine);

/* Whether the description is the name of a file. */
bool sb_topology_is_file(const char *machine);

/*
 * Writes the description of `machine` that sb_topology_read understands. False if it cannot be
 * read, is too uneven for a description, or that is too long.
 */
bool sb_topology_describe(const char *machine, char *text, size_t size);

/* Writes an XML file that sb_topology_read understands. */
sb_status_t sb_topology_save(const char *machine, const char *path);

#endif
