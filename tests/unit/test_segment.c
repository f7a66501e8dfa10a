/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing.h"

#include "../refuse.h"

#include "segment/arena.h"
#include "segment/board.h"
#include "segment/huge.h"
#include "segment/limits.h"
#include "segment/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The C library's function, for a kernel that leaves off when a signal comes: some of the calls to
 * come, and all that are longer than it has time for between two. */
static int interruptions;
static off_t uninterrupted = (off_t)1 << 40;

static bool full; /* there is no room */

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (full)
        return ENOSPC;
    if (interruptions > 0 || bytes > uninterrupted) {
        interruptions -= interruptions > 0;
        return EINTR;
    }
    return syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}

/* A system that makes no anonymous files that could be executed, and one that cannot be told that
 * they are not to be, as the one that runs this may be. */
static enum { USUAL_FILES, NONE_EXECUTABLE, NO_SUCH_FLAG } files;

int memfd_create(const char *name, unsigned flags)
{
    const unsigned noexec = 8;

    if (files == NONE_EXECUTABLE && (flags & noexec) == 0)
        errno = EACCES;
    else if (files == NO_SUCH_FLAG && (flags & noexec) != 0)
        errno = EINVAL;
    else
        return (int)syscall(SYS_memfd_create, name,
                            files == NONE_EXECUTABLE ? flags & ~noexec : flags);
    return -1;
}

/* Names that this process has removed. */
static int names_removed;

int shm_unlink(const char *name)
{
    char path[300];

    names_removed++;
    snprintf(path, sizeof path, "/dev/shm%s", name);
    return unlink(path);
}

/* Bytes free in all extents together. */
static size_t free_bytes(const sb_extents_t *extents)
{
    size_t bytes = 0;

    for (size_t i = 0; i < extents->count; i++)
        bytes += extents->list[i].bytes;
    return bytes;
}

static void extents_merge(void **state)
{
    sb_extents_t extents;
    size_t at[4];

    (void)state;
    assert_true(sb_extents_init(&extents, 100, 400));
    for (int i = 0; i < 4; i++)
        assert_true(sb_extents_take(&extents, 100, 1, &at[i]));
    assert_false(sb_extents_take(&extents, 1, 1, &at[0]));
    assert_true(sb_extents_give(&extents, at[1], 100));
    assert_true(sb_extents_give(&extents, at[3], 100));
    assert_int_equal(extents.count, 2);
    assert_true(sb_extents_give(&extents, at[2], 100));
    assert_int_equal(extents.count, 1);
    assert_true(sb_extents_give(&extents, at[0], 100));
    assert_int_equal(extents.count, 1);
    assert_int_equal(free_bytes(&extents), 400);
    free(extents.list);
}

/* Against a plain map of what is taken: no overlap, nothing lost. */
static void extents_survive_random_use(void **state)
{
    enum { SPACE = 4096, HELD = 64 };
    static unsigned char taken[SPACE];
    size_t offset[HELD], bytes[HELD] = {0};
    sb_extents_t extents;

    (void)state;
    srand(7);
    assert_true(sb_extents_init(&extents, 0, SPACE));
    for (int step = 0; step < 20000; step++) {
        int i = rand() % HELD;
        if (bytes[i] == 0) {
            size_t want = 1 + (size_t)rand() % 200;
            size_t alignment = (size_t)1 << rand() % 6;
            if (!sb_extents_take(&extents, want, alignment, &offset[i]))
                continue;
            assert_int_equal(offset[i] % alignment, 0);
            bytes[i] = want;
            for (size_t b = offset[i]; b < offset[i] + want; b++)
                assert_int_equal(taken[b]++, 0);
        } else {
            memset(taken + offset[i], 0, bytes[i]);
            assert_true(sb_extents_give(&extents, offset[i], bytes[i]));
            bytes[i] = 0;
        }
    }
    size_t held = 0;
    for (size_t b = 0; b < SPACE; b++)
        held += taken[b];
    assert_int_equal(free_bytes(&extents), SPACE - held);
    free(extents.list);
}

/* Emulators say yes to whatever advice they do not know. */
static bool is_advised(void)
{
    static _Alignas(4096) char page[4096];

    return madvise(page, sizeof page, -1) != 0;
}

/* Whether a dump of this process leaves the mapping out. */
static bool is_undumped(const char *base)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[512];
    bool here = false, undumped = false;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = from == (unsigned long)base;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            undumped = strstr(line, " dd") != NULL;
    }
    if (file != NULL)
        fclose(file);
    return undumped;
}

/* Runs `attach` in a child and returns whether it attached and saw the byte. */
static bool child_sees(const sb_remote_key_t *key, char byte)
{
    pid_t child = fork();

    if (child == 0) {
        sb_region_t region;
        sb_reason_t reason;
        bool seen = sb_region_attach(&region, key, &reason) == SB_OK &&
                    region.base[SB_REGION_HEADER] == byte &&
                    (is_undumped(region.base) || !is_advised());
        if (seen)
            region.base[SB_REGION_HEADER] = (char)(byte + 1);
        _exit(!seen);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void share_region(sb_region_kind_t kind)
{
    sb_region_t region;
    sb_reason_t reason;

    assert_int_equal(sb_region_create(&region, kind, 65536, -1, &reason), SB_OK);
    region.base[SB_REGION_HEADER] = 'a';
    assert_false(is_undumped(region.base));
    assert_true(child_sees(&region.key, 'a'));
    assert_int_equal(region.base[SB_REGION_HEADER], 'b');
    sb_remote_key_t wrong = region.key;
    wrong.nonce[1] ^= 1;
    assert_false(child_sees(&wrong, 'b'));
    wrong = region.key;
    wrong.bytes *= 2;
    assert_false(child_sees(&wrong, 'b'));
    sb_region_unlink(&region);
    assert_false(region.linked);
    sb_region_close(&region);
    assert_false(child_sees(&wrong, 'b'));
}

static void anonymous_regions_are_shared(void **state)
{
    (void)state;
    share_region(SB_REGION_MEMFD);
}

/* The names of regions of one process; others on this machine are not our business. */
static int count_names(pid_t pid)
{
    char prefix[64];
    int count = 0;
    DIR *folder = opendir("/dev/shm");

    assert_non_null(folder);
    snprintf(prefix, sizeof prefix, "sobor.%d.", (int)pid);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(folder);
    return count;
}

static void named_regions_are_shared_and_leave_no_name(void **state)
{
    (void)state;
    share_region(SB_REGION_NAMED);
    assert_int_equal(count_names(getpid()), 0);
}

static void regions_are_private_to_the_user(void **state)
{
    sb_region_t region;
    sb_reason_t reason;
    struct stat file;

    (void)state;
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
    assert_int_equal(fstat(region.fd, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    sb_region_close(&region);
}

/* Runs a check in a child, which returns whether all is right. */
static void expect_in_child(bool (*check)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(check() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Whether anything is mapped at the address. */
static bool is_mapped(const char *address)
{
    unsigned char resident;

    return mincore((void *)(uintptr_t)address, 1, &resident) == 0;
}

static sb_region_t inherited;

static bool child_has_no_part(void)
{
    return !is_mapped(inherited.base);
}

/* Whether a child of fork does without what it is not to have; emulators may pass over that. */
static bool forbidding_works(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status = 0;

    madvise(page, 4096, MADV_DONTFORK);
    pid_t child = fork();
    if (child == 0)
        _exit(is_mapped(page));
    waitpid(child, &status, 0);
    munmap(page, 4096);
    return status == 0;
}

static void a_child_of_fork_has_no_part(void **state)
{
    sb_reason_t reason;

    (void)state;
    if (!forbidding_works())
        LEAVE_OUT("a child of fork has all memory here");
    assert_int_equal(sb_region_create(&inherited, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
    assert_true(is_mapped(inherited.base));
    expect_in_child(child_has_no_part);
    sb_region_close(&inherited);
}

/* The same random numbers each time, so that names come again. */
static bool numbers_repeat;

ssize_t getrandom(void *numbers, size_t bytes, unsigned flags)
{
    if (!numbers_repeat)
        return syscall(SYS_getrandom, numbers, bytes, flags);
    memset(numbers, 0x5a, bytes);
    return (ssize_t)bytes;
}

static void a_name_that_is_there_is_not_taken_over(void **state)
{
    sb_region_t first, second;
    sb_reason_t reason;

    (void)state;
    numbers_repeat = true;
    assert_int_equal(sb_region_create(&first, SB_REGION_NAMED, 65536, -1, &reason), SB_OK);
    assert_int_equal(sb_region_create(&second, SB_REGION_NAMED, 65536, -1, &reason), SB_ERR_SYSTEM);
    numbers_repeat = false;
    assert_int_equal(count_names(getpid()), 1);
    sb_region_close(&first);
    assert_int_equal(count_names(getpid()), 0);
}

static void departure_is_seen(void **state)
{
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
    assert_false(sb_region_departed(&region));
    sb_region_depart(&region);
    assert_true(sb_region_departed(&region));
    sb_region_close(&region);
}

static void leftover_names_are_swept(void **state)
{
    sb_region_t mine;
    sb_reason_t reason;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        sb_region_t region;
        _exit(sb_region_create(&region, SB_REGION_NAMED, 65536, -1, &reason) != SB_OK);
    }
    waitpid(child, NULL, 0);
    assert_int_equal(count_names(child), 1);
    assert_int_equal(sb_region_create(&mine, SB_REGION_NAMED, 65536, -1, &reason), SB_OK);
    sb_region_sweep();
    assert_int_equal(count_names(child), 0);
    assert_int_equal(count_names(getpid()), 1); /* the living one's stays */
    sb_region_close(&mine);
    assert_int_equal(count_names(getpid()), 0);
}

/* The name of a board whose founder has ended, made in that PID namespace so long ago. */
static void leave_board(char *name, size_t room, uint64_t space, int seconds)
{
    const uint64_t founder[] = {INT_MAX, 1};
    const struct timespec then[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};

    snprintf(name, room, "/sobor.board.%" PRIu64 ".%016x", space, (unsigned)getpid() + seconds);
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_return_code(fd, errno);
    assert_int_equal(write(fd, founder, sizeof founder), sizeof founder);
    assert_return_code(futimens(fd, then), errno);
    close(fd);
}

/* Whether there was such a name; there is none then. */
static bool take_away(const char *name)
{
    return shm_unlink(name) == 0;
}

/* Containers may have one /dev/shm: who is at a pid there, nobody knows here. */
static void boards_of_others_stay(void **state)
{
    const sb_job_t job = {.key = (uint64_t)getpid(), .size = 2, .local = 2};
    const uint64_t here = sb_process_namespace();
    char own[64], others[64], old[64];
    int status = 0;

    (void)state;
    leave_board(own, sizeof own, here, 0);
    leave_board(others, sizeof others, here + 1, 1);
    leave_board(old, sizeof old, here + 1, 3600);
    pid_t child = fork();
    if (child == 0) {
        bool joined = sb_board_join(&job, false);
        sb_board_tell("", 0);
        _exit(joined ? 0 : 1);
    }
    waitpid(child, &status, 0);
    bool stay[] = {take_away(own), take_away(others), take_away(old)};
    assert_int_equal(status, 0);
    assert_false(stay[0]);
    assert_true(stay[1]);
    assert_false(stay[2]);
}

static bool is_right_in_child(bool (*check)(void))
{
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        _exit(check() ? 0 : 1);
    return waitpid(child, &status, 0) == child && status == 0;
}

static sb_job_t board_job;

static bool joins(uint32_t rank)
{
    board_job.rank = rank;
    return sb_board_join(&board_job, false);
}

static bool founds_beside_a_pipe(void)
{
    alarm(5);
    bool joined = joins(0);
    sb_board_tell("", 0);
    return joined;
}

/* Any user may make a pipe of such a name, at which nobody writes: who looks for what is left does
 * not wait there. */
static void a_pipe_holds_nobody_up(void **state)
{
    char path[80];

    (void)state;
    board_job = (sb_job_t){.key = (uint64_t)getpid() << 10, .size = 2, .local = 2};
    snprintf(path, sizeof path, "/dev/shm/sobor.board.%" PRIu64 ".pipe-%d", sb_process_namespace(),
             (int)getpid());
    assert_return_code(mkfifo(path, 0600), errno);
    bool right = is_right_in_child(founds_beside_a_pipe);
    unlink(path);
    assert_true(right);
}

/* As long as others may come the name is theirs. */
static bool finds_no_room(void)
{
    full = true;
    names_removed = 0;
    bool right = !joins(1) && names_removed == 0;
    sb_board_tell("", 0);
    return right && names_removed == 1;
}

static bool is_ended_without_room(void)
{
    full = true;
    return !joins(1);
}

static bool comes_and_tells(void)
{
    bool joined = joins(2);

    sb_board_tell("x", 1);
    return joined;
}

/* Rank 1 has no room, when it comes; there is some again for rank 2. */
static bool first_and_last_meet(void)
{
    bool right =
        joins(0) && is_right_in_child(is_ended_without_room) && is_right_in_child(comes_and_tells);
    const char *told = right ? sb_board_told(2, NULL) : NULL;

    sb_board_tell("", 0);
    return told != NULL && *told == 'x';
}

static void a_rank_without_room_keeps_others_together(void **state)
{
    (void)state;
    board_job = (sb_job_t){.key = (uint64_t)getpid() << 8, .size = 3, .local = 3};
    expect_in_child(first_and_last_meet);
    expect_in_child(finds_no_room);
}

static bool comes_whatever_is_masked(void)
{
    umask(0777);
    bool right = joins(0) && is_right_in_child(comes_and_tells);
    sb_board_tell("", 0);
    return right;
}

static void a_board_is_its_users_under_any_umask(void **state)
{
    (void)state;
    board_job = (sb_job_t){.key = (uint64_t)getpid() << 9, .size = 3, .local = 3};
    expect_in_child(comes_whatever_is_masked);
}

static bool take(sb_block_t *block, sb_arena_source_t source)
{
    sb_reason_t reason;

    return sb_arena_take(block, 64 << 10, source, 1, &reason) == SB_OK;
}

/* Two threads set up a communicator each: who is ready first leaves the other's names alone. */
static bool names_stay_as_long_as_set_ups(void)
{
    sb_block_t first, second, beside;

    if (!take(&first, SB_ARENA_FRESH_NAMED) || !take(&second, SB_ARENA_FRESH_NAMED) ||
        !take(&beside, SB_ARENA_ANY) || beside.region != first.region)
        return false;
    sb_arena_settle(&first);
    bool right = beside.region->linked && second.region->linked && count_names(getpid()) == 2;
    sb_arena_give(&beside);
    right = right && !first.region->linked && second.region->linked;
    sb_arena_settle(&second);
    sb_arena_settle(&second);
    return right && count_names(getpid()) == 0;
}

static void names_last_as_long_as_their_set_up(void **state)
{
    (void)state;
    expect_in_child(names_stay_as_long_as_set_ups);
}

/* Communicators of ranks that cannot open each other's files: all but the first need no name, and
 * hardly any more memory. */
static bool later_blocks_are_where_peers_are(void)
{
    sb_block_t unseen, first, later[4];
    bool right = take(&unseen, SB_ARENA_ANY) && take(&first, SB_ARENA_FRESH_NAMED) &&
                 first.region != unseen.region;

    sb_arena_settle(&first);
    for (size_t i = 0; right && i < SB_COUNT_OF(later); i++)
        right = take(&later[i], SB_ARENA_ANY) && later[i].region == first.region;
    sb_arena_give(&first);
    for (size_t i = 0; right && i < SB_COUNT_OF(later); i++)
        sb_arena_give(&later[i]);
    /* It has gone with its last block. */
    return right && take(&first, SB_ARENA_ANY) && first.region == unseen.region;
}

static void those_with_a_name_come_first(void **state)
{
    (void)state;
    expect_in_child(later_blocks_are_where_peers_are);
}

static bool is_let_go(void)
{
    sb_attachment_t *first, *second;
    sb_block_t block, other;
    sb_reason_t reason;

    if (!take(&block, SB_ARENA_FRESH_NAMED) || !take(&other, SB_ARENA_FRESH_NAMED) ||
        sb_arena_attach(&first, &block.region->key, &reason) != SB_OK)
        return false;
    sb_arena_detach(first);
    sb_arena_give(&block);
    bool right = sb_arena_attached() == 1 &&
                 sb_arena_attach(&second, &other.region->key, &reason) == SB_OK &&
                 sb_arena_attached() == 1;
    sb_arena_settle(&other);
    return right;
}

/* Nobody keeps the memory of a region that its owner has given up. */
static void attachments_go_with_their_region(void **state)
{
    (void)state;
    expect_in_child(is_let_go);
}

static bool memory_beyond_a_file_limit_is_refused(void)
{
    const struct rlimit limit = {4096, 4096};
    sb_reason_t reason;
    sb_region_t region;
    sigset_t mask, pending;

    setrlimit(RLIMIT_FSIZE, &limit);
    bool right = sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason) == SB_ERR_MEMORY &&
                 strstr(reason.text, "File too large") != NULL;
    sigpending(&pending);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return right && !sigismember(&pending, SIGXFSZ) && !sigismember(&mask, SIGXFSZ);
}

static void a_limit_of_file_sizes_does_not_kill(void **state)
{
    (void)state;
    expect_in_child(memory_beyond_a_file_limit_is_refused);
}

static bool forbid_memfd(void)
{
    return refuse_calls(SYS_memfd_create, SYS_memfd_create);
}

/* Every region then has a name, not only the one of the second try of a set-up. */
static bool names_serve_without_memfd(void)
{
    sb_block_t small, large;
    sb_reason_t reason;

    if (!forbid_memfd() || !take(&small, SB_ARENA_ANY) ||
        sb_arena_take(&large, 1 << 20, SB_ARENA_ANY, 1, &reason) != SB_OK)
        return false;
    large.address[0] = 1;
    bool named = small.region->linked && large.region->linked;
    sb_arena_settle(&small);
    sb_arena_settle(&large);
    return named && count_names(getpid()) == 0;
}

static void where_memfd_is_forbidden_names_serve(void **state)
{
    (void)state;
    if (!can_refuse_calls())
        LEAVE_OUT("no filters of system calls here");
    expect_in_child(names_serve_without_memfd);
}

/* vm.memfd_noexec */
static void memory_is_never_executable(void **state)
{
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    for (files = NONE_EXECUTABLE; files <= NO_SUCH_FLAG; files++) {
        assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
        assert_true(child_sees(&region.key, 0));
        sb_region_close(&region);
    }
}

static int make_usual_files(void **state)
{
    (void)state;
    files = USUAL_FILES;
    return 0;
}

static bool make_without_output(void)
{
    static const sb_region_kind_t kinds[] = {SB_REGION_MEMFD, SB_REGION_NAMED};
    sb_region_t region;
    sb_reason_t reason;
    bool right = true;

    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    for (size_t i = 0; i < SB_COUNT_OF(kinds); i++) {
        right = sb_region_create(&region, kinds[i], 65536, -1, &reason) == SB_OK && right;
        right = write(STDERR_FILENO, "lost", 4) < 0 && write(STDOUT_FILENO, "lost", 4) < 0 && right;
        sb_region_unlink(&region);
        sb_region_close(&region);
    }
    return right;
}

/* Where a program has closed its output, what it writes reaches no region. */
static void output_stays_out(void **state)
{
    (void)state;
    expect_in_child(make_without_output);
}

/* Attaches to what process `pid` has behind descriptor `fd`. */
static bool attaches_to(pid_t pid, int fd, uint64_t pid_namespace)
{
    const sb_remote_key_t key = {.bytes = 4096,
                                 .pid_namespace = pid_namespace,
                                 .pid = pid,
                                 .fd = fd,
                                 .kind = SB_REGION_MEMFD};
    sb_region_t region;
    sb_reason_t reason;

    return sb_region_attach(&region, &key, &reason) == SB_OK;
}

/* A pid that was used again, by a process with a terminal behind that number. */
static bool a_terminal_stays_another_s(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    int slave = grantpt(master) == 0 && unlockpt(master) == 0
                    ? open(ptsname(master), O_RDWR | O_NOCTTY)
                    : -1;

    if (slave < 0 || setsid() < 0 || attaches_to(getpid(), slave, sb_process_namespace()))
        return false;
    return open("/dev/tty", O_RDWR) < 0 && errno == ENXIO;
}

static void what_is_no_region_is_left_alone(void **state)
{
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    expect_in_child(a_terminal_stays_another_s);
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
    region.base[SB_REGION_HEADER] = 'a';
    sb_remote_key_t elsewhere = region.key;
    elsewhere.pid_namespace ^= 1;
    assert_false(child_sees(&elsewhere, 'a'));
    assert_true(child_sees(&region.key, 'a'));
    sb_region_close(&region);
}

static void the_dead_are_known(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        pause();
    uint64_t started = sb_process_start_time(child);
    assert_true(started > 0);
    assert_true(sb_process_alive(child, started));
    assert_false(sb_process_alive(child, started + 1)); /* a pid that was used again */
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    assert_false(sb_process_alive(child, started)); /* not reaped yet */
    waitpid(child, NULL, 0);
    assert_false(sb_process_alive(child, started));
}

/* Linux 5.6. */
#if !defined CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Enters a namespace of time in which the machine has run for longer: all that is asked for has
 * started later, as after a checkpoint. */
static bool time_passes(void)
{
    static const char later[] = "boottime 5000 0";

    if (unshare(CLONE_NEWTIME) != 0)
        return false;
    int offsets = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    int space = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    bool passes = offsets >= 0 && space >= 0 && write(offsets, later, sizeof later - 1) > 0;
    close(offsets);
    passes = passes && setns(space, CLONE_NEWTIME) == 0;
    close(space);
    return passes;
}

static bool knows_the_living_after_a_checkpoint(void)
{
    uint64_t space = sb_process_namespace(), started = sb_process_start_time(getppid());

    return space != 0 && started != 0 && time_passes() &&
           sb_process_start_time(getppid()) != started && sb_process_alive(getppid(), started) &&
           !sb_process_alive(4194303, started);
}

/* Before any other test, as above. */
static void a_checkpoint_kills_nobody(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(time_passes() ? 0 : 77);
    int status;
    waitpid(child, &status, 0);
    if (status != 0)
        LEAVE_OUT("no namespaces of time");
    expect_in_child(knows_the_living_after_a_checkpoint);
}

static void *go_on(void *nothing)
{
    pause();
    return nothing;
}

/* MPI_THREAD_MULTIPLE: the program goes on in another thread than the one that it began with. */
static void a_process_lives_as_long_as_a_thread(void **state)
{
    char path[64], line[256] = "";
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        pthread_t thread;
        alarm(20);
        pthread_create(&thread, NULL, go_on, NULL);
        pthread_exit(NULL);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    while (strstr(line, ") Z ") == NULL) {
        FILE *file = fopen(path, "re");
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
    }
    assert_true(sb_process_alive(child, sb_process_start_time(child)));
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    assert_false(sb_process_alive(child, 0));
    waitpid(child, NULL, 0);
}

static uint64_t started_here;

static bool child_sees_when_its_parent_started(void)
{
    return sb_process_start_time(getppid()) == started_here;
}

/* Others compare what a process says of itself with what they see. */
static void all_see_the_same_start_time(void **state)
{
    (void)state;
    started_here = sb_process_start_time(getpid());
    assert_true(started_here != 0);
    expect_in_child(child_sees_when_its_parent_started);
}

/* In a root without /proc, where the processes of a made up key have all ended. */
static bool the_unseen_count_as_living(void)
{
    const sb_remote_key_t key = {.pid = 4194303};

    return chroot("/dev") == 0 && sb_process_namespace() == 0 && sb_owner_alive(&key) &&
           !sb_process_alive(4194303, 0);
}

/* Before any other test: who and where this process is, is read once. */
static void without_proc_nobody_is_dead(void **state)
{
    (void)state;
    if (geteuid() != 0)
        LEAVE_OUT("only for root");
    expect_in_child(the_unseen_count_as_living);
}

/* A rank that moves its root later on is still the same, on the same node. */
static bool identity_outlives_a_root(void)
{
    uint64_t space = sb_process_namespace(), node = sb_process_node();

    return space != 0 && chroot("/dev") == 0 && sb_process_namespace() == space &&
           sb_process_node() == node;
}

static void who_and_where_is_read_once(void **state)
{
    (void)state;
    if (geteuid() != 0)
        LEAVE_OUT("only for root");
    expect_in_child(identity_outlives_a_root);
}

static void arena_is_bounded_and_reused(void **state)
{
    enum { MOST = 64 };
    sb_block_t blocks[MOST];
    sb_reason_t reason;
    sb_arena_usage_t usage;
    int taken = 0;

    (void)state; /* the environment of this test gives 4 MiB */
    while (taken < MOST &&
           sb_arena_take(&blocks[taken], 300 << 10, SB_ARENA_ANY, 1, &reason) == SB_OK)
        taken++;
    assert_true(taken >= 8 && taken < 14);
    assert_non_null(strstr(reason.text, "SOBOR_MEMORY"));
    sb_arena_usage(&usage);
    assert_int_equal(usage.bound, 4 << 20);
    assert_true(usage.owned <= usage.bound && usage.taken <= usage.owned);
    blocks[0].address[100] = 1;
    for (int i = 0; i < taken; i++)
        sb_arena_give(&blocks[i]);
    sb_arena_usage(&usage);
    assert_int_equal(usage.taken, 0);
    for (int round = 0; round < 1000; round++) {
        assert_int_equal(sb_arena_take(&blocks[0], 300 << 10, SB_ARENA_ANY, 1, &reason), SB_OK);
        assert_int_equal(blocks[0].address[100], 0);
        blocks[0].address[100] = 1;
        sb_arena_give(&blocks[0]);
    }
    size_t regions = usage.regions;
    sb_arena_usage(&usage);
    assert_int_equal(usage.regions, regions);
}

static void assert_clear(const sb_block_t *block, size_t near)
{
    size_t dirty = 0;

    for (size_t i = 0; i < near; i++)
        dirty += block->address[i] != 0;
    assert_int_equal(dirty, 0);
}

/* Wherever a block begins and ends: in memory that others had, behind that, or across both. */
static void blocks_are_clear(void **state)
{
    enum { BLOCKS = 8, ROUNDS = 200 };
    sb_block_t blocks[BLOCKS] = {0};
    sb_reason_t reason;

    (void)state;
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        sb_block_t *block = &blocks[rand() % BLOCKS];
        size_t bytes = 1 + (size_t)rand() % (300 << 10);
        if (block->region != NULL)
            sb_arena_give(block);
        size_t near = round % 2 == 0 ? bytes : bytes / 2;
        assert_int_equal(sb_arena_take_near(block, bytes, near, SB_ARENA_ANY, 1, &reason), SB_OK);
        assert_clear(block, near);
        memset(block->address, 1, block->bytes);
    }
    for (int i = 0; i < BLOCKS; i++)
        sb_arena_give(&blocks[i]);
}

/* Faults that it takes to write each page of a part, not counting pages of a sanitizer. */
static long __attribute__((no_sanitize_address)) faults_of(char *address, size_t bytes)
{
    struct rusage before, after;

    getrusage(RUSAGE_SELF, &before);
    for (size_t at = 0; at < bytes; at += 4096)
        *(volatile char *)(address + at) = 1;
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* The kernel may refuse pages that it has not promised. */
static bool promises_are_counted(void)
{
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    int mode = file == NULL ? '2' : fgetc(file);

    if (file != NULL)
        fclose(file);
    return mode == '2';
}

static uint64_t reserved_bytes(const sb_region_t *region)
{
    struct stat file;

    assert_int_equal(fstat(region->fd, &file), 0);
    return (uint64_t)file.st_blocks * 512;
}

/* Using memory with a name could fail later: where it is mounted there may be no more. */
static void long_regions_with_a_name_are_reserved(void **state)
{
    const size_t bytes = (size_t)4 << 20;
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    assert_int_equal(sb_region_create(&region, SB_REGION_NAMED, bytes, -1, &reason), SB_OK);
    assert_true(reserved_bytes(&region) >= bytes);
    assert_int_equal(sb_region_missing(&region), 0);
    sb_region_close(&region);
}

static bool gives_huge_pages(void)
{
    sb_huge_mode_t mode;

    sb_huge_read("", &mode);
    return sb_huge_possible(&mode) && mode.page == (size_t)2 << 20;
}

/* The same where a page is huge: each that is asked for, and the rest behind the last whole one. */
static void huge_pages_come_as_they_are_needed(void **state)
{
    const size_t huge = (size_t)2 << 20, rest = (size_t)512 << 10, bytes = 4 * huge + rest;
    sb_region_t region, peer;
    sb_reason_t reason;

    (void)state;
    if (!gives_huge_pages() || promises_are_counted())
        LEAVE_OUT("no huge pages of shared memory here");
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, bytes, -1, &reason), SB_OK);
    assert_int_equal(region.touched, huge);
    assert_int_equal(reserved_bytes(&region), huge);
    sb_region_touch(&region, 2 * huge + 4096, 2 * huge + 8192);
    assert_int_equal(region.touched, huge);
    assert_int_equal(reserved_bytes(&region), 2 * huge);
    sb_region_touch(&region, huge, huge + 4096);
    assert_int_equal(region.touched, 2 * huge);
    sb_region_touch(&region, bytes - 4096, bytes);
    assert_int_equal(reserved_bytes(&region), 3 * huge + 4096);
    assert_int_equal(sb_huge_mapped(region.base, bytes), 3 * huge);
    /* A peer that is the first to use a page takes what the owner would. */
    assert_int_equal(sb_region_attach(&peer, &region.key, &reason), SB_OK);
    peer.base[3 * huge] = 1;
    peer.base[4 * huge] = 1;
    assert_int_equal(reserved_bytes(&region), 4 * huge + 8192);
    sb_region_touch(&region, 0, bytes);
    assert_int_equal(region.touched, bytes);
    assert_int_equal(sb_huge_mapped(region.base, bytes), 4 * huge);
    assert_int_equal(sb_region_missing(&region), 0);
    sb_region_close(&peer);
    sb_region_close(&region);
}

/* Only what was asked for takes memory, and is in the owner's table. */
static void long_regions_are_touched_as_they_are_needed(void **state)
{
    const size_t part = (size_t)1 << 20, pages = part / 4096;
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    if (gives_huge_pages() || sysconf(_SC_PAGESIZE) != 4096 || !is_advised())
        LEAVE_OUT("pages of another size, or no advice about them");
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 4 * part, -1, &reason), SB_OK);
    if (!promises_are_counted()) {
        assert_int_equal(reserved_bytes(&region), SB_REGION_HEADER);
        assert_int_equal(sb_region_missing(&region), 4 * part - SB_REGION_HEADER);
    }
    assert_in_range(region.touched, SB_REGION_HEADER, part);
    sb_region_touch(&region, region.touched, part);
    assert_in_range(faults_of(region.base, part), 0, pages / 8);
    assert_in_range(faults_of(region.base + part, part), pages / 2, 2 * pages);
    sb_region_touch(&region, 2 * part, 3 * part);
    sb_region_touch(&region, 3 * part, 5 * part);
    assert_in_range(faults_of(region.base + 2 * part, 2 * part), 0, pages / 8);
    assert_int_equal(region.touched, part);
    sb_region_close(&region);
}

/* What earlier regions have not taken yet is no longer there for others. */
static bool memory_that_is_missing_counts(void)
{
    const size_t mib = (size_t)1 << 20;
    sb_limits_t limits;
    sb_block_t first, second;
    sb_reason_t reason;

    sb_limits_read("", &limits);
    size_t sharers = (size_t)(sb_limits_available(&limits) / (5 * mib)); /* 2.5 MiB for each */
    if (sb_arena_take_near(&first, 2 * mib, 4096, SB_ARENA_ANY, sharers, &reason) != SB_OK)
        return false;
    bool all_there =
        sb_region_missing(first.region) < mib; /* also where the block is a huge page */
    bool refused = sb_arena_take(&second, mib, SB_ARENA_ANY, sharers, &reason) != SB_OK;
    if (all_there || !refused)
        return all_there;
    sb_arena_touch(&first, 0, 2 * mib);
    return sb_arena_take(&second, mib, SB_ARENA_ANY, sharers, &reason) == SB_OK;
}

static void what_regions_will_take_counts(void **state)
{
    (void)state;
    if (!is_advised())
        LEAVE_OUT("no advice about pages is heard here");
    expect_in_child(memory_that_is_missing_counts);
}

/* Of new memory that which was asked for, and what that has taken. */
static bool a_block_knows_its_pages(void)
{
    const size_t mib = (size_t)1 << 20;
    sb_block_t block;
    sb_reason_t reason;

    if (sb_arena_take_near(&block, 2 * mib, mib / 4, SB_ARENA_ANY, 1, &reason) != SB_OK)
        return false;
    bool all_there = sb_region_missing(block.region) < mib; /* also where it is a huge page */
    return block.page_ns > 0 && (all_there || (block.touched >= mib / 4 && block.touched < mib));
}

/* Of the first region the first short block's pages, and some that such blocks will have next. */
static bool a_short_block_takes_little(void)
{
    const size_t some = (size_t)128 << 10;
    sb_block_t block;
    sb_reason_t reason;

    if (sb_arena_take(&block, SB_ARENA_SMALL, SB_ARENA_ANY, 1, &reason) != SB_OK)
        return false;
    size_t there = block.region->key.bytes - sb_region_missing(block.region);
    return there >= SB_ARENA_SMALL && (there <= some || promises_are_counted());
}

static void blocks_tell_what_is_touched(void **state)
{
    (void)state;
    expect_in_child(a_block_knows_its_pages);
    if (is_advised())
        expect_in_child(a_short_block_takes_little);
}

/* What a page takes is told by many: a few that were cheap, or found dear, do not say what the next
 * hundreds take. */
static void few_pages_say_little(void **state)
{
    const size_t few[] = {9, 18, 37, 55};
    uint64_t known = 2000;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(few); i++)
        known = sb_page_ns_after(known, 100, few[i]);
    assert_in_range(known, 1000, 1500);
    assert_in_range(sb_page_ns_after(2000, 100, 500), 1000, 1100);
    assert_in_range(sb_page_ns_after(2000, 8000, 8), 2100, 2500);
    assert_int_equal(sb_page_ns_after(2000, 20000, 500), 8000);
    assert_int_equal(sb_page_ns_after(0, 500, 8), 500);
}

static void fresh_regions_go_with_their_last_block(void **state)
{
    sb_block_t first, second;
    sb_reason_t reason;
    sb_arena_usage_t before, usage;

    (void)state;
    sb_arena_usage(&before);
    for (int round = 0; round < 100; round++) {
        assert_int_equal(sb_arena_take(&first, 1000, SB_ARENA_FRESH_NAMED, 1, &reason), SB_OK);
        assert_int_equal(sb_arena_take(&second, 400 << 10, SB_ARENA_ANY, 1, &reason), SB_OK);
        sb_arena_give(&first);
        memset(second.address, 1, second.bytes);
        sb_arena_give(&second);
    }
    sb_arena_usage(&usage);
    assert_true(usage.regions <= before.regions + 1 && usage.owned <= usage.bound);
    assert_int_equal(usage.taken, before.taken);
}

static void write_file(const char *root, const char *path, const char *text)
{
    char command[1024], whole[512];

    snprintf(whole, sizeof whole, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p $(dirname %s)", whole);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* In the present folder: a run in which a planted fault is looked for is ended in the middle, and
 * that folder goes with it. */
static void limits_of_control_groups(void **state)
{
    char root[] = "sobor-limits-XXXXXX", command[128];
    sb_limits_t limits;

    (void)state;
    assert_non_null(mkdtemp(root));
    sb_limits_read(root, &limits);
    assert_true(sb_limits_available(&limits) == UINT64_MAX);

    write_file(root, "/proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    2000 kB\n");
    write_file(root, "/proc/self/cgroup", "0::/job/step\n");
    write_file(root, "/sys/fs/cgroup/job/memory.max", "1000000\n");
    write_file(root, "/sys/fs/cgroup/job/memory.current", "400000\n");
    write_file(root, "/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 100000\n");
    write_file(root, "/sys/fs/cgroup/job/step/memory.max", "max\n");
    write_file(root, "/sys/fs/cgroup/job/step/memory.current", "300000\n");
    sb_limits_read(root, &limits);
    assert_int_equal(limits.group_limit, 1000000);
    assert_int_equal(limits.group_version, 2);
    assert_int_equal(limits.group_available, 700000);
    assert_int_equal(limits.machine_available, 2000 * 1024);

    /* From there on it would be slowed down. */
    write_file(root, "/sys/fs/cgroup/job/step/memory.high", "450000\n");
    sb_limits_read(root, &limits);
    assert_int_equal(limits.group_limit, 450000);
    assert_int_equal(limits.group_available, 150000);

    /* The group above has less left. */
    write_file(root, "/sys/fs/cgroup/job/memory.current", "1000000\n");
    sb_limits_read(root, &limits);
    assert_int_equal(limits.group_limit, 1000000);
    assert_int_equal(limits.group_available, 100000);

    write_file(root, "/proc/self/cgroup", "5:cpu,memory:/old\n1:name=systemd:/\n");
    write_file(root, "/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "500000\n");
    write_file(root, "/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "600000\n");
    write_file(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "600000\n");
    sb_limits_read(root, &limits);
    assert_int_equal(sb_limits_available(&limits), 0);
    assert_int_equal(limits.group_version, 1);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* A system's settings, in a folder that stands for /. NULL: the file is not there. */
static sb_huge_mode_t huge_mode(const char *size, const char *all, const char *of_size)
{
    const char *const names[] = {"hpage_pmd_size", "shmem_enabled",
                                 "hugepages-2048kB/shmem_enabled", "enabled"};
    const char *const texts[] = {size, all, of_size, "[always] madvise never"};
    char root[] = "sobor-huge-XXXXXX", command[300];
    sb_huge_mode_t mode, own;

    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < SB_COUNT_OF(names); i++) {
        if (texts[i] == NULL)
            continue;
        snprintf(command, sizeof command,
                 "d=%s/sys/kernel/mm/transparent_hugepage; mkdir -p $d/hugepages-2048kB; "
                 "echo '%s' >$d/%s",
                 root, texts[i], names[i]);
        assert_int_equal(system(command), 0);
    }
    sb_huge_read(root, &mode);
    sb_huge_read_private(root, &own);
    assert_string_equal(own.word, size == NULL ? "unknown" : "always");
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    return mode;
}

static void the_system_says_whether_pages_are_huge(void **state)
{
    static const struct {
        const char *size, *all, *of_size, *word;
        bool possible;
    } systems[] = {
        {NULL, NULL, NULL, "unknown", false},
        {"2097152", NULL, NULL, "unknown", false},
        {"2097152", "always within_size advise [never] deny force", NULL, "never", false},
        {"2097152", "always within_size [advise] never deny force", NULL, "advise", true},
        {"2097152", "[always] within_size advise never deny force", NULL, "always", true},
        {"2097152", "always within_size advise never [deny] force", NULL, "deny", false},
        {"2097152", "always within_size [advise] never deny force",
         "always [inherit] within_size advise never", "advise", true},
        {"2097152", "always within_size advise [never] deny force",
         "always inherit [within_size] advise never", "within_size", true},
        {"2097152", "[always] within_size advise never deny force",
         "always inherit within_size advise [never]", "never", false},
        {"2097152", "always within_size advise never [deny] force",
         "[always] inherit within_size advise never", "deny", false},
        {"2097152", "nonsense", NULL, "unknown", false},
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(systems); i++) {
        sb_huge_mode_t mode = huge_mode(systems[i].size, systems[i].all, systems[i].of_size);
        assert_string_equal(mode.word, systems[i].word);
        assert_int_equal(sb_huge_possible(&mode), systems[i].possible);
    }
}

static void signals_do_not_keep_memory_from_being_reserved(void **state)
{
    const size_t bytes = (size_t)3 << 20;
    sb_region_t region;
    sb_reason_t reason;
    struct stat file;

    (void)state;
    uninterrupted = (off_t)512 << 10;
    interruptions = 5;
    assert_int_equal(sb_region_create(&region, SB_REGION_NAMED, bytes, -1, &reason), SB_OK);
    assert_return_code(fstat(region.fd, &file), 0);
    assert_true((size_t)file.st_blocks * 512 >= bytes);
    sb_region_close(&region);
    interruptions = 1 << 20;
    assert_int_equal(sb_region_create(&region, SB_REGION_NAMED, bytes, -1, &reason), SB_ERR_MEMORY);
    interruptions = 0;
    uninterrupted = (off_t)1 << 40;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(without_proc_nobody_is_dead),
    cmocka_unit_test(who_and_where_is_read_once),
    cmocka_unit_test(a_checkpoint_kills_nobody),
    cmocka_unit_test(extents_merge),
    cmocka_unit_test(extents_survive_random_use),
    cmocka_unit_test(anonymous_regions_are_shared),
    cmocka_unit_test(named_regions_are_shared_and_leave_no_name),
    cmocka_unit_test(regions_are_private_to_the_user),
    cmocka_unit_test(a_child_of_fork_has_no_part),
    cmocka_unit_test(a_name_that_is_there_is_not_taken_over),
    cmocka_unit_test(output_stays_out),
    cmocka_unit_test(departure_is_seen),
    cmocka_unit_test(leftover_names_are_swept),
    cmocka_unit_test(boards_of_others_stay),
    cmocka_unit_test(a_pipe_holds_nobody_up),
    cmocka_unit_test(a_board_is_its_users_under_any_umask),
    cmocka_unit_test(a_rank_without_room_keeps_others_together),
    cmocka_unit_test(names_last_as_long_as_their_set_up),
    cmocka_unit_test(those_with_a_name_come_first),
    cmocka_unit_test(attachments_go_with_their_region),
    cmocka_unit_test(a_limit_of_file_sizes_does_not_kill),
    cmocka_unit_test(where_memfd_is_forbidden_names_serve),
    cmocka_unit_test_teardown(memory_is_never_executable, make_usual_files),
    cmocka_unit_test(what_is_no_region_is_left_alone),
    cmocka_unit_test(the_dead_are_known),
    cmocka_unit_test(all_see_the_same_start_time),
    cmocka_unit_test(a_process_lives_as_long_as_a_thread),
    cmocka_unit_test(what_regions_will_take_counts),
    cmocka_unit_test(blocks_tell_what_is_touched),
    cmocka_unit_test(few_pages_say_little),
    cmocka_unit_test(arena_is_bounded_and_reused),
    cmocka_unit_test(long_regions_with_a_name_are_reserved),
    cmocka_unit_test(signals_do_not_keep_memory_from_being_reserved),
    cmocka_unit_test(long_regions_are_touched_as_they_are_needed),
    cmocka_unit_test(huge_pages_come_as_they_are_needed),
    cmocka_unit_test(blocks_are_clear),
    cmocka_unit_test(fresh_regions_go_with_their_last_block),
    cmocka_unit_test(limits_of_control_groups),
    cmocka_unit_test(the_system_says_whether_pages_are_huge),
};

/* usage: test_segment [PATTERN]: the tests of these names alone. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    setenv("SOBOR_MEMORY", "4MiB", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
