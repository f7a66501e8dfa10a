/* SPDX-License-Identifier: BSD-3-Clause */
/* One warm broadcast of 4 KiB, with every function of Sobor that it enters: for a build with
 * -finstrument-functions (scripts/trace_call.py). The hooks stand in for libc's, which do nothing.
 *
 * usage: traced RANK   prints "depth object offset" for each function that this rank enters */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WARM = 200, BYTES = 4096, ENTRIES = 4096 };

static volatile int tracing;
static int depth, count;
static struct {
    void *function;
    int depth;
} entered[ENTRIES];

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (tracing && count < ENTRIES) {
        entered[count].function = function;
        entered[count++].depth = depth;
        depth++;
    }
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
    if (tracing)
        depth--;
}

int main(int argc, char **argv)
{
    static char data[BYTES];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i <= WARM; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        /* The root first, so that nobody waits: waiting is another story. */
        if (i == WARM)
            usleep(50000u * (unsigned)rank);
        tracing = i == WARM && argc > 1 && atoi(argv[1]) == rank;
        MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
        tracing = 0;
    }
    for (int i = 0; i < count; i++) {
        Dl_info info;
        if (dladdr(entered[i].function, &info) != 0)
            printf("%d %s %#lx\n", entered[i].depth, info.dli_fname,
                   (unsigned long)((char *)entered[i].function - (char *)info.dli_fbase));
    }
    MPI_Finalize();
    return 0;
}
