/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A region is a memfd that peers open through /proc/PID/fd, or, where the system does not allow
 * that, a file in /dev/shm that is unlinked once all have it. Which kind it is makes no difference
 * after set-up: both are memory without a name, and vanish with their last user, however it ends.
 */
#include "segment/region.h"

#include "base/config.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "machine/machine.h"
#include "segment/huge.h"
#include "segment/process.h"
#include "topology/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x31726f626f73ULL /* "sobor1" */
#define NAME_PREFIX "/sobor."

/* The first bytes of every region. */
typedef struct header {
    uint64_t magic;
    uint64_t nonce[2];
    _Atomic uint32_t departed;
    _Atomic uint32_t ended;
} header_t;

typedef struct name {
    char text[96];
} name_t;

sb_status_t sb_region_fail(sb_reason_t *reason, sb_status_t status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return status;
}

/* The owner's pid and PID namespace let a later process tell a leftover from a region in set-up. */
static name_t region_name(const sb_remote_key_t *key)
{
    name_t name;

    snprintf(name.text, sizeof name.text, NAME_PREFIX "%d.%" PRIu64 ".%016" PRIx64, key->pid,
             key->pid_namespace, key->nonce[0]);
    return name;
}

static sb_status_t draw_key(sb_remote_key_t *key, sb_region_kind_t kind, size_t bytes,
                            sb_reason_t *reason)
{
    *key = (sb_remote_key_t){.bytes = bytes, .kind = kind, .fd = -1};
    key->pid = getpid();
    key->pid_namespace = sb_process_namespace();
    key->start_time = sb_process_start_time(getpid());
    if (getrandom(key->nonce, sizeof key->nonce, 0) != (ssize_t)sizeof key->nonce)
        return sb_region_fail(reason, SB_ERR_SYSTEM, "getrandom: %s", strerror(errno));
    return SB_OK;
}

static int open_new(sb_region_t *region)
{
    if (region->key.kind == SB_REGION_MEMFD)
        return sb_descriptor_of_memory("sobor", 0);
    name_t name = region_name(&region->key);
    int fd = sb_descriptor_kept(shm_open(name.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    region->linked = fd >= 0;
    return fd;
}

static const char *kind_name(uint32_t kind)
{
    return kind == SB_REGION_MEMFD ? "memfd" : "/dev/shm";
}

/* A limit on the size of files (RLIMIT_FSIZE) is told by a signal that ends the program. */
bool sb_region_resize(int fd, size_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes)
        return ftruncate(fd, (off_t)bytes) == 0;
    errno = EFBIG;
    return false;
}

/*
 * Linux before 6.9 leaves off where a signal comes, with nothing done: a program that has itself
 * told of the time may get no long file at once. So it is done by pieces, each tried again.
 */
#define RESERVED_AT_ONCE ((size_t)256 << 10)
#define RESERVE_TRIES 100

int sb_region_reserve(int fd, size_t from, size_t bytes)
{
    int error = 0;

    for (size_t some; bytes > 0 && error == 0; from += some, bytes -= some) {
        some = sb_min(bytes, RESERVED_AT_ONCE);
        error = EINTR;
        for (int tries = 0; tries < RESERVE_TRIES && error == EINTR; tries++)
            error = posix_fallocate(fd, (off_t)from, (off_t)some);
    }
    return error;
}

void *sb_region_map(int fd, size_t bytes)
{
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return NULL;
    madvise(base, bytes, MADV_DONTFORK);
    return base;
}

/* As a write does. What is there stays: others may use these pages, and write to them meanwhile. */
static void touch_page(_Atomic char *first)
{
    char zero = 0;

    /* Relaxed: nothing is handed over. */
    atomic_compare_exchange_strong_explicit(first, &zero, 0, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* The kernel does it without a fault for each of them, if it can. */
static void populate(char *base, size_t bytes, size_t page)
{
    if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t offset = 0; offset < bytes; offset += page)
        touch_page((_Atomic char *)(base + offset));
}

/* Touching SB_PAGE bytes takes so long. Fewer pages say little about that. */
static uint64_t page_ns;
#define PAGES_TOLD 8
#define PAGES_ALL 128

/*
 * Few pages may be cheap, as memory that was free already: in a virtual machine pages that its
 * kernel has had before take a twentieth of others. A process that was off its processor finds many
 * long. So either counts the more, the more pages there were, and less for half.
 */
uint64_t sb_page_ns_after(uint64_t known, uint64_t ns, size_t pages)
{
    uint64_t share = sb_min(pages, PAGES_ALL);

    if (known == 0)
        return ns;
    if (ns < known)
        return known - (known - ns) * share / PAGES_ALL / 2;
    return known + (sb_min(ns, 4 * known) - known) * share / PAGES_ALL;
}

static void touch_pages(char *base, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t began = sb_now_ns();

    populate(base, bytes, page);
    if (bytes / SB_PAGE >= PAGES_TOLD)
        page_ns =
            sb_page_ns_after(page_ns, (sb_now_ns() - began) / (bytes / SB_PAGE), bytes / SB_PAGE);
}

uint64_t sb_region_page_ns(void)
{
    return page_ns;
}

/* Those that are there take no time, of which nothing may be concluded. */
static void touch_huge_pages(sb_region_t *region, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += region->huge_page) {
        size_t number = at / region->huge_page;
        uint64_t bit = number < 64 ? (uint64_t)1 << number : 0;
        if ((region->huge_touched & bit) != 0)
            continue;
        touch_pages(region->base + at, region->huge_page);
        region->huge_touched |= bit;
    }
}

void sb_region_touch(sb_region_t *region, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = region->key.bytes;
    size_t begin = sb_max(from & ~(page - 1), region->touched);
    size_t end = sb_min(sb_round_up(to, page), bytes);
    size_t huge = region->huge_page, whole = huge == 0 ? 0 : bytes / huge * huge;

    if (end <= begin)
        return;
    if (begin < whole) {
        begin = begin / huge * huge;
        end = end < whole ? sb_round_up(end, huge) : end;
        touch_huge_pages(region, begin, sb_min(end, whole));
    }
    if (end > whole)
        touch_pages(region->base + sb_max(begin, whole), end - sb_max(begin, whole));
    if (begin <= region->touched)
        region->touched = end;
}

/*
 * Anonymous memory lacks only where the machine or a control group has no more: then the kernel
 * ends a process, whether pages are reserved or touched. That is what the limits are read for. It
 * is another matter where the kernel counts what it has promised, or cannot be asked.
 */
static bool must_reserve(uint32_t kind)
{
    char text[8];

    return kind == SB_REGION_NAMED ||
           !sb_file_line(text, sizeof text, "/proc/sys/vm/overcommit_memory") || text[0] == '2';
}

size_t sb_region_missing(const sb_region_t *region)
{
    struct stat file;
    size_t present = fstat(region->fd, &file) == 0 ? (size_t)file.st_blocks * 512 : 0;

    return region->key.bytes - sb_min(present, (size_t)region->key.bytes);
}

/* Whether the system gives huge pages. Memory by name goes by how its file system was mounted. */
static bool advise(sb_region_t *region)
{
    bool wanted = sb_config()->huge_pages.number == SB_HUGE_PAGES_AUTO;

    return region->key.kind == SB_REGION_MEMFD &&
           sb_huge_advise(region->base, region->key.bytes, wanted, &region->huge_page);
}

/*
 * Maps, reserves and touches. The wish for a NUMA node comes first, because reserving allocates the
 * pages. Meanwhile the kernel is told not to read ahead, which could bring pages in before it is
 * their turn. Reserving does not know of advice: huge pages are taken before.
 */
static sb_status_t place(sb_region_t *region, int numa_node, sb_reason_t *reason)
{
    size_t bytes = region->key.bytes;
    const char *kind = kind_name(region->key.kind);

    if (fchmod(region->fd, 0600) != 0 || !sb_region_resize(region->fd, bytes))
        return sb_region_fail(reason, SB_ERR_MEMORY, "%s of %zu KiB: %s", kind, bytes >> 10,
                              strerror(errno));
    region->base = sb_region_map(region->fd, bytes);
    if (region->base == NULL)
        return sb_region_fail(reason, SB_ERR_MEMORY, "mapping %zu KiB of %s: %s", bytes >> 10, kind,
                              strerror(errno));
    sb_topology_prefer(region->base, bytes, numa_node);
    madvise(region->base, bytes, MADV_RANDOM);
    bool reserve = must_reserve(region->key.kind);
    if (advise(region) && reserve)
        populate(region->base, bytes, (size_t)sysconf(_SC_PAGESIZE));
    int error = reserve ? sb_region_reserve(region->fd, 0, bytes) : 0;
    if (error != 0)
        return sb_region_fail(reason, SB_ERR_MEMORY, "reserving %zu KiB of %s: %s", bytes >> 10,
                              kind, strerror(error));
    /* Who asks where pages are, asks of all. */
    bool all = sb_config()->placement_check.number != 0;
    sb_region_touch(region, 0, all ? bytes : SB_REGION_HEADER);
    madvise(region->base, bytes, MADV_NORMAL);
    return SB_OK;
}

sb_status_t sb_region_create(sb_region_t *region, sb_region_kind_t kind, size_t bytes,
                             int numa_node, sb_reason_t *reason)
{
    *region = (sb_region_t){.fd = -1};
    sb_status_t status = draw_key(&region->key, kind, bytes, reason);
    if (status != SB_OK)
        return status;
    region->fd = open_new(region);
    if (region->fd < 0)
        return sb_region_fail(reason, SB_ERR_SYSTEM, "making a %s region: %s", kind_name(kind),
                              strerror(errno));
    region->key.fd = region->fd;
    status = place(region, numa_node, reason);
    if (status != SB_OK) {
        sb_region_close(region);
        return status;
    }
    header_t *header = (header_t *)(void *)region->base;
    header->nonce[0] = region->key.nonce[0];
    header->nonce[1] = region->key.nonce[1];
    header->magic = MAGIC;
    return SB_OK;
}

/*
 * A name is tried first where there is one: /proc may be closed to us where names are used. In
 * another PID namespace the number is another process, whose files are none of our business. Should
 * it be no region after all: it neither becomes our terminal nor makes us wait.
 */
static int open_peer(const sb_remote_key_t *key)
{
    if (key->kind == SB_REGION_NAMED) {
        name_t name = region_name(key);
        int fd = shm_open(name.text, O_RDWR | O_CLOEXEC, 0);
        if (fd >= 0)
            return fd;
    }
    if (!sb_process_reachable(key->pid_namespace)) {
        errno = EXDEV;
        return -1;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", key->pid, key->fd);
    return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Whoever is at this pid now, its file must be as long as promised and hold the nonce. */
static bool is_promised(const sb_region_t *region)
{
    const header_t *header = (const header_t *)(const void *)region->base;

    return header->magic == MAGIC && header->nonce[0] == region->key.nonce[0] &&
           header->nonce[1] == region->key.nonce[1];
}

sb_status_t sb_region_attach(sb_region_t *region, const sb_remote_key_t *key, sb_reason_t *reason)
{
    struct stat file;

    *region = (sb_region_t){.key = *key, .fd = -1};
    int fd = open_peer(key);
    if (fd < 0)
        return sb_region_fail(reason, SB_ERR_SYSTEM, "opening the region of process %d: %s",
                              key->pid,
                              errno == EXDEV ? "it is in another PID namespace" : strerror(errno));
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && (uint64_t)file.st_size >= key->bytes)
        region->base = sb_region_map(fd, key->bytes);
    close(fd);
    if (region->base == NULL)
        return sb_region_fail(reason, SB_ERR_SYSTEM, "mapping the region of process %d failed",
                              key->pid);
    /* Its owner's dump has it. */
    madvise(region->base, key->bytes, MADV_DONTDUMP);
    advise(region);
    if (is_promised(region))
        return SB_OK;
    sb_region_close(region);
    return sb_region_fail(reason, SB_ERR_SYSTEM, "process %d does not share the expected region",
                          key->pid);
}

void sb_region_unlink(sb_region_t *region)
{
    if (region->linked)
        shm_unlink(region_name(&region->key).text);
    region->linked = false;
}

void sb_region_close(sb_region_t *region)
{
    sb_region_unlink(region);
    if (region->base != NULL)
        munmap(region->base, region->key.bytes);
    if (region->fd >= 0)
        close(region->fd);
    region->base = NULL;
    region->fd = -1;
}

bool sb_owner_alive(const sb_remote_key_t *key)
{
    return !sb_process_reachable(key->pid_namespace) || sb_process_alive(key->pid, key->start_time);
}

void sb_region_depart(sb_region_t *region)
{
    header_t *header = (header_t *)(void *)region->base;

    /* Release: pairs with sb_region_departed. */
    atomic_store_explicit(&header->departed, 1, memory_order_release);
}

bool sb_region_departed(const sb_region_t *region)
{
    const header_t *header = (const header_t *)(const void *)region->base;

    /* Acquire: pairs with sb_region_depart. */
    return atomic_load_explicit(&header->departed, memory_order_acquire) != 0;
}

void sb_region_end(sb_region_t *region)
{
    header_t *header = (header_t *)(void *)region->base;

    /* Relaxed: all that follows from it is that nobody keeps the region any more. */
    atomic_store_explicit(&header->ended, 1, memory_order_relaxed);
}

bool sb_region_ended(const sb_region_t *region)
{
    const header_t *header = (const header_t *)(const void *)region->base;

    return atomic_load_explicit(&header->ended, memory_order_relaxed) != 0;
}

static bool is_left(const char *name)
{
    int pid;
    uint64_t space;

    return sscanf(name, NAME_PREFIX "%d.%" SCNu64 ".", &pid, &space) == 2 &&
           sb_process_reachable(space) && !sb_process_alive(pid, 0);
}

void sb_region_sweep(void)
{
    sb_process_sweep(is_left);
}
