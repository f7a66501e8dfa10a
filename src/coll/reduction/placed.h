/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_PLACED_H
#define SB_COLL_REDUCTION_PLACED_H

#include "coll/reduction/workspace.h"

/*
 * Results that are combined where they belong, in memory that the others read by loads: a rank
 * copies out only what others have combined, straight from where they have it. Before it leaves it
 * waits until they have read, which is a barrier more, so rank 0 says for each call whether all go
 * so. Whose own buffer cannot be read, or is what is combined as well, uses windows as ever. A rank
 * says of each window where its part of the result is after it has written it there, and only if it
 * is shared still; where a fork came before, what it wrote is copied to the window.
 */

/* Bytes of a message from which copying less saves more than the barrier costs. */
size_t sb_placed_least(const sb_team_t *team, const sb_shape_t *shape);

/*
 * Or each rank combines everything where it belongs, out of contributions that all have left where
 * they are; so nobody reads what another has combined. Of two ranks: more would read more that way.
 */
#define SB_PLACED_WHOLE_RANKS 2

/*
 * The same out of windows that all have copied in whole, past the caches: with cores far apart
 * these come out of memory sooner than contributions and slices of the result out of another core's
 * caches.
 */

/*
 * Of two ranks a long allreduce is combined where it belongs only if both contributions stay where
 * they are; after the first barrier both know. If not they pass through rings (rings.c), without a
 * further barrier. Where that is because one of them cannot be read, the next calls of such sizes
 * go there at once, one, then two, then more, before it is looked again. So buffers that are not in
 * the heap cost nothing. All count alike.
 */
bool sb_placed_both(const sb_team_t *team, const sb_reduction_t *reduction, bool all);

/* Whether this call goes through rings at once. Once for each call. */
bool sb_placed_passes(const sb_team_t *team, size_t bytes);

/* Before the first barrier of a call that does not, and after it: whether both stay. */
void sb_placed_say_elsewhere(const sb_team_t *team, const sb_reduction_t *reduction);
bool sb_placed_both_stay(const sb_team_t *team, size_t bytes);

typedef enum sb_placing {
    SB_PLACING_NONE,
    SB_PLACING_PARTS,
    SB_PLACING_WHOLE,
    SB_PLACING_EACH, /* everything, out of windows */
} sb_placing_t;

/* Whether this rank copies its contribution in from end to end, which it tells the others. `all`,
 * here and below: every rank wants the whole result. */
bool sb_placed_show_entire(const sb_team_t *team, bool all, sb_copy_mode_t mode);

/* Rank 0, before the first barrier of the call. */
void sb_placed_say(const sb_team_t *team, const sb_reduction_t *reduction, bool all,
                   sb_copy_mode_t mode);

/* After that barrier: what this call's results do. The same on all ranks. */
sb_placing_t sb_placed_said(const sb_team_t *team);

/* This rank combines everything. */
sb_status_t sb_placed_combine(const sb_team_t *team, const sb_reduction_t *reduction);

/*
 * A reduce_scatter of two ranks that both get something: each combines its part where it belongs,
 * out of contributions that both have left where they are. `*stay`: that is so, and it is done; if
 * not, only a barrier was. Who combines in place overwrites what the other wants.
 */
sb_status_t sb_placed_part(sb_team_t *team, const sb_reduction_t *reduction, bool *stay);

/* Whether this rank's can be. */
bool sb_placed_may_be(const sb_reduction_t *reduction);

/* Bytes of the result that this rank has just written to `placed`; `window`: where they are if the
 * others cannot read them there, or that is NULL. */
void sb_placed_show(const sb_team_t *team, uint64_t turn, const sb_reduction_t *reduction,
                    const char *placed, char *window, size_t bytes);

/* Where bytes of a rank's part of the result are; NULL: in its window. */
const char *sb_placed_at(const sb_team_t *team, uint32_t rank, uint64_t turn, size_t offset,
                         size_t bytes, sb_status_t *data);

#endif
