/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of the arena. A table has an entry for each page; those of a block's first and last page
 * tell its length, so neighbours are found and joined at once. Free blocks are in lists by the
 * power of two below their pages. Those whose pages are still there ("kept") are taken first: to
 * give pages back and get them anew takes ten times as long as most uses of them. What is kept is
 * bounded; beyond, the longest blocks lose their pages. A kept block is not joined with one
 * without pages, or a small one would make a large one lose its pages once more each time.
 */
#include "heap/arena.h"
#include "heap/next.h"

#include "base/descriptor.h"
#include "segment/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The arena is opened for use by so many bytes: who locks all memory locks no more. */
#define STEP ((size_t)16 << 20)
#define PAGES (SB_HEAP_ARENA_BYTES / SB_PAGE)
#define CLASSES 25
/* Free blocks of the right class that are looked at. */
#define LOOKS 16
#define KEEP_LEAST ((size_t)64 << 20)
#define KEEP_PART 4 /* of the peak */

typedef enum kind { KEPT, CLEAN, TAKEN } kind_t;

typedef struct entry {
    uint32_t pages;
    uint32_t kind;
    uint32_t next, previous; /* free blocks of the class; 0: none */
} entry_t;

sb_heap_arena_t sb_heap_arena = {
    .base = SB_HEAP_ARENA_NOWHERE, .file = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static entry_t *table;
static uint32_t list[2][CLASSES]; /* first page of the first free block */
static uint32_t top = 1;          /* pages from here on were never given out */
static uint64_t kept;             /* pages */

static uint32_t class_of(uint32_t pages)
{
    return 31 - (uint32_t)__builtin_clz(pages);
}

static void mark(uint32_t at, uint32_t pages, kind_t kind)
{
    table[at].pages = table[at + pages - 1].pages = pages;
    table[at].kind = table[at + pages - 1].kind = kind;
}

static void enlist(uint32_t at, uint32_t pages, kind_t kind)
{
    uint32_t *first = &list[kind][class_of(pages)];

    mark(at, pages, kind);
    table[at].next = *first;
    table[at].previous = 0;
    if (*first != 0)
        table[*first].previous = at;
    *first = at;
    kept += kind == KEPT ? pages : 0;
}

static void unlist(uint32_t at)
{
    entry_t *entry = &table[at];

    if (entry->previous != 0)
        table[entry->previous].next = entry->next;
    else
        list[entry->kind][class_of(entry->pages)] = entry->next;
    if (entry->next != 0)
        table[entry->next].previous = entry->previous;
    kept -= entry->kind == KEPT ? entry->pages : 0;
}

/* Puts a block into its list, joined with free neighbours of its kind. */
static void set_free(uint32_t at, uint32_t pages, kind_t kind)
{
    uint32_t end = at + pages;

    if (at > 1 && table[at - 1].kind == kind) {
        at -= table[at - 1].pages;
        unlist(at);
    }
    if (end < top && table[end].kind == kind) {
        unlist(end);
        end += table[end].pages;
    }
    enlist(at, end - at, kind);
}

static char *address_of(uint32_t at)
{
    return sb_heap_arena.base + (size_t)at * SB_PAGE;
}

static uint32_t page_of(const void *address)
{
    return (uint32_t)((size_t)((const char *)address - sb_heap_arena.base) / SB_PAGE);
}

static uint32_t longest_kept(void)
{
    for (uint32_t class = CLASSES; class -- > 0;) {
        if (list[KEPT][class] != 0)
            return list[KEPT][class];
    }
    return 0;
}

static void keep_within_bound(void)
{
    uint64_t bound = sb_max(KEEP_LEAST / SB_PAGE, sb_heap_arena.peak / KEEP_PART);

    while (kept > bound) {
        uint32_t at = longest_kept(), pages = table[at].pages;
        if (!sb_heap_arena_drop(address_of(at), (size_t)pages * SB_PAGE))
            return;
        unlist(at);
        set_free(at, pages, CLEAN);
    }
}

/* The first page of a free block of so many pages; 0: there is none. */
static uint32_t find(kind_t kind, uint32_t pages)
{
    uint32_t class = class_of(pages), at = list[kind][class];

    for (uint32_t looks = 0; at != 0 && looks < LOOKS; looks++, at = table[at].next) {
        if (table[at].pages >= pages)
            return at;
    }
    while (++class < CLASSES) {
        if (list[kind][class] != 0)
            return list[kind][class];
    }
    return 0;
}

/* Opens the arena, and the table, up to this page. */
static bool open_to(uint32_t end)
{
    size_t bytes = sb_round_up((size_t)end * SB_PAGE, STEP);
    size_t entries = bytes / SB_PAGE * sizeof *table;

    if (bytes <= sb_heap_arena.open)
        return true;
    /* Only what is new: the program may have changed the rights of what there is. */
    char *from = sb_heap_arena.base + sb_heap_arena.open;
    if (end > PAGES ||
        sb_next.mprotect(from, bytes - sb_heap_arena.open, PROT_READ | PROT_WRITE) != 0 ||
        sb_next.mprotect(table, entries, PROT_READ | PROT_WRITE) != 0)
        return false;
    sb_next.madvise(from, bytes - sb_heap_arena.open, MADV_DODUMP);
    sb_heap_arena.open = bytes;
    return true;
}

/* A free block of so many pages, in no list. 0: there is no room. */
static uint32_t get(uint32_t pages, kind_t *kind)
{
    uint32_t at = find(*kind = KEPT, pages);

    if (at == 0)
        at = find(*kind = CLEAN, pages);
    if (at != 0) {
        unlist(at);
        return at;
    }
    if (pages > PAGES - top || !open_to(top + pages))
        return 0;
    at = top;
    top += pages;
    mark(at, pages, CLEAN);
    return at;
}

static void count_taken(int64_t pages)
{
    sb_heap_arena.taken += (uint64_t)pages;
    sb_heap_arena.peak = sb_max(sb_heap_arena.peak, sb_heap_arena.taken);
}

/* What is before and behind the aligned block stays free. */
static uint32_t cut(uint32_t at, uint32_t pages, size_t alignment, kind_t kind)
{
    uint32_t all = table[at].pages;
    uint32_t first =
        page_of((char *)sb_round_up((uintptr_t)address_of(at), sb_max(alignment, SB_PAGE)));

    mark(first, pages, TAKEN);
    if (first > at)
        set_free(at, first - at, kind);
    if (first + pages < at + all)
        set_free(first + pages, at + all - first - pages, kind);
    return first;
}

/* Where the rights of a process or its limits do not allow for an arena, it has none. */
static bool make_file(void)
{
    struct rlimit limit;
    int file = -1;

    /* Beyond this limit the system would send a signal. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= SB_HEAP_ARENA_BYTES)
        file = sb_descriptor_of_memory(SB_HEAP_ARENA_NAME, MFD_ALLOW_SEALING);
    if (file < 0)
        return false;
    sb_heap_arena.file = file;
    return fchmod(file, 0600) == 0 && ftruncate(file, (off_t)SB_HEAP_ARENA_BYTES) == 0 &&
           fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

static char *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

char *sb_heap_arena_map(int file)
{
    size_t all = SB_HEAP_ARENA_BYTES + SB_HEAP_ARENA_ALIGNMENT;
    char *room = reserve(all);

    if (room == NULL)
        return NULL;
    char *base = (char *)sb_round_up((uintptr_t)room, SB_HEAP_ARENA_ALIGNMENT);
    if (mmap(base, SB_HEAP_ARENA_BYTES, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
             0) == MAP_FAILED) {
        munmap(room, all);
        return NULL;
    }
    if (base > room)
        munmap(room, (size_t)(base - room));
    munmap(base + SB_HEAP_ARENA_BYTES, (size_t)(room + all - (base + SB_HEAP_ARENA_BYTES)));
    return base;
}

static bool make_arena(void)
{
    if (!make_file())
        return false;
    char *base = sb_heap_arena_map(sb_heap_arena.file);
    table = (entry_t *)(void *)reserve(PAGES * sizeof *table);
    if (base == NULL || table == NULL)
        return false;
    sb_heap_arena.base = base;
    sb_heap_arena.open = 0;
    /* A dump would write what is not open yet, and the kernel make pages for it. */
    sb_next.madvise(base, SB_HEAP_ARENA_BYTES, MADV_DONTDUMP);
    /* A child that the handlers of fork.c do not see has none of it, rather than all in common. */
    if (sb_next.madvise(base, SB_HEAP_ARENA_BYTES, MADV_DONTFORK) != 0 || !open_to(1))
        return false;
    sb_heap_arena_advise_huge(base);
    mark(0, 1, TAKEN);
    sb_heap_arena_header_t *header = (sb_heap_arena_header_t *)(void *)base;
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = (uintptr_t)base;
    *header = (sb_heap_arena_header_t){.number = number,
                                       .start_time = sb_process_start_time(getpid()),
                                       .base = (uintptr_t)base,
                                       .bytes = SB_HEAP_ARENA_BYTES,
                                       .pid = getpid()};
    /* Release: pairs with the fence in is_of() of reach.c. */
    atomic_thread_fence(memory_order_release);
    header->magic = SB_HEAP_ARENA_MAGIC;
    return true;
}

/* False: a child that is forked meanwhile must have nothing of it. */
static bool make_between_forks(void)
{
    uint32_t making = SB_HEAP_ARENA_MAKING;

    /* Sequentially consistent, as the store of that state: either this sees a fork that has begun,
     * or begin_fork() of fork.c sees the state. */
    if (atomic_load_explicit(&sb_heap_arena.forks, memory_order_seq_cst) > 0)
        return false;
    bool made = make_arena();
    /* Release: pairs with sb_heap_arena_state(). */
    bool used = atomic_compare_exchange_strong_explicit(
        &sb_heap_arena.state, &making, made ? SB_HEAP_ARENA_SHARED : SB_HEAP_ARENA_REFUSED,
        memory_order_release, memory_order_relaxed);
    if (!(made && used) && sb_heap_arena.file >= 0) {
        close(sb_heap_arena.file);
        sb_heap_arena.file = -1;
    }
    return used;
}

/* What a making that was not finished has left stays unused: it is address space. */
static void make(void)
{
    int saved = errno;
    uint32_t none = SB_HEAP_ARENA_NONE;

    /* Who comes first makes it, and reads nothing of others. */
    if (!atomic_compare_exchange_strong_explicit(&sb_heap_arena.state, &none, SB_HEAP_ARENA_MAKING,
                                                 memory_order_seq_cst, memory_order_relaxed))
        return;
    if (!make_between_forks())
        atomic_store_explicit(&sb_heap_arena.state, SB_HEAP_ARENA_NONE, memory_order_release);
    errno = saved;
}

bool sb_heap_arena_is_shared(void)
{
    if (sb_heap_arena_state() == SB_HEAP_ARENA_NONE)
        make();
    return sb_heap_arena_state() == SB_HEAP_ARENA_SHARED;
}

void *sb_heap_arena_take(size_t bytes, size_t alignment, bool *fresh)
{
    kind_t kind = KEPT;
    uint32_t at = 0;

    if (bytes > SB_HEAP_ARENA_BYTES / 2 || alignment > SB_HEAP_ARENA_BYTES / 4 ||
        !sb_heap_arena_is_shared())
        return NULL;
    uint32_t pages = (uint32_t)sb_divide_up(sb_max(bytes, 1), SB_PAGE);
    uint32_t more = alignment > SB_PAGE ? (uint32_t)(alignment / SB_PAGE) - 1 : 0;
    pthread_mutex_lock(&sb_heap_arena.lock);
    if (sb_heap_arena_state() == SB_HEAP_ARENA_SHARED)
        at = get(pages + more, &kind);
    if (at != 0) {
        at = cut(at, pages, alignment, kind);
        count_taken(pages);
        atomic_fetch_add_explicit(&sb_heap_arena.blocks, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&sb_heap_arena.lock);
    *fresh = kind == CLEAN;
    return at != 0 ? address_of(at) : NULL;
}

/* Its place is never used again; a child has its own, and nothing of what was set aside. */
static void forget(void *block)
{
    size_t bytes = sb_heap_arena_size(block);

    /* Relaxed: where it is is all that is wanted. */
    char *aside = atomic_load_explicit(&sb_heap_arena.aside, memory_order_relaxed);

    sb_next.madvise(block, bytes, MADV_DONTNEED);
    if (aside != NULL && sb_heap_arena.parted_by == getpid())
        sb_next.madvise(aside + ((char *)block - sb_heap_arena.base), bytes, MADV_DONTNEED);
}

void sb_heap_arena_give(void *block)
{
    uint32_t at = page_of(block);
    int saved = errno;

    if (sb_heap_arena_state() != SB_HEAP_ARENA_SHARED) {
        forget(block);
        errno = saved;
        return;
    }
    pthread_mutex_lock(&sb_heap_arena.lock);
    if (sb_heap_arena_state() == SB_HEAP_ARENA_SHARED) {
        count_taken(-(int64_t)table[at].pages);
        set_free(at, table[at].pages, KEPT);
        keep_within_bound();
    }
    pthread_mutex_unlock(&sb_heap_arena.lock);
    errno = saved;
}

size_t sb_heap_arena_size(const void *block)
{
    return (size_t)table[page_of(block)].pages * SB_PAGE;
}

/* Takes what follows the block, if that is free and long enough. */
static bool grow(uint32_t at, uint32_t pages)
{
    uint32_t end = at + table[at].pages, more = pages - table[at].pages;

    if (end == top) {
        if (more > PAGES - top || !open_to(top + more))
            return false;
        top += more;
    } else {
        uint32_t has = table[end].pages;
        kind_t kind = table[end].kind;
        if (kind == TAKEN || has < more)
            return false;
        unlist(end);
        if (has > more)
            enlist(end + more, has - more, kind);
    }
    mark(at, pages, TAKEN);
    count_taken(more);
    return true;
}

static bool resize(uint32_t at, uint32_t pages)
{
    uint32_t less = table[at].pages - pages;

    if (pages > table[at].pages)
        return grow(at, pages);
    if (less > 0) {
        mark(at, pages, TAKEN);
        set_free(at + pages, less, KEPT);
        count_taken(-(int64_t)less);
        keep_within_bound();
    }
    return true;
}

bool sb_heap_arena_resize(void *block, size_t bytes)
{
    bool done = bytes <= sb_heap_arena_size(block);
    int saved = errno;

    if (bytes > SB_HEAP_ARENA_BYTES / 2)
        return false;
    /* After a fork the lock may be held for good: by a thread that the child does not have. */
    if (sb_heap_arena_state() != SB_HEAP_ARENA_SHARED)
        return done;
    pthread_mutex_lock(&sb_heap_arena.lock);
    if (sb_heap_arena_state() == SB_HEAP_ARENA_SHARED)
        done = resize(page_of(block), (uint32_t)sb_divide_up(sb_max(bytes, 1), SB_PAGE));
    pthread_mutex_unlock(&sb_heap_arena.lock);
    errno = saved;
    return done;
}
