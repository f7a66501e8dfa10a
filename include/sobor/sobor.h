/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOBOR_SOBOR_H
#define SOBOR_SOBOR_H

/*
 * For programs and tools that want to ask what Sobor does. The functions are in the preloaded
 * object, so a program finds them only when it runs with Sobor: ask dlsym(RTLD_DEFAULT,
 * "sobor_...") for them, and go without where it returns NULL.
 */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The name of the algorithm that served this process's last collective operation, "host" if the
 * host MPI did, or NULL before the first call. The string is never freed. Any thread may ask; with
 * several threads in MPI the answer is about the call that ended last.
 */
const char *sobor_last_algorithm(void);

/* What became of this process's collective calls on all communicators, since it started. */
typedef struct sobor_counters {
    unsigned long long served; /* calls */
    unsigned long long passed; /* calls that went to the host MPI */
    unsigned long long bytes;  /* of the calls that were served */
} sobor_counters_t;

/*
 * Fills in *counters. Returns 0, or -1, and leaves it alone, where the process has called no
 * function of MPI yet or its MPI is none that Sobor knows. Any thread may ask; of calls that are
 * going on in others the last may be missing.
 */
int sobor_counters(sobor_counters_t *counters);

/* How Sobor sees the ranks of MPI_COMM_WORLD that are on this process's node. */
typedef struct sobor_node {
    unsigned ranks;
    unsigned processors; /* that they may use together: bindings and a quota count */
    int oversubscribed;  /* 1: some have to share a processor; else 0 */
} sobor_node_t;

/*
 * Fills in *node. Returns 0, or -1, and leaves it alone, where Sobor does not serve MPI_COMM_WORLD,
 * or not yet: that begins with the first collective call on it; and where a rank is alone on its
 * node. Any thread may ask.
 */
int sobor_node(sobor_node_t *node);

#ifdef __cplusplus
}
#endif

#endif
