/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH's ranks never give their processor away. Where several jobs share a machine each then waits
 * for time slices of the others. This one stands in for the function of UCX by which MPICH 4.0
 * makes progress: with HOST_YIELDS set, who finds nothing to do lets others run. */
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

typedef unsigned progress_function(void *worker);

unsigned ucp_worker_progress(void *worker);

/* A program that has loaded MPI late has not linked UCX. */
static progress_function *find_progress(void)
{
    void *next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (next == NULL)
        next = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
    return (progress_function *)next;
}

unsigned ucp_worker_progress(void *worker)
{
    static _Atomic(progress_function *) progress;
    static _Atomic bool yields;
    if (progress == NULL) {
        yields = getenv("HOST_YIELDS") != NULL;
        progress = find_progress();
    }
    unsigned done = progress(worker);
    if (done == 0 && yields)
        sched_yield();
    return done;
}
