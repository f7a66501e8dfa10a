/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_HOOKS_H
#define SB_MACHINE_SIM_HOOKS_H

/*
 * Who looks on, and who decides. The engine calls `watch` at every access to shared memory, and, in
 * an exploration, `guide` for every choice. Both may be NULL.
 */

#include "base/compiler.h"
#include "machine/sim/site.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Every function gets `context` first. Offsets count from the start of the block. */
typedef struct sb_sim_watch {
    void *context;
    void (*take)(void *context, uint32_t rank, uint32_t block, uint64_t bytes,
                 const sb_site_t *site);
    void (*give)(void *context, uint32_t rank, uint32_t block, const sb_site_t *site);
    void (*read)(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t bytes,
                 const sb_site_t *site);
    void (*write)(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t bytes,
                  const sb_site_t *site);
    /* Returns what the rank sees, `now` being what memory holds. */
    uint64_t (*load)(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t now,
                     memory_order order, const sb_site_t *site);
    void (*store)(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t now,
                  uint64_t value, memory_order order, const sb_site_t *site);
    void (*add)(void *context, uint32_t rank, uint32_t block, uint64_t offset, uint64_t now,
                uint64_t amount, memory_order order, const sb_site_t *site);
    void (*fence)(void *context, uint32_t rank); /* of one rank: it goes to sleep */
    void (*fence_all)(void *context);
    void (*meet)(void *context); /* all ranks have met by other means */
    /* A message leaves a rank, with what the other function gets where it is received; NULL:
     * neither is called. What it returns is to be freed. */
    uint32_t *(*send)(void *context, uint32_t rank);
    void (*receive)(void *context, uint32_t rank, const uint32_t *clock);
    bool (*failed)(void *context); /* something was found: the run ends */
    /* Says what lies there, for reports, such as "done of rank 3". `text` holds a poorer name. */
    void (*describe)(void *context, uint32_t block, uint64_t offset, char *text, size_t size);
} sb_sim_watch_t;

typedef enum sb_sim_step {
    SB_SIM_ENDED,  /* the rank has ended */
    SB_SIM_STARTS, /* it begins, or goes on after something of its own */
    SB_SIM_READS,
    SB_SIM_WRITES, /* stores, additions, sleeping and waking */
    SB_SIM_FENCES,
} sb_sim_step_t;

/* What a rank will do when it runs next. */
typedef struct sb_sim_pending {
    sb_sim_step_t step;
    bool enabled;   /* false: it waits for something that is not there yet */
    uint32_t block; /* the word; UINT32_MAX: none */
    uint64_t offset;
} sb_sim_pending_t;

#define SB_SIM_NOBODY UINT32_MAX

typedef struct sb_sim_guide {
    void *context;
    /* The rank to run, of all `ranks` ranks; at least one is enabled. SB_SIM_NOBODY: end the run.
     */
    uint32_t (*next)(void *context, const sb_sim_pending_t *pending, uint32_t ranks);
    /* Whether the rank gives up a spin now, and goes on to its next way of waiting. */
    bool (*gives_up)(void *context, uint32_t rank);
} sb_sim_guide_t;

#endif
