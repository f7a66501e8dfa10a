/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that are killed, stopped or starved from outside. Every rank prints "pid RANK PID"
 * first.
 *
 * usage: fault loop            barriers and broadcasts without end
 *        (the next five wait for a file "go")
 *        fault inside          rank 1 dies in a barrier, before the last rank has come
 *        fault absent          the last rank dies while all others wait in a barrier for it
 *        fault root            the root of a broadcast dies before it comes
 *        fault reader          the last rank dies while the root waits for room in its ring
 *        fault contributor     the last rank dies while all others combine what each gives
 *        fault stopped SECONDS the harness stops a rank in the middle of so many seconds of work
 *        fault work            some of everything, results checked */
#define _GNU_SOURCE
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void announce(void)
{
    printf("pid %d %ld\n", rank_of(MPI_COMM_WORLD), (long)getpid());
    fflush(stdout);
}

static void round_of_work(int i)
{
    int size = size_of(MPI_COMM_WORLD);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    checked_bcast(MPI_COMM_WORLD, 40, i % size, (uint64_t)i);
    checked_bcast(MPI_COMM_WORLD, 30000, i % size, (uint64_t)i);
    if (i % 20 == 0)
        checked_bcast(MPI_COMM_WORLD, 1 << 20, i % size, (uint64_t)i);
}

static void loop(void)
{
    for (int i = 0;; i++) {
        MPI_Comm copy;
        round_of_work(i);
        if (i % 50 != 0)
            continue;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
        checked_bcast(copy, 5000, 0, 1);
        CALL(MPI_Comm_free(&copy));
    }
}

/* A launcher may end the job as soon as it sees a rank die, so the harness stops the launcher first
 * and then makes the file "go". The survivors write a file "survivor.RANK" and leave by themselves:
 * MPI_Finalize may hang after the loss of a rank. */
static void wait_for_go(void)
{
    while (access("go", F_OK) != 0)
        sleep_ms(1);
}

/* What has been opened and mapped since `before`, and not given back. */
static struct holdings more_than(struct holdings before)
{
    struct holdings now = holdings();
    return (struct holdings){now.descriptors - before.descriptors, now.maps - before.maps};
}

__attribute__((noreturn)) static void survivor(int status, double start, struct holdings more)
{
    char name[32];
    int class = 0;
    MPI_Error_class(status, &class);
    snprintf(name, sizeof name, "survivor.%d", rank_of(MPI_COMM_WORLD));
    FILE *file = fopen(name, "w");
    CHECK(file != NULL, "cannot write %s", name);
    fprintf(file, "failed=%d class=%d after=%.2f descriptors=%d maps=%d\n", status != MPI_SUCCESS,
            class, now() - start, more.descriptors, more.maps);
    fclose(file);
    _exit(0);
}

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void die_in(long milliseconds)
{
    struct itimerval timer = {.it_value = {.tv_usec = milliseconds * 1000}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int wait_in_barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

static int wait_for_root(void)
{
    int value = 0;
    return MPI_Bcast(&value, 1, MPI_INT, size_of(MPI_COMM_WORLD) - 1, MPI_COMM_WORLD);
}

static int wait_for_reader(void)
{
    enum { LARGE = 8 << 20 };
    static unsigned char buffer[LARGE];
    return MPI_Bcast(buffer, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Pairs with gaps go in several stages; nobody must wait in a later one. */
static int wait_for_contribution(void)
{
    enum { MANY = 5000 };
    struct pair {
        double value;
        int index;
    };
    static struct pair mine[MANY], first[MANY];
    return MPI_Allreduce(mine, first, MANY, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
}

/* After these the rings are whole, whatever the caches: that is when messages have taken many times
 * what the pages take. No more is held for a broadcast from then on. */
static void fill_rings(void)
{
    double end = now() + 0.25;
    int go_on = 1;
    while (go_on) {
        CALL(wait_for_reader());
        go_on = now() < end;
        CALL(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
}

/* Calls go on until one fails: what the dead rank had done before may still let some succeed. */
static void survive(int (*call)(void), int victim, bool inside)
{
    int rank = rank_of(MPI_COMM_WORLD);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    fill_rings();
    for (int i = 0; i < size_of(MPI_COMM_WORLD); i++)
        round_of_work(i);
    CALL(call());
    struct holdings before = holdings();
    wait_for_go();
    double start = now();
    if (rank == victim)
        die_in(300);
    if ((rank == victim && !inside) || (inside && rank == size_of(MPI_COMM_WORLD) - 1))
        sleep_ms(500);
    int status = MPI_SUCCESS;
    while (status == MPI_SUCCESS && now() - start < 10.0)
        status = call();
    survivor(status, start, more_than(before));
}

/* Each root has had every length by then: no more is held from there on. */
enum { WARM_UP = 61 };

static void stopped(double seconds)
{
    double end = now() + seconds;
    int go_on = 1;
    fill_rings();
    struct holdings before = holdings();
    for (int i = 0; go_on; i++) {
        if (i <= WARM_UP)
            before = holdings();
        round_of_work(i);
        go_on = now() < end;
        CALL(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    check_holdings(before);
}

/* A busy machine may take longer than fill_rings did until the last ring is whole. So some rounds
 * may hold more than those before; what is lost is lost in each of four times as many. */
static void work(void)
{
    enum { TIMES = 4, ROUNDS = 69 };
    struct holdings before;
    int round = 0, grown = 1, own = 0;

    fill_rings();
    while (round < WARM_UP)
        round_of_work(round++);
    for (int time = 0; time < TIMES && grown; time++) {
        before = holdings();
        for (int i = 0; i < ROUNDS; i++)
            round_of_work(round++);
        struct holdings more = more_than(before);
        own = more.descriptors > 0 || more.maps > 0;
        CALL(MPI_Allreduce(&own, &grown, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
    if (own)
        check_holdings(before);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    const char *mode = argc > 1 ? argv[1] : "";
    int last = size_of(MPI_COMM_WORLD) - 1;
    announce();
    if (strcmp(mode, "loop") == 0)
        loop();
    else if (strcmp(mode, "inside") == 0)
        survive(wait_in_barrier, 1, true);
    else if (strcmp(mode, "absent") == 0)
        survive(wait_in_barrier, last, false);
    else if (strcmp(mode, "root") == 0)
        survive(wait_for_root, last, false);
    else if (strcmp(mode, "reader") == 0)
        survive(wait_for_reader, last, false);
    else if (strcmp(mode, "contributor") == 0)
        survive(wait_for_contribution, last, false);
    else if (strcmp(mode, "stopped") == 0 && argc > 2)
        stopped(atof(argv[2]));
    else if (strcmp(mode, "work") == 0)
        work();
    else
        test_fail(__FILE__, __LINE__, "unknown mode %s", mode);
    return test_end();
}
