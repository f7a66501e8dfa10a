/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_CHECK_H
#define SB_MACHINE_SIM_CHECK_H

/*
 * The race checker: every access of a rank to shared memory passes here. It finds, in the order in
 * which the run happened to be executed, what could go wrong in any order that the memory allows:
 *   - two accesses to one byte, one of them a write, with no happens-before between them;
 *   - a store to a flag that another rank has stored to, with nothing that orders the two, or a
 *     flag whose value shrinks;
 *   - memory that is used after its owner gave it back, or given back before the last access.
 * Users' buffers are private to a rank and not looked at. The first violation is kept.
 *
 * Plain bytes are kept as intervals with the last write and, for each rank, the last read since
 * (Flanagan, Freund, "FastTrack", 2009); atomic words in memory_order.h.
 */

#include "machine/sim/hooks.h"
#include "machine/sim/memory_order.h"

typedef enum sb_violation_kind {
    SB_VIOLATION_NONE,
    SB_VIOLATION_RACE,
    SB_VIOLATION_WRITERS, /* two writers of one flag, or one that shrinks */
    SB_VIOLATION_DEAD,    /* memory that was given back */
    SB_VIOLATION_BOUNDS,  /* outside of any block */
} sb_violation_kind_t;

typedef struct sb_violation {
    sb_violation_kind_t kind;
    const char *first_did; /* "wrote", "read", "gave back" */
    const char *second_does;
    sb_stamp_t first; /* the access before; epoch 0: none */
    sb_stamp_t second;
    sb_where_t where;
    uint64_t bytes;
    uint64_t before; /* of flags: the value before and the value stored */
    uint64_t value;
} sb_violation_t;

typedef struct sb_check sb_check_t;

/* NULL if private memory is exhausted. */
sb_check_t *sb_check_new(uint32_t ranks);
void sb_check_free(sb_check_t *check);

/* The next run begins; as sb_history_begin. */
void sb_check_begin(sb_check_t *check, sb_choose_value_t *choose, void *context);

/* The rank has taken a zeroed block, or gives it back. Numbers of blocks are small, never reused
 * within a run. */
void sb_check_take(sb_check_t *check, uint32_t rank, uint32_t block, uint64_t bytes,
                   const sb_site_t *site);
void sb_check_give(sb_check_t *check, uint32_t rank, uint32_t block, const sb_site_t *site);

/* Plain accesses. */
void sb_check_read(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t bytes,
                   const sb_site_t *site);
void sb_check_write(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t bytes,
                    const sb_site_t *site);

/* Atomic accesses; see sb_history_load and its neighbours. A stored word is taken for a flag. */
uint64_t sb_check_load(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t now,
                       memory_order order, const sb_site_t *site);
void sb_check_store(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t now,
                    uint64_t value, memory_order order, const sb_site_t *site);
void sb_check_add(sb_check_t *check, uint32_t rank, sb_where_t where, uint64_t now, uint64_t amount,
                  memory_order order, const sb_site_t *site);
void sb_check_fence(sb_check_t *check, uint32_t rank);
void sb_check_fence_all(sb_check_t *check);
void sb_check_meet(sb_check_t *check);
uint32_t *sb_check_send(sb_check_t *check, uint32_t rank);
void sb_check_receive(sb_check_t *check, uint32_t rank, const uint32_t *clock);

/* The first violation of the run; kind NONE if there is none. */
const sb_violation_t *sb_check_violation(const sb_check_t *check);

/* The violation in words, several lines, places as the watch describes them. Returns text. */
char *sb_violation_text(const sb_violation_t *violation, const sb_sim_watch_t *watch, char *text,
                        size_t size);

#endif
