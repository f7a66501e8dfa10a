/* SPDX-License-Identifier: BSD-3-Clause */
/* Where several jobs share a machine, a rank that gives its processor away while it waits mostly
 * gives it to another that waits as well, which gives it back at once: together they take what work
 * could have. Now and then it rests for a moment instead; only with HOST_YIELDS set. */
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define YIELDS_BEFORE_REST 8

int sched_yield(void)
{
    static _Thread_local unsigned yields;
    static const struct timespec moment = {.tv_nsec = 50 * 1000};

    if (++yields % YIELDS_BEFORE_REST == 0 && getenv("HOST_YIELDS") != NULL)
        return nanosleep(&moment, NULL);
    return (int)syscall(SYS_sched_yield);
}
