/* SPDX-License-Identifier: BSD-3-Clause */
/* Some warm broadcasts of 4 KiB, with every function of Sobor that they enter: for a build with
 * -finstrument-functions (scripts/trace_call.py). The hooks stand in for libc's, which do nothing.
 *
 * usage: traced RANK   prints "call depth object offset" for each function that this rank enters;
 * the first of a call is the one that the program calls, which is made in assembly and has no hooks
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Ways of copying are tried and timed in the first thousands of calls, and later now and then, some
 * calls in a row: so calls are traced that are apart. */
enum { WARM = 6000, TRACED = 100, APART = 21, BYTES = 4096, LATER_US = 200, ENTRIES = 1 << 16 };

static volatile int tracing;
static int call, depth, count;
static struct {
    void *function;
    int call, depth;
} entered[ENTRIES];

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (tracing && count < ENTRIES) {
        entered[count].function = function;
        entered[count].call = call;
        entered[count++].depth = depth++;
    }
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
    if (tracing)
        depth--;
}

/* The root first, so that nobody waits: waiting is another story. It may have to wait for its
 * reader, whom only time keeps back. */
static void broadcast(int rank, int traced)
{
    static char data[BYTES];

    if (rank == 1)
        usleep(LATER_US);
    tracing = traced;
    depth = 0;
    if (traced)
        __cyg_profile_func_enter(dlsym(RTLD_DEFAULT, "MPI_Bcast"), NULL);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    tracing = 0;
}

int main(int argc, char **argv)
{
    static char data[BYTES];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < WARM; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    for (call = 0; call < TRACED * APART; call++) {
        MPI_Barrier(MPI_COMM_WORLD);
        broadcast(rank, call % APART == 0 && argc > 1 && atoi(argv[1]) == rank);
    }
    for (int i = 0; i < count; i++) {
        Dl_info info;
        if (dladdr(entered[i].function, &info) != 0)
            printf("%d %d %s %#lx\n", entered[i].call, entered[i].depth, info.dli_fname,
                   (unsigned long)((char *)entered[i].function - (char *)info.dli_fbase));
    }
    MPI_Finalize();
    return 0;
}
