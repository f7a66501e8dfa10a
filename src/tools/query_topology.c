/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "tools/machines.h"
#include "topology/cgroup.h"

#include <stdlib.h>
#include <string.h>

#define CPU_TEXT (SB_CPUS_MOST * 5)

sb_query_machine_t sb_query_open_machine(const sb_query_t *query)
{
    char error[1024];
    sb_query_machine_t machine = {0};

    if (query->machine == NULL && query->processor != SB_PROCESSOR_OTHER)
        sb_tool_fail("--processor: expected --machine too, as this machine says its own");
    if (query->machine != NULL) {
        machine.opened = sb_topology_open(query->machine, error, sizeof error);
        if (machine.opened == NULL)
            sb_tool_fail("--machine: %s", error);
        if (machine.opened->processor == SB_PROCESSOR_OTHER)
            machine.opened->processor = query->processor;
    }
    machine.topology = machine.opened != NULL ? machine.opened : sb_topology_self();
    sb_levels_read(&machine.levels, machine.topology, query->levels);
    return machine;
}

void sb_query_close_machine(sb_query_machine_t *machine)
{
    sb_topology_close(machine->opened);
}

static json_t *machine_name(const sb_query_t *query, const sb_query_machine_t *machine)
{
    const char *model = machine->topology == NULL ? "" : machine->topology->model;

    if (query->machine != NULL)
        return sb_tool_text(query->machine);
    return sb_tool_text(*model != '\0' ? model : "this machine");
}

static json_t *list_levels(const sb_levels_t *levels)
{
    json_t *list = json_array();

    for (size_t i = 0; i < levels->count; i++) {
        const sb_level_t *level = &levels->level[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", sb_level_name(level->kind),
                                              "count", (json_int_t)level->count, "cores_per_unit",
                                              (json_int_t)level->cores_per_unit));
    }
    return list;
}

/* On this machine, where this process may run; on another, where a process could. */
static json_t *show_binding(const sb_query_t *query, const sb_topology_t *topology)
{
    char text[CPU_TEXT];
    sb_place_t place;

    if (query->machine == NULL)
        sb_place_self(&place);
    else
        memcpy(place.cpus, topology->allowed, sizeof place.cpus);
    return json_string(sb_cpus_format(place.cpus, text, sizeof text));
}

static json_t *show_processor(const sb_topology_t *topology)
{
    if (topology == NULL || topology->processor == SB_PROCESSOR_OTHER)
        return json_null();
    return json_pack("{s:s, s:s}", "name", sb_processor_name(topology->processor), "doc",
                     sb_processor_doc(topology->processor));
}

static json_t *show_quota(const sb_query_t *query)
{
    double cpus = query->machine == NULL ? sb_cgroup_cpus("") : 0;

    return cpus > 0 ? json_real(cpus) : json_null();
}

json_t *sb_query_topology(const sb_query_t *query)
{
    sb_query_machine_t machine = sb_query_open_machine(query);
    sb_topology_counts_t counts;

    sb_topology_count(machine.topology, &counts);
    json_t *answer = json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "machine",
        machine_name(query, &machine), "processor", show_processor(machine.topology), "levels",
        list_levels(&machine.levels), "packages", (json_int_t)counts.packages, "cores",
        (json_int_t)counts.cores, "pus", (json_int_t)counts.pus, "numa_nodes",
        (json_int_t)counts.numa_nodes, "allowed_pus", (json_int_t)counts.allowed_pus, "binding",
        show_binding(query, machine.topology), "quota_cpus", show_quota(query));
    sb_query_close_machine(&machine);
    return answer;
}

static json_t *list_members(const sb_stage_t *stage, size_t group)
{
    const uint32_t *members = sb_stage_members(stage, group);
    json_t *list = json_array();

    for (size_t i = 0; i < sb_stage_size(stage, group); i++)
        json_array_append_new(list, json_integer(members[i]));
    return list;
}

static json_t *list_stages(const sb_groups_t *groups)
{
    json_t *list = json_array();

    for (size_t i = 0; i < groups->count; i++) {
        const sb_stage_t *stage = &groups->stage[i];
        json_t *of_stage = json_array();
        for (size_t group = 0; group < stage->count; group++)
            json_array_append_new(of_stage, list_members(stage, group));
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "level", sb_level_name(stage->kind), "groups", of_stage));
    }
    return list;
}

static json_t *list_places(const sb_place_t *places, uint32_t ranks)
{
    char text[CPU_TEXT];
    json_t *list = json_array();

    for (uint32_t rank = 0; rank < ranks; rank++) {
        const char *cpus = sb_cpus_format(places[rank].cpus, text, sizeof text);
        json_array_append_new(list, json_pack("{s:I, s:s, s:i}", "rank", (json_int_t)rank, "cpus",
                                              cpus, "node", places[rank].numa_node));
    }
    return list;
}

sb_place_t *sb_query_places(const sb_query_t *query, const sb_topology_t *topology)
{
    sb_place_t *places = sb_tool_take(query->ranks, sizeof *places);

    if (sb_places_map(places, query->ranks, topology, query->mapping) != SB_OK)
        sb_tool_fail("sobor-query groups: the machine shows no core for a rank");
    return places;
}

json_t *sb_query_groups(const sb_query_t *query)
{
    sb_query_machine_t machine = sb_query_open_machine(query);
    sb_place_t *places = sb_query_places(query, machine.topology);
    sb_groups_t groups;

    if (sb_groups_build(&groups, machine.topology, &machine.levels, places, query->ranks) ==
        SB_ERR_MEMORY)
        sb_tool_fail("sobor-query: out of memory");
    json_t *answer =
        json_pack("{s:o, s:s, s:b, s:o, s:s?, s:o}", "machine", machine_name(query, &machine),
                  "map", query->map_name, "oversubscribed",
                  sb_places_oversubscribed(places, query->ranks), "levels", list_stages(&groups),
                  "refusal", groups.refusal, "ranks", list_places(places, query->ranks));
    sb_groups_free(&groups);
    sb_query_close_machine(&machine);
    free(places);
    return answer;
}
