/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

enum { ROUNDS = 10 };

static void answer(const struct bench_job *job)
{
    for (int i = 0; i < ROUNDS; i++) {
        double now = 0.0;
        MPI_Recv(&now, 1, MPI_DOUBLE, 0, 0, job->leaders, MPI_STATUS_IGNORE);
        now = bench_now();
        MPI_Send(&now, 1, MPI_DOUBLE, 0, 0, job->leaders);
    }
}

/* The other's clock was read about half-way of a round trip: the shortest tells best. */
static double ask(const struct bench_job *job, int leader)
{
    double shortest = 0.0, ahead = 0.0;
    for (int i = 0; i < ROUNDS; i++) {
        double other = 0.0, start = bench_now();
        MPI_Send(&other, 1, MPI_DOUBLE, leader, 0, job->leaders);
        MPI_Recv(&other, 1, MPI_DOUBLE, leader, 0, job->leaders, MPI_STATUS_IGNORE);
        double end = bench_now();
        if (i > 0 && end - start >= shortest)
            continue;
        shortest = end - start;
        ahead = (start + end) / 2.0 - other;
    }
    return ahead;
}

static double ask_leaders(const struct bench_job *job)
{
    int rank = 0, leaders = 0;
    double ahead = 0.0;
    MPI_Comm_rank(job->leaders, &rank);
    MPI_Comm_size(job->leaders, &leaders);
    for (int i = 1; i < leaders; i++) {
        if (rank == 0) {
            double of_leader = ask(job, i);
            MPI_Send(&of_leader, 1, MPI_DOUBLE, i, 1, job->leaders);
        } else if (rank == i) {
            answer(job);
            MPI_Recv(&ahead, 1, MPI_DOUBLE, 0, 1, job->leaders, MPI_STATUS_IGNORE);
        }
    }
    return ahead;
}

double bench_clock_ahead(const struct bench_job *job)
{
    if (job->one_node)
        return 0.0;
    double ahead = job->leaders != MPI_COMM_NULL ? ask_leaders(job) : 0.0;
    job->host.bcast(&ahead, 1, MPI_DOUBLE, 0, job->node);
    return ahead;
}
