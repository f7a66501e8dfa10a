/* SPDX-License-Identifier: BSD-3-Clause */
/* Every way to make an intra-communicator, used at once and after others. */
#include "support.h"

static uint64_t tick;

/* Ranks outside the communicator count on as well, so that ticks stay the same everywhere. */
static void use(MPI_Comm comm)
{
    tick += 10;
    if (comm == MPI_COMM_NULL)
        return;
    int size = size_of(comm);
    checked_barrier(comm, tick);
    for (int root = 0; root < size; root++) {
        checked_bcast(comm, 8, root, (uint64_t)root);
        checked_bcast(comm, 9000, root, (uint64_t)root);
    }
    checked_barrier(comm, tick + 1);
}

static void use_and_free(MPI_Comm comm)
{
    use(comm);
    if (comm != MPI_COMM_NULL)
        CALL(MPI_Comm_free(&comm));
}

static void duplicates(MPI_Comm parent)
{
    MPI_Comm comm;
    MPI_Request request;
    CALL(MPI_Comm_dup(parent, &comm));
    use_and_free(comm);
    CALL(MPI_Comm_idup(parent, &comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use_and_free(comm);
    CALL(MPI_Comm_dup_with_info(parent, MPI_INFO_NULL, &comm));
    use_and_free(comm);
}

static void splits(MPI_Comm parent)
{
    MPI_Comm comm;
    int rank = rank_of(parent);
    CALL(MPI_Comm_split(parent, rank % 2, -rank, &comm));
    use_and_free(comm);
    CALL(MPI_Comm_split(parent, rank == 0 ? MPI_UNDEFINED : 3, 0, &comm));
    use_and_free(comm);
    CALL(MPI_Comm_split(parent, rank, 0, &comm));
    use_and_free(comm);
    CALL(MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    use_and_free(comm);
}

/* Only the members of the group call create_group: nobody else may be needed for anything. */
static void groups(MPI_Comm parent)
{
    MPI_Group all;
    MPI_Group upper;
    MPI_Comm comm;
    int last = size_of(parent) - 1;
    int range[1][3] = {{last, last / 2, -1}};
    CALL(MPI_Comm_group(parent, &all));
    CALL(MPI_Group_range_incl(all, 1, range, &upper));
    CALL(MPI_Comm_create(parent, upper, &comm));
    use_and_free(comm);
    comm = MPI_COMM_NULL;
    if (rank_of(parent) >= last / 2)
        CALL(MPI_Comm_create_group(parent, upper, 17, &comm));
    use_and_free(comm);
    CALL(MPI_Group_free(&upper));
    CALL(MPI_Group_free(&all));
}

static void topologies(MPI_Comm parent)
{
    MPI_Comm comm;
    int size = size_of(parent);
    int periodic = 1;
    int weight = 1;
    int neighbour = (rank_of(parent) + 1) % size;
    int from = (rank_of(parent) + size - 1) % size;
    CALL(MPI_Cart_create(parent, 1, &size, &periodic, 1, &comm));
    use_and_free(comm);
    CALL(MPI_Dist_graph_create_adjacent(parent, 1, &from, &weight, 1, &neighbour, &weight,
                                        MPI_INFO_NULL, 0, &comm));
    use_and_free(comm);
}

static void merged(MPI_Comm parent)
{
    MPI_Comm half;
    MPI_Comm between;
    MPI_Comm comm;
    int upper = rank_of(parent) >= size_of(parent) / 2;
    if (size_of(parent) < 2)
        return;
    CALL(MPI_Comm_split(parent, upper, 0, &half));
    CALL(MPI_Intercomm_create(half, 0, parent, upper ? 0 : size_of(parent) / 2, 4, &between));
    CALL(MPI_Intercomm_merge(between, !upper, &comm));
    use(comm);
    use(half);
    CALL(MPI_Comm_free(&between));
    use_and_free(comm);
    use_and_free(half);
}

/* Work that goes on in two communicators by turns, with different members. */
static void interleaved(MPI_Comm parent)
{
    MPI_Comm rows;
    MPI_Comm columns;
    int rank = rank_of(parent);
    CALL(MPI_Comm_split(parent, rank / 2, rank, &rows));
    CALL(MPI_Comm_split(parent, rank % 2, rank, &columns));
    for (int i = 0; i < 30; i++) {
        checked_bcast(rows, 100, i % size_of(rows), (uint64_t)i);
        checked_bcast(columns, 2000, i % size_of(columns), (uint64_t)i);
        CALL(MPI_Barrier(rows));
        checked_bcast(parent, 40, i % size_of(parent), (uint64_t)i);
        CALL(MPI_Barrier(columns));
    }
    use_and_free(rows);
    use_and_free(columns);
}

static void all(MPI_Comm parent)
{
    duplicates(parent);
    splits(parent);
    groups(parent);
    topologies(parent);
    merged(parent);
    interleaved(parent);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    watch_begin();
    MPI_Comm reversed;
    all(MPI_COMM_WORLD);
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &reversed));
    all(reversed);
    use_and_free(reversed);
    use(MPI_COMM_WORLD);
    watch_end();
    return test_end();
}
