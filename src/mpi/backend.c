/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/backend.h"

#include "base/collectives.h"
#include "mpi/calls.h"
#include "mpi/serve.h"
#include "mpi/traced.h"
#include "select/tuning.h"

#include <string.h>

int sb_backend_start(void *libmpi)
{
    sb_settings_t settings;

    if (!sb_host_open(libmpi))
        return -1;
    sb_machine_start();
    sb_settings_self(&settings);
    sb_settings_check(&settings);
    sb_tuning_self();
    return 0;
}

void *sb_backend_function(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } wrappers[] = {
#define SB_FUNCTION(name) {#name, (void *)(uintptr_t)sb_mpi_##name},
#include "base/functions.def"
    };

    void *traced = sb_traced_function(name);
    if (traced != NULL)
        return traced;
    for (size_t i = 0; i < SB_COUNT_OF(wrappers); i++) {
        if (strcmp(wrappers[i].name, name) == 0)
            return wrappers[i].function;
    }
    return NULL;
}

void *sb_backend_around(const char *name, void *tool)
{
    return sb_around_tool(name, tool);
}

const char *sb_backend_last_algorithm(void)
{
    return atomic_load_explicit(&sb_last_algorithm_name, memory_order_relaxed);
}

void sb_backend_counters(uint64_t counters[3])
{
    sb_usage_t sum = {.calls = {0}};

    sb_comm_totals(&sum);
    counters[0] = sb_usage_served(&sum);
    counters[1] = sb_usage_passed(&sum);
    counters[2] = sum.bytes;
}

int sb_backend_node(uint32_t node[3])
{
    bool oversubscribed;

    if (!sb_node_of_world(&node[0], &node[1], &oversubscribed))
        return -1;
    node[2] = oversubscribed;
    return 0;
}

void sb_backend_count(sb_trace_counted_t *counted)
{
    sb_trace_self.counted = counted;
}

/* Programs that use sessions alone never call MPI_Finalize. */
__attribute__((destructor)) static void report_at_exit(void)
{
    sb_comm_report();
    sb_trace_finish(SB_TRACE_EXITED);
}
