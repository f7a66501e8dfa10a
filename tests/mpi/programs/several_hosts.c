/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator that spans hosts, and one for the ranks of each host.
 *
 * usage: several_hosts RANKS_PER_HOST */
#include "support.h"

#include <stdlib.h>

enum { ROUNDS = 20 };

static void use(MPI_Comm comm)
{
    for (int i = 0; i < ROUNDS; i++) {
        checked_bcast(comm, 1 + (size_t)i * 1500, i % size_of(comm), (uint64_t)i);
        CALL(MPI_Barrier(comm));
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc == 2, "usage: several_hosts RANKS_PER_HOST");
    MPI_Comm host;
    MPI_Comm across;
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    CALL(MPI_Comm_set_name(host, "one host"));
    CHECK(size_of(host) == atoi(argv[1]), "%d ranks on this host", size_of(host));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank_of(host), 0, &across));
    CALL(MPI_Comm_set_name(across, "across hosts"));
    use(MPI_COMM_WORLD);
    use(host);
    use(across);
    use(host);
    use(MPI_COMM_WORLD);
    CALL(MPI_Comm_free(&across));
    CALL(MPI_Comm_free(&host));
    return test_end();
}
