/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_TEAM_H
#define SB_TEAM_TEAM_H

#include "base/collectives.h"
#include "segment/arena.h"
#include "team/control.h"
#include "team/prices.h"
#include "team/resource.h"
#include "team/rules.h"
#include "topology/groups.h"

/*
 * A team is the ranks of one communicator that work together in shared memory. The front end gives
 * it an exchange for set-up and a way to let the host MPI make progress; nothing else of MPI is
 * known here.
 */

/* How the front end serves the team. */
typedef struct sb_front {
    void *context;
    /*
     * Every rank gives `bytes` and receives those of all ranks in rank order. Collective.
     */
    sb_status_t (*allgather)(void *context, const void *mine, void *all, size_t bytes);
    bool (*progress)(void *context);     /* as sb_waiter_t has it; NULL: nothing to progress */
    sb_status_t (*check)(void *context); /* during a long wait: may it go on? NULL: yes */
    uint32_t objection; /* not 0: this rank's front end cannot be served; any number of its own */
    /* The machine, and where on it this rank runs; NULL: this machine, and this process's binding.
     */
    const sb_topology_t *topology;
    const sb_place_t *place;
    const sb_rules_t *rules;            /* of this process's tuning file; NULL: none */
    const struct sb_settings *settings; /* this rank's; NULL: those of its environment */
    /* What the member of that rank says of itself, if the front end knows that of all members, and
     * that sb_greetings_judge has nothing against any two. NULL: it is exchanged. */
    const struct sb_profile *(*profile)(void *context, uint32_t rank);
    void *profile_context; /* used while the team is made */
} sb_front_t;

#define SB_NAME_BYTES 40

/*
 * What decides how calls run. Every member uses the settings of rank 0, whatever its own
 * environment says.
 */
typedef struct sb_settings {
    uint64_t ring_bytes;
    uint64_t ring_of_nodes;  /* the same, for broadcasts of a team of a cluster */
    uint64_t fragment_bytes; /* 0: by message size */
    uint32_t tree_arity;
    uint32_t segment;       /* SB_SEGMENT_* */
    uint32_t stores;        /* SB_STORES_* */
    uint32_t collectives;   /* bit c: collective c is served */
    uint32_t barrier_arity; /* 0: each algorithm's own */
    uint32_t levels;        /* SB_LEVEL_BIT of those that groups are made by */
    uint32_t bcast_tree;    /* SB_TREE_* */
    uint32_t bcast_slots;   /* 0: as many as the ring's bytes hold */
    uint32_t bcast_sets;    /* 0: as is usual */
    uint32_t cma;           /* SB_CMA_* */
    uint32_t queue_slots;   /* of the published Scatterv, Gatherv and Allgatherv */
    uint32_t queue_sets;
    uint64_t queue_fragment;
    uint32_t trials;       /* SB_TRIALS_* */
    uint32_t trial_rest;   /* calls between two trials; 0: as is usual */
    uint32_t reproducible; /* SB_REPRODUCIBLE_* */
    uint32_t loads;        /* shortest block of users' memory that may be shared, bytes; 0: none */
    uint32_t windows_mode; /* tests: an sb_copy_mode_t that reductions keep to; 0: none */
    uint32_t bcast_form;   /* over nodes: sb_form_t */
    uint32_t bcast_rdaas;  /* SB_RDAAS_* */
    uint32_t scatter_by;   /* over nodes: SB_SCATTER_* */
    uint32_t pings;        /* whether what messages cost is measured */
    uint32_t processor;    /* sb_processor_t */
    uint32_t grows;        /* laps after which a ring grows; 0: it is whole from the beginning */
    uint64_t bcast_short;
    uint64_t bcast_long;
    sb_prices_t prices;
    char algorithm[SB_COLLECTIVES][SB_NAME_BYTES]; /* as asked for, or "auto" */
    const sb_rules_t *rules; /* those that fit the team; NULL: none. Never told to others */
} sb_settings_t;

/* Why a team could not be made. The same on all members. */
typedef enum sb_refusal {
    SB_REFUSAL_NONE,
    SB_REFUSAL_DISABLED, /* by at least one member's environment */
    SB_REFUSAL_FOREIGN,  /* at least one member has another build of Sobor */
    SB_REFUSAL_NODES,    /* the members are on several nodes */
    SB_REFUSAL_MEMORY,   /* shared memory was not to be had, or not to be shared */
    SB_REFUSAL_FRONT,    /* at least one member's front end objected */
} sb_refusal_t;

struct sb_hierarchy;

/* Late uses of slots in which all met: some ranks publish theirs only when all have come to it. */
#define SB_SLOTS_MET 4

typedef struct sb_team {
    /* What every call looks at comes first, on few lines. */
    uint32_t rank;
    uint32_t size;
    sb_control_t *self;      /* controls[rank] */
    sb_control_t **controls; /* of all ranks, where they are mapped here */
    sb_status_t failure; /* not SB_OK: a member died, or ranks are out of step; nothing follows */
    bool oversubscribed;
    uint32_t slots; /* of each control block: a power of two, at least SB_SLOTS */

    /* Numbers that every member counts alike. */
    uint64_t slot_uses; /* slots used by messages of the team so far */
    uint64_t barriers;  /* barriers entered */

    /* What this rank knows of the others' progress; less than or equal to the truth. */
    uint64_t slots_free_below;                  /* every member is done with the uses below */
    sb_resource_t *resource[SB_RESOURCES_MOST]; /* by slot; NULL: not ready */
    uint64_t slots_met[SB_SLOTS_MET];           /* 1 + uses in which all met; 0: none */
    sb_waiter_t waiter;
    sb_waiter_t waiter_near; /* where all that are waited for may be running now */
    bool under_way;          /* the front end has something that goes on by its progress alone */
    bool of_cluster;         /* it is one node's part of more */
    bool from_afar;          /* what this rank broadcasts comes over a network meanwhile */

    uint64_t exchanges; /* counted alike by all */
    uint32_t refused;   /* bit s: the resource of slot s cannot be had */
    sb_settings_t settings;
    sb_rules_t *rules;                /* of rank 0's tuning file; NULL: it has none */
    uint32_t processors;              /* that the members may use together */
    sb_locality_t locality;           /* of all ranks */
    struct sb_hierarchy *hierarchies; /* that were asked for; first the one of the settings */

    sb_front_t front;
    sb_block_t block;
    sb_attachment_t **attachments; /* of control blocks; NULL at this rank's own place */
} sb_team_t;

/* This process's settings, from its environment. */
void sb_settings_self(sb_settings_t *settings);

/* The prices of all that sb_settings_self gives from now on, to be left where they are; until this
 * is said those that are built in. */
void sb_settings_price(const sb_prices_t *prices);

/*
 * Makes the team of the ranks that share `front`. Collective over them; all get the same outcome:
 * SB_OK and *team, or SB_ERR_UNSUPPORTED with the refusal and, for SB_REFUSAL_MEMORY, the reason of
 * the first rank that had one; or SB_ERR_BOOTSTRAP if the front end's exchange failed.
 * SB_ERR_MEMORY (this rank alone, before any exchange: private memory is exhausted) leaves the
 * others waiting: the front end has to end the job or raise an error.
 */
sb_status_t sb_team_create(sb_team_t **team, const sb_front_t *front, uint32_t rank, uint32_t size,
                           sb_refusal_t *refusal, sb_reason_t *reason);

/*
 * Leaves the team. Not synchronising: a block is used again only when every member has left.
 */
void sb_team_destroy(sb_team_t *team);

/*
 * An exchange through shared memory: every rank tells up to SB_EXCHANGE_BYTES, then hears those of
 * all, once or more, before it tells something else.
 */
void sb_team_tell(sb_team_t *team, const void *mine, size_t bytes);
sb_status_t sb_team_hear(sb_team_t *team, uint32_t rank, void *theirs, size_t bytes);

/* Such an exchange of a word each: whether it is true of all members. */
sb_status_t sb_team_agree(sb_team_t *team, bool mine, bool *all);

/*
 * Makes the team's resource of that kind at the first call. Collective; all get the same outcome:
 * SB_OK, or SB_ERR_UNSUPPORTED, then and for good; or what the team's wait returned.
 */
static inline sb_status_t sb_resource_need(sb_team_t *team, const sb_resource_kind_t *kind)
{
    if (SB_LIKELY(team->resource[kind->slot] != NULL))
        return SB_OK;
    return sb_resource_prepare(team, kind);
}

/* Children of a rank in the trees of `tree` and its like, for a message of `bytes`. */
static inline uint32_t sb_team_arity(const sb_team_t *team, sb_collective_t collective,
                                     size_t bytes)
{
    return (uint32_t)sb_rules_value(team->settings.rules, collective, SB_TUNE_ARITY, bytes,
                                    team->settings.tree_arity);
}

/* The fragment that was asked for of a broadcast of `bytes`; 0: none was. */
static inline uint64_t sb_team_fragment(const sb_team_t *team, size_t bytes)
{
    return sb_rules_value(team->settings.rules, SB_BCAST, SB_TUNE_FRAGMENT, bytes,
                          team->settings.fragment_bytes);
}

/*
 * How to wait for `missing` members to arrive. Where ranks share processors they may all be
 * running, each on a processor other than this one, only if they are few enough; then they will be
 * here in less time than giving the processor away would take.
 */
static inline const sb_waiter_t *sb_team_waiter(const sb_team_t *team, uint32_t missing)
{
    return team->oversubscribed && missing < team->processors ? &team->waiter_near : &team->waiter;
}

/* Bytes that take so many times as long to copy as to switch from one rank to the next on a
 * processor that ranks share: where they do, each in its turn does what there is room for. */
static inline size_t sb_team_turn(const sb_team_t *team, double switches)
{
    const double most = 0x1p40, bytes = switches * team->settings.prices.process_switch /
                                        team->settings.prices.byte;

    return sb_round_up((size_t)(bytes < most ? bytes : most), SB_LINE);
}

/*
 * Before a wait for a piece that will be written to `write`, combined with what is at `read` unless
 * that is NULL: begins to bring both near as long as there is nothing else to do. `write` NULL: it
 * has no one place. Where ranks share processors it is another one's turn. For pieces of messages
 * that are longer than a slot: a shorter one is there before a page's address is looked up, and
 * what it is stored to nobody waits for.
 */
static inline void sb_team_meanwhile(const sb_team_t *team, const sb_flag_t *flag, uint64_t value,
                                     const void *read, void *write, size_t bytes)
{
    if (write != NULL && !team->oversubscribed)
        sb_flag_meanwhile(flag, value, read, write, bytes);
}

/* Between pieces of work that take longer than a message does. */
static inline void sb_team_go_on(const sb_team_t *team)
{
    if (team->under_way)
        (void)team->waiter.progress(team->waiter.progress_context);
}

/* The rank that comes so many after this one, fewer than there are, in a round of all. */
static inline uint32_t sb_team_after(const sb_team_t *team, uint32_t step)
{
    uint32_t rank = team->rank + step;

    return rank < team->size ? rank : rank - team->size;
}

/* Every rank has come to the last barrier, so it is done with all that was before. */
static inline void sb_team_all_arrived(sb_team_t *team)
{
    team->slots_free_below = team->slot_uses;
}

/* Teams whose blocks wait for members to leave, in this process. For reports and tests. */
size_t sb_team_deferred(void);

/* The machine that the team runs on, or NULL if it is not known. */
static inline const sb_topology_t *sb_team_topology(const sb_team_t *team)
{
    return team->front.topology != NULL ? team->front.topology : sb_topology_self();
}

/*
 * Waits until the flag, which that member alone writes, is at least `value`, or the member has
 * ended; whatever became of the others. For who leaves a team that has failed.
 */
void sb_team_wait_for_member(sb_team_t *team, uint32_t rank, sb_flag_t *flag, uint64_t value);

/* Sets how the team waits: by SOBOR_WAIT and by whether ranks outnumber processors. */
void sb_team_set_waiter(sb_team_t *team);

#endif
