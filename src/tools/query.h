/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_QUERY_H
#define SB_TOOLS_QUERY_H

#include "select/select.h"
#include "tools/mapping.h"
#include "tools/tool.h"
#include "topology/levels.h"

#include <jansson.h>

/* sobor-query answers questions about the core in JSON; the `sobor` command asks it. */

/* What the options said, or what stands for them. */
typedef struct sb_query {
    const char *machine; /* as given; NULL: this one */
    unsigned levels;     /* SB_LEVEL_BIT */
    const char *map_name;
    sb_mapping_t mapping;
    bool mapped; /* the mapping was given */
    sb_collective_t collective;
    uint64_t bytes;
    uint32_t nodes;           /* 0: not given */
    bool dealt;               /* ranks round the nodes */
    const char *network;      /* a machine file; NULL: as SOBOR_NETWORK says */
    uint32_t ranks;           /* 0: not given */
    int oversubscribed;       /* 0, 1; -1: to be found out */
    sb_processor_t processor; /* of another machine, which does not say it */
    double line;              /* prices in nanoseconds; 0: those that are built in */
    double byte;
} sb_query_t;

/* Answers one question; NULL means that memory ran out. */
typedef json_t *sb_query_function_t(const sb_query_t *query);

sb_query_function_t sb_query_variables;
sb_query_function_t sb_query_algorithms;
sb_query_function_t sb_query_prices;
sb_query_function_t sb_query_measured;
sb_query_function_t sb_query_topology;
sb_query_function_t sb_query_groups;
sb_query_function_t sb_query_exchanges;
sb_query_function_t sb_query_choice;
sb_query_function_t sb_query_spanning;
sb_query_function_t sb_query_placement;
sb_query_function_t sb_query_segment;
sb_query_function_t sb_query_tuning;
sb_query_function_t sb_query_version;

/* The machine asked about, with its levels. */
typedef struct sb_query_machine {
    const sb_topology_t *topology;
    sb_topology_t *opened; /* to be closed; NULL: this machine */
    sb_levels_t levels;
} sb_query_machine_t;

sb_query_machine_t sb_query_open_machine(const sb_query_t *query);
void sb_query_close_machine(sb_query_machine_t *machine);

/* Places of the ranks as they are dealt over the machine; to be freed. */
sb_place_t *sb_query_places(const sb_query_t *query, const sb_topology_t *topology);

/* What is wrong with a tuning file, or null. */
json_t *sb_query_tuning_error(const char *path);

/*
 * The rules for this machine in the files that jobs would read, of whatever MPI: all, or, where it
 * is said whether ranks share processors, those that decide for such a call.
 */
json_t *sb_query_measured_rules(const sb_query_t *query, const bool *oversubscribed);

/* Bytes of the ring that a team of this process would ask for. */
size_t sb_query_ring(void);

#endif
