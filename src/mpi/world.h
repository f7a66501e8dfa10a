/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_WORLD_H
#define SB_MPI_WORLD_H

#include "mpi/report.h"
#include "team/hello.h"

/*
 * Who of MPI_COMM_WORLD runs with Sobor on this node, as its board says (segment/board.h). Where
 * the launcher names no job there is no board: ranks then ask each other at each set-up.
 */

/* Before the host's MPI_Init, and after it; `initialised`: whether it was successful. */
void sb_world_join(void);
void sb_world_tell(bool initialised);

/* Does the latter now if MPI is initialised, and nobody has come to it: a tool's MPI_Init may call
 * the host past Sobor, and make collective calls before it returns. */
void sb_world_catch_up(void);

/* Calls on a communicator from which on it is served, counted by all alike. */
uint64_t sb_world_serve_after(void);

/* Whether all ranks of MPI_COMM_WORLD are known to run with Sobor, wherever they are: they find the
 * same. */
bool sb_world_is_whole(void);

/* As sb_world_serve_after, of a communicator whose ranks are on several nodes. */
uint64_t sb_world_serve_spanning_after(void);

/* Whether a communicator that comes into use now is the host's (SB_WHY_ABSENT), on this rank and on
 * all others, so that nobody has to be asked: with sessions alone. */
bool sb_world_goes_without(void);

/* A number for the job, as the launcher gives it: another for another job. 0: it says nothing. */
uint64_t sb_world_key(void);

/* Whether the launcher says that all ranks are on this node: the same for all of them. */
bool sb_world_is_one_node(void);

/* Whether all ranks of MPI_COMM_WORLD are known to record calls: they find the same. Of those on
 * several nodes. */
bool sb_world_is_traced(void);

/* The members of a communicator as ranks of MPI_COMM_WORLD. */
typedef struct sb_members {
    MPI_Group group; /* of the communicator; not set for MPI_COMM_WORLD itself */
    MPI_Group world;
    int size;
    bool is_world;
    bool is_on_board; /* what they say of themselves is known: sb_members_profile */
} sb_members_t;

/*
 * Looks at the members. SB_WHY_NONE: nothing is against a team; the same for all of them. To be
 * closed in any case.
 */
sb_why_host_t sb_members_open(sb_members_t *members, MPI_Comm comm, int size);
void sb_members_close(sb_members_t *members);

/* What this member says of itself; `members`: an sb_members_t. */
const sb_profile_t *sb_members_profile(void *members, uint32_t rank);

/* An exchange of all ranks of MPI_COMM_WORLD that needs no host; all of them are here. */
sb_status_t sb_world_exchange(void *context, const void *mine, void *all, size_t bytes);

#endif
