/* SPDX-License-Identifier: BSD-3-Clause */
/* What makes a back end one that has the baselines too. */
#include "baseline/baseline.h"

__attribute__((constructor)) static void add(void)
{
    sb_baselines_add();
}
