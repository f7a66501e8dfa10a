# SPDX-License-Identifier: BSD-3-Clause
"""Takes the times of one algorithm with one set of settings: in the simulator, or here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

from sobor.bench.job import Job, Row, plan_job, run_launch, time_limit
from sobor.bench.place import target_here
from sobor.bench.request import COUNTS_SIMULATED, Request
from sobor.errors import SoborError
from sobor.machines import Machine, find_machine
from sobor.native import Native
from sobor.simulate.engine import check_engine, run_engine
from sobor.sizes import counted
from sobor.study.figure import HERE, Run, Setting, number, text
from sobor.system.cpus import read_cpus
from sobor.system.files import Files

#: How ranks are dealt if nothing else is said.
MAPPING = "core"

#: Microseconds by message size; a barrier has the size 0.
Times = dict[int, float]


@dataclass(frozen=True)
class Case:
    """What is timed."""

    collective: str
    algorithm: str
    ranks: int
    sizes: tuple[int, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    root: str | None = None
    mapping: str = MAPPING
    cold: bool = True
    placed: bool = True
    #: Of the simulator: one segment with the parts of all ranks.
    segment: str | None = None
    counts: str | None = None
    arrival: str | None = None
    sync: str | None = None
    nodes: int = 1
    calls: int = 8
    warmup: int = 3

    @property
    def title(self) -> str:
        """What to call it in messages."""
        return (
            f"{self.collective} {self.algorithm}, {counted(self.ranks, 'rank')} by {self.mapping}"
        )


def simulate(native: Native, machine: Machine, case: Case, seed: int) -> Times:
    """Medians in the simulator."""
    rows = run_engine(native, simulated(machine.path, case, seed), None)
    return {row["bytes"]: row["median_us"] for row in rows}


def simulated(machine: Path, case: Case, seed: int) -> tuple[str, ...]:
    """The words of one run of the simulator on the machine of a file."""
    words = [case.collective, "--machine", str(machine), "--map", case.mapping]
    words += ["--ranks", str(case.ranks), "--algorithm", case.algorithm, "--seed", str(seed)]
    words += ["--calls", str(case.calls), "--warmup", str(case.warmup)]
    words += ["--nodes", str(case.nodes)] if case.nodes > 1 else []
    words += ["--cold", _switch(case.cold), "--placement", _switch(case.placed)]
    words += ["--bytes", ",".join(map(str, case.sizes))] if case.sizes else []
    counts = COUNTS_SIMULATED.get(case.counts or "", case.counts)
    given = {"--root": case.root, "--counts": counts, "--arrival": case.arrival}
    for option, value in {**given, "--sync": case.sync, "--segment": case.segment}.items():
        words += [option, value] if value is not None else []
    for name, value in case.settings.items():
        words += ["--set", f"{name}={value}"]
    return tuple(words)


def _switch(value: bool) -> str:
    return "on" if value else "off"


@dataclass(frozen=True)
class Bench:
    """Takes times on this machine, under a launcher."""

    native: Native
    launcher: str = "mpirun"
    libmpi: str | None = None
    seconds: float = 0.1
    timeout: float | None = None

    @cached_property
    def cores(self) -> int:
        """Processors that this process may use."""
        return read_cpus(Files()).usable

    @cached_property
    def _target(self):
        return target_here(self, self.native)

    def times(self, case: Case, seed: int, label: str = "") -> Times:
        """Sobor's times; the host's own for the algorithm `host`."""
        name, host = case.collective, case.algorithm == "host"
        forced = {} if host else {name: case.algorithm}
        settings = dict(case.settings)
        job = Job(self._target, case.ranks, [name], forced, settings, case.root or "0")
        request = self._request(case, seed, host)
        outcome = run_launch(
            plan_job(job, request, self.native, self.cores),
            time_limit(job, request),
            lambda _row: None,
        )
        problem = outcome.problem or ("; ".join(outcome.notices) if not outcome.rows else "")
        if not problem and not host:
            problem = _not_served(case.algorithm, outcome.rows)
        if problem:
            raise SoborError(f"{job.title}, {label or case.title}: {problem}")
        side = "host_us" if host else "sobor_us"
        return {row["bytes"]: row[side] for row in outcome.rows}

    def _request(self, case: Case, seed: int, host: bool) -> Request:
        return Request(
            collectives=[case.collective],
            ranks=[case.ranks],
            sizes=list(case.sizes) or [8],
            variants=["cold" if case.cold else "hot"],
            launchers=[self.launcher],
            seconds=self.seconds,
            seed=seed,
            rounds=1,
            host_only=host,
            timeout=self.timeout,
            counts=case.counts or "equal",
        )


def _not_served(algorithm: str, rows: list[Row]) -> str:
    served = algorithm == "auto" or all(row["algorithm"] == algorithm for row in rows)
    return "" if served else f"{algorithm} did not serve all calls"


def check_place(native: Native, machine: str) -> Machine | None:
    """The machine to simulate; None: this one."""
    if machine == HERE:
        return None
    check_engine(native)
    return find_machine(machine)


def take(run: Run, case: Case) -> Times:
    """The mean of the runs without the least and the greatest, where there are three and more."""
    machine = check_place(run.native, run["machine"])
    bench = Bench(run.native)
    run.tell(case.title)
    found: list[Times] = []
    for seed in range(run["seed"], run["seed"] + run["runs"]):
        found.append(
            bench.times(case, seed)
            if machine is None
            else simulate(run.native, machine, case, seed)
        )
    return {size: trimmed([times[size] for times in found]) for size in found[0]}


def trimmed(values: list[float]) -> float:
    """The mean without the least and the greatest of three values and more."""
    return fmean(sorted(values)[1:-1] if len(values) > 2 else values)


def common(machine: str, runs: str = "5") -> tuple[Setting, ...]:
    """The settings of every figure whose times are taken."""
    return (
        Setting("machine", machine, "a machine of sobor simulate --list, a file, or here", text),
        Setting("runs", runs, "runs, of which the least and the greatest are dropped", number()),
        Setting("seed", "1", "of the first run", number(0)),
    )
