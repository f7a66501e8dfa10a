/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank makes its memory unreadable in the middle of the run, after parts were read out of it.
 * What follows is as right as before, on all ranks. */
#include "support.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rank, size;
static char *out, *in;

/* Without this right even the system's owner is refused. */
static void give_up_tracing(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];

    if (syscall(SYS_capget, &header, sets) != 0)
        return;
    sets[0].effective &= ~(1u << CAP_SYS_PTRACE);
    sets[0].permitted &= ~(1u << CAP_SYS_PTRACE);
    syscall(SYS_capset, &header, sets);
}

static uint64_t seed(int from, int to, size_t bytes)
{
    return (uint64_t)(from * 31 + to) * 1000003u + bytes;
}

static void fill_parts(size_t bytes, bool alike)
{
    for (int i = 0; i < size; i++) {
        fill(out + (size_t)i * bytes, bytes, seed(rank, alike ? 0 : i, bytes));
        memset(in + (size_t)i * bytes, 0, bytes);
    }
}

static void check_parts(const char *what, size_t bytes, int parts, int first, bool alike)
{
    for (int i = 0; i < parts; i++) {
        size_t wrong =
            mismatch(in + (size_t)i * bytes, bytes, seed(first + i, alike ? 0 : rank, bytes));
        CHECK(wrong == bytes, "%s of %zu bytes: byte %zu from rank %d", what, bytes, wrong,
              first + i);
    }
}

static void call_all(size_t bytes, int root)
{
    int count = (int)bytes;

    fill_parts(bytes, true);
    CALL(MPI_Gather(out, count, MPI_CHAR, in, count, MPI_CHAR, root, MPI_COMM_WORLD));
    if (rank == root)
        check_parts("gather", bytes, size, 0, true);
    fill_parts(bytes, true);
    CALL(MPI_Allgather(out, count, MPI_CHAR, in, count, MPI_CHAR, MPI_COMM_WORLD));
    check_parts("allgather", bytes, size, 0, true);
    fill_parts(bytes, false);
    CALL(MPI_Alltoall(out, count, MPI_CHAR, in, count, MPI_CHAR, MPI_COMM_WORLD));
    check_parts("alltoall", bytes, size, 0, false);
    fill_parts(bytes, false);
    CALL(MPI_Scatter(out, count, MPI_CHAR, in, count, MPI_CHAR, root, MPI_COMM_WORLD));
    check_parts("scatter", bytes, 1, root, false);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {65536, 20000, 300001, 100, 65536, 1 << 20};

    give_up_tracing();
    test_begin(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    out = malloc((size_t)size << 20);
    in = malloc((size_t)size << 20);
    call_all(sizes[0], 0);
    if (rank == 1)
        CHECK(prctl(PR_SET_DUMPABLE, 0) == 0, "the memory stays readable");
    for (int i = 0; i < 6; i++)
        call_all(sizes[i], i % size);
    free(out);
    free(in);
    return test_end();
}
