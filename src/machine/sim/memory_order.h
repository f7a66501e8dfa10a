/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_MEMORY_ORDER_H
#define SB_MACHINE_SIM_MEMORY_ORDER_H

/*
 * What C11 promises about atomic words, and nothing more. For each rank: a vector clock of what
 * happened before its next step. For each atomic word: the values stored last, in their order, each
 * with the clock that a release store put beside it.
 *
 * Relaxed mode. A store that stays in its writer's store buffer, and two stores that become visible
 * in another order than they were written, look to a reader like one thing: a load returns an
 * older value of the word. So a load may return any value that C11 lets it see:
 *   - none older than a value that is known to the rank, because its store happened before, or by
 *     a fence;
 *   - none older than what this rank has seen in this word, or what another rank had seen before
 *     something that happened before this load.
 * Which of them is a choice of the exploration. Not modelled: a load that sees a store which comes
 * later (load buffering), and stores of different ranks to one word in another order than they
 * were executed; every flag has one writer at a time, and counters are added to.
 *
 * A fence adds to what a rank must see, but does not order plain accesses: the collectives pair a
 * release with an acquire wherever data follows.
 */

#include "base/compiler.h"
#include "machine/sim/site.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct sb_history sb_history_t;

/* A word of memory: block number and offset in it. */
typedef struct sb_where {
    uint32_t block;
    uint64_t offset;
} sb_where_t;

/* One access, as kept for reports and comparisons: the rank's own clock then, and the line. */
typedef struct sb_stamp {
    uint32_t rank;
    uint32_t epoch; /* 0: never */
    const sb_site_t *site;
} sb_stamp_t;

/* Chooses one of `count` values that a load may see; 0 is the newest. */
typedef uint32_t sb_choose_value_t(void *context, uint32_t count);

/* NULL if private memory is exhausted. */
sb_history_t *sb_history_new(uint32_t ranks);
void sb_history_free(sb_history_t *history);

/* Forgets everything; the next run begins. `choose` NULL: loads see the newest value. */
void sb_history_begin(sb_history_t *history, sb_choose_value_t *choose, void *context);

/* Says that block `block` of `bytes` is there. */
void sb_history_block(sb_history_t *history, uint32_t block, uint64_t bytes);

/*
 * Atomic access of 4 or 8 bytes. `now` is what the memory holds: the newest value. A load returns
 * what the rank sees. A store and an addition come before the memory changes.
 */
uint64_t sb_history_load(sb_history_t *history, uint32_t rank, sb_where_t where, uint64_t now,
                         memory_order order, const sb_site_t *site);
void sb_history_store(sb_history_t *history, uint32_t rank, sb_where_t where, uint64_t now,
                      uint64_t value, memory_order order, const sb_site_t *site);
void sb_history_add(sb_history_t *history, uint32_t rank, sb_where_t where, uint64_t now,
                    uint64_t amount, memory_order order, const sb_site_t *site);

/* A full fence of one rank; of all ranks (membarrier). */
void sb_history_fence(sb_history_t *history, uint32_t rank);
void sb_history_fence_all(sb_history_t *history);

/* All ranks have met by means that are not simulated: what each did before, all know. */
void sb_history_meet(sb_history_t *history);

/*
 * A message between two ranks: what its sender did before, its receiver knows from then on. The
 * message's clock is to be freed; NULL: private memory is exhausted.
 */
uint32_t *sb_history_send(sb_history_t *history, uint32_t rank);
void sb_history_receive(sb_history_t *history, uint32_t rank, const uint32_t *clock);

/* The rank's own clock: the epoch of its next access. */
uint32_t sb_history_epoch(const sb_history_t *history, uint32_t rank);

/* Whether the access happened before the rank's next step. */
bool sb_history_before(const sb_history_t *history, const sb_stamp_t *access, uint32_t rank);

/* The last store to a word; epoch 0 if there was none. */
sb_stamp_t sb_history_last_store(const sb_history_t *history, sb_where_t where);

/* Calls `visit` with the last access of each rank to each word of the block until it says false. */
void sb_history_visit(const sb_history_t *history, uint32_t block,
                      bool (*visit)(void *context, sb_where_t where, const sb_stamp_t *access),
                      void *context);

#endif
