/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "machine/machine.h"
#include "segment/arena.h"
#include "topology/topology.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Times as long a job may take, under an emulator. */
#ifndef JOB_PATIENCE
#define JOB_PATIENCE 1
#endif

#define BOARD_BYTES ((size_t)4 << 20)

struct job {
    pthread_barrier_t barrier;
    uint32_t size;
    size_t returned; /* how often a rank's body has */
    bool bound;
    cpu_set_t cpus; /* that all ranks run on, where they are bound */
    int pids[1024];
    char board[BOARD_BYTES];
};

static job_t *new_job(uint32_t size)
{
    pthread_barrierattr_t shared;
    job_t *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (job == MAP_FAILED)
        return NULL;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&job->barrier, &shared, size);
    job->size = size;
    return job;
}

void job_synchronise(const rank_context_t *context)
{
    pthread_barrier_wait(&context->job->barrier);
}

sb_status_t job_allgather(const rank_context_t *context, const void *mine, void *all, size_t bytes)
{
    job_t *job = context->job;

    if (bytes * job->size > BOARD_BYTES)
        return SB_ERR_BOOTSTRAP;
    memcpy(job->board + context->rank * bytes, mine, bytes);
    job_synchronise(context);
    memcpy(all, job->board, bytes * job->size);
    job_synchronise(context);
    return SB_OK;
}

static sb_status_t allgather(void *argument, const void *mine, void *all, size_t bytes)
{
    return job_allgather(argument, mine, all, bytes);
}

int job_pid(const rank_context_t *context, uint32_t rank)
{
    return context->job->pids[rank];
}

static uint32_t turn;

void *job_memory(size_t bytes)
{
    static const size_t alignments[] = {0, 64, 4096};
    size_t alignment = alignments[turn++ % SB_COUNT_OF(alignments)];

    return alignment == 0 ? malloc(bytes)
                          : aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
}

/* Blocks of so many differ in what is added to each of their bytes. All that there are, made before
 * ranks are: to make them for each part was a seventh of what some tests take. */
#define BLOCK 256

static unsigned char blocks[256][BLOCK];

__attribute__((constructor)) static void make_blocks(void)
{
    for (unsigned more = 0; more < 256; more++) {
        for (unsigned i = 0; i < BLOCK; i++)
            blocks[more][i] = (unsigned char)(i * 31 + more);
    }
}

static const unsigned char *block_of(size_t at, uint64_t number)
{
    return blocks[(unsigned char)(at / BLOCK + number)];
}

void job_fill(void *to, size_t step, size_t bytes, uint64_t number)
{
    unsigned char *data = to;

    for (size_t at = 0; at < bytes; at += BLOCK) {
        size_t some = sb_min(BLOCK, bytes - at);
        const unsigned char *block = block_of(at, number);
        if (step == 1)
            memcpy(data + at, block, some);
        for (size_t i = 0; step > 1 && i < some; i++)
            data[(at + i) * step] = block[i];
    }
}

size_t job_mismatch(const void *at, size_t step, size_t bytes, uint64_t number)
{
    const unsigned char *data = at;

    for (size_t begin = 0; begin < bytes; begin += BLOCK) {
        size_t some = sb_min(BLOCK, bytes - begin), i = 0;
        const unsigned char *block = block_of(begin, number);
        if (step == 1 && memcmp(data + begin, block, some) == 0)
            continue;
        while (i < some && data[(begin + i) * step] == block[i])
            i++;
        if (i < some)
            return begin + i;
    }
    return bytes;
}

static sb_status_t sparse_read(void *context, size_t offset, void *to, size_t bytes)
{
    const unsigned char *sparse = context;

    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = sparse[2 * (offset + i)];
    return SB_OK;
}

static sb_status_t sparse_write(void *context, size_t offset, const void *from, size_t bytes)
{
    unsigned char *sparse = context;

    for (size_t i = 0; i < bytes; i++)
        sparse[2 * (offset + i)] = ((const unsigned char *)from)[i];
    return SB_OK;
}

sb_stream_t job_stream(void *data, size_t step, size_t bytes)
{
    return (sb_stream_t){.bytes = bytes,
                         .base = step == 1 ? data : NULL,
                         .read = sparse_read,
                         .write = sparse_write,
                         .context = data};
}

int job_bcast(sb_team_t *team, const sb_algorithm_t *algorithm, uint32_t root, size_t bytes)
{
    unsigned char *data = job_memory(bytes + 1);
    sb_stream_t stream = job_stream(data, 1, bytes);
    uint64_t number = root * 7 + bytes * 13 + 1;
    int failures = 0;

    memset(data, 0xee, bytes + 1);
    if (team->rank == root)
        job_fill(data, 1, bytes, number);
    failures += sb_algorithm_prepare(algorithm, team, bytes) != SB_OK;
    failures += failures > 0 || algorithm->bcast(team, root, &stream) != SB_OK;
    failures += failures == 0 && job_mismatch(data, 1, bytes, number) < bytes;
    failures += data[bytes] != 0xee;
    if (failures > 0)
        fprintf(stderr, "%s: rank %u of %u, root %u, %zu bytes\n", algorithm->name, team->rank,
                team->size, root, bytes);
    free(data);
    return failures;
}

size_t job_sizes(const size_t *edges, size_t count, size_t last, size_t *sizes)
{
    size_t written = 0;

    sizes[written++] = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t size = edges[i] - 1; size <= edges[i] + 1; size++)
            sizes[written++] = sb_max(size, 1);
    }
    sizes[written++] = last;
    return written;
}

const char *job_little_memory(uint32_t ranks)
{
    sb_place_t places[16];

    for (uint32_t i = 0; i < ranks && i < SB_COUNT_OF(places); i++)
        sb_place_self(&places[i]);
    return sb_places_oversubscribed(places, sb_min(ranks, SB_COUNT_OF(places))) ? "28KiB" : "16KiB";
}

sb_team_t *job_team(rank_context_t *context)
{
    sb_team_t *team;
    sb_refusal_t refusal;
    sb_reason_t reason;
    sb_status_t status =
        sb_team_create(&team, &context->front, context->rank, context->size, &refusal, &reason);

    if (status != SB_OK)
        fprintf(stderr, "rank %u: no team: %s (refusal %d, %s)\n", context->rank,
                sb_status_string(status), (int)refusal, reason.text);
    return status == SB_OK ? team : NULL;
}

/* Where several ranks share each processor, most of the time would go into giving it away to one
 * that waits as well: they sleep, unless a test says how they wait. */
#define AWAKE_MOST 4

/* SOBOR_TEST_SECONDS: none takes longer where nothing is wrong. */
static unsigned most_seconds(unsigned seconds)
{
    const char *most = getenv("SOBOR_TEST_SECONDS");
    unsigned allowed = seconds * JOB_PATIENCE;

    return most == NULL ? allowed : sb_min(allowed, (unsigned)strtoul(most, NULL, 10));
}

/* What the ranks of a job do: `body` for each of `count` arguments of `bytes` each. */
typedef struct task {
    int (*body)(rank_context_t *context, void *argument);
    char *arguments;
    size_t bytes;
    size_t count;
    unsigned seconds; /* for each */
} task_t;

static int run_rank(job_t *job, uint32_t rank, const task_t *task)
{
    rank_context_t context = {.job = job, .rank = rank, .size = job->size};

    if (job->bound && sched_setaffinity(0, sizeof job->cpus, &job->cpus) != 0)
        return 1;
    if (job->size > AWAKE_MOST)
        setenv("SOBOR_WAIT", "sleep", 0);
    sb_machine_start();
    job->pids[rank] = getpid();
    turn = rank;
    int failures = 0;
    for (size_t i = 0; i < task->count && failures == 0; i++) {
        alarm(most_seconds(task->seconds));
        context.front = (sb_front_t){.context = &context, .allgather = allgather};
        job_synchronise(&context);
        failures = task->body(&context, task->arguments + i * task->bytes);
        /* Relaxed: it is read when the rank has ended. */
        __atomic_fetch_add(&job->returned, 1, __ATOMIC_RELAXED);
    }
    /* As in MPI_Finalize: others may still wait for each other. */
    sb_arena_depart();
    return failures;
}

static void end_all(const pid_t *children, uint32_t size)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        if (children[rank] > 0)
            kill(children[rank], SIGKILL);
    }
}

/*
 * Waits for all children. When one fails the others may wait for it forever: they are ended. A rank
 * that hangs is ended by its own alarm.
 */
static int reap(pid_t *children, uint32_t size)
{
    int failures = 0;

    for (uint32_t left = size; left > 0; left--) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);
        bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (failures == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            fprintf(stderr, "a rank timed out\n");
        for (uint32_t rank = 0; rank < size; rank++) {
            if (children[rank] == ended)
                children[rank] = 0;
        }
        if (failed && failures++ == 0)
            end_all(children, size);
    }
    return failures;
}

/* Where this process may run. The core asks but once, and not before ranks are bound. */
static sb_place_t look_around(void)
{
    sb_place_t place;

    sb_place_read(&place, "", NULL);
    return place;
}

bool job_has_room(uint32_t ranks)
{
    sb_place_t places[ranks];

    places[0] = look_around();
    for (uint32_t i = 1; i < ranks; i++)
        places[i] = places[0];
    return !sb_places_oversubscribed(places, ranks);
}

/* Neighbours, of which tests that run side by side take others. */
static void bind_to(job_t *job, uint32_t processors)
{
    sb_place_t here = look_around();
    size_t count = sb_cpus_count(here.cpus), seen = 0;

    if (count <= processors)
        return;
    size_t first = (size_t)getpid() % (count / processors) * processors;
    for (unsigned i = 0; i < SB_CPUS_MOST; i++) {
        if (!sb_cpus_has(here.cpus, i))
            continue;
        if (seen >= first && seen < first + processors)
            CPU_SET(i, &job->cpus);
        seen++;
    }
    job->bound = true;
}

static int run_job(job_t *job, uint32_t size, const task_t *task)
{
    pid_t children[size];

    fflush(NULL);
    for (uint32_t rank = 0; rank < size; rank++) {
        children[rank] = fork();
        if (children[rank] == 0)
            _exit(run_rank(job, rank, task));
    }
    int failures = reap(children, size);
    /* A body that ends its process is for one argument: no other one would be looked at. */
    if (failures == 0 && task->count > 1 && job->returned != size * task->count) {
        fprintf(stderr, "%zu of %zu arguments were looked at\n", job->returned / size, task->count);
        failures = (int)size;
    }
    munmap(job, sizeof *job);
    return failures;
}

int job_run_all(uint32_t size, unsigned seconds,
                int (*body)(rank_context_t *context, void *argument), void *arguments, size_t bytes,
                size_t count)
{
    const task_t task = {body, arguments, bytes, count, seconds};
    job_t *job = new_job(size);

    return job == NULL ? (int)size : run_job(job, size, &task);
}

int job_run(uint32_t size, unsigned seconds, int (*body)(rank_context_t *context, void *argument),
            void *argument)
{
    return job_run_all(size, seconds, body, argument, 0, 1);
}

int job_run_on(uint32_t processors, uint32_t size, unsigned seconds,
               int (*body)(rank_context_t *context, void *argument), void *argument)
{
    const task_t task = {body, argument, 0, 1, seconds};
    job_t *job = new_job(size);

    if (job == NULL)
        return (int)size;
    bind_to(job, processors);
    return run_job(job, size, &task);
}
