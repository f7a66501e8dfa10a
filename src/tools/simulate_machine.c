/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine's file, read into the numbers that the engine works with; where ranks stand on it. */
#include "tools/simulate.h"

#include "tools/machines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a parameter's number means. */
typedef enum unit {
    NANOSECONDS,
    PER_BYTE,   /* nanoseconds for a byte: kept as picoseconds for 1 KiB */
    GIGABYTES,  /* GB/s: kept as picoseconds for 1 KiB */
    PER_SECOND, /* kept as picoseconds between two */
    NUMBER64,
    NUMBER32,
} unit_t;

typedef struct parameter {
    const char *name;
    unit_t unit;
    size_t field;
    double standard; /* NAN: must be given */
} parameter_t;

#define FIELD(member) offsetof(sb_sim_machine_t, member)
#define EACH(name, unit, member, standard)                                                         \
    {name "_l2", unit, FIELD(member[SB_NEAR_L2]), standard},                                       \
        {name "_l3", unit, FIELD(member[SB_NEAR_L3]), standard},                                   \
        {name "_numa", unit, FIELD(member[SB_NEAR_NUMA]), standard},                               \
        {name "_package", unit, FIELD(member[SB_NEAR_PACKAGE]), standard},                         \
    {                                                                                              \
        name "_machine", unit, FIELD(member[SB_NEAR_MACHINE]), standard                            \
    }

/* A line's service at one level stands for that of all where nothing else is said, and copying
 * within a core for combining: see below. */
static const parameter_t parameters[] = {
    {"read_hit", NANOSECONDS, FIELD(read[SB_NEAR_CORE]), NAN},
    EACH("read", NANOSECONDS, read, NAN),
    {"memory_numa", NANOSECONDS, FIELD(memory[SB_NEAR_NUMA]), NAN},
    {"memory_package", NANOSECONDS, FIELD(memory[SB_NEAR_PACKAGE]), NAN},
    {"memory_machine", NANOSECONDS, FIELD(memory[SB_NEAR_MACHINE]), NAN},
    EACH("invalidate", NANOSECONDS, invalidate, NAN),
    {"invalidate_per_sharer", NANOSECONDS, FIELD(invalidate_per_sharer), NAN},
    {"atomic_extra", NANOSECONDS, FIELD(atomic_extra), NAN},
    {"atomic_crowded", NANOSECONDS, FIELD(atomic_crowded), 0},
    {"line_service", NANOSECONDS, FIELD(line_service[SB_NEAR_CORE]), NAN},
    EACH("line_service", NANOSECONDS, line_service, -1),
    {"share_service", NANOSECONDS, FIELD(share_service), 0},
    {"home_service", NANOSECONDS, FIELD(home_service), 0},
    {"link_service", NANOSECONDS, FIELD(link_service), 0},
    {"store", NANOSECONDS, FIELD(store), NAN},
    {"read_gap", NANOSECONDS, FIELD(read_gap), 0},
    {"read_overlap", NUMBER32, FIELD(read_overlap), 1},
    {"write_overlap", NUMBER32, FIELD(write_overlap), 16},
    {"copy_core", GIGABYTES, FIELD(copy_kib[SB_NEAR_CORE]), NAN},
    EACH("copy", GIGABYTES, copy_kib, NAN),
    {"copy_start", NANOSECONDS, FIELD(copy_start), 0},
    {"combine", GIGABYTES, FIELD(combine_kib), -1},
    {"numa_controller", GIGABYTES, FIELD(controller_kib), 0},
    {"link_package", GIGABYTES, FIELD(link_package_kib), 0},
    {"link_machine", GIGABYTES, FIELD(link_machine_kib), 0},
    {"l2_bytes", NUMBER64, FIELD(l2_bytes), NAN},
    {"l3_bytes", NUMBER64, FIELD(l3_bytes), 0},
    {"page_bytes", NUMBER64, FIELD(page_bytes), 4096},
    {"readahead_pages", NUMBER32, FIELD(readahead_pages), 1},
    {"switch", NANOSECONDS, FIELD(context_switch), NAN},
    {"yield", NANOSECONDS, FIELD(yield), NAN},
    {"slice", NANOSECONDS, FIELD(slice), 3e6},
    {"futex_wait", NANOSECONDS, FIELD(futex_wait), NAN},
    {"futex_wake", NANOSECONDS, FIELD(futex_wake), NAN},
    {"pause", NANOSECONDS, FIELD(pause), NAN},
    {"clock", NANOSECONDS, FIELD(clock_read), 0},
    {"call", NANOSECONDS, FIELD(call), 0},
    {"message", NANOSECONDS, FIELD(message), 0},
    {"noise_rate", PER_SECOND, FIELD(noise_every), 0},
    {"noise_length", NANOSECONDS, FIELD(noise_length), 0},
    {"net_latency", NANOSECONDS, FIELD(network.latency), 0},
    {"net_byte", PER_BYTE, FIELD(network.kib), 0},
    {"net_injection", GIGABYTES, FIELD(network.injection_kib), 0},
    {"net_overhead", NANOSECONDS, FIELD(network.overhead), 0},
    {"net_eager", NUMBER64, FIELD(network.eager), 0},
};

#define LARGEST 1e15

static void set_parameter(sb_sim_machine_t *model, const parameter_t *parameter, double number)
{
    uint64_t *wide = (uint64_t *)(void *)((char *)model + parameter->field);
    uint32_t *narrow = (uint32_t *)(void *)((char *)model + parameter->field);

    switch (parameter->unit) {
    case NANOSECONDS:
        *wide = (uint64_t)llround(number * 1000);
        break;
    case PER_BYTE:
        *wide = (uint64_t)llround(number * 1000 * 1024);
        break;
    case GIGABYTES:
        *wide = number == 0 ? 0 : (uint64_t)llround(1000.0 * 1024 / number);
        break;
    case PER_SECOND:
        *wide = number == 0 ? 0 : (uint64_t)llround(1e12 / number);
        break;
    case NUMBER64:
        *wide = (uint64_t)llround(number);
        break;
    case NUMBER32:
        *narrow = (uint32_t)llround(number);
        break;
    }
}

/* What the file says of the parameter; NULL: nothing. */
static const json_t *value_of(const json_t *given, const char *name, const char *path)
{
    const json_t *entry = json_object_get(given, name);
    const json_t *value = json_object_get(entry, "value");

    if (entry != NULL && value == NULL)
        sb_tool_fail("%s: parameters: %s: expected an object with a value", path, name);
    return value;
}

static void read_parameter(sb_sim_machine_t *model, const parameter_t *parameter,
                           const json_t *given, const char *path)
{
    const json_t *value = value_of(given, parameter->name, path);
    double number = value == NULL ? parameter->standard : json_number_value(value);

    if (value == NULL && isnan(parameter->standard))
        sb_tool_fail("%s: parameters: expected \"%s\", found nothing", path, parameter->name);
    if (value == NULL && parameter->standard < 0 && parameter->unit == NANOSECONDS)
        number = (double)model->line_service[SB_NEAR_CORE] / 1000;
    else if (value == NULL && parameter->standard < 0)
        number = 1000.0 * 1024 / (double)model->copy_kib[SB_NEAR_CORE];
    if (value != NULL && (!json_is_number(value) || number < 0 || number > LARGEST))
        sb_tool_fail("%s: parameters: %s: value: expected a number from 0 to %g", path,
                     parameter->name, LARGEST);
    set_parameter(model, parameter, number);
}

static void read_switch(sb_sim_machine_t *model, const json_t *given, const char *path)
{
    const json_t *value = value_of(given, "net_switch", path);
    const char *text = value == NULL ? "crossbar" : json_string_value(value);

    if (text == NULL || (strcmp(text, "star") != 0 && strcmp(text, "crossbar") != 0))
        sb_tool_fail("%s: parameters: net_switch: value: expected \"star\" or \"crossbar\"", path);
    model->network.star = strcmp(text, "star") == 0;
}

/* What the engine divides by or keeps in small fields. */
static void check_model(const sb_sim_machine_t *model, const char *path)
{
    uint64_t page = model->page_bytes;

    if (page < 4096 || (page & (page - 1)) != 0)
        sb_tool_fail("%s: parameters: page_bytes: expected a power of two from 4096 up, "
                     "found %llu",
                     path, (unsigned long long)page);
    if (model->read_overlap < 1 || model->read_overlap > SB_OVERLAP_MOST)
        sb_tool_fail("%s: parameters: read_overlap: expected 1 to %d, found %u", path,
                     SB_OVERLAP_MOST, model->read_overlap);
    if (model->write_overlap < 1 || model->write_overlap > SB_OVERLAP_MOST)
        sb_tool_fail("%s: parameters: write_overlap: expected 1 to %d, found %u", path,
                     SB_OVERLAP_MOST, model->write_overlap);
    if (model->numa_nodes > 255)
        sb_tool_fail("%s: topology: expected at most 255 NUMA nodes, found %u", path,
                     model->numa_nodes);
}

static void read_parameters(sb_sim_machine_t *model, const json_t *file, const char *path)
{
    const json_t *given = json_object_get(file, "parameters");

    if (!json_is_object(given))
        sb_tool_fail("%s: expected an object \"parameters\"", path);
    for (size_t i = 0; i < SB_COUNT_OF(parameters); i++)
        read_parameter(model, &parameters[i], given, path);
    read_switch(model, given, path);
}

/* The XML file lies beside the machine's file, if its name does not begin with a slash. */
static sb_topology_t *open_topology(const json_t *file, const char *path)
{
    const char *synthetic = json_string_value(json_object_get(file, "topology"));
    const char *xml = json_string_value(json_object_get(file, "xml"));
    const char *slash = strrchr(path, '/');
    char text[4096], error[512];

    if (synthetic == NULL && xml == NULL)
        sb_tool_fail("%s: expected \"topology\", an hwloc synthetic description, or \"xml\", "
                     "a file",
                     path);
    if (synthetic != NULL)
        snprintf(text, sizeof text, "%s", synthetic);
    else if (xml[0] == '/')
        snprintf(text, sizeof text, "%s", xml);
    else
        snprintf(text, sizeof text, "%.*s/%s", slash == NULL ? 1 : (int)(slash - path),
                 slash == NULL ? "." : path, xml);
    sb_topology_t *topology = sb_topology_open(text, error, sizeof error);
    if (topology == NULL)
        sb_tool_fail("%s: topology: %s", path, error);
    return topology;
}

/* Of which the file may say nothing. */
static sb_processor_t read_processor(const json_t *file, const char *path)
{
    const char *name = json_string_value(json_object_get(file, "processor"));
    sb_processor_t processor = name == NULL ? SB_PROCESSOR_OTHER : sb_processor_named(name);
    char names[256];

    if (processor == SB_PROCESSORS)
        sb_tool_fail("%s: processor: expected one of %s, found \"%s\"", path,
                     sb_processor_names(names, sizeof names), name);
    return processor;
}

/* Which unit of this kind each core is in; cores that share none are units of their own. */
static void read_units(sb_simulated_t *machine, sb_distance_t near, sb_level_kind_t kind)
{
    uint32_t cores = machine->model.cores;
    sb_levels_t levels;

    sb_levels_read(&levels, machine->topology, SB_LEVEL_BIT(kind));
    for (uint32_t core = 0; core < cores; core++) {
        int unit = levels.count == 0
                       ? -1
                       : sb_level_unit_of(&levels.level[0], machine->core_places[core].cpus);
        machine->cores[core].unit[near] = unit < 0 ? core : (uint32_t)unit;
    }
}

/* Where the core is, and how many processors it has: those of a hybrid machine differ in that. */
static void read_core(sb_simulated_t *machine, uint32_t core, const char *path)
{
    sb_sim_core_t *units = &machine->cores[core];
    const sb_place_t *place = &machine->core_places[core];

    /* Of a package without memory, as where a container may use that of another one alone. */
    if (place->numa_node < 0)
        sb_tool_fail("%s: topology: expected a NUMA node around each core, found none around "
                     "core %u",
                     path, core);
    units->unit[SB_NEAR_CORE] = core;
    units->unit[SB_NEAR_NUMA] = (uint32_t)place->numa_node;
    units->unit[SB_NEAR_MACHINE] = 0;
    units->threads = (uint32_t)sb_cpus_count(place->cpus);
}

static void read_cores(sb_simulated_t *machine, const char *path)
{
    sb_sim_machine_t *model = &machine->model;
    sb_topology_counts_t counts;

    sb_topology_count(machine->topology, &counts);
    model->cores = (uint32_t)counts.cores;
    model->numa_nodes = (uint32_t)counts.numa_nodes;
    machine->cores = sb_tool_take(counts.cores, sizeof *machine->cores);
    machine->core_places = sb_tool_take(counts.cores, sizeof *machine->core_places);
    if (sb_places_map(machine->core_places, counts.cores, machine->topology, SB_MAP_CORE) != SB_OK)
        sb_tool_fail("%s: topology: expected cores, found none that can be used", path);
    read_units(machine, SB_NEAR_L2, SB_LEVEL_L2);
    read_units(machine, SB_NEAR_L3, SB_LEVEL_L3);
    read_units(machine, SB_NEAR_PACKAGE, SB_LEVEL_PACKAGE);
    for (uint32_t core = 0; core < model->cores; core++) {
        uint32_t *package = &machine->cores[core].unit[SB_NEAR_PACKAGE];
        read_core(machine, core, path);
        if (counts.packages <= 1)
            *package = 0;
        model->packages = (uint32_t)sb_max(model->packages, *package + 1);
    }
    model->core = machine->cores;
}

void sb_simulated_read(sb_simulated_t *machine, const char *path)
{
    json_error_t error;
    json_t *file = json_load_file(path, 0, &error);

    *machine = (sb_simulated_t){0};
    if (file == NULL && error.line < 0)
        sb_tool_fail("%s", error.text);
    if (file == NULL)
        sb_tool_fail("%s:%d: %s", path, error.line, error.text);
    const char *name = json_string_value(json_object_get(file, "name"));
    const json_t *nodes = json_object_get(file, "nodes");
    machine->name = strdup(name == NULL ? path : name);
    machine->topology = open_topology(file, path);
    machine->topology->processor = read_processor(file, path);
    machine->model.nodes = nodes == NULL ? 1 : (uint32_t)json_integer_value(nodes);
    if (machine->model.nodes < 1 || machine->model.nodes > 65536)
        sb_tool_fail("%s: nodes: expected a number from 1 to 65536", path);
    read_cores(machine, path);
    read_parameters(&machine->model, file, path);
    check_model(&machine->model, path);
    json_decref(file);
}

void sb_simulated_free(sb_simulated_t *machine)
{
    sb_topology_close(machine->topology);
    free(machine->name);
    free(machine->cores);
    free(machine->core_places);
}

static uint32_t node_of(const sb_simulate_t *options, uint32_t rank)
{
    uint32_t nodes = options->nodes;

    return options->dealt ? rank % nodes : (uint32_t)((uint64_t)rank * nodes / options->ranks);
}

static uint32_t core_of(const sb_simulated_t *machine, const sb_place_t *place)
{
    uint32_t core = 0;

    while (core + 1 < machine->model.cores &&
           !sb_cpus_equal(place->cpus, machine->core_places[core].cpus))
        core++;
    return core;
}

/* The ranks of each node stand on it as they would without the others. */
void sb_simulate_place(const sb_simulate_t *options, const sb_simulated_t *machine,
                       sb_place_t *places, uint32_t *nodes, uint32_t *cores)
{
    sb_place_t *here = sb_tool_take(options->ranks, sizeof *here);

    for (uint32_t rank = 0; rank < options->ranks; rank++)
        nodes[rank] = node_of(options, rank);
    for (uint32_t node = 0; node < options->nodes; node++) {
        uint32_t count = 0, local = 0;
        for (uint32_t rank = 0; rank < options->ranks; rank++)
            count += nodes[rank] == node;
        if (count > 0 && sb_places_map(here, count, machine->topology, options->mapping) != SB_OK)
            sb_tool_fail("--ranks %u: the ranks could not be placed", options->ranks);
        for (uint32_t rank = 0; rank < options->ranks; rank++) {
            if (nodes[rank] != node)
                continue;
            places[rank] = here[local++];
            cores[rank] = core_of(machine, &places[rank]);
        }
    }
    free(here);
}
