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

/*
 * Algorithms that this program knows beside those of the library, behind them in the order; never
 * chosen but by name. To be called once, before any other function of this header.
 */
void sb_algorithms_add(const sb_algorithm_t *const *added, size_t count);

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
    const sb_algorithm_t *own;       /* Sobor's, where the host may be tried against it, or it
                                        against the host (select/trial.h); NULL: it is settled */
} sb_choice_t;

/* Prices as they are for ranks of this shape: where each of several has a processor, what is known
 * of that counts too. */
sb_prices_t sb_shape_prices(const sb_shape_t *shape, const sb_prices_t *known);

/* The reason of a choice that a rule of the tuning file made. */
extern const char sb_reason_rule[];

/*
 * The choice for a call, with its reason: by a rule for just these bytes, else for all of their
 * class, as for its largest size. `ordered`: of a reduction whose operator is not commutative,
 * among the algorithms that keep the order of ranks. SOBOR_REPRODUCIBLE=strict leaves only those
 * that go from left to right.
 */
sb_choice_t sb_choose(sb_collective_t collective, const sb_shape_t *shape,
                      const sb_settings_t *settings, size_t bytes, bool ordered);

/* A choice that was made, and whether the team has what the algorithm needs: see sb_planned. */
typedef struct sb_planned {
    const sb_algorithm_t *algorithm; /* NULL: the host MPI */
    bool made;                       /* and kept; else there was no memory for that */
    bool ready;     /* set by who uses it: nothing is left to prepare for any size of the class */
    uint8_t why;    /* of who uses it: why it is the host; 0: it was chosen */
    uint32_t until; /* calls to the next turn of a trial, as all members count them; 0: none */
} sb_planned_t;

/* Calls of one operation and class before the host is first tried against Sobor. */
#define SB_TRIAL_AFTER 16

#define SB_PLAN_ROWS (SB_COLLECTIVES + SB_REDUCTIONS)

/*
 * By collective and class of the bytes that all members know alike: of the message (bcast), of one
 * rank's block (scatter, gather, allgather, alltoall), of its contribution (reductions); 0 where
 * they do not know any.
 */
typedef struct sb_plan_table {
    uint32_t ruled; /* bit c: rules choose algorithms of collective c */
    /* By size class; first by collective, then reductions that keep rank order. NULL: none made. */
    sb_planned_t *row[SB_PLAN_ROWS];
    sb_shape_t shape;
    const sb_settings_t *settings;
    sb_planned_t **by_rule; /* 2 rows for each rule, the second in rank order; NULL: none */
    sb_planned_t spare;     /* where there is no memory for more */
} sb_plan_table_t;

/* A table for a team of this shape, with no choice made yet. It needs the settings to its end. */
void sb_plan_start(sb_plan_table_t *table, const sb_shape_t *shape, const sb_settings_t *settings);
void sb_plan_end(sb_plan_table_t *table);

/* Makes a choice of the table. */
sb_planned_t *sb_plan_make(sb_plan_table_t *table, sb_collective_t collective, size_t bytes,
                           bool ordered);

/* The choice for a call, looked up. One call on a communicator at a time, as MPI has it. */
static inline sb_planned_t *sb_planned(sb_plan_table_t *table, sb_collective_t collective,
                                       size_t bytes, bool ordered)
{
    uint32_t size_class = sb_size_class(bytes);
    sb_planned_t *row =
        table->row[ordered ? (int)(SB_COLLECTIVES + collective - SB_REDUCE) : (int)collective];

    if (SB_LIKELY(row != NULL && row[size_class].made && (table->ruled >> collective & 1) == 0))
        return &row[size_class];
    return sb_plan_make(table, collective, bytes, ordered);
}

/* The shape of a team that exists. */
sb_shape_t sb_team_shape(const sb_team_t *team);

/*
 * Checks the names in SOBOR_*_ALGORITHM; reports unknown ones once, with those that exist, and
 * replaces them by "auto".
 */
void sb_settings_check(sb_settings_t *settings);

#endif
