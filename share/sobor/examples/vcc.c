/* SPDX-License-Identifier: BSD-3-Clause */
/* The connected components of a graph, by vertex collapse (Hirschberg, Chandra, Sarwate).
 *
 * usage: vcc [N [EDGES]]
 *
 * The rows of the N x N adjacency matrix are dealt to the ranks. Each of ceil(log2 N) rounds has
 * four steps, and ceil(log2 N) more that halve the ways to the top:
 *
 *   1. the least component beside each vertex that is not its own;
 *   2. the least of these for each component, at the vertex that it is named by;
 *   3. what each component hangs on to is kept;
 *   4. after the halving, components that hang on to each other become one.
 *
 * In each step a rank computes its part of a vector of N integers; the parts are gathered and the
 * whole is broadcast. A barrier ends each of the four. So there are (4 + ceil(log2 N)) ceil(log2 N)
 * broadcasts, as many gathers and 4 ceil(log2 N) barriers. Rank 0 compares with a serial search. */
#include "shared.h"

#include <string.h>

typedef struct {
    int nodes, edges, rounds, rank, ranks;
    int first, rows, block; /* block: rows of each rank but the last ones */
    unsigned char *beside;  /* rows x nodes */
    int *component, *top, *kept, *part, *gathered;
    times_t times;
    int broadcasts, gathers, barriers;
} problem_t;

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void ends_of(const problem_t *p, int edge, int *from, int *to)
{
    *from = (int)(drawn(2 * (uint64_t)edge) % (uint32_t)p->nodes);
    *to = (int)(drawn(2 * (uint64_t)edge + 1) % (uint32_t)p->nodes);
}

static void make_graph(problem_t *p)
{
    p->beside = memory((size_t)p->rows * p->nodes, 1);
    for (int edge = 0; edge < p->edges; edge++) {
        int ends[2];
        ends_of(p, edge, &ends[0], &ends[1]);
        for (int side = 0; side < 2; side++) {
            int row = ends[side] - p->first;
            if (row >= 0 && row < p->rows)
                p->beside[(size_t)row * p->nodes + ends[1 - side]] = 1;
        }
    }
}

/* All parts become one vector that everybody has. */
static void share(problem_t *p, int *whole)
{
    double before = MPI_Wtime();

    MPI_Gather(p->part, p->block, MPI_INT, p->gathered, p->block, MPI_INT, 0, MPI_COMM_WORLD);
    if (p->rank == 0)
        memcpy(whole, p->gathered, p->nodes * sizeof(int));
    MPI_Bcast(whole, p->nodes, MPI_INT, 0, MPI_COMM_WORLD);
    p->times.moving += MPI_Wtime() - before;
    p->gathers++;
    p->broadcasts++;
}

static void end_step(problem_t *p)
{
    double before = MPI_Wtime();

    MPI_Barrier(MPI_COMM_WORLD);
    p->times.moving += MPI_Wtime() - before;
    p->barriers++;
}

static void find_beside(problem_t *p)
{
    for (int i = 0; i < p->rows; i++) {
        const unsigned char *row = p->beside + (size_t)i * p->nodes;
        int own = p->component[p->first + i], best = p->nodes;
        for (int j = 0; j < p->nodes; j++) {
            int other = p->component[j];
            int found = row[j] && other != own ? other : p->nodes;
            best = best < found ? best : found;
        }
        p->part[i] = best < p->nodes ? best : own;
    }
}

static void find_least(problem_t *p)
{
    for (int i = 0; i < p->rows; i++)
        p->part[i] = p->nodes;
    for (int j = 0; j < p->nodes; j++) {
        int at = p->component[j] - p->first;
        if (at >= 0 && at < p->rows && p->top[j] != p->component[j])
            p->part[at] = least(p->part[at], p->top[j]);
    }
    for (int i = 0; i < p->rows; i++)
        if (p->part[i] == p->nodes)
            p->part[i] = p->component[p->first + i];
}

static void one_round(problem_t *p)
{
    find_beside(p);
    share(p, p->top);
    end_step(p);
    find_least(p);
    share(p, p->top);
    end_step(p);
    memcpy(p->part, p->top + p->first, p->rows * sizeof(int));
    share(p, p->kept);
    end_step(p);
    for (int halving = 0; halving < p->rounds; halving++) {
        for (int i = 0; i < p->rows; i++)
            p->part[i] = p->top[p->top[p->first + i]];
        share(p, p->top);
    }
    for (int i = 0; i < p->rows; i++) {
        int top = p->top[p->first + i];
        p->part[i] = least(p->kept[top], top);
    }
    share(p, p->component);
    end_step(p);
}

static void solve(problem_t *p)
{
    double begin = MPI_Wtime();

    for (int i = 0; i < p->nodes; i++)
        p->component[i] = i;
    for (int round = 0; round < p->rounds; round++)
        one_round(p);
    p->times.total = MPI_Wtime() - begin;
}

static int top_of(int *above, int vertex)
{
    while (above[vertex] != vertex)
        vertex = above[vertex] = above[above[vertex]];
    return vertex;
}

/* A component is named by its least vertex. */
static int is_right(const problem_t *p, int *components)
{
    int *above = memory(p->nodes, sizeof(int)), right = 1;

    for (int i = 0; i < p->nodes; i++)
        above[i] = i;
    for (int edge = 0; edge < p->edges; edge++) {
        int from, to;
        ends_of(p, edge, &from, &to);
        from = top_of(above, from);
        to = top_of(above, to);
        above[from > to ? from : to] = least(from, to);
    }
    *components = 0;
    for (int i = 0; i < p->nodes; i++) {
        right &= p->component[i] == top_of(above, i);
        *components += above[i] == i;
    }
    free(above);
    return right;
}

static void prepare(problem_t *p, int count, char **words)
{
    p->nodes = argument(count, words, 1, 1024);
    p->edges = argument(count, words, 2, p->nodes / 2 + 1);
    for (int reach = 1; reach < p->nodes; reach *= 2)
        p->rounds++;
    p->block = (p->nodes + p->ranks - 1) / p->ranks;
    p->first = least(p->rank * p->block, p->nodes);
    p->rows = least(p->block, p->nodes - p->first);
    make_graph(p);
    p->component = memory(p->nodes, sizeof(int));
    p->top = memory(p->nodes, sizeof(int));
    p->kept = memory(p->nodes, sizeof(int));
    p->part = memory(p->block, sizeof(int));
    p->gathered = memory((size_t)p->block * p->ranks, sizeof(int));
}

int main(int count, char **words)
{
    problem_t p = {0};
    char calls[120];
    int components = 0, right;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
    prepare(&p, count, words);
    solve(&p);
    snprintf(calls, sizeof calls, "N = %d, %d broadcasts, %d gathers, %d barriers", p.nodes,
             p.broadcasts, p.gathers, p.barriers);
    tell("vcc", calls, p.times);
    right = is_right(&p, &components);
    if (p.rank == 0)
        printf("vcc: %d components, %s\n", components, right ? "right" : "WRONG");
    free(p.beside);
    free(p.component);
    free(p.top);
    free(p.kept);
    free(p.part);
    free(p.gathered);
    MPI_Finalize();
    return right ? 0 : 1;
}
