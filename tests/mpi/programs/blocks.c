/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in a page long blocks of malloc begin, before and after some calls: 16 bytes past one as
 * long as the C library maps such blocks apart.
 *
 * usage: blocks */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { KIB = 1024, PAGE = 4096, SHORTEST = 144, STEP = 16, BLOCKS = 32, BYTES = 32 * KIB };

/* Kept until the end: what is given back changes what comes after it. */
static void show(const char *when, char *blocks[BLOCKS], bool tells)
{
    if (tells)
        printf("%s", when);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc((SHORTEST + i * STEP) * KIB);
        CHECK(blocks[i] != NULL, "no memory");
        if (tells)
            printf(" %zu", (size_t)((uintptr_t)blocks[i] % PAGE));
    }
    if (tells)
        printf("\n");
}

/* On a communicator that is freed; so short that the host gives no long block back. */
static void call(char *in, char *out)
{
    MPI_Comm comm;

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int bytes = 8; bytes <= BYTES; bytes *= 4) {
        CALL(MPI_Bcast(in, bytes, MPI_BYTE, 0, comm));
        CALL(MPI_Allreduce(in, out, bytes, MPI_UNSIGNED_CHAR, MPI_MAX, comm));
        CALL(MPI_Gather(in, bytes / 8, MPI_BYTE, out, bytes / 8, MPI_BYTE, 1, comm));
    }
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    static char in[BYTES], out[BYTES], *blocks[2][BLOCKS];

    CALL(MPI_Init(&argc, &argv));
    bool tells = rank_of(MPI_COMM_WORLD) == 0;
    show("begin", blocks[0], tells);
    call(in, out);
    show("end", blocks[1], tells);
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[0][i]);
        free(blocks[1][i]);
    }
    if (tells)
        printf("PASS blocks\n");
    CALL(MPI_Finalize());
    return 0;
}
