/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators over several nodes. usage:
 *
 *   spanning wire OPERATION BYTES CALLS: bytes that left the busiest node, as a share of BYTES
 *   spanning loop CALLS: calls of every kind, checked
 *   spanning until FILE: the same, until there is this file
 *   spanning freeze MS POINTS: calls during which a rank stands still, at so many points of each
 *   spanning asleep CALLS: short broadcasts, whose last rank comes late to the first
 *   spanning many COUNT: communicators made, used and freed, one by one
 *   spanning alive COUNT: communicators alive together
 *   spanning threads CALLS: two threads, each with a communicator of its own */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What this host's network has sent so far. */
static double sent(void)
{
    unsigned long long bytes = 0;
    char line[512];
    FILE *file = fopen("/proc/self/net/dev", "r");

    CHECK(file != NULL, "no /proc/self/net/dev");
    while (fgets(line, sizeof line, file) != NULL) {
        const char *at = strstr(line, "eth0:");
        if (at != NULL)
            sscanf(at + 5, "%*u %*u %*u %*u %*u %*u %*u %*u %llu", &bytes);
    }
    fclose(file);
    return (double)bytes;
}

/* Sums of small integers are exact in any order. */
static void checked_allreduce(MPI_Comm comm, int *values, int *sums, int count, int call)
{
    int size = size_of(comm), rank = rank_of(comm);

    for (int i = 0; i < count; i++)
        values[i] = rank + call + i % 7;
    CALL(MPI_Allreduce(values, sums, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) {
        int right = size * (size - 1) / 2 + size * (call + i % 7);
        CHECK(sums[i] == right, "call %d, element %d: %d, not %d", call, i, sums[i], right);
    }
}

/* Of all ranks together so many elements, as many of each. */
static void checked_allgather(MPI_Comm comm, int *given, int *all, int count, int call)
{
    int each = count / size_of(comm);

    for (int i = 0; i < each; i++)
        given[i] = rank_of(comm) + call + i % 7;
    CALL(MPI_Allgather(given, each, MPI_INT, all, each, MPI_INT, comm));
    for (int i = 0; i < each * size_of(comm); i++) {
        int right = i / each + call + i % each % 7;
        CHECK(all[i] == right, "call %d, element %d: %d, not %d", call, i, all[i], right);
    }
}

static void checked_reduce_scatter(MPI_Comm comm, int *values, int *sums, int count, int call)
{
    int size = size_of(comm), rank = rank_of(comm), each = count / size;

    for (int i = 0; i < each * size; i++)
        values[i] = rank + call + i % 7;
    CALL(MPI_Reduce_scatter_block(values, sums, each, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < each; i++) {
        int right = size * (size - 1) / 2 + size * (call + (rank * each + i) % 7);
        CHECK(sums[i] == right, "call %d, element %d: %d, not %d", call, i, sums[i], right);
    }
}

static void checked_reduce(MPI_Comm comm, int *values, int *sums, int count, int call)
{
    int size = size_of(comm), rank = rank_of(comm), root = call % size;

    for (int i = 0; i < count; i++)
        values[i] = rank + call + i % 7;
    CALL(MPI_Reduce(values, sums, count, MPI_INT, MPI_SUM, root, comm));
    for (int i = 0; i < count && rank == root; i++) {
        int right = size * (size - 1) / 2 + size * (call + i % 7);
        CHECK(sums[i] == right, "call %d, element %d: %d, not %d", call, i, sums[i], right);
    }
}

static void checked_alltoall(MPI_Comm comm, int *given, int *taken, int count, int call)
{
    int size = size_of(comm), rank = rank_of(comm), each = count / size;

    for (int i = 0; i < each * size; i++)
        given[i] = rank * size + i / each + call + i % 7;
    CALL(MPI_Alltoall(given, each, MPI_INT, taken, each, MPI_INT, comm));
    for (int i = 0; i < each * size; i++) {
        int right = i / each * size + rank + call + (rank * each + i % each) % 7;
        CHECK(taken[i] == right, "call %d, element %d: %d, not %d", call, i, taken[i], right);
    }
}

static void call_once(const char *operation, int *values, int *sums, int count, int call)
{
    if (strcmp(operation, "allreduce") == 0)
        checked_allreduce(MPI_COMM_WORLD, values, sums, count, call);
    else if (strcmp(operation, "allgather") == 0)
        checked_allgather(MPI_COMM_WORLD, values, sums, count, call);
    else if (strcmp(operation, "reduce_scatter") == 0)
        checked_reduce_scatter(MPI_COMM_WORLD, values, sums, count, call);
    else if (strcmp(operation, "reduce") == 0)
        checked_reduce(MPI_COMM_WORLD, values, sums, count, call);
    else if (strcmp(operation, "alltoall") == 0)
        checked_alltoall(MPI_COMM_WORLD, values, sums, count, call);
    else
        checked_bcast(MPI_COMM_WORLD, (size_t)count * sizeof(int), 0, (uint64_t)call);
}

/* Long before and after the calls nobody sends. */
static double sent_in_peace(void)
{
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    sleep_ms(50);
    double bytes = sent();
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    return bytes;
}

static void wire(const char *operation, size_t bytes, int calls)
{
    int count = (int)(bytes / sizeof(int));
    int *values = malloc(bytes), *sums = malloc(bytes);

    CHECK(values != NULL && sums != NULL, "no memory");
    call_once(operation, values, sums, count, 0);
    double before = sent_in_peace();
    for (int call = 1; call <= calls; call++)
        call_once(operation, values, sums, count, call);
    double share = (sent_in_peace() - before) / calls / (double)bytes, most;
    CALL(MPI_Reduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("share %.3f\n", most);
    free(values);
    free(sums);
}

enum { COUNT = 3000 };

static void use(MPI_Comm comm, int calls)
{
    int *values = malloc(COUNT * sizeof *values), *sums = malloc(COUNT * sizeof *sums);

    CHECK(values != NULL && sums != NULL, "no memory");
    for (int call = 0; call < calls; call++) {
        checked_allreduce(comm, values, sums, 1 + call * 37 % COUNT, call);
        checked_bcast(comm, (size_t)(call * 501 % 150000), call % size_of(comm), (uint64_t)call);
        CALL(MPI_Barrier(comm));
    }
    free(values);
    free(sums);
}

static void say(const char *word)
{
    if (rank_of(MPI_COMM_WORLD) == 0) {
        puts(word);
        fflush(stdout);
    }
}

/* Each root has had every length by then: no more memory is made from there on. */
enum { SETTLED = 600 };

/* Says when all are in it, and when they have all memory. */
static void loop(int calls)
{
    use(MPI_COMM_WORLD, 1);
    say("loops");
    if (calls > SETTLED) {
        use(MPI_COMM_WORLD, SETTLED);
        say("settled");
        calls -= SETTLED;
    }
    use(MPI_COMM_WORLD, calls - 1);
}

/* Goes on until there is a file of this name. */
static void until(const char *name)
{
    int over = 0;

    CHECK(name != NULL, "usage: see the source");
    use(MPI_COMM_WORLD, 1);
    say("loops");
    while (!over) {
        use(MPI_COMM_WORLD, 20);
        over = access(name, F_OK) == 0;
        CALL(MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
}

/* A process that stops this one after `begin` seconds, and lets it go on `length` later. It is no
 * other program, which would take longer to begin than some calls take. */
static pid_t stop_later(double begin, double length)
{
    pid_t self = getpid(), other = fork();

    CHECK(other >= 0, "no process");
    if (other == 0) {
        usleep((useconds_t)(begin * 1e6));
        kill(self, SIGSTOP);
        sleep_ms((long)(length * 1e3));
        _exit(kill(self, SIGCONT));
    }
    return other;
}

/* One call, in which `victim` stands still; how long it took. */
static double frozen_call(const char *operation, int *values, int count, int call, int victim,
                          double begin, double length)
{
    bool own = rank_of(MPI_COMM_WORLD) == victim;
    int state = 0;

    CALL(MPI_Barrier(MPI_COMM_WORLD));
    pid_t other = own && length > 0 ? stop_later(begin, length) : 0;
    double started = MPI_Wtime();
    call_once(operation, values, values + count, count, call);
    double took = MPI_Wtime() - started;
    CHECK(other == 0 || (waitpid(other, &state, 0) == other && state == 0), "nothing was stopped");
    return took;
}

/* The first rank stands for a rank that leads its node, the last for one that does not. */
static void freeze(double length, int points)
{
    static const char *const operations[] = {"allreduce", "bcast",          "reduce",
                                             "allgather", "reduce_scatter", "alltoall"};
    enum { ELEMENTS = 1 << 18, OPERATIONS = sizeof operations / sizeof operations[0] };
    int *values = malloc(2 * (size_t)ELEMENTS * sizeof *values), held = 0, victims[2];

    CHECK(values != NULL, "no memory");
    victims[0] = 0;
    victims[1] = size_of(MPI_COMM_WORLD) - 1;
    for (int i = 0; i < OPERATIONS; i++) {
        int count = i < 3 ? ELEMENTS : ELEMENTS / 8 * size_of(MPI_COMM_WORLD) / 4;
        frozen_call(operations[i], values, count, 0, 0, 0, 0);
        double usual = frozen_call(operations[i], values, count, 1, 0, 0, 0);
        CALL(MPI_Bcast(&usual, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        for (int point = 0; point < 2 * points; point++) {
            double begin = usual * (point / 2) / points;
            held += frozen_call(operations[i], values, count, 2 + point, victims[point % 2], begin,
                                length) > length / 2;
        }
    }
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("held %d of %d\n", held, 2 * points * (int)OPERATIONS);
    free(values);
}

/* Numbers of calls that messages carry come round again while they wait for the rank. */
static void asleep(int calls)
{
    if (rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1)
        sleep_ms(300);
    for (int call = 0; call < calls; call++)
        checked_bcast(MPI_COMM_WORLD, 16, 0, (uint64_t)call);
}

static void many(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, 1);
        CALL(MPI_Comm_free(&comm));
    }
}

static void alive(int count)
{
    MPI_Comm *comms = malloc((size_t)count * sizeof(MPI_Comm));

    CHECK(comms != NULL, "no memory");
    for (int i = 0; i < count; i++) {
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        use(comms[i], 1);
    }
    for (int i = 0; i < count; i++)
        use(comms[i], 1);
    /* Some are left to MPI_Finalize. */
    for (int i = 0; i < count; i += 2)
        CALL(MPI_Comm_free(&comms[i]));
    free(comms);
}

struct worker {
    MPI_Comm comm;
    int calls;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;

    use(worker->comm, worker->calls);
    return NULL;
}

static void threads(int calls)
{
    struct worker workers[2];
    pthread_t thread[2];

    for (int i = 0; i < 2; i++) {
        workers[i].calls = calls;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm));
        CHECK(pthread_create(&thread[i], NULL, work, &workers[i]) == 0, "no thread");
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        CALL(MPI_Comm_free(&workers[i].comm));
    }
}

static int number(char **argv, int i)
{
    CHECK(argv[i] != NULL, "usage: see the source");
    return atoi(argv[i]);
}

int main(int argc, char **argv)
{
    if (test_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE)
        return test_skip("this MPI has no MPI_THREAD_MULTIPLE");
    CHECK(argc > 2, "usage: see the source");
    if (strcmp(argv[1], "wire") == 0)
        wire(argv[2], (size_t)number(argv, 3), number(argv, 4));
    else if (strcmp(argv[1], "loop") == 0)
        loop(number(argv, 2));
    else if (strcmp(argv[1], "until") == 0)
        until(argv[2]);
    else if (strcmp(argv[1], "freeze") == 0)
        freeze(number(argv, 2) / 1000.0, number(argv, 3));
    else if (strcmp(argv[1], "asleep") == 0)
        asleep(number(argv, 2));
    else if (strcmp(argv[1], "many") == 0)
        many(number(argv, 2));
    else if (strcmp(argv[1], "alive") == 0)
        alive(number(argv, 2));
    else
        threads(number(argv, 2));
    return test_end();
}
