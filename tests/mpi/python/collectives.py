"""Barrier and Bcast through mpi4py: buffers, pickled objects, sub-communicators, wrong roots."""

import sys

import numpy as np
from mpi4py import MPI


def check(condition, what):
    if not condition:
        print(f"FAIL collectives: {what}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


def buffers(comm):
    for root in range(comm.size):
        for count in (1, 5, 6, 100, 1000, 70000):
            expected = np.arange(count, dtype="d") + root
            values = expected.copy() if comm.rank == root else np.zeros(count)
            comm.Bcast(values, root=root)
            check((values == expected).all(), f"Bcast of {count} from {root}")
        comm.Barrier()


def objects(comm):
    for root in range(comm.size):
        thing = {"root": root, "text": "x" * 5000} if comm.rank == root else None
        thing = comm.bcast(thing, root=root)
        check(thing == {"root": root, "text": "x" * 5000}, f"bcast from {root}")
        comm.barrier()


def columns(comm):
    matrix = np.full((20, 30), comm.rank, dtype="i")
    if comm.rank == 0:
        matrix[:, 4] = 99
    column = MPI.INT.Create_vector(20, 1, 30).Commit()
    comm.Bcast([matrix.reshape(-1)[4:], 1, column], root=0)
    column.Free()
    check((matrix[:, 4] == 99).all(), "column")
    check((matrix[:, 5] == comm.rank).all(), "beside the column")


def wrong_root(comm):
    try:
        comm.Bcast(np.zeros(3), root=comm.size + 1)
    except MPI.Exception as error:
        check(error.Get_error_class() == MPI.ERR_ROOT, f"class of {error}")
    else:
        check(False, "a wrong root was accepted")


def main():
    world = MPI.COMM_WORLD
    half = world.Split(world.rank % 2, -world.rank)
    for comm in (world, half):
        buffers(comm)
        objects(comm)
        columns(comm)
        wrong_root(comm)
    half.Free()
    if world.rank == 0:
        print("PASS collectives")


main()
