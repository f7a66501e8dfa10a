/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of those who run with Sobor, with a made-up daemon that takes its time. */
#include "testing.h"

#include "../long_form.h"

#include "segment/roster.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_AFTER_US 20000
#define SIGNAL_EVERY_US 1000

/* The C library's function, in a time in which the daemon answers no more within any limit. */
static _Atomic bool slow;
static bool slow_after_init;

int poll(struct pollfd *files, nfds_t count, int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    return slow && ms >= 0 ? 0 : ppoll(files, count, ms < 0 ? NULL : &time, NULL);
}

/* Answers as Hydra does, line by line, and keeps one value. */
static void *serve(void *end)
{
    int fd = *(int *)end;
    FILE *lines = fdopen(fd, "r");
    char line[1024], value[256] = "";

    while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
        const char *given = strstr(line, " value=");
        char answer[512] = "cmd=response rc=0\n";
        if (given != NULL)
            sscanf(given, " value=%255s", value);
        if (strstr(line, "get_my_kvsname") != NULL)
            snprintf(answer, sizeof answer, "cmd=my_kvsname kvsname=space\n");
        else if (strstr(line, "cmd=get ") != NULL)
            snprintf(answer, sizeof answer, "cmd=get_result rc=0 value=%s\n", value);
        usleep(ANSWER_AFTER_US);
        slow = slow_after_init && strstr(line, "cmd=init") == NULL;
        if (write(fd, answer, strlen(answer)) != (ssize_t)strlen(answer))
            break;
    }
    if (lines != NULL)
        fclose(lines);
    return NULL;
}

static void do_nothing(int number)
{
    (void)number;
}

static void set_timer(long every_us)
{
    struct itimerval time = {{0, every_us}, {0, every_us}};

    assert_return_code(setitimer(ITIMER_REAL, &time, NULL), 0);
}

/* Signals come to the thread that asks, as to a program without others. */
static void start_daemon(pthread_t *daemon, int *end)
{
    sigset_t alarms;

    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    assert_int_equal(pthread_create(daemon, NULL, serve, end), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
}

/* The socket that a process manager would have left, and signals all the time. */
static void set_up(int ends[2])
{
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    char number[16];

    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(number, sizeof number, "%d", ends[0]);
    setenv("PMI_FD", number, 1);
    setenv("MPI_LOCALRANKID", "0", 1);
    unsetenv("PMI_SPAWNED");
    unsetenv("HYDRA_BSTRAP_LOCALHOST");
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGALRM, &action, NULL);
}

/* While signals come. */
static sb_signature_t sign_and_read(const sb_signature_t *signature)
{
    set_timer(SIGNAL_EVERY_US);
    sb_roster_sign(&sb_roster_pmi, 3, signature);
    sb_signature_t seen = sb_roster_read(3);
    sb_roster_close();
    set_timer(0);
    return seen;
}

/* A daemon that has answered once is waited for: its answer would be the host's next one. */
static void a_slow_daemon_is_waited_for(void **state)
{
    sb_signature_t signature = {.build = 0xabc};
    pthread_t daemon;
    int ends[2];

    (void)state;
    slow_after_init = true;
    set_up(ends);
    start_daemon(&daemon, &ends[1]);
    sb_signature_t seen = sign_and_read(&signature);
    close(ends[0]);
    pthread_join(daemon, NULL);
    slow_after_init = false;
    slow = false;
    assert_int_equal(seen.build, signature.build);
}

static void signals_leave_no_answer_behind(void **state)
{
    sb_signature_t signature = {.build = 0xabc, .serve_after = 7, .traces = 1};
    pthread_t daemon;
    int ends[2];

    (void)state;
    set_up(ends);
    start_daemon(&daemon, &ends[1]);
    sb_signature_t seen = sign_and_read(&signature);
    close(ends[0]);
    pthread_join(daemon, NULL);
    assert_int_equal(seen.build, signature.build);
    assert_int_equal(seen.serve_after, signature.serve_after);
    assert_int_equal(seen.traces, signature.traces);
}

/* It takes seconds, so in the long form alone. */
static void signals_do_not_make_a_wait_endless(void **state)
{
    sb_signature_t signature = {.build = 0xabc};
    int ends[2];

    (void)state;
    if (!is_long_form())
        skip();
    set_up(ends);
    sb_signature_t seen = sign_and_read(&signature);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(seen.build, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_do_not_make_a_wait_endless),
        cmocka_unit_test(signals_leave_no_answer_behind),
        cmocka_unit_test(a_slow_daemon_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
