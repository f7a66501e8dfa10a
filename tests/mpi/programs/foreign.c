/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of the made-up MPI library beside this file. */
#include <stdint.h>
#include <stdio.h>

extern int MPI_Init(int *argc, char ***argv);
extern int MPI_Bcast(void *data, int count, intptr_t type, int root, intptr_t comm);
extern int MPI_Barrier(intptr_t comm);
extern int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int data = 7;
    if (MPI_Init(&argc, &argv) != 0 ||
        MPI_Bcast(&data, 1, 0x123456789abc0002, 0, 0x123456789abc0001) != 0 ||
        MPI_Barrier(0x123456789abc0001) != 0 || MPI_Finalize() != 0)
        return 1;
    printf("PASS foreign\n");
    return 0;
}
