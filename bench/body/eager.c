/* SPDX-License-Identifier: BSD-3-Clause */
#include "eager.h"

enum { FIRST = 64, NEAR = 16 };

static int leaves_alone(bench_eager_trial *trial, void *context, int bytes)
{
    int first = trial(context, bytes);
    return trial(context, bytes) == first ? first : trial(context, bytes);
}

void bench_eager_search(bench_eager_trial *trial, void *context, int most, int *leaves, int *stays)
{
    *leaves = 0;
    *stays = FIRST;
    while (*stays <= most && leaves_alone(trial, context, *stays)) {
        *leaves = *stays;
        *stays *= 2;
    }
    while (*stays - *leaves > NEAR && *stays - *leaves > *leaves / 64) {
        int middle = *leaves + (*stays - *leaves) / 2;
        if (leaves_alone(trial, context, middle))
            *leaves = middle;
        else
            *stays = middle;
    }
}
