/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_LENT_H
#define SB_COLL_REDUCTION_LENT_H

#include "coll/reduction/workspace.h"

/*
 * A contribution to a reduce in rings that stays where it is: the root has the kernel copy it. The
 * first one goes to where the result belongs, at once if there is no other; further ones, and those
 * to a root whose own contribution is there, pass in pieces through memory of the root. The owner
 * says so in the first byte of the message's positions, with where it is beside that, and waits
 * for the root's answer, which comes before the last is combined. If the root could not read it, it
 * fills its ring from the beginning, as others do. The root chooses by the copy policy, also how
 * what is not lent is copied in, and shows that; the others do as it shows, each when it sees it.
 */

/* What passes through the root's memory at once, of each. Longer windows are not lent. */
#define SB_LENT_PIECE ((size_t)64 << 10)

/* Root: the contributions to the present message that were lent. All zero: none. */
typedef struct sb_lent {
    uint64_t start; /* of the message, as a position */
    uint32_t ranks; /* bit r: of rank r */
    uint32_t first; /* whose goes to `to_result` */
    char *to_result;
    size_t from; /* of the message, in the pieces, */
    size_t to;   /* up to here */
} sb_lent_t;

/* Private memory behind that of the workspace; 0: nothing is ever lent. */
size_t sb_lent_room(const sb_team_t *team);

/* Part of making the workspace. */
sb_status_t sb_lent_prepare(sb_team_t *team, void *room);

/* Whether the root chooses how a message of so many bytes comes. The same on all ranks. */
bool sb_lent_may_be(const sb_team_t *team, size_t bytes, size_t window);

/*
 * Whether the message goes round in all of the rings instead of their span: as its root has decided
 * for all that begin from some position on. The root says that a ring ahead, so that each rank has
 * heard of it by then: who has got there has had news of the root since. To be asked by every rank,
 * before its root chooses.
 */
bool sb_lent_is_wide(const sb_team_t *team, const sb_reduction_t *reduction);

/* Of such a message. Root: chooses, and shows that. sb_workspace_copied ends the message. */
void sb_lent_choose(sb_team_t *team, const sb_reduction_t *reduction);

/* Root: the message is over. */
void sb_lent_ended(sb_team_t *team);

/* Another rank: begins, and is told how to give its contribution; SB_COPY_PULLED: it is lent. */
sb_copy_mode_t sb_lent_asked(const sb_team_t *team, const sb_reduction_t *reduction);

/* That rank shows where it is in the present message; then it waits for the root's answer to the
 * message that began at `start`. `*read`: the root has it. */
void sb_lent_show(const sb_team_t *team, const sb_reduction_t *reduction);
sb_status_t sb_lent_wait(sb_team_t *team, const sb_reduction_t *reduction, uint64_t start,
                         bool *read);

/*
 * Root: waits until all have said how they give, and finds out who lends. `result`: what may be
 * written over before anything is combined, or NULL.
 */
sb_status_t sb_lent_find(sb_team_t *team, sb_lent_t *lent, char *result);

/*
 * Root: has the window of the message that begins at `from` at hand of all who lend, of whom none
 * is left if that fails; tells them when it has the last. `bytes`: of the message.
 */
void sb_lent_fetch(sb_team_t *team, sb_lent_t *lent, size_t from, size_t window, size_t bytes);

/*
 * Root: has all that the others give. The time of a message counts from when the last rank began
 * it, and twice up to here: once for the others, who may leave now. Of those who are ahead it is
 * not known, and taken as long as the root's: in a row of calls they wait for room, or to be read.
 */
void sb_lent_all_gave(sb_team_t *team);

/* Root: waits until those who do not lend have given up to `end`. */
sb_status_t sb_lent_wait_others(sb_team_t *team, const sb_lent_t *lent, const sb_peers_t *given,
                                uint64_t end);

static inline bool sb_lent_is(const sb_lent_t *lent, uint32_t rank)
{
    return lent->ranks != 0 && (lent->ranks >> rank & 1) != 0;
}

/* Where the byte of the message of that rank is at hand. */
static inline const char *sb_lent_at(const sb_team_t *team, const sb_lent_t *lent, uint32_t rank,
                                     size_t offset)
{
    if (rank == lent->first)
        return lent->to_result + offset;
    return sb_workspace(team)->pieces + rank * SB_LENT_PIECE + (offset - lent->from);
}

#endif
