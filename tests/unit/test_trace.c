/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a trace when signals come while it is written, and when its name is another's. Each
 * case is a child, which a signal ends; what is to happen in the middle of the writing is done by
 * the function that tells the counts.
 */
#include "testing.h"

#include "trace/trace.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void act_t(void);

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static char folder[] = "/tmp/sobor-trace-XXXXXX";
static act_t *meanwhile;

static const char *counted(uint64_t index, uint64_t *calls)
{
    act_t *act = meanwhile;

    *calls = 1;
    meanwhile = NULL;
    if (act != NULL)
        act();
    return index == 0 ? "counted" : NULL;
}

static void begin(void)
{
    setenv("SOBOR_TRACE", folder, 1);
    setenv("SOBOR_TRACE_BUFFER", "4KiB", 1);
    if (!sb_trace_begin(0, 1))
        _exit(2);
    sb_trace_self.counted = counted;
    /* The test's own handlers take them for failures. */
    for (size_t i = 0; i < SB_COUNT_OF(crashes); i++)
        signal(crashes[i], SIG_DFL);
    sb_trace_watch_signals();
}

static void terminate(void)
{
    raise(SIGTERM);
}

/* A stack for signals, behind memory that cannot be written to. */
static char *stack_for_signals(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = sb_round_up(bytes, page);
    char *memory = mmap(NULL, page + whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + page, whole, PROT_READ | PROT_WRITE) != 0 ||
        sigaltstack(&(stack_t){.ss_sp = memory + page, .ss_size = bytes}, NULL) != 0)
        _exit(3);
    return memory + page;
}

static char *volatile handler_is_at;

static void note_stack(int number)
{
    (void)number;
    handler_is_at = __builtin_frame_address(0);
}

/* On a stack that has, beside what the kernel puts there, a page: who goes beyond is ended by
 * another signal. */
static void terminate_on_small_stack(void)
{
    enum { MUCH = 256 << 10, LITTLE = 4096 };
    char *top = stack_for_signals(MUCH) + MUCH;

    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = note_stack, .sa_flags = SA_ONSTACK}, NULL);
    raise(SIGUSR2);
    stack_for_signals((size_t)(top - handler_is_at) + LITTLE);
    raise(SIGTERM);
}

static void hang_up(void)
{
    raise(SIGHUP);
    raise(SIGTERM);
}

static void unblock(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
}

static void *terminate_here(void *unused)
{
    unblock();
    raise(SIGTERM);
    return unused;
}

/* By another thread, which then ends; this one has all signals blocked. */
static void terminate_beside(void)
{
    sigset_t all;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (pthread_create(&thread, NULL, terminate_here, NULL) == 0)
        pthread_join(thread, NULL);
}

/* Neither writes nor waits. */
static void fork_and_terminate(void)
{
    int how = 0;
    pid_t child = fork();

    if (child == 0) {
        unblock();
        raise(SIGTERM);
        _exit(1);
    }
    if (waitpid(child, &how, 0) != child || !WIFSIGNALED(how) || WTERMSIG(how) != SIGTERM)
        _exit(3);
}

static void finalize(void)
{
    sb_trace_finish(SB_TRACE_FINALIZED);
}

static void interrupt(void)
{
    raise(SIGINT);
}

static void segment(void)
{
    raise(SIGSEGV);
}

/* As a program does that has lost its way. */
static void crash(void)
{
    volatile int *forbidden = mmap(NULL, SB_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *forbidden = 1;
}

static void leave(void)
{
    sb_trace_finish(SB_TRACE_EXITED);
    _exit(0);
}

/* What another thread does that does not come back from it. */
static act_t *last;
static sem_t began;

static void *end_here(void *unused)
{
    unblock();
    sem_post(&began);
    last();
    return unused;
}

static void beside(act_t *act)
{
    pthread_t thread;

    last = act;
    sem_init(&began, 0, 0);
    if (pthread_create(&thread, NULL, end_here, NULL) != 0)
        _exit(3);
    while (sem_wait(&began) != 0)
        ;
    usleep(100000); /* enough to end the process, where nothing holds that */
}

static void abort_beside(void)
{
    beside(abort);
}

static void crash_beside(void)
{
    beside(crash);
}

static void leave_beside(void)
{
    beside(leave);
}

static void show(int number)
{
    (void)number;
    _exit(5);
}

/* What the host does in its initialisation, between ours before and after it. */
static void handle(int number)
{
    signal(number, SIG_DFL);
    sb_trace_note_signals();
    signal(number, show);
    sb_trace_watch_signals();
}

static void abort_shown_by_host(void)
{
    handle(SIGABRT);
    abort();
}

static void crash_shown_by_host(void)
{
    handle(SIGSEGV);
    crash();
}

/* Runs a case in a child; returns how that ended and leaves its number. */
static int run(act_t *end, act_t *in_the_middle, pid_t *child)
{
    int how = 0;

    *child = fork();
    if (*child == 0) {
        meanwhile = NULL;
        begin();
        meanwhile = in_the_middle;
        end();
        _exit(0);
    }
    assert_int_equal(waitpid(*child, &how, 0), *child);
    return how;
}

static void name(char path[512], pid_t pid, const char *format)
{
    char host[64] = "", middle[128];

    gethostname(host, sizeof host - 1);
    snprintf(middle, sizeof middle, format, host, (int)pid);
    snprintf(path, 512, "%s/%s", folder, middle);
}

/* Whole, and with this end. */
static void check_file(pid_t pid, const char *format, uint32_t end)
{
    char path[512];
    sb_trace_header_t header;

    name(path, pid, format);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("there is no %s", path);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    fclose(file);
    assert_memory_equal(header.magic, SB_TRACE_MAGIC, sizeof header.magic);
    assert_int_equal(header.end, end);
    assert_int_equal(header.counts, 1);
    unlink(path);
    name(path, pid, ".%s-%d.trace.part");
    assert_int_not_equal(access(path, F_OK), 0);
}

static void expect(act_t *end, act_t *in_the_middle, int signal, uint32_t ended)
{
    pid_t child;
    int how = run(end, in_the_middle, &child);

    assert_int_equal(signal, WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    assert_true(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
    check_file(child, "%s-%d.trace", ended);
}

static void test_ends(void **state)
{
    (void)state;
    expect(finalize, NULL, 0, SB_TRACE_FINALIZED);
    expect(interrupt, NULL, SIGINT, SB_TRACE_SIGNAL + SIGINT);
}

/* The launcher ends a rank that is in MPI_Finalize. */
static void test_signal_while_finalizing(void **state)
{
    (void)state;
    expect(finalize, terminate, SIGTERM, SB_TRACE_FINALIZED);
    expect(finalize, hang_up, SIGHUP, SB_TRACE_FINALIZED);
}

/* A handler may have a stack of a few KiB. */
static void test_small_stack(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    LEAVE_OUT("functions take several times as much with the address sanitizer");
#endif
    expect(terminate_on_small_stack, NULL, SIGTERM, SB_TRACE_SIGNAL + SIGTERM);
}

static void test_signal_after_signal(void **state)
{
    (void)state;
    expect(interrupt, terminate, SIGINT, SB_TRACE_SIGNAL + SIGINT);
    expect(interrupt, hang_up, SIGINT, SB_TRACE_SIGNAL + SIGINT);
}

static void test_signal_of_another_thread(void **state)
{
    (void)state;
    expect(finalize, terminate_beside, SIGTERM, SB_TRACE_FINALIZED);
    expect(interrupt, terminate_beside, SIGINT, SB_TRACE_SIGNAL + SIGINT);
}

/* By the kernel, by the process itself and by another thread. */
static void test_crashes(void **state)
{
    (void)state;
    expect(crash, NULL, SIGSEGV, SB_TRACE_SIGNAL + SIGSEGV);
    expect(segment, NULL, SIGSEGV, SB_TRACE_SIGNAL + SIGSEGV);
    expect(abort, NULL, SIGABRT, SB_TRACE_SIGNAL + SIGABRT);
}

/* Which would end the process at once. */
static void test_end_of_another_thread(void **state)
{
    pid_t child;

    (void)state;
    expect(finalize, abort_beside, SIGABRT, SB_TRACE_FINALIZED);
    /* Both end it then, and either may be the first. */
    int how = run(interrupt, abort_beside, &child);
    assert_true(WIFSIGNALED(how) && (WTERMSIG(how) == SIGINT || WTERMSIG(how) == SIGABRT));
    check_file(child, "%s-%d.trace", SB_TRACE_SIGNAL + SIGINT);
    expect(finalize, crash_beside, SIGSEGV, SB_TRACE_FINALIZED);
    expect(finalize, leave_beside, 0, SB_TRACE_FINALIZED);
}

/* Open MPI shows where a crash was: after the file is written. */
static void test_host_that_shows(void **state)
{
    pid_t child;

    (void)state;
    for (int i = 0; i < 2; i++) {
        int how = run(i == 0 ? abort_shown_by_host : crash_shown_by_host, NULL, &child);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 5);
        check_file(child, "%s-%d.trace", SB_TRACE_SIGNAL + (i == 0 ? SIGABRT : SIGSEGV));
    }
}

static void test_child_of_who_writes(void **state)
{
    (void)state;
    expect(finalize, fork_and_terminate, 0, SB_TRACE_FINALIZED);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_another(void)
{
    char path[512];

    name(path, getpid(), "%s-%d.trace");
    write_text(path, "another");
    name(path, getpid(), ".%s-%d.1.trace.part");
    write_text(path, "another");
    finalize();
}

/* Another with the same host's name and number has written, and one is about to. */
static void test_name_of_another(void **state)
{
    char path[512], text[16] = "";
    pid_t child;

    (void)state;
    assert_int_equal(run(put_another, NULL, &child), 0);
    check_file(child, "%s-%d.2.trace", SB_TRACE_FINALIZED);
    name(path, child, "%s-%d.trace");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "another");
    unlink(path);
    name(path, child, ".%s-%d.1.trace.part");
    assert_int_equal(unlink(path), 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

/* Nothing is left in it. */
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_signal_while_finalizing),
        cmocka_unit_test(test_small_stack),
        cmocka_unit_test(test_signal_after_signal),
        cmocka_unit_test(test_signal_of_another_thread),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_end_of_another_thread),
        cmocka_unit_test(test_host_that_shows),
        cmocka_unit_test(test_child_of_who_writes),
        cmocka_unit_test(test_name_of_another),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
