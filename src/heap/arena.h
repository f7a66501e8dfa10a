/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_HEAP_ARENA_H
#define SB_HEAP_ARENA_H

#include "base/compiler.h"
#include "base/heap.h"
#include "machine/sharing.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Large blocks of this process's memory, in one anonymous file that other processes of the user map
 * to read. It is mapped once and stays: an address in it means the same byte of the file for as
 * long as the process lives, so nobody's view can be stale. A block has pages of its own.
 *
 * What cannot be given is NULL, and the caller asks the C library: no arena where the system allows
 * none, where it is full, and after a fork (fork.c).
 */

#define SB_HEAP_ARENA_NAME "sobor-heap"
#define SB_HEAP_ARENA_MAGIC UINT64_C(0x3170616548726253)
/* Address space alone: pages are there once they are written. */
#define SB_HEAP_ARENA_BYTES ((size_t)64 << 30)
/* Huge pages of this size and of less can be mapped: 2 MiB is what most systems have. */
#define SB_HEAP_ARENA_ALIGNMENT ((size_t)2 << 20)

/* The file's first page. */
typedef struct sb_heap_arena_header {
    uint64_t magic;
    uint64_t start_time; /* of the process, by sb_process_start_time */
    uint64_t base;       /* where its owner has it */
    uint64_t bytes;
    uint64_t number; /* drawn at random */
    int32_t pid;
    sb_word32_t ended; /* what its owner sees is no longer what the file holds */
} sb_heap_arena_header_t;

typedef enum sb_heap_arena_state {
    SB_HEAP_ARENA_NONE,
    SB_HEAP_ARENA_MAKING,
    SB_HEAP_ARENA_DROPPED, /* being made, and not to be used: a fork came in between */
    SB_HEAP_ARENA_SHARED,
    SB_HEAP_ARENA_PARTING, /* nothing more is given out of it, and it is mapped anew */
    SB_HEAP_ARENA_PRIVATE, /* that is done */
    SB_HEAP_ARENA_REFUSED,
} sb_heap_arena_state_t;

typedef struct sb_heap_arena {
    bool wanted;            /* set once, before main */
    sb_word32_t state;      /* sb_heap_arena_state_t */
    _Atomic uint32_t forks; /* that are under way */
    sb_heap_end_t end;      /* what made it private, set before that */
    char *base;
    size_t open;         /* bytes that may be used so far */
    char *_Atomic aside; /* the pages that were mapped until a fork; NULL: none */
    pid_t parted_by;     /* the process that has them */
    int file;
    bool may_be_huge;       /* the system gives huge pages to some shared memory */
    _Atomic bool protected; /* the program has changed the rights of some pages, or mapped others */
    pthread_mutex_t lock;
    _Atomic uint64_t blocks;
    uint64_t taken; /* pages, */
    uint64_t peak;  /* and most that were */
} sb_heap_arena_t;

extern sb_heap_arena_t sb_heap_arena;

/* Where it is when there is none: no process has this address. */
#define SB_HEAP_ARENA_NOWHERE ((char *)((uintptr_t)1 << 63))

/*
 * Acquire: pairs with the stores in make_between_forks() of arena.c, which has set all that belongs
 * to the arena before, and in sb_heap_arena_part().
 */
static inline sb_heap_arena_state_t sb_heap_arena_state(void)
{
    return (sb_heap_arena_state_t)atomic_load_explicit(&sb_heap_arena.state, memory_order_acquire);
}

/* Whether an address is one of the arena's, whatever its state. */
static inline bool sb_heap_arena_has(const void *address)
{
    return (uintptr_t)address - (uintptr_t)sb_heap_arena.base < SB_HEAP_ARENA_BYTES;
}

/* The same of so many bytes, all of them. */
static inline bool sb_heap_arena_has_all(const void *address, size_t bytes)
{
    return sb_heap_arena_has(address) &&
           bytes <= SB_HEAP_ARENA_BYTES - (size_t)((const char *)address - sb_heap_arena.base);
}

/*
 * At a multiple of `alignment`, a power of two. `fresh`: it is zero. Makes the arena at the first
 * call.
 */
void *sb_heap_arena_take(size_t bytes, size_t alignment, bool *fresh);

/* False: there is no arena, or no longer a shared one. */
bool sb_heap_arena_is_shared(void);

void sb_heap_arena_give(void *block);

/* Bytes that the block has room for. */
size_t sb_heap_arena_size(const void *block);

/* Where it is; false: it cannot become so long. */
bool sb_heap_arena_resize(void *block, size_t bytes);

/*
 * Maps an arena's file, to be opened for use bit by bit, so that huge pages of the file are mapped
 * whole. NULL: there is no room.
 */
char *sb_heap_arena_map(int file);

/* From now on the memory is this process's alone: before a fork, or for another reason. Also where
 * another thread does that, it is done afterwards. */
void sb_heap_arena_part(sb_heap_end_t end);

/* Has that done before each fork. False: there is no memory for it. */
bool sb_heap_arena_watch_forks(void);

/* At its beginning. */
void sb_heap_arena_advise_huge(char *base);

/* Gives pages of the arena that are in use by nobody back to the system. False: they stay. */
bool sb_heap_arena_drop(char *at, size_t bytes);

/* `ours`: these are pages of the arena's file, not what the program has mapped in their place. */
typedef bool sb_heap_arena_act_t(char *from, size_t bytes, int rights, bool ours);

/* What the program has done to the rights of pages, and to their place, is seen: one call for each
 * range that has the same. False: one of them failed, or nobody can say. */
bool sb_heap_arena_by_rights(char *begin, size_t bytes, sb_heap_arena_act_t *act);

#endif
