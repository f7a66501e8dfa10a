/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BCAST_BCAST_H
#define SB_COLL_BCAST_BCAST_H

#include "coll/coll.h"

/*
 * The broadcasts of a team. Every rank calls with the same root; the streams should hold as many
 * bytes on every rank. What is done follows from the root's number alone. A rank whose stream holds
 * fewer than the root's gets what it has room for and SB_ERR_TRUNCATE; one whose stream holds more
 * gets what there is and SB_ERR_SHORT. The team stays in order. The root may return before anybody
 * has received anything, but of a message that others fetch from where it is.
 */

/*
 * A broadcast of a team that need not have what the algorithm needs: the root's announcement has
 * all make it, also those that chose another algorithm. SB_ERR_UNSUPPORTED: it cannot be had; all
 * get that.
 */
sb_status_t sb_bcast(const sb_algorithm_t *algorithm, sb_team_t *team, uint32_t root,
                     const sb_stream_t *stream);

#endif
