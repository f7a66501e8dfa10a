/* SPDX-License-Identifier: BSD-3-Clause */
#include "line.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Apart by two lines: processors fetch lines in pairs. */
enum { APART = 128, ROUNDS = 200, LOOKS_PER_YIELD = 10000 };

struct bench_ball {
    _Alignas(APART) _Atomic uint64_t there; /* rank 0 writes it */
    _Alignas(APART) _Atomic uint64_t here;  /* rank 1 answers */
};

static struct bench_ball *map(int file)
{
    size_t bytes = sizeof(struct bench_ball);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Rank 0's file, -1 if there is none. */
static int open_file(const struct bench_job *job, long owner, long number)
{
    char path[64];
    if (number < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", owner, number);
    return job->rank == 0 ? dup((int)number) : open(path, O_RDWR | O_CLOEXEC);
}

static struct bench_ball *share(const struct bench_job *job)
{
    int own = job->rank == 0 ? memfd_create("sobor-bench", MFD_CLOEXEC) : -1;
    if (own >= 0 && ftruncate(own, sizeof(struct bench_ball)) != 0) {
        close(own);
        own = -1;
    }
    long number = bench_agree(job, own);
    int file = open_file(job, bench_agree(job, getpid()), number);
    struct bench_ball *ball = file < 0 ? NULL : map(file);
    if (file >= 0)
        close(file);
    bool failed = bench_maximum(job, ball == NULL) != 0.0;
    if (own >= 0)
        close(own);
    if (failed && ball != NULL)
        munmap(ball, sizeof *ball);
    return failed ? NULL : ball;
}

/* A processor for each rank. Collective; the same on all. */
static bool fits(const struct bench_job *job)
{
    union {
        cpu_set_t set;
        unsigned long words[sizeof(cpu_set_t) / sizeof(unsigned long)];
    } mine, all;
    CPU_ZERO(&mine.set);
    sched_getaffinity(0, sizeof mine.set, &mine.set);
    all = mine;
    job->allreduce(mine.words, all.words, sizeof mine.words / sizeof *mine.words, MPI_UNSIGNED_LONG,
                   MPI_BOR, MPI_COMM_WORLD);
    return job->ranks <= CPU_COUNT(&all.set);
}

void bench_line_create(struct bench_line *line, const struct bench_job *job)
{
    bool possible = job->one_node && job->ranks >= 2 && fits(job);
    *line = (struct bench_line){.rank = job->rank, .ball = possible ? share(job) : NULL};
}

/* Two ranks on one processor would wait for a time slice each time: they let go now and then. */
static void await(const _Atomic uint64_t *word, uint64_t value)
{
    /* Acquire: pairs with the release in throw_and_catch() and catch_and_throw(). As flags have it,
     * so that the line's way costs what a flag's does; no data goes with it. */
    for (long looks = 1; atomic_load_explicit(word, memory_order_acquire) < value; looks++)
        if (looks % LOOKS_PER_YIELD == 0)
            sched_yield();
}

static void throw_and_catch(struct bench_line *line, uint64_t round)
{
    atomic_store_explicit(&line->ball->there, round, memory_order_release);
    await(&line->ball->here, round);
}

static void catch_and_throw(struct bench_line *line, uint64_t round)
{
    await(&line->ball->there, round);
    atomic_store_explicit(&line->ball->here, round, memory_order_release);
}

static double play(struct bench_line *line)
{
    /* The first one waits until the other has come. */
    throw_and_catch(line, ++line->round);
    double start = bench_now();
    for (int i = 0; i < ROUNDS; i++)
        throw_and_catch(line, ++line->round);
    return (bench_now() - start) / ROUNDS;
}

int bench_line_record(struct bench_line *line, struct bench_samples *samples)
{
    if (line->ball == NULL || line->rank > 1)
        return 0;
    if (line->rank == 0) {
        double seconds = play(line);
        return bench_samples_add(samples, &seconds, 1);
    }
    for (int i = 0; i <= ROUNDS; i++)
        catch_and_throw(line, ++line->round);
    return 0;
}

void bench_line_destroy(struct bench_line *line)
{
    if (line->ball != NULL)
        munmap(line->ball, sizeof *line->ball);
    *line = (struct bench_line){0};
}
