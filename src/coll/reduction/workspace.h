/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_WORKSPACE_H
#define SB_COLL_REDUCTION_WORKSPACE_H

#include "coll/reduction/reduction.h"
#include "coll/resources.h"
#include "team/block_policy.h"
#include "team/copy_policy.h"
#include "team/expose.h"
#include "team/flow.h"

/*
 * The memory of the large reductions. Each rank owns one block, on its own NUMA node:
 *
 *     given       how much of its contributions is in its ring, as a position
 *     taken       how much it is done with in the rings of all
 *     mode        of rank 0: how contributions are copied in, for each class of sizes
 *     lending     of a root: how they come to it, and whether they stay where they are, see lent.h
 *     wide[]      of a root: from what position on such messages go round in all of the rings,
 *                 or in the span again, see lent.h
 *     ways[]      of rank 0: from what position on a long allreduce of two ranks goes how, and a
 *                 long reduce_scatter, see ways.h
 *     sent        where its contribution is, if the others read it there; or 0
 *     entire      whether what it has copied in is all of it, see placed.h
 *     elsewhere   whether nobody could read it where it is, see placed.h
 *     placing     of rank 0: whether results of the present call are placed, see placed.h
 *     placed[d]   of a window: where this rank's result belongs, if the others read it there; or 0
 *     piece[]     pieces of what goes over blocks, one for each slot
 *     ring        its contribution to reductions through rings, see rings.c
 *
 * and where the team has met a reduction that goes step by step, another one, its buffers:
 *
 *     in[d]       windows of its contribution
 *     result[d]   what it has combined of a window
 *     relay[d]    what it has brought near of a window's result
 *
 * A window is a range of the message that passes through at a time; it takes turns in the d buffers
 * of each kind. Turns are counted alike by all members. Ranks go step by step, with a barrier
 * between steps: what is written in one step may be read in the next, and a buffer is used again
 * when all have gone through a barrier since it was last read.
 *
 * Ranks side by side on one NUMA node are a group, where each has two of them at least; packages
 * take the place of nodes where there are many of these. Groups combine a window one after the
 * other, so that between them travels what is combined already, and the order stays that of ranks.
 */

/* Bytes of a piece that goes over blocks, see k_ary_tree.h. */
#define SB_WORKSPACE_PIECE ((size_t)2 << 10)
#define SB_WORKSPACE_SCRATCH 9

/* Turns of a window where all ranks are one group. */
#define SB_WORKSPACE_DEPTH 3

/* Long allreduces of two ranks, see ways.h. */
typedef enum sb_ways {
    SB_WAYS_OF_ALL,   /* through rings, */
    SB_WAYS_OF_LOADS, /* or maybe by loads; */
    SB_WAYS_OF_PARTS, /* and a reduce_scatter, maybe by loads */
    SB_WAYS,          /* how many there are */
} sb_ways_t;

/* Words of rank 0: of allreduces, of reduce_scatters. */
#define SB_WAYS_WORDS 2

/* Where each block begins. */
typedef struct sb_workspace_head {
    struct {
        _Alignas(SB_FLAG_STRIDE) sb_flag_t flag;
        sb_exposure_t exposed; /* of a contribution that was lent: where it is */
        sb_flag_t began;       /* when its owner began it, by sb_now_ns */
        sb_flag_t lending;     /* of a root: how it is given each class of sizes */
    } given;
    struct {
        _Alignas(SB_FLAG_STRIDE) sb_flag_t flag;
        sb_flag_t answered; /* of a root: the last message of which something was lent */
    } taken;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t mode;
    _Alignas(SB_FLAG_STRIDE) sb_flag_t wide[SB_COPY_CLASSES];
    _Alignas(SB_FLAG_STRIDE) sb_flag_t ways[SB_WAYS_WORDS][SB_COPY_CLASSES];
    /* Where the contribution is; 0: it was copied. Apart from what others read at their beginning.
     */
    _Alignas(SB_FLAG_STRIDE) uint64_t sent;
    uint64_t entire;
    uint64_t elsewhere;
    uint64_t placing;
    uint64_t placed[SB_WORKSPACE_DEPTH];
    _Alignas(2 * SB_LINE) char piece[SB_SLOTS][SB_WORKSPACE_PIECE];
} sb_workspace_head_t;

/* Most groups: a window passes them one after the other. */
#define SB_WORKSPACE_GROUPS 4

/* Private to the rank, equal on all but for `group`, `out` and what is measured. */
typedef struct sb_workspace {
    sb_resource_t resource;
    const sb_algorithm_t *barrier;  /* between steps */
    size_t buffer;                  /* bytes of one, where there are some */
    uint32_t depth;                 /* d */
    uint64_t turns;                 /* of windows so far */
    size_t usual;                   /* bytes of a ring, but for messages that go round in more */
    size_t span;                    /* of a ring, where most messages go round */
    sb_cursor_t cursor;             /* in the rings: where the next message begins */
    sb_flow_out_t out;              /* of this rank's ring: its readers tell what they have taken */
    size_t cached_most;             /* see sb_copy_cached_most */
    sb_copy_policy_t copies;        /* into the rings: rank 0 measures */
    sb_copy_policy_t ways[SB_WAYS]; /* of long ones of two ranks: rank 0 measures */
    sb_block_policy_t by_loads[SB_WAYS][2]; /* of those that may be by loads */
    sb_copy_policy_t lending;        /* or not at all, for this rank as a root: it measures */
    sb_block_policy_t lent_by[2];    /* the same by loads */
    sb_block_policy_t blocks;        /* or this one, where ranks share processors */
    sb_expose_t expose;              /* where nothing is lent: all zero */
    char *pieces;                    /* of what is lent: SB_LENT_PIECE for each rank */
    uint64_t lent_at[SB_EXPOSE_FEW]; /* where that is in each rank's memory */
    sb_copy_policy_t *measured;      /* the one that the present message tells more */
    sb_copy_choice_t choice;         /* of that message */
    uint64_t started;                /* by sb_now_ns, without the wait for ranks that came late */
    uint64_t kept;                   /* nanoseconds of another rank that count with its time */
    uint32_t groups;
    uint32_t group;                          /* this rank's */
    uint32_t first[SB_WORKSPACE_GROUPS + 1]; /* rank of each group; and behind the last, p */
    size_t placed_least;                     /* see sb_placed_least */
    uint8_t passing[SB_COPY_CLASSES];        /* see sb_placed_passes: calls left, */
    uint8_t passed[SB_COPY_CLASSES];         /* and how many there were the last time */
    bool loads;                              /* every member reads what every other shares; */
    uint64_t *process;                       /* the numbers of all for that */
    char scratch[];                          /* of this rank alone: SB_WORKSPACE_SCRATCH pieces */
} sb_workspace_t;

static inline sb_workspace_t *sb_workspace(const sb_team_t *team)
{
    return (sb_workspace_t *)(void *)team->resource[SB_RESOURCE_WORKSPACE];
}

/* Beside the buffers, private to the rank. */
typedef struct sb_buffers {
    sb_resource_t resource;
    sb_copy_policy_t copies; /* into them, or not at all: rank 0 measures */
} sb_buffers_t;

static inline sb_buffers_t *sb_buffers(const sb_team_t *team)
{
    return (sb_buffers_t *)(void *)team->resource[SB_RESOURCE_BUFFERS];
}

/*
 * Makes the team's workspace at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_workspace_prepare(sb_team_t *team);

/* The same, and the buffers. */
sb_status_t sb_buffers_prepare(sb_team_t *team);

typedef enum sb_window_kind { SB_WINDOW_IN, SB_WINDOW_RESULT, SB_WINDOW_RELAY } sb_window_kind_t;

/* The rank's buffer for the window of this turn. Behind a result there is room for as much. */
static inline char *sb_workspace_buffer(const sb_team_t *team, uint32_t rank, uint64_t turn,
                                        sb_window_kind_t kind)
{
    const sb_workspace_t *space = sb_workspace(team);
    size_t number = (size_t)(turn % space->depth) * 3 + kind;

    return team->resource[SB_RESOURCE_BUFFERS]->bases[rank] + number * space->buffer;
}

static inline sb_workspace_head_t *sb_workspace_head(const sb_team_t *team, uint32_t rank)
{
    return (sb_workspace_head_t *)(void *)sb_workspace(team)->resource.bases[rank];
}

/* A flag of all other members, so far from where their heads begin. */
static inline sb_peers_t sb_workspace_peers(const sb_team_t *team, size_t offset)
{
    return (sb_peers_t){(void *const *)(void *)sb_workspace(team)->resource.bases, offset,
                        team->size, team->rank};
}

static inline char *sb_workspace_piece(const sb_team_t *team, uint32_t rank, uint64_t use)
{
    return sb_workspace_head(team, rank)->piece[use % SB_SLOTS];
}

/* The byte of the rank's ring that the cursor is at. */
static inline char *sb_workspace_ring(const sb_team_t *team, uint32_t rank,
                                      const sb_cursor_t *cursor)
{
    return sb_workspace(team)->resource.bases[rank] + sizeof(sb_workspace_head_t) +
           sb_cursor_place(cursor);
}

static inline sb_status_t sb_workspace_meet(sb_team_t *team)
{
    return sb_workspace(team)->barrier->barrier(team);
}

/*
 * How this rank copies its contribution to a message in. Rank 0 chooses and shows what it does, and
 * the others do the same as soon as they see it; nobody waits for that, and no result depends on
 * it. `policy`: the rings' or the buffers'. `together`: no rank ends before all have given
 * something, so that rank 0's time tells what the mode is worth. sb_workspace_copied ends the
 * message.
 */
sb_copy_mode_t sb_workspace_copy_mode(sb_team_t *team, sb_copy_policy_t *policy,
                                      const sb_reduction_t *reduction, bool together);

/*
 * A message of so many bytes is about to be copied into this rank's ring, or into its buffers:
 * pages that nothing was in are touched, of the ring those alone that it needs. Shorter messages
 * than are measured find theirs one by one.
 */
void sb_workspace_reach_ring(sb_workspace_t *space, size_t bytes);
void sb_buffers_reach(const sb_team_t *team, size_t bytes);

/* This rank decides, by that policy, and times the message if that is wanted. */
void sb_workspace_measure(sb_workspace_t *space, sb_copy_policy_t *policy,
                          const sb_reduction_t *reduction, const size_t *laps);

/* Leaves a wait for ranks that came late out of the present message's time: from here... */
static inline uint64_t sb_workspace_wait_begins(const sb_workspace_t *space)
{
    return SB_UNLIKELY(space->choice.timed) ? sb_now_ns() : 0;
}

/* ...to here. */
static inline void sb_workspace_wait_ends(sb_workspace_t *space, uint64_t began)
{
    if (SB_UNLIKELY(space->choice.timed))
        space->started += sb_now_ns() - began;
}

void sb_workspace_copied(sb_workspace_t *space);

/* This rank has taken out of all rings what is before, with what is skipped where a ring ends: else
 * all might wait for it. */
static inline void sb_workspace_taken(const sb_team_t *team, uint64_t position)
{
    sb_flag_publish(&sb_workspace_head(team, team->rank)->taken.flag, position);
}

static inline void sb_workspace_copy(sb_copy_mode_t mode, char *to, const char *from, size_t bytes)
{
    if (mode == SB_COPY_NON_TEMPORAL)
        sb_copy_streaming(to, from, bytes);
    else
        sb_copy_shared(to, from, bytes);
}

/* A word for the others, which may have it near: it is written if it has changed. A barrier comes
 * between this and who reads it. */
void sb_workspace_say(uint64_t *word, uint64_t value);
uint64_t sb_workspace_said(const uint64_t *word);

/* Where bytes of that rank are that it has said it shares. */
const char *sb_workspace_reach(const sb_team_t *team, uint32_t rank, uint64_t address, size_t bytes,
                               sb_status_t *data);

/* Whether the result, of so many bytes, goes elsewhere than what is combined. */
bool sb_workspace_apart(const sb_reduction_t *reduction, size_t result);

/*
 * Tells the others where this rank's contribution is, if it stays there: true. A barrier has to
 * come between this and who reads it, and one after the last that does.
 */
bool sb_workspace_show_sent(const sb_team_t *team, const sb_reduction_t *reduction,
                            sb_copy_mode_t mode);

/* Where bytes of another rank's contribution are, if that has stayed; NULL: it was copied in. */
const char *sb_workspace_sent(const sb_team_t *team, uint32_t rank, size_t offset, size_t bytes,
                              sb_status_t *data);

/* What these write is reported by the line of the algorithm. */
#define sb_workspace_taken(...) SB_SITED_VOID(sb_workspace_taken(__VA_ARGS__))
#define sb_workspace_copy(...) SB_SITED_VOID(sb_workspace_copy(__VA_ARGS__))

/* What the barriers between `steps` steps cost. */
double sb_workspace_steps_cost(const sb_shape_t *shape, double steps);

#endif
