# SPDX-License-Identifier: BSD-3-Clause
"""Poisson's equation on a square, by PETSc and SLEPc: what their collectives are called for."""

import sys

import petsc4py

petsc4py.init(sys.argv)

from petsc4py import PETSc  # noqa: E402
from slepc4py import SLEPc  # noqa: E402

SIDE = 120
STEPS = ((0, 0, 4.0), (-1, 0, -1.0), (1, 0, -1.0), (0, -1, -1.0), (0, 1, -1.0))


def five_points(grid) -> PETSc.Mat:
    """The matrix of the five-point stencil, one row for each point of the grid."""
    matrix = grid.createMatrix()
    row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    (left, right), (low, high) = grid.getRanges()
    for j in range(low, high):
        for i in range(left, right):
            row.index = (i, j)
            for x, y, value in STEPS:
                if 0 <= i + x < SIDE and 0 <= j + y < SIDE:
                    column.index = (i + x, j + y)
                    matrix.setValueStencil(row, column, value)
    matrix.assemble()
    return matrix


def solve(matrix, method: str) -> str:
    """The sum of what a linear solver finds, and whether it solves the equations."""
    given, found = matrix.createVecs()
    given.set(1.0)
    solver = PETSc.KSP().create(PETSc.COMM_WORLD)
    solver.setOperators(matrix)
    solver.setType(method)
    solver.getPC().setType("bjacobi")
    solver.setTolerances(rtol=1e-10, max_it=2000)
    solver.solve(given, found)
    return f"{method} {found.sum():.6e} {(matrix * found - given).norm() < 1e-5}"


def largest(matrix) -> str:
    """The two largest eigenvalues."""
    solver = SLEPc.EPS().create(PETSc.COMM_WORLD)
    solver.setOperators(matrix)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setDimensions(2)
    solver.solve()
    return " ".join(f"{solver.getEigenvalue(i).real:.5f}" for i in range(2))


equations = five_points(PETSc.DMDA().create([SIDE, SIDE], stencil_width=1, comm=PETSc.COMM_WORLD))
PETSc.Sys.Print(*(solve(equations, method) for method in ("cg", "gmres", "bcgs")), sep="\n")
PETSc.Sys.Print(largest(equations))
