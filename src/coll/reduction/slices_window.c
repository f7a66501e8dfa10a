/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/slices.h"

#include <math.h>

/* In groups a step takes longer: as so many bytes for each rank of the largest. */
#define STEP_BYTES_EACH 600.0
/* Equal slices of groups begin with a pair of lines, which caches may fetch together. */
#define LINE_PAIR ((size_t)2 * SB_LINE)

/* Windows so large that steps cost as much as filling and emptying the pipeline. */
static size_t best_window(size_t bytes, uint32_t groups, size_t largest)
{
    double step = fmax(SB_SLICES_BARRIER, STEP_BYTES_EACH * (double)largest);

    return (size_t)sqrt((double)bytes * step / (groups + 1));
}

static uint32_t largest_group(const sb_workspace_t *space)
{
    uint32_t largest = 0;

    for (uint32_t group = 0; group < space->groups; group++)
        largest = sb_max(largest, sb_group_size(space, group));
    return largest;
}

/*
 * Windows of groups. Each rank should have a slice that is worth it, and all that is under way
 * should stay in the second-level cache, for which the memory is made; the former comes first. All
 * windows are about as large, and slices equal: the slowest rank makes the step.
 */
static size_t grouped_window(const sb_workspace_t *space, size_t bytes)
{
    size_t largest = largest_group(space), least = SB_SLICE_LEAST * largest;
    size_t best =
        sb_min(space->buffer / (space->groups + 1), best_window(bytes, space->groups, largest));
    size_t window = sb_min(space->buffer, sb_max(least, best));
    size_t equal = sb_divide_up(bytes, sb_max(1, sb_divide_up(bytes, window)));
    size_t unit = equal < least ? SB_SLICE_LEAST : largest * LINE_PAIR;

    /* A message of nothing has none, and they have a length all the same. */
    return sb_max(1, sb_divide_up(equal, unit)) * unit;
}

size_t sb_slices_window(const sb_team_t *team, const sb_reduction_t *reduction, uint32_t groups,
                        size_t most)
{
    size_t element = reduction->operation->element;
    size_t window = (size_t)team->settings.fragment_bytes;

    if (window == 0)
        window = groups == 1 ? most : grouped_window(sb_workspace(team), reduction->bytes);
    window = sb_divide_up(sb_min(sb_round_up(window, SB_LINE), most), element) * element;
    return window <= most ? window : most / element * element;
}
