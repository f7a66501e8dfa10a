/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whatever the core asks of the system is refused to it: each call of each function by itself, once
 * or from there on, on one rank or on all. The ranks agree on what cannot be had then, what they
 * have is right, and nothing is left behind. What was refused once is had by the next team. A rank
 * that gives up while others agree keeps what they use.
 * usage: fork_refused [auto|named [FUNCTION NUMBER once|on one|all]]: of one alone.
 */
#include "../long_form.h"
#include "job.h"

#include "base/hash.h"
#include "data/fold.h"
#include "segment/board.h"
#include "select/select.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RANKS = 3, ROOT = 1, PART = 16384, BYTES = RANKS * PART, NAMES_MOST = 64 };

/* Function, what it returns, its parameters and arguments, what it returns where it fails, and why.
 * The variable arguments of open() come as others do. */
#define EACH_BUT_ONE(X)                                                                            \
    X(malloc, void *, (size_t bytes), (bytes), NULL, ENOMEM)                                       \
    X(calloc, void *, (size_t count, size_t bytes), (count, bytes), NULL, ENOMEM)                  \
    X(realloc, void *, (void *block, size_t bytes), (block, bytes), NULL, ENOMEM)                  \
    X(aligned_alloc, void *, (size_t unit, size_t bytes), (unit, bytes), NULL, ENOMEM)             \
    X(mmap, void *, (void *at, size_t bytes, int rights, int flags, int fd, off_t from),           \
      (at, bytes, rights, flags, fd, from), MAP_FAILED, ENOMEM)                                    \
    X(madvise, int, (void *at, size_t bytes, int advice), (at, bytes, advice), -1, EINVAL)         \
    X(memfd_create, int, (const char *name, unsigned flags), (name, flags), -1, EMFILE)            \
    X(ftruncate, int, (int fd, off_t bytes), (fd, bytes), -1, ENOSPC)                              \
    X(posix_fallocate, int, (int fd, off_t from, off_t bytes), (fd, from, bytes), ENOSPC, ENOSPC)  \
    X(fchmod, int, (int fd, mode_t mode), (fd, mode), -1, EPERM)                                   \
    X(fstat, int, (int fd, struct stat *file), (fd, file), -1, EIO)                                \
    X(open, int, (const char *path, int flags, mode_t mode), (path, flags, mode), -1, EMFILE)      \
    X(fopen, FILE *, (const char *path, const char *how), (path, how), NULL, EMFILE)               \
    X(opendir, DIR *, (const char *path), (path), NULL, EMFILE)                                    \
    X(getrandom, ssize_t, (void *to, size_t bytes, unsigned flags), (to, bytes, flags), -1,        \
      ENOSYS)                                                                                      \
    X(process_vm_readv, ssize_t,                                                                   \
      (pid_t process, const struct iovec *here, unsigned long own, const struct iovec *there,      \
       unsigned long others, unsigned long flags),                                                 \
      (process, here, own, there, others, flags), -1, EPERM)                                       \
    X(process_vm_writev, ssize_t,                                                                  \
      (pid_t process, const struct iovec *here, unsigned long own, const struct iovec *there,      \
       unsigned long others, unsigned long flags),                                                 \
      (process, here, own, there, others, flags), -1, EPERM)
#define EACH(X) EACH_BUT_ONE(X) X(shm_open, )

typedef enum function {
#define FUNCTION(name, ...) OF_##name,
    EACH(FUNCTION)
#undef FUNCTION
        FUNCTIONS
} function_t;

static const char *const names[] = {
#define FUNCTION(name, ...) #name,
    EACH(FUNCTION)
#undef FUNCTION
};

/* What is refused, to whom. */
typedef struct trial {
    function_t function;
    unsigned number; /* of the call; 0: none is */
    bool on;         /* and all that follow */
    bool all;        /* to all ranks; else to rank `number` modulo theirs */
    unsigned (*calls)[FUNCTIONS];
} trial_t;

static trial_t trial;
static bool armed; /* the core is asked for something */
static bool to_this;
static unsigned calls[FUNCTIONS];

static _Atomic bool *has_given_up; /* of all ranks: rank 0 has */
static bool dawdles;               /* and this one opens no file before */

/* For some seconds, so that a rank that never does fails the test. */
static void wait_for_rank_0(void)
{
    /* Relaxed: there is nothing but the word itself. */
    for (int i = 0; i < 5000 && !atomic_load_explicit(has_given_up, memory_order_relaxed); i++)
        usleep(1000);
}

static bool is_refused(function_t function)
{
    if (!armed)
        return false;
    if (dawdles && function == OF_open)
        wait_for_rank_0();
    unsigned number = ++calls[function];
    return to_this && function == trial.function && trial.number > 0 &&
           (trial.on ? number >= trial.number : number == trial.number);
}

#define WRAP(name, result, parameters, arguments, failure, error)                                  \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        if (!is_refused(OF_##name))                                                                \
            return __real_##name arguments;                                                        \
        errno = error;                                                                             \
        return failure;                                                                            \
    }
EACH_BUT_ONE(WRAP)
#undef WRAP

/* Files that were made by name. */
static char made[NAMES_MOST][128];
static unsigned made_count;

int __real_shm_open(const char *name, int flags, mode_t mode);
int __wrap_shm_open(const char *name, int flags, mode_t mode);

int __wrap_shm_open(const char *name, int flags, mode_t mode)
{
    if (is_refused(OF_shm_open)) {
        errno = EMFILE;
        return -1;
    }
    if ((flags & O_CREAT) != 0 && made_count < NAMES_MOST)
        snprintf(made[made_count++], sizeof made[0], "/dev/shm%s", name);
    return __real_shm_open(name, flags, mode);
}

static unsigned char out[BYTES], in[BYTES];

static uint64_t number_of(uint32_t from, uint32_t to)
{
    return from * 7 + to * 101 + 1;
}

static sb_status_t bcast(sb_team_t *team, const sb_algorithm_t *algorithm, int *wrong)
{
    const sb_stream_t stream = job_stream(in, 1, BYTES);

    memset(in, 0, sizeof in);
    if (team->rank == ROOT)
        job_fill(in, 1, BYTES, number_of(ROOT, 0));
    sb_status_t status = algorithm->bcast(team, ROOT, &stream);
    *wrong = job_mismatch(in, 1, BYTES, number_of(ROOT, 0)) < BYTES;
    return status;
}

static bool is_one_of(sb_collective_t collective, sb_collective_t one, sb_collective_t other)
{
    return collective == one || collective == other;
}

static sb_status_t parts(sb_team_t *team, const sb_algorithm_t *algorithm, int *wrong)
{
    bool scatters = is_one_of(algorithm->collective, SB_SCATTER, SB_SCATTERV);
    bool gathers = is_one_of(algorithm->collective, SB_GATHER, SB_GATHERV);
    bool to_all = is_one_of(algorithm->collective, SB_ALLGATHER, SB_ALLGATHERV);
    bool is_root = team->rank == ROOT;
    sb_stream_t send[RANKS], receive[RANKS];
    const sb_parts_t parts = {.root = ROOT,
                              .send = scatters && !is_root ? NULL : send,
                              .receive = gathers && !is_root ? NULL : receive};

    memset(in, 0, sizeof in);
    for (uint32_t i = 0; i < RANKS; i++) {
        send[i] = job_stream(out + i * PART, 1, PART);
        receive[i] = job_stream(in + i * PART, 1, PART);
        job_fill(out + i * PART, 1, PART, number_of(team->rank, gathers || to_all ? 0 : i));
    }
    sb_status_t status = algorithm->parts(team, &parts);
    *wrong = 0;
    for (uint32_t i = 0; i < (scatters ? 1 : RANKS) && parts.receive != NULL; i++) {
        uint64_t number = number_of(scatters ? ROOT : i, gathers || to_all ? 0 : team->rank);
        *wrong += job_mismatch(in + i * PART, 1, PART, number) < PART;
    }
    return status;
}

/* Contributions of the ranks up to `last`, at place i of them all. */
static uint64_t sum_of(uint32_t last, size_t i)
{
    uint64_t sum = 0;

    for (uint32_t rank = 0; rank <= last; rank++)
        sum += rank * 1000003u + i;
    return sum;
}

static sb_status_t reduction(sb_team_t *team, const sb_algorithm_t *algorithm, int *wrong)
{
    static const size_t equal[RANKS] = {PART, PART, PART};
    sb_collective_t collective = algorithm->collective;
    bool scatters = is_one_of(collective, SB_REDUCE_SCATTER, SB_REDUCE_SCATTER_BLOCK);
    bool scans = is_one_of(collective, SB_SCAN, SB_EXSCAN);
    bool none = (collective == SB_REDUCE && team->rank != ROOT) ||
                (collective == SB_EXSCAN && team->rank == 0);
    uint64_t *given = (uint64_t *)(void *)out, *taken = (uint64_t *)(void *)in;
    const sb_reduction_t reduction = {.root = ROOT,
                                      .operation = sb_fold_operator(SB_SUM, SB_UINT64),
                                      .bytes = BYTES,
                                      .parts = scatters ? equal : NULL,
                                      .send = (char *)out,
                                      .receive = none ? NULL : (char *)in};
    uint32_t last = scans ? team->rank - (collective == SB_EXSCAN) : RANKS - 1;
    size_t first = scatters ? team->rank * (PART / sizeof *given) : 0;

    for (size_t i = 0; i < BYTES / sizeof *given; i++)
        given[i] = team->rank * 1000003u + i;
    memset(in, 0, sizeof in);
    sb_status_t status = algorithm->reduction(team, &reduction);
    *wrong = 0;
    for (size_t i = 0; i < (scatters ? PART : BYTES) / sizeof *given && !none; i++)
        *wrong += taken[i] != sum_of(last, first + i);
    return status;
}

static int complain(const char *what, const char *whose)
{
    fprintf(stderr, "%s%s%s\n", what, whose[0] == '\0' ? "" : ": ", whose);
    return 1;
}

/* What all ranks have to have in common. */
static int differs(rank_context_t *context, const char *what, const char *whose, int mine)
{
    int all[RANKS];

    armed = false;
    job_allgather(context, &mine, all, sizeof mine);
    for (uint32_t i = 0; i < RANKS; i++) {
        if (all[i] != mine)
            return complain(what, whose);
    }
    return 0;
}

static int call(rank_context_t *context, sb_team_t *team, const sb_algorithm_t *algorithm)
{
    int wrong = 0;

    armed = true;
    sb_status_t status = sb_algorithm_prepare(algorithm, team, BYTES);
    if (differs(context, "ranks are not alike ready", algorithm->name, (int)status) != 0)
        return 1;
    if (status != SB_OK)
        return status == SB_ERR_UNSUPPORTED ? 0 : complain("not ready", algorithm->name);
    armed = true;
    if (algorithm->barrier != NULL)
        status = algorithm->barrier(team);
    else if (algorithm->bcast != NULL)
        status = bcast(team, algorithm, &wrong);
    else if (algorithm->parts != NULL)
        status = parts(team, algorithm, &wrong);
    else
        status = reduction(team, algorithm, &wrong);
    armed = false;
    return status == SB_OK && wrong == 0 ? 0 : complain("wrong", algorithm->name);
}

static int use(rank_context_t *context, sb_team_t *team)
{
    int failures = 0;

    for (size_t i = 0; i < sb_algorithm_count() && failures == 0; i++) {
        if (sb_algorithm_at(i)->levels == 0)
            failures = call(context, team, sb_algorithm_at(i));
    }
    armed = true;
    sb_team_destroy(team);
    armed = false;
    return failures;
}

static int make_and_use(rank_context_t *context, bool is_free)
{
    sb_team_t *team;
    sb_refusal_t refusal;
    sb_reason_t reason = {.text = ""};

    armed = true;
    sb_status_t status =
        sb_team_create(&team, &context->front, context->rank, RANKS, &refusal, &reason);
    if (differs(context, "not all have a team", reason.text, (int)status) != 0)
        return 1;
    if (status == SB_OK)
        return use(context, team);
    /* Who could not read on which node it is goes on without. */
    bool wanted = is_free && refusal != SB_REFUSAL_NODES;
    return status != SB_ERR_UNSUPPORTED || wanted ? complain("no team", reason.text) : 0;
}

/* A number of the board that this rank has tried, which it made or found by its name. */
static uint64_t board_of(bool joined)
{
    return joined ? sb_hash_text(SB_HASH_START, made[0]) : 0;
}

/* Who is on a board finds those who are on the same, and nobody else. Where a rank cannot read on
 * which node it is, that is a board of its own. */
static int meet(rank_context_t *context, unsigned number)
{
    const sb_job_t job = {.key = (uint64_t)getppid() << 32 | number,
                          .rank = context->rank,
                          .size = RANKS,
                          .local = RANKS};
    uint64_t boards[RANKS];
    int failures = 0;

    armed = true;
    bool joined = sb_board_join(&job, true);
    armed = false;
    uint64_t mine = board_of(joined);
    job_allgather(context, &mine, boards, sizeof mine);
    armed = true;
    sb_board_tell(&context->rank, sizeof context->rank);
    for (uint32_t i = 0; i < RANKS; i++) {
        const uint32_t *told = sb_board_told(i, NULL);
        failures += (told != NULL) != (mine != 0 && boards[i] == mine);
        failures += told != NULL && *told != i;
    }
    armed = false;
    return failures == 0 ? 0 : complain("the board tells something else", "");
}

static unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static int is_something_left(unsigned descriptors)
{
    sb_arena_usage_t usage;
    int left = 0;

    sb_arena_usage(&usage);
    if (count_descriptors() > descriptors + usage.regions)
        left += complain("descriptors are left", "");
    for (unsigned i = 0; i < made_count; i++)
        left += access(made[i], F_OK) == 0 ? complain("a name is left", made[i]) : 0;
    return left;
}

static int try(rank_context_t *context, void *argument)
{
    unsigned descriptors = count_descriptors();

    trial = *(const trial_t *)argument;
    to_this = trial.all || trial.number % RANKS == context->rank;
    int failures = meet(context, trial.function * 1000u + trial.number);
    if (failures == 0)
        failures = make_and_use(context, trial.number == 0);
    memcpy(trial.calls[context->rank], calls, sizeof calls);
    to_this = to_this && trial.on;
    if (failures == 0)
        failures = make_and_use(context, !trial.on);
    job_synchronise(context);
    return failures + is_something_left(descriptors);
}

static int run(const trial_t *refused)
{
    int failed = job_run(RANKS, 20, try, (void *)(uintptr_t)refused);

    if (failed > 0)
        printf("FAILED: fork_refused %s %s %u %s %s\n", getenv("SOBOR_SEGMENT"),
               names[refused->function], refused->number, refused->on ? "on" : "once",
               refused->all ? "all" : "one");
    return failed > 0;
}

/* In the long form all ways of each, else one, by turns; an emulator has time for few. */
static int run_ways(trial_t *refused)
{
    int failures = 0;

    if (takes_few() && refused->number % 8 != 1)
        return 0;
    for (unsigned way = 0; way < 4; way++) {
        refused->on = way % 2 != 0;
        refused->all = way / 2 != 0;
        if (is_long_form() || (refused->number + refused->function) % 4 == way)
            failures += run(refused);
    }
    return failures;
}

static int run_function(trial_t *refused, unsigned count)
{
    int failures = 0;

    for (refused->number = 1; refused->number <= count; refused->number++)
        failures += run_ways(refused);
    printf("%-20s %3u calls: %s\n", names[refused->function], count,
           failures == 0 ? "ok" : "FAILED");
    return failures;
}

static uint64_t given_up_at; /* an exchange of the team */
static const sb_team_t *given_up;

static sb_status_t give_up(void *context)
{
    (void)context;
    return given_up != NULL && given_up->exchanges >= given_up_at ? SB_ERR_REVOKED : SB_OK;
}

/* Rank 0 gives up when it has said that it has all, as rank 2 has not yet. */
static int leave_early(rank_context_t *context, void *argument)
{
    const size_t bytes = (size_t)2 << 20;
    const sb_resource_size_t size = {
        .own = sizeof(sb_resource_t), .bytes = bytes, .least = bytes, .willing = true};
    sb_arena_usage_t usage;

    (void)argument;
    context->front.check = context->rank == 0 ? give_up : NULL;
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    team->waiter.check_every_ns = 10000000;
    given_up_at = team->exchanges + 2;
    given_up = team;
    dawdles = context->rank == 2;
    armed = true;
    sb_status_t status = sb_resource_make(team, 0, &size);
    armed = false;
    if (context->rank == 0)
        atomic_store_explicit(has_given_up, true, memory_order_relaxed);
    sb_arena_usage(&usage);
    job_synchronise(context);
    if (status != (context->rank == 0 ? SB_ERR_REVOKED : SB_OK))
        return complain("another end than expected", sb_status_string(status));
    return usage.taken >= bytes ? 0 : complain("what others use is free", "");
}

/* What is another function's call where memory has names; the others are refused without. */
static bool is_about_names(unsigned function)
{
    return function == OF_shm_open || function == OF_posix_fallocate || function == OF_ftruncate ||
           function == OF_mmap;
}

static int run_all(trial_t *refused, bool named)
{
    int failures = !named && job_run(RANKS, 20, leave_early, NULL) > 0;
    unsigned most[FUNCTIONS] = {0};

    failures += run(refused); /* nothing is refused yet */
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        for (uint32_t rank = 0; rank < RANKS; rank++)
            most[f] = sb_max(most[f], refused->calls[rank][f]);
    }
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        refused->function = (function_t)f;
        if (!named || is_long_form() || is_about_names(f))
            failures += run_function(refused, most[f]);
    }
    return failures;
}

static function_t function_of(const char *name)
{
    unsigned f = 0;

    while (f + 1 < FUNCTIONS && strcmp(names[f], name) != 0)
        f++;
    return (function_t)f;
}

int main(int argc, char **argv)
{
    size_t bytes = sizeof *trial.calls * RANKS;
    void *shared = mmap(NULL, bytes + sizeof *has_given_up, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    trial_t refused = {.calls = shared};
    const char *segment = argc > 1 ? argv[1] : "auto";

    has_given_up = (_Atomic bool *)((char *)shared + bytes);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("SOBOR_SEGMENT", segment, 1);
    sb_topology_self(); /* once for all ranks of all jobs */
    if (argc <= 5)
        return run_all(&refused, strcmp(segment, "named") == 0) == 0 ? 0 : 1;
    refused.function = function_of(argv[2]);
    refused.number = (unsigned)strtoul(argv[3], NULL, 10);
    refused.on = strcmp(argv[4], "on") == 0;
    refused.all = strcmp(argv[5], "all") == 0;
    return run(&refused);
}
