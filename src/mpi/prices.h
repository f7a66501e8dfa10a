/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_PRICES_H
#define SB_MPI_PRICES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The prices of this process: as they were measured on this machine before, or by this job.
 */

/*
 * Before the host's MPI_Init: looks for them in files; `ranks`: on this node, 0: not said. True:
 * they are to be measured.
 */
bool sb_prices_read(uint32_t ranks);

/* After it: measures, together with the others on the board. */
void sb_prices_measure(void);

/* Where they are from, as a phrase: "built in". */
const char *sb_prices_origin(void);

#endif
