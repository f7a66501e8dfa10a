/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/baseline.h"

#include "baseline/pipeline.h"
#include "select/select.h"

static const sb_algorithm_t *const baselines[] = {
#define SB_BASELINE(collective, name, text) &sb_##collective##_##name,
#include "base/baselines.def"
#undef SB_BASELINE
};

void sb_baselines_add(void)
{
    sb_bcast_baseline = &sb_bcast_pipeline;
    sb_algorithms_add(baselines, SB_COUNT_OF(baselines));
}
