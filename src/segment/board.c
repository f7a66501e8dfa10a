/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board is a file in /dev/shm that is unlinked once the last rank of the node has come, at the
 * latest when the first one has left the host's MPI_Init. It needs no set-up: its zeroes are a
 * board on which nobody is. Build, size of the job, user, PID namespace and node are part of its
 * name, so that ranks which differ in one of them do not meet. The namespace can be read there: a
 * pid means nothing in another one.
 *
 * The name of a job that was killed in MPI_Init is removed by the next one.
 */
#include "segment/board.h"

#include "base/build.h"
#include "base/config.h"
#include "base/hash.h"
#include "machine/real/spread.h"
#include "segment/process.h"
#include "segment/region.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_PREFIX "/sobor.board."
/* Seconds. Ranks that miss each other for it are brought together later, by the host. */
#define FOUNDED_WITHIN 10

typedef struct slot {
    _Alignas(4096) _Atomic uint64_t start_time; /* of its rank's process */
    sb_flag_t told;                             /* 1: `text` is there; note: 1 if it is any */
    sb_flag_t found;                            /* 1: note: bits */
    struct {
        sb_wide_flag_t flag;
        unsigned char bytes[SB_BOARD_BOX];
    } box[2];
    unsigned char text[SB_BOARD_TEXT];
} slot_t;

#define CLOSED UINT64_MAX

/*
 * First in the file; the slots follow at the next page, and the gauge behind them. All of it is
 * reserved by each who joins, of the slots its own, and the gauge by who may use it: memory that is
 * short is told there and not by a signal later on.
 * `holder` tells of each slot: 0: empty; CLOSED; else the pid of its rank. Behind it is for each
 * rank where it runs (machine/real/spread.h), in lines of their own.
 */
typedef struct board {
    _Atomic uint64_t founder; /* pid of some rank that came early: lives while others may come */
    _Atomic uint64_t founder_started;
    _Atomic uint64_t serve_after; /* 0: nobody has set it yet */
    _Atomic uint32_t came;
    _Alignas(SB_FLAG_STRIDE) sb_word32_t sleepers;
    _Alignas(SB_FLAG_STRIDE) _Atomic uint64_t holder[];
} board_t;

static struct {
    board_t *memory; /* NULL: this rank is on no board */
    slot_t *slot;
    sb_job_t job;
    uint64_t exchanges;
    bool gauged; /* the gauge may be used */
    char name[64];
    bool linked;
} board;

static void make_name(const sb_job_t *job)
{
    const uint64_t parts[] = {job->key, job->size, sb_build_id(), geteuid(), sb_process_node()};

    snprintf(board.name, sizeof board.name, NAME_PREFIX "%" PRIu64 ".%016" PRIx64,
             sb_process_namespace(), sb_hash_bytes(SB_HASH_START, parts, sizeof parts));
}

#define RIGHTS 0600

/* Another user's file, or one that others may write, is none of ours. One with fewer rights is: of
 * whoever made it under a umask that takes them from their owner too. */
static bool is_own(int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
           (file.st_mode & 0777 & ~RIGHTS) == 0;
}

static void unlink_name(void)
{
    if (board.linked)
        shm_unlink(board.name);
    board.linked = false;
}

/* Whoever makes a file is its founder soon after, unless it ends before. */
static bool is_forgotten(int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 && time(NULL) - file.st_mtime > FOUNDED_WITHIN;
}

/* Its founder has ended before all had come, or before it was one. */
static bool is_deserted(int fd, bool is_reachable)
{
    board_t header = {0};

    if (!is_own(fd) || pread(fd, &header, sizeof header, 0) < 0)
        return false;
    /* Relaxed: a leftover changes no more. */
    uint64_t founder = atomic_load_explicit(&header.founder, memory_order_relaxed);
    uint64_t started = atomic_load_explicit(&header.founder_started, memory_order_relaxed);
    if (founder == 0 || started == 0 || !is_reachable)
        return is_forgotten(fd);
    return !sb_process_alive((int)founder, started);
}

/* Of another job. */
static bool is_left(const char *name)
{
    uint64_t space = 0;

    if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 || strcmp(name, board.name) == 0)
        return false;
    (void)sscanf(name, NAME_PREFIX "%" SCNu64 ".", &space);
    /* Any user may have made a pipe of that name, which nobody else may ever open. */
    int fd = shm_open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    bool left = fd >= 0 && is_deserted(fd, sb_process_reachable(space));
    if (fd >= 0)
        close(fd);
    return left;
}

static size_t places_offset(void)
{
    return sb_round_up(sizeof(board_t) + board.job.size * sizeof(uint64_t),
                       _Alignof(sb_spread_place_t));
}

static size_t header_bytes(void)
{
    size_t places = board.job.size * sizeof(sb_spread_place_t);

    return sb_round_up(places_offset() + places, _Alignof(slot_t));
}

static size_t slot_offset(uint32_t rank)
{
    return header_bytes() + rank * sizeof(slot_t);
}

static size_t board_bytes(void)
{
    return slot_offset(board.job.size) + sb_gauge_bytes(board.job.size);
}

static bool reserve(int fd, size_t offset, size_t bytes)
{
    return sb_region_reserve(fd, offset, bytes) == 0;
}

static void *map_board(int fd, bool gauged)
{
    if (!is_own(fd) || fchmod(fd, RIGHTS) != 0 || !sb_region_resize(fd, board_bytes()) ||
        !reserve(fd, 0, header_bytes()) ||
        !reserve(fd, slot_offset(board.job.rank), sizeof(slot_t)))
        return NULL;
    board.gauged =
        gauged && reserve(fd, slot_offset(board.job.size), sb_gauge_bytes(board.job.size));
    return sb_region_map(fd, board_bytes());
}

/* Acquire and release: pair with each other. Who finds the number finds what was before it. */
static bool set_once(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t nothing = 0;

    return atomic_compare_exchange_strong_explicit(word, &nothing, value, memory_order_acq_rel,
                                                   memory_order_acquire);
}

static bool take_slot(void)
{
    board_t *memory = board.memory;
    uint64_t pid = (uint64_t)getpid(), started = sb_process_start_time(getpid());

    /* Relaxed: read by those who have found the holder. */
    atomic_store_explicit(&board.slot[board.job.rank].start_time, started, memory_order_relaxed);
    if (!set_once(&memory->holder[board.job.rank], pid))
        return false;
    if (set_once(&memory->founder, pid)) {
        atomic_store_explicit(&memory->founder_started, started, memory_order_relaxed);
        sb_process_sweep(is_left);
        sb_region_sweep(); /* whose job needed names, while this one may never need any */
    }
    set_once(&memory->serve_after, sb_config()->serve_after.number);
    /* Release: pairs with the load in sb_board_is_full, for who is here. */
    if (atomic_fetch_add_explicit(&memory->came, 1, memory_order_release) + 1 == board.job.local)
        unlink_name();
    return true;
}

static void leave(void)
{
    unlink_name();
    munmap(board.memory, board_bytes());
    board.memory = NULL;
}

bool sb_board_join(const sb_job_t *job, bool gauged)
{
    board.job = *job;
    make_name(job);
    int fd = shm_open(board.name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, RIGHTS);
    if (fd < 0)
        return false;
    board.linked = true;
    board.memory = map_board(fd, gauged);
    close(fd);
    /* There may be room for others: they meet under this name until a rank has left MPI_Init. */
    if (board.memory == NULL)
        return false;
    board.slot = (slot_t *)(void *)((char *)board.memory + header_bytes());
    if (!take_slot()) {
        leave();
        return false;
    }
    sb_sleepers_share(&board.memory->sleepers);
    if (sb_config()->spread.number != 0)
        sb_spread_share((sb_spread_place_t *)(void *)((char *)board.memory + places_offset()),
                        job->size, job->rank);
    return true;
}

void sb_board_tell(const void *text, size_t bytes)
{
    unlink_name();
    if (board.memory == NULL)
        return;
    slot_t *own = &board.slot[board.job.rank];
    if (bytes > 0)
        memcpy(own->text, text, bytes);
    sb_flag_set_note(&own->told, bytes > 0);
    sb_flag_publish(&own->told, 1);
}

static uint64_t holder_of(uint32_t rank)
{
    /* Acquire: pairs with set_once(). */
    return atomic_load_explicit(&board.memory->holder[rank], memory_order_acquire);
}

static sb_status_t check_holder(void *context)
{
    const uint32_t *rank = context;
    uint64_t started = atomic_load_explicit(&board.slot[*rank].start_time, memory_order_relaxed);

    return sb_process_alive((int)holder_of(*rank), started) ? SB_OK : SB_ERR_PEER_DEAD;
}

static sb_status_t wait_for(uint32_t rank, sb_flag_t *flag, uint64_t value,
                            bool (*progress)(void *context))
{
    sb_waiter_t waiter = {.bare_spins = 100,
                          .paused_spins = 100,
                          .progress_every = 16,
                          .yield = 1,
                          .stays_awake = sb_config()->wait.number != SB_WAIT_SLEEP,
                          .yield_after_ns = 20000,
                          .sleep_after_ns = 2000000,
                          .sleep_longest_ns = 1000000,
                          .check_every_ns = sb_config()->liveness.number * 1000000,
                          .check = check_holder,
                          .check_context = &rank,
                          .progress = progress};

    return sb_flag_wait(flag, value, &waiter);
}

const void *sb_board_told(uint32_t rank, bool (*progress)(void *context))
{
    if (board.memory == NULL || rank >= board.job.size)
        return NULL;
    set_once(&board.memory->holder[rank], CLOSED);
    if (holder_of(rank) == CLOSED)
        return NULL;
    slot_t *slot = &board.slot[rank];
    if (wait_for(rank, &slot->told, 1, progress) != SB_OK || sb_flag_note(&slot->told) == 0)
        return NULL;
    return slot->text;
}

sb_status_t sb_board_exchange(const void *mine, void *all, size_t bytes,
                              bool (*progress)(void *context))
{
    uint64_t number = ++board.exchanges;
    slot_t *own = &board.slot[board.job.rank];

    /* As in the exchange of a team: who has published this number has read the one two before. */
    memcpy(own->box[number & 1].bytes, mine, bytes);
    sb_flag_publish(&own->box[number & 1].flag.flag, number);
    for (uint32_t rank = 0; rank < board.job.size; rank++) {
        slot_t *slot = &board.slot[rank];
        sb_status_t status = wait_for(rank, &slot->box[number & 1].flag.flag, number, progress);
        if (status != SB_OK)
            return status;
        memcpy((char *)all + rank * bytes, slot->box[number & 1].bytes, bytes);
    }
    return SB_OK;
}

static bool is_here(uint32_t rank)
{
    uint64_t holder = holder_of(rank);

    return holder != 0 && holder != CLOSED;
}

bool sb_board_gauge(sb_gauge_result_t *result)
{
    if (board.memory == NULL || !board.gauged)
        return false;
    sb_gauge_t *gauge = (sb_gauge_t *)(void *)((char *)board.memory + slot_offset(board.job.size));
    return sb_gauge_take(gauge, board.job.rank, board.job.size, is_here, result);
}

uint64_t sb_board_serve_after(void)
{
    /* Acquire: pairs with the store in set_once(). */
    return board.memory == NULL
               ? 1
               : atomic_load_explicit(&board.memory->serve_after, memory_order_acquire);
}

bool sb_board_is_full(void)
{
    return board.memory != NULL && board.job.local > 0 &&
           /* Acquire: pairs with the addition in take_slot(). */
           atomic_load_explicit(&board.memory->came, memory_order_acquire) == board.job.local;
}

bool sb_board_share(uint32_t *number, uint32_t *count)
{
    if (!sb_board_is_full())
        return false;
    *number = 0;
    *count = board.job.local;
    for (uint32_t rank = 0; rank < board.job.rank; rank++)
        *number += is_here(rank);
    return true;
}

void sb_board_find(uint32_t found)
{
    if (board.memory == NULL)
        return;
    sb_flag_t *own = &board.slot[board.job.rank].found;
    sb_flag_set_note(own, found);
    sb_flag_publish(own, 1);
}

bool sb_board_found(uint32_t *found, bool (*progress)(void *context))
{
    *found = UINT32_MAX;
    for (uint32_t rank = 0; rank < board.job.size; rank++) {
        sb_flag_t *flag = &board.slot[rank].found;
        if (!is_here(rank))
            continue;
        if (wait_for(rank, flag, 1, progress) != SB_OK)
            return false;
        *found &= sb_flag_note(flag);
    }
    return true;
}
