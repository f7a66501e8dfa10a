# SPDX-License-Identifier: BSD-3-Clause
"""All-pairs shortest paths, by Floyd and Warshall, in parallel: asp.c with mpi4py and NumPy.

usage: asp.py [N [STEPS]]

The matrix of distances is dealt to the ranks in blocks of rows. In step k the owner of row k
broadcasts it, and every rank looks whether its own ways become shorter through k. Up to N = 1024
rank 0 computes the same alone and compares.
"""

import sys
from time import perf_counter

import numpy as np
from mpi4py import MPI

MOST_CHECKED = 1024
LONGEST = 1000
NO_EDGE = np.iinfo(np.int32).max // 4


def edges(nodes: int) -> np.ndarray:
    """The distances by one edge; about one pair out of eight has one."""
    drawn = np.random.default_rng(nodes)
    distance = drawn.integers(1, LONGEST + 1, (nodes, nodes), np.int32)
    distance[drawn.integers(0, 8, (nodes, nodes)) > 0] = NO_EDGE
    np.fill_diagonal(distance, 0)
    return distance


def relax(distance: np.ndarray, through: np.ndarray, k: int) -> None:
    """Takes the ways through node k, whose row is `through`, where they are shorter."""
    np.minimum(distance, distance[:, k, None] + through, out=distance)


def solve(comm: MPI.Comm, distance: np.ndarray, bounds: np.ndarray, steps: int) -> float:
    """Computes this rank's rows; returns the seconds spent in broadcasts."""
    first = bounds[comm.rank]
    row = np.empty(distance.shape[1], np.int32)
    moving = 0.0
    for k in range(steps):
        owner = int(np.searchsorted(bounds, k, "right")) - 1
        if owner == comm.rank:
            row[:] = distance[k - first]
        before = perf_counter()
        comm.Bcast(row, root=owner)
        moving += perf_counter() - before
        relax(distance, row, k)
    return moving


def main() -> int:
    """Runs the program; its exit status."""
    comm = MPI.COMM_WORLD
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    steps = min(nodes, int(sys.argv[2]) if len(sys.argv) > 2 else nodes)
    bounds = np.arange(comm.size + 1) * nodes // comm.size
    rows = slice(bounds[comm.rank], bounds[comm.rank + 1])
    whole = edges(nodes)
    distance = whole[rows].copy()
    begin = perf_counter()
    moving = solve(comm, distance, bounds, steps)
    total = perf_counter() - begin
    mean = np.array([total, total - moving, moving]) / comm.size
    comm.Allreduce(MPI.IN_PLACE, mean)
    if comm.rank == 0:
        print(
            f"asp: N = {nodes}, {steps} broadcasts, total {mean[0]:.6f} s, "
            f"computing {mean[1]:.6f} s, collectives {mean[2]:.6f} s"
        )
    if nodes > MOST_CHECKED:
        return 0
    for k in range(steps):
        relax(whole, whole[k].copy(), k)
    wrong = np.array([(whole[rows] != distance).sum()])
    comm.Allreduce(MPI.IN_PLACE, wrong)
    if comm.rank == 0:
        print(f"asp: the distances are {'WRONG' if wrong[0] else 'right'}")
    return 1 if wrong[0] else 0


if __name__ == "__main__":
    sys.exit(main())
