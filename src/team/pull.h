/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_PULL_H
#define SB_TEAM_PULL_H

#include "team/team.h"

/*
 * Reading another member's private memory in one copy, where the system allows it. Whether it does
 * depends on more than can be asked (users, namespaces, filters of system calls, security modules),
 * so it is tried.
 */

/*
 * Every member reads a number out of every other's private memory. Collective; all get the same
 * `proved`: whether all could. `process` gets what sb_pull wants for each rank. The outcome is that
 * of the team's exchanges.
 */
sb_status_t sb_pull_prove(sb_team_t *team, uint64_t *process, bool *proved);

#endif
