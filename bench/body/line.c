/* SPDX-License-Identifier: BSD-3-Clause */
#include "line.h"

#include "share.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* Apart by two lines: processors fetch lines in pairs. */
enum { APART = 128, BURSTS = 10, ROUNDS = 20, LOOKS_PER_YIELD = 10000, SLEEP = 200 };

struct bench_ball {
    _Alignas(APART) _Atomic uint64_t there; /* rank 0 writes it */
    _Alignas(APART) _Atomic uint64_t here;  /* rank 1 answers */
    _Alignas(APART) _Atomic uint64_t over;  /* the round after which rank 0 stopped */
};

void bench_line_create(struct bench_line *line, const struct bench_job *job)
{
    bool possible = job->one_node && job->ranks >= 2 && job->processors >= 2;
    *line = (struct bench_line){.rank = job->rank, .crowded = !job->fits};
    line->processor = job->first_two[job->rank & 1];
    line->ball = possible ? bench_share(job, sizeof(struct bench_ball)) : NULL;
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

static double play_burst(struct bench_line *line)
{
    double start = bench_now();
    for (int i = 0; i < ROUNDS; i++)
        throw_and_catch(line, ++line->round);
    return (bench_now() - start) / ROUNDS;
}

/* The system may take a processor away in the middle: the median burst does not see it. */
static double play(struct bench_line *line)
{
    double bursts[BURSTS];
    for (int i = 0; i <= BURSTS; i++) {
        double seconds = play_burst(line);
        if (i > 0) /* in the first one, rank 0 waits until the other has come */
            bursts[i - 1] = seconds;
    }
    /* Release: as the other two; pairs with the acquire in watch(). */
    atomic_store_explicit(&line->ball->over, line->round, memory_order_release);
    return bench_median(bursts, BURSTS);
}

/* Those who do not play leave the processors to those who do, where there are not enough. */
static void watch(struct bench_line *line)
{
    line->round += (BURSTS + 1) * ROUNDS;
    /* Acquire: pairs with the release in play(). */
    while (line->crowded &&
           atomic_load_explicit(&line->ball->over, memory_order_acquire) < line->round)
        usleep(SLEEP);
}

static double take_part(struct bench_line *line)
{
    if (line->rank == 0)
        return play(line);
    if (line->rank > 1)
        watch(line);
    for (int i = 0; i < (BURSTS + 1) * ROUNDS && line->rank == 1; i++)
        catch_and_throw(line, ++line->round);
    return 0.0;
}

/* The system may have both players on one processor, and nothing would part them soon. */
static double take_part_apart(struct bench_line *line)
{
    cpu_set_t before, here;
    bool moves = line->rank <= 1 && sched_getaffinity(0, sizeof before, &before) == 0;
    CPU_ZERO(&here);
    CPU_SET(line->processor, &here);
    if (moves)
        sched_setaffinity(0, sizeof here, &here);
    double seconds = take_part(line);
    if (moves)
        sched_setaffinity(0, sizeof before, &before);
    return seconds;
}

int bench_line_record(struct bench_line *line, struct bench_samples *samples)
{
    if (line->ball == NULL)
        return 0;
    double seconds = line->crowded ? take_part_apart(line) : take_part(line);
    return line->rank == 0 ? bench_samples_add(samples, &seconds, 1) : 0;
}

void bench_line_destroy(struct bench_line *line)
{
    bench_unshare(line->ball, sizeof *line->ball);
    *line = (struct bench_line){0};
}
