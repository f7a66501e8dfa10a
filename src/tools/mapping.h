/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_MAPPING_H
#define SB_TOOLS_MAPPING_H

#include "topology/topology.h"

/* The ways in which launchers deal ranks over a machine, each rank bound to one core, or none. */
typedef enum sb_mapping {
    SB_MAP_CORE,   /* consecutive cores */
    SB_MAP_NUMA,   /* round robin over the NUMA nodes */
    SB_MAP_SOCKET, /* round robin over the packages */
    SB_MAP_NONE,   /* not bound: each may run on every allowed processor */
} sb_mapping_t;

/* Reads "core", "numa", "socket" or "none". Returns false if it is none of them. */
bool sb_mapping_parse(const char *name, sb_mapping_t *mapping);

/*
 * Places `ranks` ranks of one job on the allowed cores of the machine; when all cores are taken,
 * dealing starts again with the first. Without a topology, on the processors of this process.
 * Returns SB_ERR_UNSUPPORTED if there is no core, or none whose processors sb_place_t can hold.
 */
sb_status_t sb_places_map(sb_place_t *places, size_t ranks, const sb_topology_t *topology,
                          sb_mapping_t mapping);

/* Binds this process to the place, as a launcher would. */
bool sb_place_bind(const sb_place_t *place);

#endif
