/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce of the whole by all: windows of the message go through shared memory; every rank copies
 * its contribution in, and when all have done so combines those of all for itself, from left to
 * right in rank order. Cost: one barrier for each window; each rank copies every byte in and
 * combines p times as many, so it is for few ranks, and for ranks that share processors, which have
 * to run once for each window. Memory: two windows a rank. Preconditions: the workspace. Source:
 * ours; the allreduce through slots, with a barrier in place of a flag for each.
 */
#include "coll/reduction/workspace.h"

static sb_status_t combine(const sb_team_t *team, const sb_reduction_t *reduction, size_t offset,
                           size_t bytes)
{
    sb_fold_t fold;

    sb_fold_begin(&fold, reduction->operation, reduction->receive + offset, bytes);
    for (uint32_t rank = 0; rank < team->size; rank++)
        sb_fold_add(&fold,
                    sb_workspace_buffer(team, rank, sb_workspace(team)->turns, SB_WINDOW_IN));
    return sb_fold_end(&fold);
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_workspace_t *space = sb_workspace(team);
    size_t element = reduction->operation->element;
    size_t window = space->buffer / element * element;
    sb_status_t data = SB_OK;

    for (size_t offset = 0; offset < reduction->bytes; offset += window, space->turns++) {
        size_t bytes = sb_min(window, reduction->bytes - offset);
        sb_copy(sb_workspace_buffer(team, team->rank, space->turns, SB_WINDOW_IN),
                reduction->send + offset, bytes);
        sb_status_t status = sb_workspace_meet(team);
        if (status != SB_OK)
            return status;
        data = sb_first(data, combine(team, reduction, offset, bytes));
    }
    return data;
}

/* A byte of somebody on another package, or that many fight for. */
#define COST_BYTE_APART (3 * SB_COST_BYTE)

static double cost(const sb_shape_t *shape, size_t bytes)
{
    double each = shape->apart ? COST_BYTE_APART : SB_COST_BYTE;
    double copied = (shape->ranks + 1) * each * (double)bytes;

    return 2 * SB_COST_LINE + sb_workspace_steps_cost(shape, 1) +
           copied * sb_max(1, shape->ranks / shape->processors);
}

const sb_algorithm_t sb_allreduce_whole = {
    .name = "whole",
    .collective = SB_ALLREDUCE,
    .doc = "Windows go through shared memory; when all have copied one in, each rank combines all "
           "of it in rank order. For few ranks, and where they share processors.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_workspace_prepare,
    .cost = cost,
    .reduction = run,
};
