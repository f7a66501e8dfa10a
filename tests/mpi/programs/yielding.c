/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPICH 4.0 lacks among other jobs, and over hosts; only with HOST_YIELDS set.
 *
 * Its ranks never give their processor away. Where several jobs share a machine each then waits for
 * time slices of the others. The function of UCX by which it makes progress has a stand-in here:
 * who finds nothing to do lets others run.
 *
 * In MPI_Finalize a rank closes its connections, for which their other ends must make progress, and
 * then waits for all ranks in its process manager, where it makes none: over a network one rank may
 * close its connections for ever. Here it makes progress until its process manager answers. */
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef unsigned progress_function(void *worker);
typedef void destroy_function(void *worker);

unsigned ucp_worker_progress(void *worker);
void ucp_worker_destroy(void *worker);

static _Atomic(void *) last_worker; /* NULL: none makes progress now */

/* A program that has loaded MPI late has not linked UCX. */
static void *find(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next != NULL ? next : dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

static bool yields(void)
{
    static _Atomic int known;
    if (known == 0)
        known = getenv("HOST_YIELDS") != NULL ? 1 : -1;
    return known > 0;
}

unsigned ucp_worker_progress(void *worker)
{
    static _Atomic(progress_function *) progress;
    if (progress == NULL)
        progress = (progress_function *)find("ucp_worker_progress");
    last_worker = worker;
    unsigned done = progress(worker);
    if (done == 0 && yields())
        sched_yield();
    return done;
}

void ucp_worker_destroy(void *worker)
{
    last_worker = NULL;
    ((destroy_function *)find("ucp_worker_destroy"))(worker);
}

static bool is_process_manager(int file)
{
    const char *number = getenv("PMI_FD");
    return number != NULL && atoi(number) == file;
}

/* Also called before there are any threads and where little may be done: nothing is kept. */
ssize_t read(int file, void *buffer, size_t bytes)
{
    struct pollfd answer = {.fd = file, .events = POLLIN};
    if (last_worker != NULL && yields() && is_process_manager(file))
        while (last_worker != NULL && poll(&answer, 1, 1) == 0)
            ucp_worker_progress(last_worker);
    return syscall(SYS_read, file, buffer, bytes);
}
