/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SELECT_SELECT_H
#define SB_SELECT_SELECT_H

#include "coll/coll.h"

/*
 * Which algorithm serves a call. The choice follows from the shape of the team, the settings of its
 * rank 0 and the bytes, so all members choose alike. It is made once for each team and size class,
 * when it is first needed, and then looked up.
 */

/* Every algorithm of every collective, in a fixed order. */
size_t sb_algorithm_count(void);
const sb_algorithm_t *sb_algorithm_at(size_t index);

/* Whether it goes by that name, or went by it: files and variables live longer than names. */
bool sb_algorithm_named(const sb_algorithm_t *algorithm, const char *name);

/* The algorithm of that name, today's or a former one, or NULL. */
const sb_algorithm_t *sb_algorithm_find(sb_collective_t collective, const char *name);

/* "auto, host, flat, ...": the names that the collective's variable takes. */
void sb_algorithm_names(sb_collective_t collective, char *names, size_t room);

/*
 * Sizes fall into classes, doubling, that end 16 bytes (a slot's header) before a power of two, so
 * that what fits a slot is not in one class with what does not.
 */
#define SB_SIZE_CLASSES 64
#define SB_CLASS_HEADER (SB_SLOT_BYTES - SB_SLOT_PAYLOAD)

/* Class of a size below 2^62: the smallest c with bytes + header <= 2^c. */
static inline uint32_t sb_size_class(size_t bytes)
{
    return 64 - (uint32_t)__builtin_clzll((unsigned long long)bytes + SB_CLASS_HEADER - 1);
}

/* The largest size of a class. */
static inline size_t sb_class_bytes(uint32_t size_class)
{
    size_t end = (size_t)1 << size_class;

    return end > SB_CLASS_HEADER ? end - SB_CLASS_HEADER : 0;
}

typedef struct sb_choice {
    const sb_algorithm_t *algorithm; /* NULL: the host MPI */
    const char *reason;              /* a short English phrase; never NULL */
    const sb_algorithm_t *refused;   /* asked for by name, but `reason` is against it; or NULL */
} sb_choice_t;

/* The reason of a choice that a rule of the tuning file made. */
extern const char sb_reason_rule[];

/* What a rule decides, made for one class of sizes; another matters only to what is refused. */
typedef struct sb_ruled_choice {
    sb_choice_t choice; /* reason NULL: not made yet */
    uint32_t size_class;
} sb_ruled_choice_t;

/*
 * By collective and class of the bytes that all members know alike: of the message (bcast), of one
 * rank's part (scatter, gather, allgather, alltoall), of its contribution (reductions); 0 where
 * they do not know any.
 */
typedef struct sb_plan_table {
    sb_shape_t shape;
    const sb_settings_t *settings;
    /* reason NULL: not made yet */
    sb_choice_t of[SB_COLLECTIVES][SB_SIZE_CLASSES];
    sb_choice_t ordered[SB_REDUCTIONS][SB_SIZE_CLASSES]; /* reductions that keep rank order */
    uint32_t ruled; /* bit c: rules choose algorithms of collective c */
    sb_ruled_choice_t by_rule[2][SB_RULES_MOST]; /* [1]: in rank order */
} sb_plan_table_t;

/* A table for a team of this shape, with no choice made yet. It keeps the pointer. */
void sb_plan_start(sb_plan_table_t *table, const sb_shape_t *shape, const sb_settings_t *settings);

/*
 * Makes one choice of the table, and for a reduction the ordered one beside it: the largest size of
 * a class stands for all of it. Rules for some sizes are left aside.
 */
void sb_plan_fill(sb_plan_table_t *table, sb_collective_t collective, uint32_t size_class);

/* The choice by the rule for just these bytes; NULL: there is none, or it says auto. */
const sb_choice_t *sb_plan_by_rule(sb_plan_table_t *table, sb_collective_t collective, size_t bytes,
                                   bool ordered);

/* The choice for a call. One call on a communicator at a time, as MPI has it. */
static inline const sb_choice_t *sb_planned(sb_plan_table_t *table, sb_collective_t collective,
                                            size_t bytes)
{
    uint32_t size_class = sb_size_class(bytes);
    sb_choice_t *choice = &table->of[collective][size_class];

    if (SB_UNLIKELY((table->ruled & (1u << collective)) != 0)) {
        const sb_choice_t *ruled = sb_plan_by_rule(table, collective, bytes, false);
        if (ruled != NULL)
            return ruled;
    }
    if (SB_UNLIKELY(choice->reason == NULL))
        sb_plan_fill(table, collective, size_class);
    return choice;
}

/* The same for a reduction by an operator that is, or is not, commutative. */
static inline const sb_choice_t *sb_planned_reduction(sb_plan_table_t *table,
                                                      sb_collective_t collective, size_t bytes,
                                                      bool commutative)
{
    uint32_t size_class = sb_size_class(bytes);
    sb_choice_t *choice = &table->ordered[collective - SB_REDUCE][size_class];

    if (commutative)
        return sb_planned(table, collective, bytes);
    if (SB_UNLIKELY((table->ruled & (1u << collective)) != 0)) {
        const sb_choice_t *ruled = sb_plan_by_rule(table, collective, bytes, true);
        if (ruled != NULL)
            return ruled;
    }
    if (SB_UNLIKELY(choice->reason == NULL))
        sb_plan_fill(table, collective, size_class);
    return choice;
}

/*
 * The choice for one collective and exactly this size; `ordered`: of a reduction, among the
 * algorithms that keep the order of ranks. SOBOR_REPRODUCIBLE=strict leaves only those that go from
 * left to right.
 */
sb_choice_t sb_choose_ordered(sb_collective_t collective, const sb_shape_t *shape,
                              const sb_settings_t *settings, size_t bytes, bool ordered);

/* The choice where the order does not matter. */
sb_choice_t sb_choose(sb_collective_t collective, const sb_shape_t *shape,
                      const sb_settings_t *settings, size_t bytes);

/*
 * Fills in what a shape says of the hierarchy of its ranks, if they are at `places`. Returns
 * SB_ERR_MEMORY, or SB_OK.
 */
sb_status_t sb_shape_place(sb_shape_t *shape, unsigned levels, const sb_topology_t *topology,
                           const sb_place_t *places);

/* The shape of a team that exists. */
sb_shape_t sb_team_shape(const sb_team_t *team);

/*
 * Checks the names in SOBOR_*_ALGORITHM; reports unknown ones once, with those that exist, and
 * replaces them by "auto".
 */
void sb_settings_check(sb_settings_t *settings);

#endif
