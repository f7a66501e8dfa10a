/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks give the room that they have, which is more than is sent to them, as programs do that know
 * no better: each has what is sent, and the rest of its room stays as it was. In an all-to-all Open
 * MPI looks at what a rank sends to itself. */
#include "moving.h"

#include <stdlib.h>

enum { MOST = 100000, SPARE = 3 };

static int rank, size;
static int *out, *in, *sent, *room, *from, *to;
static MPI_Datatype *types;

static int value(int source, int target, int n, int k)
{
    return ((source * 31 + target) * 31 + n) * 7 + k;
}

/* Room for a half more, and a little. */
static int room_for(int n)
{
    return n + n / 2 + SPARE;
}

static void prepare(enum moving which, int n)
{
    int unit = which == ALLTOALLW ? (int)sizeof(int) : 1;
    for (int i = 0; i < size; i++) {
        int target = which == GATHERV ? 0 : i;
        sent[i] = n;
        room[i] = room_for(n);
        from[i] = i * n * unit;
        to[i] = i * room_for(n) * unit;
        if (which >= ALLTOALLV && i == rank)
            room[i] = n;
        for (int k = 0; k < n; k++)
            out[i * n + k] = value(rank, target, n, k);
        for (int k = 0; k < room_for(n); k++)
            in[i * room_for(n) + k] = -1;
    }
}

/* What has come from this rank. */
static void check_part(enum moving which, const int *part, int source, int n)
{
    for (int k = 0; k < room_for(n); k++) {
        int expected = k < n ? value(source, rank, n, k) : -1;
        CHECK(part[k] == expected, "MPI_%s of %d: element %d from %d is %d, not %d",
              moving_name(which), n, k, source, part[k], expected);
    }
}

static void run(enum moving which, int n)
{
    prepare(which, n);
    struct side send = {out, n, sent, from, MPI_INT, types};
    struct side receive = {in, room_for(n), room, to, MPI_INT, types};
    CALL(moving_call(which, PROGRAM, &send, &receive, 0, MPI_COMM_WORLD));
    bool all = which != SCATTERV && (which != GATHERV || rank == 0);
    for (int i = 0; i < size && all; i++)
        check_part(which, in + i * room_for(n), i, n);
    if (which == SCATTERV)
        check_part(which, in, 0, n);
}

static void *numbers(size_t count)
{
    void *memory = malloc(count * sizeof(int));
    CHECK(memory != NULL, "no memory");
    return memory;
}

int main(int argc, char **argv)
{
    static const int COUNTS[] = {1, 14, 60, 250, 2000, 9000, MOST};
    static const enum moving WHICH[] = {SCATTERV, GATHERV, ALLTOALLV, ALLTOALLW};
    test_begin(&argc, &argv);
    moving_begin();
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    out = numbers((size_t)size * MOST);
    in = numbers((size_t)(size * room_for(MOST)));
    sent = numbers((size_t)size);
    room = numbers((size_t)size);
    from = numbers((size_t)size);
    to = numbers((size_t)size);
    types = malloc((size_t)size * sizeof *types);
    for (int i = 0; i < size; i++)
        types[i] = MPI_INT;
    for (int round = 0; round < 3; round++)
        for (size_t w = 0; w < sizeof WHICH / sizeof *WHICH; w++)
            for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++)
                run(WHICH[w], COUNTS[c]);
    free(out);
    free(in);
    free(sent);
    free(room);
    free(from);
    free(to);
    free(types);
    return test_end();
}
