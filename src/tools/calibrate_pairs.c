/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pairs of cores are measured. All of 192 cores are 18,336 pairs, each of which takes one or
 * two milliseconds: half a minute, and of 384 cores two.
 */
#include "tools/calibrate.h"

bool sb_calibration_has_pair(size_t partners, size_t a, size_t b)
{
    size_t dealt = partners - 1, others = b - 1;

    if (partners == 0 || b <= partners || a + 1 == b)
        return true;
    /* In the middles of as many parts of the rest. */
    return ((a + 1) * dealt + others / 2) / others > (a * dealt + others / 2) / others;
}

size_t sb_calibration_pairs(size_t partners, size_t count)
{
    size_t pairs = 0;

    for (size_t b = 1; b < count; b++)
        pairs += partners == 0 ? b : sb_min(b, partners);
    return pairs;
}

double sb_calibration_mean_hop(const sb_calibration_t *calibration, size_t cores)
{
    double sum = 0;

    for (size_t b = 1; b < cores; b++) {
        const double *hop = &calibration->hops[b * calibration->count];
        double others = 0;
        size_t measured = 0;
        for (size_t a = 0; a + 1 < b; a++) {
            if (sb_calibration_has_pair(calibration->partners, a, b)) {
                others += hop[a];
                measured++;
            }
        }
        sum +=
            hop[b - 1] + (measured == 0 ? hop[b - 1] : others / (double)measured) * (double)(b - 1);
    }
    return sum / ((double)cores * (double)(cores - 1) / 2);
}
