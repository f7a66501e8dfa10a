/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of those who run with Sobor, with a made-up daemon that takes its time. */
#include "testing.h"

#include "../long_form.h"

#include "segment/board.h"
#include "segment/roster.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_AFTER_US 20000
#define SIGNAL_EVERY_US 1000

/* The C library's function, in a time in which the daemon answers no more within any limit. */
static _Atomic bool slow;
static bool slow_after_init;
static _Atomic unsigned looks;

int poll(struct pollfd *files, nfds_t count, int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    looks++;
    return slow && ms >= 0 ? 0 : ppoll(files, count, ms < 0 ? NULL : &time, NULL);
}

/* What follows an answer at once. */
static const char *behind = "";

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
            snprintf(answer, sizeof answer, "cmd=get_result rc=0 value=%s\n%s", value, behind);
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

/* An answer is had at once, not byte by byte, and what the host will read stays where it is. */
static void answers_are_taken_whole_and_no_more(void **state)
{
    sb_signature_t signature = {.build = 0xabc, .serve_after = 7};
    const char next[] = "cmd=next\n";
    char left[64] = "";
    pthread_t daemon;
    int ends[2];

    (void)state;
    behind = next;
    set_up(ends);
    start_daemon(&daemon, &ends[1]);
    looks = 0;
    sb_roster_sign(&sb_roster_pmi, 3, &signature);
    sb_signature_t seen = sb_roster_read(3);
    sb_roster_close();
    assert_int_equal(recv(ends[0], left, sizeof left, MSG_DONTWAIT), strlen(next));
    close(ends[0]);
    pthread_join(daemon, NULL);
    behind = "";
    assert_string_equal(left, next);
    assert_int_equal(seen.build, signature.build);
    assert_int_equal(seen.serve_after, signature.serve_after);
    assert_in_range(looks, 4, 8); /* four answers, each in a piece or two */
}

/* It takes seconds, so in the long form alone. */
static void signals_do_not_make_a_wait_endless(void **state)
{
    sb_signature_t signature = {.build = 0xabc};
    int ends[2];

    (void)state;
    if (!is_long_form())
        LEAVE_OUT("only with SOBOR_TEST_LONG=1");
    set_up(ends);
    sb_signature_t seen = sign_and_read(&signature);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(seen.build, 0);
}

/* --- a job of several nodes ---------------------------------------------------------------- */

#define RANKS 12
#define NODES 2
#define HERE (RANKS / NODES)

/* What the launcher keeps, and how often it was asked on each node. */
typedef struct space {
    char text[RANKS][SB_ROSTER_TEXT];
    _Atomic unsigned questions[NODES];
    _Atomic unsigned ready;
    sb_roster_verdict_t verdict[RANKS];
} space_t;

static space_t *space;
static uint32_t self; /* this process's rank; they are dealt round the nodes */

static bool keep(uint32_t rank, const char *text)
{
    strcpy(space->text[rank], text);
    return true;
}

static bool look_up(uint32_t rank, char *text)
{
    space->questions[self % NODES]++;
    strcpy(text, space->text[rank]);
    return *text != '\0';
}

static void forget(void)
{
}

static const sb_roster_keeper_t kept = {keep, look_up, forget};

static void wait_for_others(void)
{
    space->ready++;
    while (space->ready < RANKS)
        usleep(1000);
}

/* How the ranks of a job differ from others. */
typedef struct job {
    uint32_t missing; /* is on no board; RANKS: nobody */
    uint32_t foreign; /* has another build */
    uint32_t ends;    /* before it has read; others ask for its share too */
} job_t;

static void run_rank(const job_t *job, const sb_job_t *launched)
{
    sb_signature_t signature = {
        .build = self == job->foreign ? 2 : 1, .serve_after = self + 5, .traces = 3};

    if (self != job->missing)
        sb_board_join(launched, false);
    sb_roster_sign(&kept, self, &signature);
    wait_for_others();
    if (self == job->ends)
        _exit(0);
    space->verdict[self] = sb_roster_judge(RANKS, NULL);
    sb_board_tell(NULL, 0);
    sb_roster_close();
    _exit(0);
}

static void run_job(const job_t *job, uint64_t key)
{
    space = mmap(NULL, sizeof *space, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(space, MAP_FAILED);
    for (self = 0; self < RANKS; self++) {
        sb_job_t launched = {.key = key + self % NODES, .rank = self, .size = RANKS, .local = HERE};
        pid_t child = fork();
        assert_return_code(child, 0);
        if (child == 0)
            run_rank(job, &launched);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int status;
        assert_true(wait(&status) > 0 && status == 0);
    }
}

/* Each rank asks for the first one's, and those of a node share the others' between them. */
static void ranks_of_a_node_share_the_questions(void **state)
{
    static const struct {
        job_t job;
        bool whole;
        unsigned most[NODES]; /* questions */
    } cases[] = {
        {{RANKS, RANKS, RANKS}, true, {HERE + RANKS, HERE + RANKS}},
        {{RANKS, 7, RANKS}, false, {HERE + RANKS, HERE + RANKS}},
        {{3, RANKS, RANKS}, true, {HERE + RANKS, HERE * RANKS}},
        {{RANKS, RANKS, 4}, true, {HERE * (RANKS + 3), HERE + RANKS}},
    };

    (void)state;
    for (unsigned i = 0; i < SB_COUNT_OF(cases); i++) {
        run_job(&cases[i].job, ((uint64_t)getpid() << 16) + 16 * i);
        for (unsigned node = 0; node < NODES; node++) {
            print_message("node %u: %u questions\n", node, space->questions[node]);
            assert_in_range(space->questions[node], 1, cases[i].most[node]);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const sb_roster_verdict_t *verdict = &space->verdict[rank];
            if (rank == cases[i].job.ends)
                continue;
            assert_int_equal(verdict->whole, cases[i].whole);
            assert_true(verdict->traced);
            assert_int_equal(verdict->serve_after, 5);
        }
        munmap(space, sizeof *space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_do_not_make_a_wait_endless),
        cmocka_unit_test(signals_leave_no_answer_behind),
        cmocka_unit_test(a_slow_daemon_is_waited_for),
        cmocka_unit_test(answers_are_taken_whole_and_no_more),
        cmocka_unit_test(ranks_of_a_node_share_the_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
