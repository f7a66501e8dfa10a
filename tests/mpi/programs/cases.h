/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_MPI_CASES_H
#define SB_TESTS_MPI_CASES_H

#include "support.h"

/* Random cases, each drawn from a seed and its own number, so that any one can be run again alone.
 */

/* Which of the row are run, from the command line. */
struct cases {
    uint64_t seed;
    long first;
    long cases;
    size_t max_bytes;
    int comms;         /* how many of the communicators are drawn from, 2 to COMMS_MOST */
    const char *only;  /* calls of this name; NULL: all */
    const char *op;    /* with this operation; NULL: any */
    const char *types; /* "beyond": with types for which MPI does not define it; NULL: any */
};

/* The world, a duplicate, a part of it, all in another order, some in reverse order; all in reverse
 * order, and a Cartesian one. */
enum { COMMS_SPLIT = 5, COMMS_MOST = 7 };

/* --seed S --cases N --first K --max-bytes B --only NAME --op NAME --types NAME */
void cases_parse(struct cases *cases, int argc, char **argv);

/* Runs them, prints how many they were, and makes new communicators every now and then. Some ranks
 * are in some of them only: comms[i] is MPI_COMM_NULL at the others. */
void cases_run(const struct cases *cases, void (*run)(long number, MPI_Comm const *comms));

/* A size of about max_bytes at most. Small ones are as likely as large ones: the exponent is
 * uniform. */
size_t cases_bytes(const struct cases *cases, uint64_t *random);

#endif
