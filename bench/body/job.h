/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI job that the bench runs in: the host's own functions beside those a program calls. */
#ifndef SOBOR_BENCH_JOB_H
#define SOBOR_BENCH_JOB_H

#include SOBOR_BENCH_MPI_H
#include <sobor/sobor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int bench_barrier(MPI_Comm comm);
typedef int bench_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

/* One of the two sides that are compared: the same calls, taken from different places. */
enum {
    BENCH_PARTS = 9,     /* collectives that move parts of data, see parts.h */
    BENCH_REDUCTIONS = 6 /* that combine what all ranks give, see reductions.h */
};

struct bench_calls {
    bench_barrier *barrier;
    bench_bcast *bcast;
    void *parts[BENCH_PARTS];
    void *reductions[BENCH_REDUCTIONS];
};

/* How the ranks of all nodes share their processors. */
struct bench_sharing {
    int processors;
    bool oversubscribed;
};

struct bench_job {
    int rank;
    int ranks;
    bool one_node;
    bool fits;        /* no rank has to share a processor */
    int node_ranks;   /* ranks of this node, */
    int node_rank;    /* and this one's place among them */
    int nodes;        /* of the job */
    int processors;   /* that the ranks of this node may use, */
    int first_two[2]; /* and two of them, where there are */
    uint64_t caches;  /* bytes of those that all of them have, see cold.h */
    MPI_Comm node;    /* of several nodes: the ranks of this one, */
    MPI_Comm leaders; /* and the first rank of each; MPI_COMM_NULL on the others */
    char library[64];
    struct bench_calls host;             /* straight from libmpi, past any preload */
    struct bench_calls program;          /* what an unmodified program reaches */
    bool preloaded;                      /* these two differ */
    const char *(*last_algorithm)(void); /* of Sobor; NULL: it is not there, */
    int (*sobor_node)(sobor_node_t *);   /* the same */
    int (*reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
};

/* MPI_Init and all that is known from it. Returns 0, or -1 after a line on stderr. */
int bench_job_start(struct bench_job *job, int *argc, char ***argv);

void bench_job_end(struct bench_job *job);

/* Seconds from a clock that all ranks of a node share. */
double bench_now(void);

/* Rank 0's value on every rank. */
long bench_agree(const struct bench_job *job, long value);

/* The largest value on every rank. */
double bench_maximum(const struct bench_job *job, double value);

/* Collective. As Sobor's own teams have it, where there are some; else by the ranks' bindings. */
struct bench_sharing bench_job_sharing(const struct bench_job *job);

/* The sum of all ranks' values, on every rank. */
double bench_sum(const struct bench_job *job, double value);

#endif
