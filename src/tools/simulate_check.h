/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_SIMULATE_CHECK_H
#define SB_TOOLS_SIMULATE_CHECK_H

#include "machine/sim/join.h"
#include "tools/simulate.h"

/* A watch for one run by the clock; ends the tool if there is no memory. */
sb_join_t *sb_simulate_watch(uint32_t ranks);

/* Adds to the run's object what was found; `problem`: why it did not come to its end, or NULL. */
void sb_simulate_watched(json_t *result, const sb_join_t *join, const char *problem);

#endif
