/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks combine vectors by a function of the program, which counts what it is given: each does
 * half of it, as where it takes long that is what the call takes. The first call of each size: with
 * more it would be tried whether that is faster.
 *
 * usage: costly */
#include "support.h"

#include <stdlib.h>

enum { LEAST = 512, MOST = 2048 };

static long combined;

static void add(void *left, void *right, int *count, MPI_Datatype *type)
{
    const double *from = left;
    double *to = right;

    (void)type;
    combined += *count;
    for (int i = 0; i < *count; i++)
        to[i] += from[i];
}

static void check(MPI_Op op, int count, double *out, double *in)
{
    int rank = rank_of(MPI_COMM_WORLD), most = count / 2;

    for (int i = 0; i < count; i++)
        out[i] = rank * 1000 + i;
    combined = 0;
    CALL(MPI_Allreduce(out, in, count, MPI_DOUBLE, op, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++)
        CHECK(in[i] == 1000 + 2.0 * i, "element %d of %d is %g", i, count, in[i]);
    CHECK(combined <= most, "rank %d has combined %ld of %d", rank, combined, count);
}

int main(int argc, char **argv)
{
    MPI_Op op;

    test_begin(&argc, &argv);
    CHECK(size_of(MPI_COMM_WORLD) == 2, "not two ranks");
    double *out = malloc(MOST * sizeof *out), *in = malloc(MOST * sizeof *in);
    CHECK(out != NULL && in != NULL, "no memory");
    CALL(MPI_Op_create(add, 1, &op));
    for (int count = LEAST; count <= MOST; count *= 2)
        check(op, count, out, in);
    CALL(MPI_Op_free(&op));
    free(out);
    free(in);
    return test_end();
}
