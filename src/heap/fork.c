/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child must not see what its parent writes, nor the other way round. So before the first fork
 * the arena is mapped once more in its place, private: what is in it stays, nothing is copied, and
 * no thread has to stop, because a store goes to the file before and to a page of the process's
 * own after it. Others read the file, which holds what was there before; what is written after it
 * is told to them after `ended` is set, and then they ask the kernel for it.
 *
 * To take a mapping away takes a tenth of a microsecond for each page that was touched, all within
 * the fork. So its pages are moved elsewhere before, table by table, and are unmapped one block
 * after another as those are freed. The file keeps them.
 *
 * Only once: to map it again would throw away all that was written since. The arena is at its end:
 * its blocks are freed one by one, and new ones are the C library's.
 *
 * A thread that makes the arena while another one forks throws it away, and none is begun until
 * that is over: the child would have a part of it. Neither waits for the other, who may be waiting
 * for the same allocator. Of two threads that fork at the same time the second one waits until all
 * is mapped: its child would miss what is not.
 */
#include "heap/arena.h"
#include "heap/next.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program may have closed the descriptor, and its number may be another file's by now. */
static bool file_is_ours(void)
{
    const sb_heap_arena_header_t *header =
        (const sb_heap_arena_header_t *)(const void *)sb_heap_arena.base;
    uint64_t seen[4];

    return pread(sb_heap_arena.file, seen, sizeof seen, 0) == sizeof seen &&
           memcmp(header, seen, sizeof seen) == 0;
}

static bool map_private(char *from, size_t bytes, int rights, bool ours)
{
    (void)ours;
    return sb_next.mmap(from, bytes, rights, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                        sb_heap_arena.file, from - sb_heap_arena.base) != MAP_FAILED;
}

/* Without the file: pages of the same content take the place of the shared ones. */
static bool copy_private(char *from, size_t bytes, int rights, bool ours)
{
    void *copy = sb_next.mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)ours;
    if (copy == MAP_FAILED)
        return false;
    bool readable = (rights & PROT_READ) != 0 || sb_next.mprotect(from, bytes, PROT_READ) == 0;
    if (readable)
        memcpy(copy, from, bytes);
    if (readable && sb_next.mprotect(copy, bytes, rights) == 0 &&
        sb_next.mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, from) != MAP_FAILED)
        return true;
    sb_next.munmap(copy, bytes);
    return false;
}

bool sb_heap_arena_by_rights(char *begin, size_t bytes, sb_heap_arena_act_t *act)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    const uintptr_t first = (uintptr_t)begin, end = first + bytes;
    char *line = NULL;
    size_t room = 0;
    bool done = maps != NULL;

    while (done && getline(&line, &room, maps) > 0) {
        unsigned long from, to;
        char r, w, x;
        if (sscanf(line, "%lx-%lx %c%c%c", &from, &to, &r, &w, &x) != 5 || to <= first ||
            from >= end)
            continue;
        int rights =
            (r == 'r' ? PROT_READ : 0) | (w == 'w' ? PROT_WRITE : 0) | (x == 'x' ? PROT_EXEC : 0);
        from = sb_max(from, first);
        done = act(begin + (from - first), sb_min(to, end) - from, rights,
                   strstr(line, " /memfd:" SB_HEAP_ARENA_NAME) != NULL);
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return done;
}

/*
 * The rest of the arena's addresses, which no child would have. Were they free there, the C library
 * could be given them, and its blocks would be taken for the arena's.
 */
static bool keep_the_rest(void)
{
    if (sb_heap_arena.open == SB_HEAP_ARENA_BYTES)
        return true;
    return sb_next.mmap(sb_heap_arena.base + sb_heap_arena.open,
                        SB_HEAP_ARENA_BYTES - sb_heap_arena.open, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                        0) != MAP_FAILED;
}

/*
 * Other threads find the same pages in the file meanwhile. Linux before 5.13 does not do this to
 * shared memory.
 */
static void set_pages_aside(size_t bytes)
{
    char *aside =
        sb_next.mremap(sb_heap_arena.base, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

    if (aside == MAP_FAILED)
        return;
    /* What it holds is dumped where the program has it. */
    sb_next.madvise(aside, bytes, MADV_DONTDUMP);
    sb_heap_arena.parted_by = getpid();
    atomic_store_explicit(&sb_heap_arena.aside, aside, memory_order_release);
}

/* What the program has done to the rights of pages is kept. */
static bool become_private(void)
{
    sb_heap_arena_act_t *act = file_is_ours() ? map_private : copy_private;

    /* Acquire: pairs with the store in mprotect() of advise.c. */
    if (atomic_load_explicit(&sb_heap_arena.protected, memory_order_acquire))
        return sb_heap_arena_by_rights(sb_heap_arena.base, sb_heap_arena.open, act);
    if (act == map_private)
        set_pages_aside(sb_heap_arena.open);
    return act(sb_heap_arena.base, sb_heap_arena.open, PROT_READ | PROT_WRITE, true);
}

static void part(void *unused)
{
    static const char failed[] = "sobor: the heap cannot be kept from other processes\n";

    (void)unused;
    if (!(become_private() && keep_the_rest()) &&
        write(STDERR_FILENO, failed, sizeof failed - 1) < 0)
        abort();
}

void sb_heap_arena_part(sb_heap_end_t end)
{
    sb_heap_arena_header_t *header = (sb_heap_arena_header_t *)(void *)sb_heap_arena.base;
    sb_heap_arena_state_t state = sb_heap_arena_state();

    if (state != SB_HEAP_ARENA_SHARED && state != SB_HEAP_ARENA_PARTING)
        return;
    pthread_mutex_lock(&sb_heap_arena.lock);
    if (sb_heap_arena_state() == SB_HEAP_ARENA_SHARED) {
        sb_heap_arena.end = end;
        sb_sharing_end(&header->ended, &sb_heap_arena.state, SB_HEAP_ARENA_PARTING, part, NULL);
        /* Release: pairs with sb_heap_arena_state(), for who needs not to wait here. */
        atomic_store_explicit(&sb_heap_arena.state, SB_HEAP_ARENA_PRIVATE, memory_order_release);
    }
    pthread_mutex_unlock(&sb_heap_arena.lock);
}

static void begin_fork(void)
{
    uint32_t making = SB_HEAP_ARENA_MAKING;

    /* Sequentially consistent, both: see make_between_forks() of arena.c. */
    atomic_fetch_add_explicit(&sb_heap_arena.forks, 1, memory_order_seq_cst);
    atomic_compare_exchange_strong_explicit(&sb_heap_arena.state, &making, SB_HEAP_ARENA_DROPPED,
                                            memory_order_seq_cst, memory_order_seq_cst);
    sb_heap_arena_part(SB_HEAP_FORK);
}

static void end_fork(void)
{
    /* Relaxed: nothing was written that others look at by it. */
    atomic_fetch_sub_explicit(&sb_heap_arena.forks, 1, memory_order_relaxed);
}

/* It has no thread that makes the arena or forks, nor what was mapped for one, unless private. */
static void begin_child(void)
{
    sb_heap_arena_state_t state = sb_heap_arena_state();

    /* Relaxed, all: it has one thread. */
    atomic_store_explicit(&sb_heap_arena.forks, 0, memory_order_relaxed);
    if (state == SB_HEAP_ARENA_PRIVATE)
        return;
    sb_heap_arena.base = SB_HEAP_ARENA_NOWHERE;
    sb_heap_arena.file = -1;
    if (state != SB_HEAP_ARENA_REFUSED)
        atomic_store_explicit(&sb_heap_arena.state, SB_HEAP_ARENA_NONE, memory_order_relaxed);
}

bool sb_heap_arena_watch_forks(void)
{
    return pthread_atfork(begin_fork, end_fork, begin_child) == 0;
}

/* The C library's own fork calls the handlers; this one does not. */
SB_EXPORTED pid_t _Fork(void)
{
    begin_fork();
    pid_t child = sb_next._Fork();
    if (child == 0)
        begin_child();
    else
        end_fork();
    return child;
}
