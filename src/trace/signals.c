/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launcher ends the ranks of a job that has lost one by a signal: what they have recorded shows
 * how it came to that, and so does what the lost one has.
 */
#include "trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

typedef struct fatal {
    int number;
    bool is_crash; /* who has it does not go on, whatever a handler does */
    bool was_free; /* nobody handled it before the host was initialised */
    struct sigaction before;
} fatal_t;

static fatal_t fatal[] = {
    {.number = SIGHUP},
    {.number = SIGINT},
    {.number = SIGQUIT},
    {.number = SIGTERM},
    {.number = SIGXCPU},
    {.number = SIGUSR1},
    {.number = SIGUSR2},
    {.number = SIGABRT, .is_crash = true},
    {.number = SIGSEGV, .is_crash = true},
    {.number = SIGBUS, .is_crash = true},
    {.number = SIGFPE, .is_crash = true},
    {.number = SIGILL, .is_crash = true},
};

static const fatal_t *find(int number)
{
    size_t i = 0;

    while (fatal[i].number != number)
        i++;
    return &fatal[i];
}

/* Has a signal do what it does without us. Also one that came while another thread took signals:
 * this thread may have it blocked. */
static void end_by(int number)
{
    sigset_t these;

    sigemptyset(&these);
    sigaddset(&these, number);
    sigaction(number, &find(number)->before, NULL);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &these, NULL);
}

/* The thread that crashed shows where, as soon as it runs. */
void sb_trace_end_late(int number)
{
    if (find(number)->is_crash)
        sb_trace_await_end();
    end_by(number);
}

/* What the thread did comes again when it goes on, and is then told as without Sobor. */
static bool comes_again(const siginfo_t *info)
{
    return info->si_signo != SIGABRT && info->si_code > 0;
}

/* Where another thread is writing, that one goes on first, and does not end the process before this
 * one does. */
static void write_and_go(int number, siginfo_t *info, void *context)
{
    const fatal_t *this = find(number);
    int error = errno, late;

    (void)context;
    sb_trace_write(SB_TRACE_SIGNAL + (uint32_t)number, &late);
    bool is_left = sb_trace_leave(number);
    if (this->is_crash)
        sb_trace_await();
    if (this->is_crash && comes_again(info))
        sigaction(number, &this->before, NULL);
    else if (this->is_crash || !is_left)
        end_by(number);
    errno = error;
}

void sb_trace_note_signals(void)
{
    for (size_t i = 0; i < SB_COUNT_OF(fatal); i++) {
        fatal_t *this = &fatal[i];
        this->was_free =
            sigaction(this->number, NULL, &this->before) == 0 && this->before.sa_handler == SIG_DFL;
    }
}

/* A host that handles a crash shows where that was, and ends the process: it comes after. */
static bool is_to_be_watched(const fatal_t *this)
{
    return this->before.sa_handler == SIG_DFL ||
           (this->is_crash && this->was_free && this->before.sa_handler != SIG_IGN);
}

void sb_trace_watch_signals(void)
{
    struct sigaction ours = {.sa_sigaction = write_and_go,
                             .sa_flags = SA_ONSTACK | SA_RESTART | SA_SIGINFO};

    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < SB_COUNT_OF(fatal); i++) {
        fatal_t *this = &fatal[i];
        if (sigaction(this->number, NULL, &this->before) == 0 && is_to_be_watched(this))
            sigaction(this->number, &ours, NULL);
    }
}
