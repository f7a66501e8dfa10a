/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_EXPOSE_H
#define SB_TEAM_EXPOSE_H

#include "team/team.h"

/*
 * Bytes of one member that another may read where they are. The owner says where that is, in the
 * plan of a message; how they are read is the reader's choice, message by message:
 *
 *   mapped        they lie in memory that the owner shares, and that the reader has mapped: loads.
 *                 Where the program's own memory is shared (SOBOR_HEAP) that holds for most of it
 *   kernel copy   they lie in the owner's private memory, which the system lets the reader reach
 *   neither       the reader tells the owner, who stages them in shared memory
 *
 * A program may have stored these bytes past its caches, and left no fence behind that: its owner
 * puts that in order (sb_order_streamed) before it says where they are.
 *
 * Whether a kernel copy is allowed depends on more than can be asked (users, namespaces, filters of
 * system calls, security modules), so it is tried when the team first needs it. A program that
 * gives up its rights may end it at any time: what has failed once between two members is not tried
 * again.
 */

/* Where exposed bytes are in their owner's memory. */
typedef struct sb_exposure {
    uint64_t address; /* 0: nowhere */
} sb_exposure_t;

/* What this rank knows of another's memory. */
typedef struct sb_exposer {
    uint64_t process; /* by which the machine's kernel copy knows it */
    uint64_t there;   /* the block that it shares: in its memory, */
    const char *here; /* and in this rank's */
    bool closed;      /* a kernel copy out of its memory or into it has failed */
    bool blind;       /* it has told that it could not read */
} sb_exposer_t;

typedef struct sb_expose {
    bool kernel;      /* all members could read the private memory of all when it was tried */
    uint32_t self;    /* this rank */
    uint32_t blind;   /* members that have told that they could not read */
    size_t bytes;     /* of every member's shared block */
    uint64_t call_ns; /* of a kernel copy of hardly anything */
    uint64_t mapped;  /* reads by loads so far, */
    uint64_t copied;  /* by the kernel, */
    uint64_t failed;  /* and those that it refused */
    sb_exposer_t *of;
} sb_expose_t;

/*
 * Tells each other where the members' blocks of `resource` are, and, if `kernel`, has every member
 * read a number out of every other's private memory. `of`: zeroed room for each member. Collective;
 * the outcome is that of the team's exchanges.
 */
sb_status_t sb_expose_make(sb_expose_t *expose, sb_team_t *team, const sb_resource_t *resource,
                           sb_exposer_t *of, bool kernel);

/*
 * So many ranks may have the kernel copy from one of them at the same time: each of them looks at
 * its pages, and it waits for all.
 */
#define SB_EXPOSE_FEW 8

/*
 * Whether messages to one or from one may stay where they are. Ranks that share processors would
 * wait for each other's turns; and who says how stores are to be made wants stores.
 */
bool sb_expose_pays(const sb_team_t *team);

/* Whether ranks that share processors find out by blocks of calls, where nobody says how. */
bool sb_expose_is_tried(const sb_team_t *team);

/*
 * Whether every member can read the memory that every other shares, by loads; `process`: room for
 * the members' numbers. Collective, with the outcome of the team's exchanges; the answer is the
 * same for all.
 */
sb_status_t sb_expose_loads(sb_team_t *team, uint64_t *process, bool *all);

/* In place of a rank: all. */
#define SB_EXPOSE_TO_ALL UINT32_MAX

/* Owner: whether the reader can be expected to read these bytes where they are. */
bool sb_expose_serves(const sb_expose_t *expose, uint32_t reader, const void *base, size_t bytes);

/* Owner: this reader has told that it could not. */
void sb_expose_refused(sb_expose_t *expose, uint32_t reader);

static inline sb_exposure_t sb_expose_at(const void *base)
{
    return (sb_exposure_t){(uintptr_t)base};
}

/* Reader: where the owner's bytes are mapped here; NULL: they are not. */
const char *sb_expose_map(sb_expose_t *expose, uint32_t owner, sb_exposure_t from, size_t bytes);

/* Reader: a kernel copy out of the owner's memory; false: it could not be done. */
bool sb_expose_read(sb_expose_t *expose, uint32_t owner, void *to, sb_exposure_t from,
                    size_t bytes);

/* A kernel copy into memory that its owner has exposed for this; false: it could not be done. */
bool sb_expose_write(sb_expose_t *expose, uint32_t owner, sb_exposure_t to, const void *from,
                     size_t bytes);

/* What these copy is reported by the line of the algorithm. */
#define sb_expose_read(...) SB_SITED(sb_expose_read(__VA_ARGS__))
#define sb_expose_write(...) SB_SITED(sb_expose_write(__VA_ARGS__))

#endif
