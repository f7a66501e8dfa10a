/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BCAST_RINGS_H
#define SB_COLL_BCAST_RINGS_H

#include "coll/bcast/message.h"
#include "coll/resources.h"
#include "team/block_policy.h"
#include "team/copy_policy.h"
#include "team/expose.h"

/*
 * The rings of broadcasts: each rank owns one, in which it writes what it sends as a root. All
 * count positions together, whoever is the root: position x of any root is in that root's ring,
 * `published` says up to where data is there, and `consumed` up to where a rank is done with the
 * rings of all (flow.h). Messages start on cache lines.
 *
 * A message's first fragment is announced with its plan, which receivers follow. It may be kept to
 * a window, the first bytes of the ring.
 *
 * A message may also stay where it is: the plan says where that is in the root's private memory,
 * and each receiver has the kernel copy it from there, once. The message still takes its positions,
 * behind a line of them that stands for the answer: a receiver that has all is done with all of
 * them, one that could not read is done with the first line alone. The root waits for the answers,
 * and sends what some could not read through its ring, from the second line on.
 */

/* By what way the news of fragments, and the fragments, come to a rank. */
typedef enum sb_spread {
    SB_SPREAD_FLAT,   /* both from the root */
    SB_SPREAD_TREE,   /* news down the tree of the team's arity */
    SB_SPREAD_SHARED, /* news likewise; each group of ranks brings a fragment near together */
    SB_SPREADS,
} sb_spread_t;

/* What a ring message's slot holds. */
typedef struct sb_plan {
    uint64_t position; /* where it starts; the same as all count, or a rank is out of step */
    uint64_t bytes;
    uint64_t fragment;
    union {
        uint64_t window;       /* bytes of the ring that it goes round in */
        sb_exposure_t exposed; /* SB_COPY_PULLED: where it is; the window is the ring */
    };
    uint64_t started; /* by sb_now_ns; 0: nobody has to time this message */
    uint64_t how;     /* sb_plan_how */
} sb_plan_t;

/*
 * In one word, which is written at once. `mode`: of the root. `warming`: its time stands for a ring
 * that is not yet as this mode leaves it. `again`: it is in the buffer of one of the last messages.
 */
#define SB_PLAN_GROWS ((uint64_t)1 << 49) /* a whole ring is worth having for the root */
static inline uint64_t sb_plan_how(sb_spread_t spread, sb_copy_mode_t mode, bool warming,
                                   bool again)
{
    return (uint64_t)spread | (uint64_t)mode << 16 | (uint64_t)warming << 32 |
           (uint64_t)again << 48;
}

static inline sb_spread_t sb_plan_spread(const sb_plan_t *plan)
{
    return (sb_spread_t)(plan->how & UINT16_MAX);
}

static inline sb_copy_mode_t sb_plan_mode(const sb_plan_t *plan)
{
    return (sb_copy_mode_t)(plan->how >> 16 & UINT16_MAX);
}

static inline bool sb_plan_is_warming(const sb_plan_t *plan)
{
    return (plan->how >> 32 & 1) != 0;
}

static inline bool sb_plan_is_again(const sb_plan_t *plan)
{
    return (plan->how >> 48 & 1) != 0;
}

_Static_assert(sizeof(sb_plan_t) <= SB_SLOT_IN_LINE, "a plan travels in the flag's line");

/* Where each rank's block begins; the ring follows on the next page. */
typedef struct sb_ring_head {
    sb_wide_flag_t published;
    sb_wide_flag_t consumed;
    sb_wide_flag_t relayed; /* positions whose part this rank has brought near */
    sb_wide_flag_t timed;   /* slot use and time of the last timed message received */
} sb_ring_head_t;

#define SB_RING_AT 4096

/* Bytes that one rank's private memory has room for, of those that have no one place. */
#define SB_RING_BOUNCE ((size_t)16 << 10)

/* Private to the rank; equal on all are the cursor, the ring's size, and what makes it grow. */
typedef struct sb_rings {
    sb_resource_t resource;
    sb_cursor_t cursor; /* where the next message begins */
    size_t usual;       /* bytes of the ring for what does not need more */
    size_t near;        /* bytes of a ring for ordinary stores, its beginning */
    bool whole;         /* there is more of it than that, as far as there is memory */
    bool growing;       /* a root wants that */
    uint64_t passed;    /* bytes of messages so far */
    sb_flow_out_t out;  /* this rank as a root */
    uint64_t uses;      /* who is done with so many slot uses is done with all messages so far */
    sb_expose_t expose; /* where no message stays in private memory: all zero */
    char *bounce;       /* where bytes are copied to that have no one place */
    /* How this rank moves what it sends, and the message that will tell it more. */
    sb_copy_policy_t copies;
    sb_block_policy_t loaded[2]; /* of them: whether they are read by loads */
    sb_copy_timed_t timed;
    sb_copy_choice_t present; /* of this root's last message, */
    uint64_t began;           /* and when that began, if what it takes the root is wanted; or 0 */
} sb_rings_t;

/*
 * Makes the team's rings at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good. They are made as their near parts at first, which is
 * enough for all that most teams ever send.
 */
sb_status_t sb_rings_prepare(sb_team_t *team);

/* The same for whole rings, where there are near parts: they grow, if they can. */
sb_status_t sb_rings_prepare_whole(sb_team_t *team);

/* Root: whether whole rings are worth what they cost, by the messages so far. It says so with the
 * next one. */
bool sb_rings_pay_whole(const sb_team_t *team);

/*
 * Root: how much of so large a window a message of several fragments had better go round in. What
 * the ring has pages for already, or what two such messages or some fragments have room in; and
 * twice that when its pages take little of the time of all messages so far: a few hundred messages
 * are not worth as many pages.
 */
size_t sb_rings_paid(const sb_team_t *team, const sb_plan_t *plan, size_t window);

/* Whether a message of `bytes` is one that whole rings are made for: some root has said that it
 * wants them. Alike on all. */
bool sb_rings_want_whole(const sb_team_t *team, size_t bytes);

/* NULL: not made yet. */
static inline sb_rings_t *sb_rings(const sb_team_t *team)
{
    return (sb_rings_t *)(void *)team->resource[SB_RESOURCE_RINGS];
}

static inline size_t sb_rings_usual(const sb_team_t *team)
{
    return sb_min(sb_rings(team)->usual, sb_rings(team)->cursor.ring);
}

/* What comes over a network may lie in all of the ring: ranks that are there are not to wait for
 * room until a late one has read. Longer messages would come out of no cache. */
static inline bool sb_rings_have_room(const sb_team_t *team, size_t bytes)
{
    return team->from_afar && bytes <= sb_rings(team)->cursor.ring / 2;
}

/* Root: whether its message goes by loads to be compared with others. */
static inline bool sb_rings_weighs(const sb_rings_t *rings)
{
    const sb_copy_choice_t *choice = &rings->present;

    return choice->loads && choice->mode == SB_COPY_PULLED &&
           sb_block_compares(&rings->loaded[choice->again], choice->bytes);
}

/* Root: its message is over. What it takes the root counts where blocks of calls are compared; that
 * of a trial does not. */
static inline void sb_rings_took(sb_rings_t *rings, uint64_t ns)
{
    const sb_copy_choice_t *choice = &rings->present;
    const sb_copy_policy_t *policy = &rings->copies;
    uint8_t usual = policy->of[choice->again][sb_copy_class(choice->bytes)].usual;
    bool pulled = choice->mode == SB_COPY_PULLED;

    if (choice->loads && (pulled || choice->mode == policy->mode[usual]))
        sb_block_took(&rings->loaded[choice->again], choice->bytes, pulled, ns);
}

static inline sb_ring_head_t *sb_ring_head(const sb_rings_t *rings, uint32_t rank)
{
    return (sb_ring_head_t *)(void *)rings->resource.bases[rank];
}

/* From now on the rings have so many bytes, and messages begin at this position. Alike on all. */
void sb_rings_set(sb_team_t *team, size_t bytes, uint64_t position);

/*
 * Root: puts the message into its ring, announcing the plan in its slot with the first fragment.
 * `fragment`: bytes of one, if SOBOR_FRAGMENT does not say so; at most a quarter of the ring.
 */
sb_status_t sb_rings_send(sb_team_t *team, const sb_stream_t *stream, size_t fragment,
                          sb_spread_t spread);

/*
 * Receiver: waits for its parent's announcement, where it may have come by the tree; `ready`: even
 * if there are no rings.
 */
sb_status_t sb_rings_follow(sb_team_t *team, uint32_t root, bool ready, const sb_stream_t *stream);

/* A message on its way to a receiver, and the fragment that has come. */
typedef struct sb_arriving {
    sb_rings_t *rings;
    const sb_news_t *news;
    sb_cursor_t cursor; /* at the fragment, which is in one piece */
    size_t offset;      /* in the message */
    size_t bytes;
    sb_status_t data;        /* SB_OK: what comes is to be copied */
    const sb_group_t *group; /* with which this rank shares fragments; NULL: with nobody */
    uint32_t self;           /* its place there */
    bool hasty;              /* some member is late: only what has come is taken from the group */
} sb_arriving_t;

/* Copies `bytes` of the fragment, from `start` on, to where they belong; they are `at` there. */
static inline void sb_take_part(sb_arriving_t *arriving, size_t start, const char *at, size_t bytes)
{
    if (SB_LIKELY(arriving->data == SB_OK))
        arriving->data = sb_take(arriving->news->stream, arriving->offset + start, at, bytes);
}

/* What it copies is reported by the line of the algorithm. */
#define sb_take_part(...) SB_SITED_VOID(sb_take_part(__VA_ARGS__))

/* The place of the fragment's byte at `start` in the rank's ring. */
static inline char *sb_arriving_at(const sb_arriving_t *arriving, uint32_t rank, size_t start)
{
    return arriving->rings->resource.bases[rank] + SB_RING_AT + sb_cursor_place(&arriving->cursor) +
           start;
}

/*
 * Ranks that share what comes from the root, see numa_relay.c. sb_find_sharers finds this rank's
 * group, for a message; sb_take_shared brings this rank's part of a fragment near and takes all
 * parts.
 */
void sb_find_sharers(sb_team_t *team, sb_arriving_t *arriving);
void sb_take_shared(sb_team_t *team, sb_arriving_t *arriving);

#endif
