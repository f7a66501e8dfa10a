/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/compiler.h"
#include "data/layout.h"

#include <stdlib.h>

/* Lists of at least so many runs, of so many bytes on average, are sorted. */
#define SORTED_RUNS 128
#define SORTED_AVERAGE 256

void sb_sorted_free(sb_sorted_t *sorted)
{
    if (sorted == NULL)
        return;
    free(sorted->runs);
    free(sorted->starts);
    free(sorted);
}

/* Which of the lengths this one is; learns it if it is new. SB_SORTED_LENGTHS: there are too many.
 */
static size_t length_index(sb_sorted_t *sorted, size_t length)
{
    size_t i = 0;

    while (i < sorted->lengths && sorted->length[i] != length)
        i++;
    if (i == sorted->lengths && i < SB_SORTED_LENGTHS)
        sorted->length[sorted->lengths++] = length;
    return i;
}

/* Counts the runs of each length; false if there are too many lengths. */
static bool count_lengths(const sb_layout_t *list, sb_sorted_t *sorted, size_t *counts)
{
    for (size_t i = 0; i < list->n; i++) {
        size_t index = length_index(sorted, sb_run_length(list, i));
        if (index == SB_SORTED_LENGTHS)
            return false;
        counts[index]++;
    }
    return true;
}

/* Puts each run behind those of its length. `next`: where the next run of each length goes. */
static void sort_runs(const sb_layout_t *list, sb_sorted_t *sorted, size_t *next)
{
    uint32_t *starts = sorted->starts;

    for (size_t i = 0; i <= list->n; i++) {
        for (size_t k = 0; (i % SB_SORTED_ROW == 0 || i == list->n) && k < sorted->lengths; k++)
            *starts++ = (uint32_t)next[k];
        if (i < list->n)
            sorted->runs[next[length_index(sorted, sb_run_length(list, i))]++] = list->runs[i];
    }
}

void sb_sorted_add(sb_layout_t *list)
{
    size_t counts[SB_SORTED_LENGTHS] = {0}, next[SB_SORTED_LENGTHS] = {0};
    size_t rows = list->n / SB_SORTED_ROW + 2;
    sb_sorted_t *sorted;

    if (list->n < SORTED_RUNS || list->bytes / list->n > SORTED_AVERAGE ||
        3 * list->memory > SB_LAYOUT_BYTES_MOST || (sorted = calloc(1, sizeof *sorted)) == NULL)
        return;
    if (count_lengths(list, sorted, counts)) {
        sorted->runs = calloc(list->n, sizeof *sorted->runs);
        sorted->starts = calloc(rows * sorted->lengths, sizeof *sorted->starts);
    }
    if (sorted->runs == NULL || sorted->starts == NULL) {
        sb_sorted_free(sorted);
        return;
    }
    for (size_t k = 1; k < sorted->lengths; k++)
        next[k] = next[k - 1] + counts[k - 1];
    sort_runs(list, sorted, next);
    list->sorted = sorted;
    list->memory += list->n * sizeof *sorted->runs + rows * sorted->lengths * sizeof(uint32_t);
}
