/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_LEAVE_H
#define SB_TEAM_LEAVE_H

#include "team/team.h"

/* What set-up shares with the end of a team. */

/* Frees the blocks of teams that all their members have left. */
void sb_team_sweep(void);

/* Ends the use of the others' control blocks. */
void sb_team_detach(sb_team_t *team);

/* Frees the private memory of a team that is no more, or was never complete; NULL: nothing. */
void sb_team_free(sb_team_t *team);

#endif
