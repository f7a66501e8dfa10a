/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/baseline.h"

#include "baseline/announced.h"
#include "baseline/forms.h"
#include "select/select.h"

static const sb_algorithm_t *const baselines[] = {
#define SB_BASELINE(collective, name, text) &sb_##collective##_##name,
#include "base/baselines.def"
#undef SB_BASELINE
};

static const sb_bcast_memory_t *const announced[] = {
    [SB_ANNOUNCED_NUMA_PIPELINED] = &sb_announced_numa_pipelined,
    [SB_ANNOUNCED_COLL_SM] = &sb_announced_coll_sm,
    [SB_ANNOUNCED_MVAPICH] = &sb_announced_mvapich,
    [SB_ANNOUNCED] = NULL,
};

void sb_baselines_add(void)
{
    sb_bcast_baselines = announced;
    sb_form_by_name = sb_form_find;
    sb_named_allgather = &sb_cluster_bagds;
    sb_algorithms_add(baselines, SB_COUNT_OF(baselines));
}
