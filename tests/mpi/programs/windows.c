/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 uses a window of rank 0, which waits in a barrier meanwhile: with a window it has to be
 * awake. Sleeps are counted where they are asked of the kernel.
 *
 * usage: windows EXPECTED [threads]
 *   any      nothing is known of sleeps: the host waits
 *   counted  rank 0 sleeps as long as it has no window, and not with one
 *   always   it sleeps in any case */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef OPEN_MPI
static const bool shared_asks = false; /* its windows of shared memory are used without rank 0 */
#else
static const bool shared_asks = true;
#endif

/* Who gives its processor away while it waits sleeps after 2 ms, and reads the clock after each 64
 * times. On a busy machine a time alone says little. */
enum { REQUESTS = 100, YIELDS = 200, WAIT_MS = 40, PATIENCE_S = 20, THREADS = 2, WINDOWS = 50 };

#define TOO_LARGE ((MPI_Aint)1 << 60)

typedef int create_large(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *);
typedef int allocate_large(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
typedef long syscall_t(long number, long a, long b, long c, long d, long e, long f);

/* Of rank 0, in memory of all ranks. */
static struct seen {
    atomic_int sleeps, yields;
} * seen;
static bool is_counted;
static const char *expected;
static MPI_Win window;
static long own, *memory;
static MPI_Aint place; /* of rank 0's memory in the window */

/* In place of the C library's: counts. */
long syscall(long number, ...)
{
    syscall_t *usual = NULL;
    long argument[6];
    va_list list;
    *(void **)&usual = dlsym(RTLD_NEXT, "syscall");
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (is_counted && number == SYS_futex && (int)argument[1] == FUTEX_WAIT)
        atomic_fetch_add(&seen->sleeps, 1);
    if (is_counted && number == SYS_sched_yield)
        atomic_fetch_add(&seen->yields, 1);
    return usual(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                 argument[5]);
}

static void use_window(void)
{
    long one = 1, found;
    CALL(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
    for (int i = 0; i < REQUESTS; i++) {
        CALL(MPI_Fetch_and_op(&one, &found, MPI_LONG, 0, place, MPI_SUM, window));
        CALL(MPI_Win_flush(0, window));
        CHECK(found == i, "request %d found %ld", i, found);
    }
    CALL(MPI_Win_unlock(0, window));
}

static void rest(void)
{
}

static void share_counts(void)
{
    char name[32];
    int owner = (int)getpid();
    CALL(MPI_Bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(name, sizeof name, "windows.%d", owner);
    int file = open(name, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof *seen) == 0, "cannot make %s", name);
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(seen != MAP_FAILED, "cannot map %s", name);
    close(file);
    is_counted = rank_of(MPI_COMM_WORLD) == 0;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (is_counted)
        unlink(name);
}

/* Until rank 0 has slept, or, where it is to stay awake, has waited for so long that it would have.
 */
static void outwait(bool awake)
{
    double began = now();
    int slept = atomic_load(&seen->sleeps), yields = atomic_load(&seen->yields);
    bool over = strcmp(expected, "any") == 0;
    while (!over && atomic_load(&seen->sleeps) == slept && now() - began < PATIENCE_S) {
        sleep_ms(1);
        over = awake && now() - began > WAIT_MS / 1e3 &&
               (yields == 0 || atomic_load(&seen->yields) - yields >= YIELDS);
    }
}

/* How often rank 0 sleeps while it waits for rank 1, which all learn. */
static int sleeps_during(void (*meanwhile)(void), bool awake)
{
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    int slept = atomic_load(&seen->sleeps);
    if (rank_of(MPI_COMM_WORLD) == 1) {
        meanwhile();
        outwait(awake);
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    slept = atomic_load(&seen->sleeps) - slept;
    CALL(MPI_Bcast(&slept, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return slept;
}

static void expect_asleep(const char *when)
{
    int slept = sleeps_during(rest, false);
    CHECK(slept > 0 || strcmp(expected, "any") == 0, "%s: not asleep", when);
}

static void expect_with_window(const char *what, void (*meanwhile)(void), bool asked)
{
    bool awake = strcmp(expected, "counted") == 0 && asked;
    int slept = sleeps_during(meanwhile, awake);
    CHECK(slept == 0 || !awake, "%s: %d sleeps", what, slept);
    CHECK(slept > 0 || awake || strcmp(expected, "any") == 0, "%s: not asleep", what);
}

/* `asked`: rank 0 has to do something for who uses the window. */
static void use_and_free(const char *what, bool asked)
{
    if (rank_of(MPI_COMM_WORLD) == 0) {
        CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        *memory = 0;
        CALL(MPI_Win_unlock(0, window));
    }
    expect_with_window(what, use_window, asked);
    CALL(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL, "%s: not freed", what);
    expect_asleep(what);
}

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void windows_of_all_kinds(void)
{
    const MPI_Aint bytes = sizeof own;
    const MPI_Comm world = MPI_COMM_WORLD;
    memory = &own;
    CALL(MPI_Win_create(&own, bytes, (int)bytes, MPI_INFO_NULL, world, &window));
    use_and_free("create", true);
    CALL(MPI_Win_allocate(bytes, (int)bytes, MPI_INFO_NULL, world, &memory, &window));
    use_and_free("allocate", true);
    CALL(MPI_Win_allocate_shared(bytes, (int)bytes, MPI_INFO_NULL, world, &memory, &window));
    use_and_free("allocate_shared", shared_asks);
    memory = &own;
    CALL(MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window));
    CALL(MPI_Win_attach(window, &own, bytes));
    CALL(MPI_Get_address(&own, &place));
    CALL(MPI_Bcast(&place, 1, MPI_AINT, 0, world));
    use_and_free("create_dynamic", true);
    place = 0;
}

/* Where the host has no such function; MPICH's has an assertion there. */
static void expect_too_large(create_large *create)
{
    int class = MPI_SUCCESS;
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int error = create(&own, sizeof own, (MPI_Aint)INT_MAX + 1, MPI_INFO_NULL, comm, &window);
    CALL(MPI_Error_class(error, &class));
    CHECK(class == MPI_ERR_COUNT, "class %d", class);
    CALL(MPI_Comm_free(&comm));
}

static void windows_of_large_units(void)
{
    const MPI_Aint bytes = sizeof own;
    create_large *create = NULL;
    allocate_large *allocate = NULL, *allocate_shared = NULL;
    *(void **)&create = find("MPI_Win_create_c");
    *(void **)&allocate = find("MPI_Win_allocate_c");
    *(void **)&allocate_shared = find("MPI_Win_allocate_shared_c");
    if (create == NULL)
        return;
    memory = &own;
    CALL(create(&own, bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    use_and_free("create_c", true);
    CALL(allocate(bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    use_and_free("allocate_c", true);
    CALL(allocate_shared(bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    use_and_free("allocate_shared_c", shared_asks);
    if (MPI_VERSION < 4)
        expect_too_large(create);
}

/* On a communicator on which Sobor serves nothing: it is a window all the same. */
static void window_of_others(void)
{
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, comm, &window));
    expect_with_window("others", rest, true);
    CALL(MPI_Win_free(&window));
    expect_asleep("others");
    CALL(MPI_Comm_free(&comm));
}

/* Not all hosts make one. */
static void window_of_one(void)
{
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int error = MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, comm, &window);
    expect_asleep("of one");
    if (error == MPI_SUCCESS)
        CALL(MPI_Win_free(&window));
    CALL(MPI_Comm_free(&comm));
}

/* Open MPI 5 and MPICH wait for ever then. */
static void too_large_a_window(MPI_Comm comm)
{
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
    memset(&window, 0x5a, sizeof window);
    int error = MPI_Win_allocate(TOO_LARGE, 1, MPI_INFO_NULL, comm, &memory, &window);
    CHECK(error != MPI_SUCCESS, "a window of more than there is");
    printf("left=%s\n", window == MPI_WIN_NULL ? "null" : "as it was");
    expect_asleep("too large a window");
#endif
    (void)comm;
}

/* What was there before is not taken for one either. */
static void no_window(void)
{
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    window = MPI_WIN_NULL;
    int error = MPI_Win_create(&own, -1, 1, MPI_INFO_NULL, comm, &window);
    CHECK(error != MPI_SUCCESS, "a window of less than nothing");
    CHECK(window == MPI_WIN_NULL, "the error made a window");
    expect_asleep("no window");
    too_large_a_window(comm);
    CALL(MPI_Comm_free(&comm));
}

static int free_with(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    return MPI_Win_free(attribute);
}

/* As libraries do that keep one for each communicator. */
static void window_of_an_attribute(void)
{
    MPI_Comm comm;
    int key;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, comm, &window));
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_with, &key, NULL));
    CALL(MPI_Comm_set_attr(comm, key, &window));
    expect_with_window("attribute", rest, true);
    CALL(MPI_Comm_free(&comm));
    CHECK(window == MPI_WIN_NULL, "the attribute's window lives");
    CALL(MPI_Comm_free_keyval(&key));
    expect_asleep("attribute");
}

static void *make_and_free(void *comm)
{
    for (int i = 0; i < WINDOWS; i++) {
        long word;
        MPI_Win mine;
        CALL(MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, *(MPI_Comm *)comm, &mine));
        CALL(MPI_Win_free(&mine));
    }
    return NULL;
}

static void windows_of_threads(void)
{
    pthread_t thread[THREADS];
    MPI_Comm comm[THREADS];
    for (int i = 0; i < THREADS; i++)
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, make_and_free, &comm[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        CALL(MPI_Comm_free(&comm[i]));
    expect_asleep("threads");
}

int main(int argc, char **argv)
{
    bool threads = argc > 2 && strcmp(argv[2], "threads") == 0;
    if (threads && test_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE)
        return test_skip("no MPI_THREAD_MULTIPLE");
    if (!threads)
        test_begin(&argc, &argv);
    CHECK(argc > 1, "usage: windows EXPECTED [threads]");
    expected = argv[1];
    share_counts();
    expect_asleep("at first");
    if (threads) {
        windows_of_threads();
        return test_end();
    }
    windows_of_all_kinds();
    windows_of_large_units();
    window_of_others();
    window_of_one();
    no_window();
    window_of_an_attribute();
    return test_end();
}
