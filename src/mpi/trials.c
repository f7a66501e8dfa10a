/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/trials.h"

#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

static sb_tried_t *make(sb_comm_t *comm, const sb_planned_t *planned, const sb_algorithm_t *own)
{
    sb_tried_t *tried = malloc(sizeof *tried);

    if (tried == NULL)
        return NULL;
    *tried = (sb_tried_t){.trial = sb_trial(planned->algorithm == NULL,
                                            sb_server_settings(&comm->server)->trial_rest),
                          .planned = planned,
                          .own = own,
                          .ruled = planned->algorithm == NULL,
                          .next = comm->trials};
    comm->trials = tried;
    return tried;
}

/*
 * That of the choice, made at its first turn; NULL: it is none that is tried, or no memory. A rank
 * without memory would go its own way, and the others would wait for it: Sobor's side fails there
 * instead.
 */
static sb_tried_t *find(sb_comm_t *comm, sb_planned_t *planned, sb_collective_t collective,
                        size_t bytes)
{
    sb_tried_t *tried = comm->trials;

    while (tried != NULL && tried->planned != planned)
        tried = tried->next;
    if (tried != NULL)
        return tried;
    const sb_algorithm_t *own =
        sb_choose(collective, &comm->plan->shape, comm->plan->settings, bytes, false).own;
    if (own == NULL)
        return NULL; /* it has counted once around */
    tried = planned->made ? make(comm, planned, own) : NULL;
    if (tried == NULL) {
        sb_server_fail(&comm->server, SB_ERR_MEMORY);
        planned->algorithm = own; /* which reports that */
    }
    return tried;
}

static sb_why_host_t why(const sb_comm_t *comm, const sb_tried_t *tried)
{
    if (tried->trial.trying)
        return SB_WHY_TRIAL;
    return tried->ruled ? sb_why_chosen(comm, tried->own->collective) : SB_WHY_FASTER;
}

static sb_status_t fold(const sb_operator_t *self, void *to, const void *const from[], uint32_t n,
                        size_t bytes)
{
    sb_spent_t all = {.slowest = {0}}, one;

    (void)self;
    (void)bytes;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&one, from[i], sizeof one);
        sb_spent_add(&all, &one);
    }
    memcpy(to, &all, sizeof all);
    return SB_OK;
}

/* The conclusion of a round, drawn alike by all. */
static sb_status_t agree(const sb_comm_t *comm, sb_trial_t *trial)
{
    static const sb_operator_t operation = {
        .element = sizeof(sb_spent_t), .commutative = true, .fold = fold, .exact = true};
    sb_spent_t mine = sb_spent(trial->spent), all;
    sb_reduction_t reduction = {.operation = &operation,
                                .bytes = sizeof mine,
                                .send = (const char *)&mine,
                                .receive = (char *)&all};

    if (comm->server.team != NULL)
        return sb_trial_agree(trial, comm->server.team);
    sb_status_t status = sb_cluster_allreduce(comm->server.cluster, &reduction);
    if (status == SB_OK)
        sb_trial_judge(trial, &all);
    return status;
}

void sb_trials_turn(sb_comm_t *comm, sb_planned_t *planned, sb_collective_t collective,
                    size_t bytes)
{
    sb_tried_t *tried = find(comm, planned, collective, bytes);

    if (tried == NULL)
        return;
    sb_trial_t *trial = &tried->trial;
    if (sb_trial_is_due(trial) && agree(comm, trial) != SB_OK) {
        planned->algorithm = tried->own; /* which reports the server's failure */
        return;
    }
    planned->until = sb_trial_next(trial);
    planned->algorithm = sb_trial_is_hosted(trial) ? NULL : tried->own;
    planned->why = (uint8_t)why(comm, tried);
    comm->trial = trial->timed ? trial : NULL;
    comm->timed = comm->timed || trial->timed;
    comm->trial_began = sb_now_ns();
}

void sb_trials_end(sb_comm_t *comm)
{
    sb_trial_record(comm->trial, sb_now_ns() - comm->trial_began);
    comm->trial = NULL;
    comm->timed = comm->usage.by_algorithm != NULL;
}
