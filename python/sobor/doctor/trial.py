# SPDX-License-Identifier: BSD-3-Clause
"""Starts a small job under each MPI: the proof that a preload reaches the ranks and serves them."""

import os
import shlex
from collections.abc import Iterable, Iterator

from sobor.bench.job import Job, Outcome, plan_job, run_launch
from sobor.bench.request import Request
from sobor.bench.target import make_target
from sobor.doctor.finding import Finding, Patient, Status
from sobor.errors import SoborError
from sobor.launchers import Family, recognise
from sobor.libmpi import library_of
from sobor.system.cpus import read_cpus

SECTION = "Trial"
_RANKS = 2
_SECONDS = 60
_REQUEST = Request(
    collectives=["barrier", "bcast"],
    ranks=[_RANKS],
    sizes=[8],
    variants=["hot"],
    launchers=[],
    seconds=0.02,
    seed=1,
    rounds=1,
    host_only=False,
)


def check(patient: Patient, served: Iterable[Finding]) -> Iterator[Finding]:
    """One finding for each MPI; one that fails has a remedy."""
    for mpi in served:
        hindrance = _hindrance(patient, mpi)
        if hindrance:
            yield Finding(SECTION, mpi.name, Status.NOTE, f"not tried: {hindrance}")
            continue
        try:
            outcome = _run(patient, mpi)
        except SoborError as error:
            yield Finding(
                SECTION, mpi.name, Status.WARN, error.message, error.remedy or _remedy(mpi)
            )
        else:
            yield _finding(mpi, outcome)


def _hindrance(patient: Patient, mpi: Finding) -> str:
    """Why a launcher that serves programs of several MPIs is not tried."""
    family = mpi.data.get("family")
    if family == Family.PLAIN.value:
        return "how it is told a number of ranks is not known"
    if family != Family.SRUN.value:
        return ""
    if "SLURM_JOB_ID" not in patient.environ:
        return "outside of an allocation it would queue a job"
    try:
        library = library_of(recognise(mpi.data["launcher"], patient.environ), patient.environ)
    except SoborError as error:
        return error.message
    return "" if library else "no MPI library was found"


def _run(patient: Patient, mpi: Finding) -> Outcome:
    target = make_target(shlex.quote(mpi.data["launcher"]), patient.native, environ=patient.environ)
    cores = read_cpus(patient.files).usable
    launch = plan_job(Job(target, _RANKS, _REQUEST.collectives), _REQUEST, patient.native, cores)
    return run_launch(launch, _SECONDS, lambda row: None)


def _finding(mpi: Finding, outcome: Outcome) -> Finding:
    algorithms = {row["collective"]: row["algorithm"] for row in outcome.rows}
    data = {"algorithms": algorithms, "notices": outcome.notices}
    if outcome.problem or len(outcome.rows) < len(_REQUEST.collectives):
        value = outcome.problem or "the job ended early"
        return Finding(SECTION, mpi.name, Status.WARN, value, _remedy(mpi), data)
    shown = ", ".join(f"{name} by {how or 'the host'}" for name, how in algorithms.items())
    value = "; ".join([f"{_RANKS} ranks, right results: {shown}", *outcome.notices])
    status = Status.NOTE if outcome.notices else Status.OK
    return Finding(SECTION, mpi.name, status, value, data=data)


def _remedy(mpi: Finding) -> str:
    root = "OMPI_ALLOW_RUN_AS_ROOT=1 " if os.geteuid() == 0 else ""
    return f"see whether the MPI works without Sobor: {root}{mpi.data['launcher']} -n 2 hostname"
