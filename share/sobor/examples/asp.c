/* SPDX-License-Identifier: BSD-3-Clause */
/* All-pairs shortest paths, by Floyd and Warshall, in parallel.
 *
 * usage: asp [N [STEPS]]
 *
 * The N x N matrix of distances is dealt to the ranks in blocks of rows. In step k the owner of row
 * k broadcasts it, N integers, and every rank looks whether its own ways become shorter through k.
 * So there are N broadcasts. STEPS ends after the first few of them. Up to N = 1024 rank 0 computes
 * the same alone and compares. */
#include "shared.h"

#include <limits.h>
#include <string.h>

enum { MOST_CHECKED = 1024, LONGEST = 1000, NO_EDGE = INT_MAX / 4 };

typedef struct {
    int nodes, steps, rank, ranks;
    int first, rows; /* of this rank */
    int *distance;   /* rows x nodes */
} problem_t;

static int rows_of(const problem_t *p, int rank)
{
    return p->nodes / p->ranks + (rank < p->nodes % p->ranks);
}

static int first_of(const problem_t *p, int rank)
{
    int extra = p->nodes % p->ranks;

    return rank * (p->nodes / p->ranks) + (rank < extra ? rank : extra);
}

/* About one pair out of eight has an edge. */
static int edge(int from, int to)
{
    uint32_t number = drawn((uint64_t)from << 32 | (uint32_t)to);

    if (from == to)
        return 0;
    return number % 8 == 0 ? (int)(number / 8 % LONGEST) + 1 : NO_EDGE;
}

static void fill(int *distance, int first, int rows, int nodes)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < nodes; j++)
            distance[(size_t)i * nodes + j] = edge(first + i, j);
}

/* Whether ways from these rows become shorter through node k, whose row is `through`. */
static void relax(int *distance, const int *through, int rows, int nodes, int k)
{
    for (int i = 0; i < rows; i++) {
        int *row = distance + (size_t)i * nodes, to = row[k];
        for (int j = 0; j < nodes; j++)
            row[j] = row[j] < to + through[j] ? row[j] : to + through[j];
    }
}

static times_t solve(problem_t *p)
{
    int *row = memory(p->nodes, sizeof(int));
    size_t bytes = (size_t)p->nodes * sizeof(int);
    double begin = MPI_Wtime();
    times_t times = {0, 0};

    for (int k = 0, owner = 0; k < p->steps; k++) {
        while (k >= first_of(p, owner) + rows_of(p, owner))
            owner++;
        if (owner == p->rank)
            memcpy(row, p->distance + (size_t)(k - p->first) * p->nodes, bytes);
        double before = MPI_Wtime();
        MPI_Bcast(row, p->nodes, MPI_INT, owner, MPI_COMM_WORLD);
        times.moving += MPI_Wtime() - before;
        relax(p->distance, row, p->rows, p->nodes, k);
    }
    times.total = MPI_Wtime() - begin;
    free(row);
    return times;
}

/* Rank 0 solves the whole of it; each rank compares its rows with what it is sent. */
static int is_right(const problem_t *p)
{
    size_t row = (size_t)p->nodes;
    int *whole = memory(p->rank == 0 ? row * row : 0, sizeof(int));
    int *mine = memory(p->rows * row, sizeof(int));
    int *counts = memory(p->ranks, sizeof(int)), *places = memory(p->ranks, sizeof(int));
    int wrong, anywhere;

    for (int rank = 0; rank < p->ranks; rank++) {
        counts[rank] = rows_of(p, rank) * p->nodes;
        places[rank] = first_of(p, rank) * p->nodes;
    }
    if (p->rank == 0) {
        fill(whole, 0, p->nodes, p->nodes);
        for (int k = 0; k < p->steps; k++)
            relax(whole, whole + k * row, p->nodes, p->nodes, k);
    }
    MPI_Scatterv(whole, counts, places, MPI_INT, mine, counts[p->rank], MPI_INT, 0, MPI_COMM_WORLD);
    wrong = memcmp(mine, p->distance, p->rows * row * sizeof(int)) != 0;
    MPI_Allreduce(&wrong, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    free(whole);
    free(mine);
    free(counts);
    free(places);
    return !anywhere;
}

int main(int count, char **words)
{
    problem_t p;
    char calls[80];
    int right = 1;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
    p.nodes = argument(count, words, 1, 512);
    p.steps = argument(count, words, 2, p.nodes);
    p.steps = p.steps < p.nodes ? p.steps : p.nodes;
    p.first = first_of(&p, p.rank);
    p.rows = rows_of(&p, p.rank);
    p.distance = memory((size_t)p.rows * p.nodes, sizeof(int));
    fill(p.distance, p.first, p.rows, p.nodes);
    times_t times = solve(&p);
    snprintf(calls, sizeof calls, "N = %d, %d broadcasts", p.nodes, p.steps);
    tell("asp", calls, times);
    if (p.nodes <= MOST_CHECKED)
        right = is_right(&p);
    if (p.rank == 0 && p.nodes <= MOST_CHECKED)
        printf("asp: the distances are %s\n", right ? "right" : "WRONG");
    free(p.distance);
    MPI_Finalize();
    return right ? 0 : 1;
}
