/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_ASKED_H
#define SB_TOOLS_ASKED_H

#include "select/select.h"

/* A team that is only asked about: of so many ranks at these places. */

/* Its shape. Returns SB_ERR_MEMORY, or SB_OK. */
sb_status_t sb_asked_shape(sb_shape_t *shape, const sb_settings_t *settings,
                           const sb_topology_t *topology, const sb_place_t *places, uint32_t ranks);

/* Gives `settings` those rules of SOBOR_TUNING that fit such a team, in `room`. */
void sb_asked_rules(sb_settings_t *settings, const sb_shape_t *shape, sb_rules_t *room);

#endif
