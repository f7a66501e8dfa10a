/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/engine.h"

#include "machine/sim/state.h"

#include <errno.h>
#include <stdlib.h>

sb_sim_t *sb_sim;

sb_sim_t *sb_sim_new(const sb_sim_options_t *options)
{
    sb_sim_t *sim = calloc(1, sizeof *sim);

    if (sim == NULL)
        return NULL;
    sim->options = *options;
    sim->machine = *options->machine;
    sim->ranks = options->ranks;
    sb_sim = sim;
    if (sb_sim_schedule_new(sim) && sb_sim_caches_new(sim))
        return sim;
    sb_sim_free(sim);
    errno = ENOMEM;
    return NULL;
}

void sb_sim_free(sb_sim_t *sim)
{
    if (sim == NULL)
        return;
    if (sim->rank != NULL && sim->wire != NULL)
        sb_sim_net_begin(sim);
    sb_sim_memory_free(sim);
    sb_sim_caches_free(sim);
    sb_sim_schedule_free(sim);
    free(sim);
    sb_sim = NULL;
}

uint32_t sb_sim_rank(void)
{
    return sb_sim->running->number;
}

uint32_t sb_sim_node(void)
{
    return sb_sim->running->node;
}

uint64_t sb_sim_clock(void)
{
    return sb_sim->running->clock;
}

const char *sb_sim_problem(const sb_sim_t *sim)
{
    return sim->problem;
}

void sb_sim_lines(sb_sim_lines_t *lines)
{
    *lines = sb_sim->lines;
}

void sb_sim_note(sb_sim_activity_t activity, uint64_t begin, uint64_t end)
{
    sb_sim_t *sim = sb_sim;

    if (!sim->options.records || sim->guided || end <= begin)
        return;
    if (sim->record_count == sim->record_room) {
        size_t room = sim->record_room == 0 ? 1024 : 2 * sim->record_room;
        sb_sim_record_t *records = realloc(sim->records, room * sizeof *records);
        if (records == NULL)
            sb_sim_stop("the simulator is out of memory");
        sim->records = records;
        sim->record_room = room;
    }
    sim->records[sim->record_count++] =
        (sb_sim_record_t){sim->running->number, activity, begin, end};
}

const sb_sim_record_t *sb_sim_records(size_t *count)
{
    *count = sb_sim->record_count;
    return sb_sim->records;
}

void sb_sim_records_clear(void)
{
    sb_sim->record_count = 0;
}
