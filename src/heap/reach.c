/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other processes' arenas. The first time that a process is asked for, its descriptors are looked
 * through for its arena's file, which is then mapped to be read. That is kept, and so is that there
 * is none. Once a second it is looked whether the process is still the same one, or has an arena by
 * now. What was mapped stays so for longer than its process lives: a thread may be reading it.
 */
#include "heap/arena.h"
#include "heap/next.h"
#include "segment/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 256
/* What is read is opened by so many bytes: who locks all memory locks no more. */
#define STEP ((size_t)16 << 20)
/* Of those whose arenas are mapped that are looked at for each that comes. */
#define LOOKS 8
/* Seconds from a process's end, as seen here: its pages go after these, and its addresses. */
#define PAGES_STAY 1
#define PLACE_STAYS 60

/* What is known of one process. */
typedef struct peer {
    struct peer *next;
    int process;
    uint64_t start_time;
    const char *_Atomic here; /* its arena; NULL: it has none that can be read */
    uint64_t base;            /* where its owner has it; set before `here` */
    _Atomic size_t open;      /* bytes of it that may be read so far */
    _Atomic bool gone;        /* another process may have its number */
    _Atomic int64_t looked;   /* seconds */
    /* Under the lock: */
    struct peer *after; /* of those whose arenas are mapped */
    char *mapped;
    int64_t ended; /* seconds; 0: not seen yet */
    bool is_empty; /* nothing of its file is mapped any more */
} peer_t;

static peer_t *_Atomic buckets[BUCKETS];
static peer_t *oldest, *newest; /* whose arenas are mapped, in the order of the last look */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t loads;

static bool is_arena(const char *path)
{
    static const char name[] = "/memfd:" SB_HEAP_ARENA_NAME " (deleted)";
    char link[sizeof name];

    return readlink(path, link, sizeof link) == sizeof name - 1 &&
           memcmp(link, name, sizeof name - 1) == 0;
}

/* Whether the arena is the process's own: not one that it has from its parent. */
static bool is_of(const char *here, int process, uint64_t start_time)
{
    const sb_heap_arena_header_t *header = (const sb_heap_arena_header_t *)(const void *)here;

    if (header->magic != SB_HEAP_ARENA_MAGIC)
        return false;
    /* Acquire: pairs with the fence in make_arena() of arena.c, before the magic is written. */
    atomic_thread_fence(memory_order_acquire);
    return header->bytes == SB_HEAP_ARENA_BYTES && header->pid == process &&
           header->start_time == start_time && start_time != 0;
}

/* Maps a file that cannot become shorter. */
static char *map(int file)
{
    int seals = fcntl(file, F_GET_SEALS);

    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
        lseek(file, 0, SEEK_END) != (off_t)SB_HEAP_ARENA_BYTES)
        return NULL;
    return sb_heap_arena_map(file);
}

/* NULL: this file is none, or not the process's. */
static char *attach(const char *path, int process, uint64_t start_time)
{
    int file = is_arena(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char *here = file < 0 ? NULL : map(file);

    if (file >= 0)
        close(file);
    if (here == NULL)
        return NULL;
    if (sb_next.mprotect(here, SB_PAGE, PROT_READ) == 0 &&
        sb_next.madvise(here, SB_HEAP_ARENA_BYTES, MADV_DONTDUMP) == 0 &&
        is_of(here, process, start_time))
        return here;
    munmap(here, SB_HEAP_ARENA_BYTES);
    return NULL;
}

static char *find(int process, uint64_t start_time)
{
    char path[64];
    char *here = NULL;
    struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *folder = opendir(path);
    while (folder != NULL && here == NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/%d/fd/%.20s", process, entry->d_name);
        here = attach(path, process, start_time);
    }
    if (folder != NULL)
        closedir(folder);
    return here;
}

/* What is known of the process; NULL: nothing. */
static peer_t *look_up(int process)
{
    /* Acquire: pairs with the store in add(). */
    peer_t *peer =
        atomic_load_explicit(&buckets[(unsigned)process % BUCKETS], memory_order_acquire);

    while (peer != NULL &&
           (peer->process != process || atomic_load_explicit(&peer->gone, memory_order_relaxed)))
        peer = peer->next;
    return peer;
}

static void append(peer_t *peer)
{
    peer->after = NULL;
    if (oldest == NULL)
        oldest = peer;
    else
        newest->after = peer;
    newest = peer;
}

/* Zeros in the place of the file: what may have been read of it can be read on. */
static bool empty(peer_t *peer)
{
    static const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    /* Acquire: pairs with the store in open_to(). */
    size_t open = atomic_load_explicit(&peer->open, memory_order_acquire);

    return (open == 0 || sb_next.mmap(peer->mapped, open, PROT_READ, flags, -1, 0) != MAP_FAILED) &&
           (open == SB_HEAP_ARENA_BYTES ||
            sb_next.mmap(peer->mapped + open, SB_HEAP_ARENA_BYTES - open, PROT_NONE, flags, -1,
                         0) != MAP_FAILED);
}

/*
 * The memory of a process that has ended is taken for as long as others have it mapped. It goes by
 * steps, each in its time: nobody begins to read it; it becomes zeros, for who still reads, with
 * whom no operation ends well any more; its addresses are others'. True: that was the last one.
 */
static bool release(peer_t *peer, int64_t now)
{
    if (peer->ended == 0 && !sb_process_alive(peer->process, peer->start_time)) {
        /* Relaxed: nothing is told by it, and the next step comes later. */
        atomic_store_explicit(&peer->gone, true, memory_order_relaxed);
        atomic_store_explicit(&peer->here, NULL, memory_order_relaxed);
        peer->ended = now;
    } else if (peer->ended != 0 && !peer->is_empty && now > peer->ended + PAGES_STAY) {
        peer->is_empty = empty(peer);
    } else if (peer->is_empty && now > peer->ended + PLACE_STAYS) {
        sb_next.munmap(peer->mapped, SB_HEAP_ARENA_BYTES);
        return true;
    }
    return false;
}

static void release_ended(int64_t now)
{
    const peer_t *last = newest;
    peer_t *peer = NULL;

    for (int looks = 0; looks < LOOKS && oldest != NULL && peer != last; looks++) {
        peer = oldest;
        oldest = peer->after;
        if (!release(peer, now))
            append(peer);
    }
}

static peer_t *add(int process, int64_t now)
{
    peer_t *_Atomic *bucket = &buckets[(unsigned)process % BUCKETS];
    peer_t *peer = sb_next.calloc(1, sizeof *peer);

    release_ended(now);
    if (peer == NULL)
        return NULL;
    peer->process = process;
    peer->start_time = sb_process_start_time(process);
    peer->next = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(bucket, peer, memory_order_release);
    return peer;
}

static void look_for_arena(peer_t *peer)
{
    char *here = find(peer->process, peer->start_time);

    if (here == NULL)
        return;
    peer->mapped = here;
    peer->base = ((const sb_heap_arena_header_t *)(const void *)here)->base;
    append(peer);
    atomic_store_explicit(&peer->here, here, memory_order_release);
}

/* Looks at the process itself. */
static peer_t *renew(peer_t *peer, int process, int64_t now)
{
    uint64_t start_time = sb_process_start_time(process);

    /* 0: it has ended, or cannot be asked just now. */
    if (peer != NULL && start_time != 0 && start_time != peer->start_time) {
        atomic_store_explicit(&peer->gone, true, memory_order_relaxed);
        peer = NULL;
    }
    peer = peer == NULL ? add(process, now) : peer;
    if (peer == NULL)
        return NULL;
    /* Who writes it holds the lock. */
    if (atomic_load_explicit(&peer->here, memory_order_relaxed) == NULL)
        look_for_arena(peer);
    atomic_store_explicit(&peer->looked, now, memory_order_release);
    return peer;
}

/* One that was looked at not long ago. A fork may have left the lock held for good. */
static peer_t *peer_of(int process)
{
    peer_t *peer = look_up(process);
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    /* Acquire: pairs with the store of `looked` in renew(), which has set `here` before. */
    if (SB_LIKELY(peer != NULL &&
                  atomic_load_explicit(&peer->looked, memory_order_acquire) == now.tv_sec))
        return peer;
    if (pthread_mutex_trylock(&lock) != 0)
        return NULL;
    peer = renew(look_up(process), process, now.tv_sec);
    pthread_mutex_unlock(&lock);
    return peer;
}

static bool open_to(peer_t *peer, const char *here, size_t end)
{
    size_t bytes = sb_round_up(end, STEP);

    /* Acquire: pairs with the store below, which comes after the rights were given. */
    if (SB_LIKELY(end <= atomic_load_explicit(&peer->open, memory_order_acquire)))
        return true;
    if (sb_next.mprotect((void *)(uintptr_t)here, bytes, PROT_READ) != 0)
        return false;
    atomic_store_explicit(&peer->open, bytes, memory_order_release);
    return true;
}

static const char *reach(int process, uint64_t address, size_t bytes, bool told)
{
    peer_t *peer = told ? look_up(process) : NULL;
    peer = peer == NULL ? peer_of(process) : peer;
    /* Acquire: pairs with the store of `here` in renew(). */
    const char *here =
        peer == NULL ? NULL : atomic_load_explicit(&peer->here, memory_order_acquire);

    if (here == NULL)
        return NULL;
    const sb_heap_arena_header_t *header = (const sb_heap_arena_header_t *)(const void *)here;
    uint64_t offset = address - peer->base;
    if (offset >= SB_HEAP_ARENA_BYTES || bytes > SB_HEAP_ARENA_BYTES - offset ||
        !open_to(peer, here, offset + bytes))
        return NULL;
    if (!told && !sb_sharing_lasts(&header->ended))
        return NULL;
    atomic_fetch_add_explicit(&loads, 1, memory_order_relaxed);
    return here + offset;
}

static bool may_share(const void *base, size_t bytes)
{
    return sb_heap_arena_has_all(base, bytes) && sb_heap_arena_state() == SB_HEAP_ARENA_SHARED;
}

static bool shares(const void *base, size_t bytes)
{
    /* What this thread has written before goes where its memory was mapped before. */
    atomic_thread_fence(memory_order_seq_cst);
    return may_share(base, bytes);
}

static const uint64_t *number(void)
{
    /* That makes the arena, where nothing long was allocated before. */
    if (!sb_heap_arena_is_shared())
        return NULL;
    return &((const sb_heap_arena_header_t *)(const void *)sb_heap_arena.base)->number;
}

static void count(sb_heap_counts_t *counts)
{
    *counts = (sb_heap_counts_t){
        .blocks = atomic_load_explicit(&sb_heap_arena.blocks, memory_order_relaxed),
        .peak = sb_heap_arena.peak * SB_PAGE,
        .loads = atomic_load_explicit(&loads, memory_order_relaxed),
        .end = sb_heap_arena_state() == SB_HEAP_ARENA_PRIVATE ? sb_heap_arena.end : SB_HEAP_LASTS};
}

SB_EXPORTED sb_heap_function_t sobor_heap;

SB_EXPORTED const sb_heap_t *sobor_heap(void)
{
    static const sb_heap_t heap = {reach, shares, may_share, count, number};

    return sb_heap_arena.wanted ? &heap : NULL;
}

static void take_long(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/*
 * As the kernel does it: until the one list or the other is at its end. -1: not all of it can be
 * reached.
 */
static ssize_t load(pid_t process, const struct iovec *local, unsigned long locals,
                    const struct iovec *remote, unsigned long remotes)
{
    size_t to = 0, from = 0; /* in the first of each */
    ssize_t done = 0;

    while (locals > 0 && remotes > 0) {
        size_t bytes = sb_min(local->iov_len - to, remote->iov_len - from);
        uint64_t address = (uintptr_t)remote->iov_base + from;
        const char *here = bytes == 0 ? "" : reach(process, address, bytes, false);
        if (here == NULL)
            return -1;
        sb_copy_message((char *)local->iov_base + to, here, bytes, take_long);
        done += (ssize_t)bytes;
        to += bytes;
        from += bytes;
        if (to == local->iov_len)
            to = 0, local++, locals--;
        if (from == remote->iov_len)
            from = 0, remote++, remotes--;
    }
    /* One that has ended meanwhile may have been zeros: the kernel says so. */
    return look_up(process) == NULL ? -1 : done;
}

/* The host MPI's own messages come by here. */
SB_EXPORTED ssize_t process_vm_readv(pid_t process, const struct iovec *local, unsigned long locals,
                                     const struct iovec *remote, unsigned long remotes,
                                     unsigned long flags)
{
    ssize_t done =
        sb_heap_arena.wanted && flags == 0 ? load(process, local, locals, remote, remotes) : -1;

    return done >= 0 ? done
                     : sb_next.process_vm_readv(process, local, locals, remote, remotes, flags);
}
