/* SPDX-License-Identifier: BSD-3-Clause */
/* What else goes on in a process that has communicators: a host that forgets late, small stacks,
 * children, a device runtime that comes late.
 *
 * usage: life CASE [LIBRARY] */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { BYTES = 1 << 20, ROUNDS = 20 };

static char out[BYTES], in[BYTES];

/* A communicator that is freed while a message is under way on it, which the host therefore keeps;
 * another one in its place. */
static MPI_Comm replace(MPI_Comm freed, MPI_Request requests[2])
{
    int rank = rank_of(freed), size = size_of(freed);
    MPI_Comm next;
    CALL(MPI_Barrier(freed));
    CALL(MPI_Irecv(in, BYTES, MPI_BYTE, (rank + size - 1) % size, 5, freed, &requests[0]));
    CALL(MPI_Isend(out, BYTES, MPI_BYTE, (rank + 1) % size, 5, freed, &requests[1]));
    CALL(MPI_Comm_free(&freed));
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &next));
    return next;
}

static void use(MPI_Comm comm, int round)
{
    CALL(MPI_Barrier(comm));
    checked_bcast(comm, 5000, round % size_of(comm), (uint64_t)round);
}

static void *complete(void *requests)
{
    for (int i = 0; i < 2; i++)
        CALL(MPI_Wait((MPI_Request *)requests + i, MPI_STATUS_IGNORE));
    return NULL;
}

static void freed_early(const char *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        MPI_Comm comm;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        comm = replace(comm, requests);
        use(comm, round);
        complete(requests);
        use(comm, round);
        CALL(MPI_Comm_free(&comm));
    }
}

/* One that is freed while a persistent request is on it; that every host keeps until then. */
static void freed_early_requests(const char *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int to = (rank_of(MPI_COMM_WORLD) + 1) % size_of(MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Comm comm, next;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, round);
        CALL(MPI_Send_init(out, BYTES, MPI_BYTE, to, 5, comm, &request));
        CALL(MPI_Comm_free(&comm));
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &next));
        use(next, round);
        CALL(MPI_Request_free(&request));
        use(next, round);
        CALL(MPI_Comm_free(&next));
    }
}

/* The host forgets it in another thread. */
static void freed_early_threads(const char *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        MPI_Comm comm;
        pthread_t thread;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        comm = replace(comm, requests);
        CHECK(pthread_create(&thread, NULL, complete, requests) == 0, "no thread");
        for (int i = 0; i < 50; i++)
            use(comm, i);
        CHECK(pthread_join(thread, NULL) == 0, "no join");
        use(comm, round);
        CALL(MPI_Comm_free(&comm));
    }
}

/* What served the last call is the host, where that can be asked. */
static void check_hosted(void)
{
    const char *(*last)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "sobor_last_algorithm");
    CHECK(last == NULL || strcmp(last(), "host") == 0, "the host did not serve the last call");
}

static int call_on(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    use(comm, 3);
    check_hosted();
    return MPI_SUCCESS;
}

/* A callback at the communicator's end makes calls on it, on some ranks before other attributes are
 * deleted, on some after. Then one rank has another communicator in its place. */
static void used_while_freed(const char *argument)
{
    int key, rank = rank_of(MPI_COMM_WORLD);
    (void)argument;
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_on, &key, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm, own, next;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if ((rank + round) % 2 == 0)
            CALL(MPI_Comm_set_attr(comm, key, NULL));
        use(comm, round);
        if ((rank + round) % 2 != 0)
            CALL(MPI_Comm_set_attr(comm, key, NULL));
        CALL(round % 4 < 2 ? MPI_Comm_free(&comm) : MPI_Comm_disconnect(&comm));
        if (rank == 0)
            CALL(MPI_Comm_dup(MPI_COMM_SELF, &own));
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &next));
        use(next, round);
        if (rank == 0)
            CALL(MPI_Comm_free(&own));
        CALL(MPI_Comm_free(&next));
    }
    CALL(MPI_Comm_free_keyval(&key));
}

static int refusing;

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    return refusing ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A callback refuses, on some ranks before other attributes are deleted, on some after: all go on
 * with the communicator as before. */
static void free_refused(const char *argument)
{
    int key, rank = rank_of(MPI_COMM_WORLD);
    (void)argument;
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* some raise it there */
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm, same;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        if ((rank + round) % 2 == 0)
            CALL(MPI_Comm_set_attr(comm, key, NULL));
        use(comm, round);
        if ((rank + round) % 2 != 0)
            CALL(MPI_Comm_set_attr(comm, key, NULL));
        refusing = 1;
        same = comm;
        CHECK(MPI_Comm_free(&same) != MPI_SUCCESS, "round %d: freed all the same", round);
        use(comm, round);
        refusing = 0;
        CALL(MPI_Comm_free(&comm));
    }
    CALL(MPI_Comm_free_keyval(&key));
}

static jmp_buf before_free;

static void leave(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(before_free, 1);
}

/* Whether the program's handler has left MPI_Comm_free. */
static bool is_left(MPI_Comm comm)
{
    if (setjmp(before_free) != 0)
        return true;
    MPI_Comm_free(&comm);
    return false;
}

/* What was on the stack is no more, as in any program that goes on. */
static void use_stack(void)
{
    volatile char bytes[20000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 0x55;
}

/* A callback refuses, and the error's handler does not come back: the communicator lives on. */
static void free_left(const char *argument)
{
    int key, rank = rank_of(MPI_COMM_WORLD);
    MPI_Errhandler handler;
    (void)argument;
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
    CALL(MPI_Comm_create_errhandler(leave, &handler));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)); /* some raise it there */
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm, own, next;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CALL(MPI_Comm_set_attr(comm, key, NULL));
        CALL(MPI_Comm_set_errhandler(comm, handler));
        if (round % 2 == 0)
            use(comm, round);
        refusing = 1;
        CHECK(is_left(MPI_COMM_NULL) && is_left(comm), "round %d: freed all the same", round);
        use_stack();
        use(comm, round);
        check_hosted();
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &next));
        use(next, round);
        refusing = 0;
        CALL(MPI_Comm_free(&comm));
        CALL(MPI_Comm_free(&next));
        if (rank == 0)
            CALL(MPI_Comm_dup(MPI_COMM_SELF, &own));
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &next));
        use(next, round);
        CALL(MPI_Comm_free(&next));
        if (rank == 0)
            CALL(MPI_Comm_free(&own));
    }
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CALL(MPI_Errhandler_free(&handler));
    CALL(MPI_Comm_free_keyval(&key));
}

static int copied(MPI_Comm comm, int key, void *extra, void *from, void *to, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)from, (void)to, (void)flag;
    CHECK(0, "nobody has asked for a duplicate");
    return MPI_ERR_OTHER;
}

static int deletions;

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    CHECK(deletions++ == 0, "a value is deleted once");
    free(value);
    return MPI_SUCCESS;
}

/* What the program has attached to MPI_COMM_SELF is copied only by its own MPI_Comm_dup. */
static void attached_to_self(const char *argument)
{
    MPI_Datatype gaps;
    int key, data[3] = {1, 2, 3};
    (void)argument;
    CALL(MPI_Comm_create_keyval(copied, deleted, &key, NULL));
    CALL(MPI_Comm_set_attr(MPI_COMM_SELF, key, malloc(8)));
    use(MPI_COMM_WORLD, 1);
    CALL(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    CALL(MPI_Type_commit(&gaps));
    CALL(MPI_Bcast(data, 1, gaps, 0, MPI_COMM_WORLD));
    CALL(MPI_Type_free(&gaps));
}

/* ---- calls that one rank makes in a callback, the others in their program ---- */

__attribute__((optimize("optimize-sibling-calls"))) static int
end_with_barrier(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_Barrier(MPI_COMM_WORLD);
}

/* The callback's end is a call: where it is compiled as a jump, that returns into the host. */
static void jumps(const char *argument)
{
    int key;
    (void)argument;
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_with_barrier, &key, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        if (rank_of(MPI_COMM_WORLD) == 0) {
            CALL(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
            CALL(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
        } else {
            CALL(MPI_Barrier(MPI_COMM_WORLD));
        }
        use(MPI_COMM_WORLD, round);
    }
    CALL(MPI_Comm_free_keyval(&key));
}

/* MPI defines no maximum of characters, but hosts have one, as they are asked. */
static int call_last(MPI_Comm comm, int key, void *value, void *extra)
{
    char mine = (char)rank_of(MPI_COMM_WORLD), most = -1;
    (void)comm, (void)key, (void)value, (void)extra;
    use(MPI_COMM_WORLD, 1);
    CALL(MPI_Allreduce(&mine, &most, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD));
    CHECK(most == size_of(MPI_COMM_WORLD) - 1, "%d is the most", most);
    return MPI_SUCCESS;
}

/* MPI_Finalize has begun at rank 0 when it makes the last calls. */
static void called_last(const char *argument)
{
    int key;
    (void)argument;
    use(MPI_COMM_WORLD, 0);
    if (rank_of(MPI_COMM_WORLD) != 0) {
        call_last(MPI_COMM_NULL, 0, NULL, NULL);
        return;
    }
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_last, &key, NULL));
    CALL(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
}

/* ---- a small stack ---- */

/* What is left of it must be enough for the host's own functions. */
#define STACK_BYTES ((size_t)36 << 10)

static ucontext_t outside, inside;

static void add_pairs(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 4 * *count; i += 2) /* of four, the first and the third */
        ((int *)to)[i] += ((int *)from)[i];
}

static MPI_Datatype gapped;
static MPI_Op op;

static void call_all(void)
{
    enum { COUNT = 5000 };
    static struct {
        int a, gap, b, end;
    } from[COUNT], to[COUNT];
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        from[i].a = from[i].b = i + rank;
    CALL(MPI_Bcast(out, 5000, MPI_BYTE, 0, MPI_COMM_WORLD));
    CALL(MPI_Allreduce(from, to, COUNT, gapped, op, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; i++)
        CHECK(to[i].b == size * i + size * (size - 1) / 2, "element %d: %d", i, to[i].b);
    CALL(MPI_Bcast(from, COUNT, gapped, size - 1, MPI_COMM_WORLD));
    CHECK(from[9].a == 9 + size - 1, "received %d", from[9].a);
    CALL(MPI_Allgather(from, 3, gapped, to, 3, gapped, MPI_COMM_WORLD));
}

/* All sets itself up on the usual stack, then runs on one of a user-level thread's. */
static void small_stack(const char *argument)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    MPI_Datatype pair;
    (void)argument;
    CALL(MPI_Type_vector(2, 1, 2, MPI_INT, &pair));
    CALL(MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &gapped));
    CALL(MPI_Type_commit(&gapped));
    CALL(MPI_Type_free(&pair));
    CALL(MPI_Op_create(add_pairs, 1, &op));
    call_all();
    char *stack = mmap(NULL, STACK_BYTES + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED && mprotect(stack + page, STACK_BYTES, PROT_READ | PROT_WRITE) == 0,
          "no stack");
    getcontext(&inside);
    inside.uc_stack = (stack_t){.ss_sp = stack + page, .ss_size = STACK_BYTES};
    inside.uc_link = &outside;
    makecontext(&inside, call_all, 0);
    CHECK(swapcontext(&outside, &inside) == 0, "no context");
    CALL(MPI_Type_free(&gapped));
    CALL(MPI_Op_free(&op));
}

/* ---- children and devices ---- */

/* A child that ends as any process does must leave what is its parent's alone. */
static void child_exits(const char *argument)
{
    int status = -1;
    (void)argument;
    use(MPI_COMM_WORLD, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child: %d", status);
    use(MPI_COMM_WORLD, 2);
}

/* A device runtime that is loaded when a communicator has its team: asked about every buffer. */
static void late_device(const char *library)
{
    static double contributions[600], sums[600];
    for (int i = 0; i < 600; i++)
        contributions[i] = i;
    use(MPI_COMM_WORLD, 1);
    void *runtime = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(runtime != NULL, "%s", dlerror());
    const int *asked = dlsym(runtime, "asked");
    void (*own)(const void *, size_t) = (void (*)(const void *, size_t))dlsym(runtime, "own");
    if (rank_of(MPI_COMM_WORLD) == 0) {
        own(out, sizeof out);
        own(contributions, sizeof contributions);
    }
    int before = *asked, steps = 0, size = size_of(MPI_COMM_WORLD);
    CALL(MPI_Bcast(out, BYTES / 2, MPI_BYTE, 0, MPI_COMM_WORLD));
    CHECK(*asked > before, "not asked in step %d", steps++);
    before = *asked;
    CALL(MPI_Allreduce(contributions, sums, 600, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(*asked > before, "not asked in step %d", steps++);
    CHECK(sums[599] == 599.0 * size, "sum %g", sums[599]);
    before = *asked;
    CALL(MPI_Allgather(out, 100, MPI_BYTE, in, 100, MPI_BYTE, MPI_COMM_WORLD));
    CHECK(*asked > before, "not asked in step %d", steps++);
    CHECK(memcmp(in, out, 100) == 0, "other bytes");
}

static const struct {
    const char *name;
    void (*run)(const char *argument);
    int threads;
} CASES[] = {
    {"freed-early", freed_early, MPI_THREAD_SINGLE},
    {"freed-early-requests", freed_early_requests, MPI_THREAD_SINGLE},
    {"freed-early-threads", freed_early_threads, MPI_THREAD_MULTIPLE},
    {"used-while-freed", used_while_freed, MPI_THREAD_SINGLE},
    {"free-refused", free_refused, MPI_THREAD_SINGLE},
    {"free-left", free_left, MPI_THREAD_SINGLE},
    {"attached-to-self", attached_to_self, MPI_THREAD_SINGLE},
    {"jumps", jumps, MPI_THREAD_SINGLE},
    {"called-last", called_last, MPI_THREAD_SINGLE},
    {"small-stack", small_stack, MPI_THREAD_SINGLE},
    {"child-exits", child_exits, MPI_THREAD_SINGLE},
    {"late-device", late_device, MPI_THREAD_SINGLE},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        if (strcmp(name, CASES[i].name) != 0)
            continue;
        if (test_begin_threads(&argc, &argv, CASES[i].threads) < CASES[i].threads)
            return test_skip("no threads");
        CASES[i].run(argc > 2 ? argv[2] : NULL);
        return test_end();
    }
    fprintf(stderr, "FAIL: usage: life CASE [LIBRARY]\n");
    return 1;
}
