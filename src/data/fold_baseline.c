/* SPDX-License-Identifier: BSD-3-Clause */
/* For every processor of the family. */
#define SB_FOLD_LOOPS sb_fold_baseline
#include "data/fold_loops.h"
