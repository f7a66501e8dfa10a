// SPDX-License-Identifier: BSD-3-Clause
// A C++ program: containers as buffers, exceptions across nothing of MPI's.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<double> broadcast(std::vector<double> values, int root) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned long count = values.size();
    MPI_Bcast(&count, 1, MPI_UNSIGNED_LONG, root, MPI_COMM_WORLD);
    values.resize(count);
    MPI_Bcast(values.data(), static_cast<int>(count), MPI_DOUBLE, root, MPI_COMM_WORLD);
    return values;
}

static void check(int root, int rank) {
    std::vector<double> expected(1000 + 100 * static_cast<unsigned>(root));
    std::iota(expected.begin(), expected.end(), root);
    auto found = broadcast(rank == root ? expected : std::vector<double>(), root);
    if (found != expected)
        throw std::runtime_error("wrong values from root " + std::to_string(root));
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try {
        for (int root = 0; root < size; root++)
            check(root, rank);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "FAIL plusplus: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    if (rank == 0)
        std::puts("PASS plusplus");
    return 0;
}
