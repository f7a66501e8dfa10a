/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launcher ends the ranks of a job that has lost one by a signal: what they have recorded shows
 * how it came to that.
 */
#include "trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static const int fatal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGABRT, SIGUSR1, SIGUSR2};

/* Also one that came while another thread took signals: this thread may have it blocked. */
void sb_trace_end_by(int number)
{
    sigset_t these;

    sigemptyset(&these);
    sigaddset(&these, number);
    signal(number, SIG_DFL);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &these, NULL);
}

/* Where the signal has interrupted who writes, that one goes on first. */
static void write_and_go(int number)
{
    int error = errno, late;

    sb_trace_write(SB_TRACE_SIGNAL + (uint32_t)number, &late);
    if (!sb_trace_leave(number))
        sb_trace_end_by(number);
    errno = error;
}

void sb_trace_watch_signals(void)
{
    struct sigaction ours = {.sa_handler = write_and_go, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct sigaction before;

    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < SB_COUNT_OF(fatal); i++) {
        if (sigaction(fatal[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(fatal[i], &ours, NULL);
    }
}
