# SPDX-License-Identifier: BSD-3-Clause
"""`sobor model arrival`: checks the options, and writes what the impact model says."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.bench.figures import figure
from sobor.errors import SoborError
from sobor.machines import find_machine
from sobor.model.arrival import Job, rows
from sobor.sizes import counted, parse_size
from sobor.times import parse_time

TITLES = {
    "bt": "binomial tree over all ranks",
    "p-bt": "over fixed leaders of nodes",
    "cp-bt": "over the first of each node",
}


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor model arrival`."""

    width: str
    nodes: int
    ranks: int
    size: str | None = None
    transfer: str | None = None
    machine: str = "cluster-128x8"
    plot: str | None = None


@dataclass(frozen=True)
class Network:
    """What a transfer takes, in microseconds: alpha, and beta for each byte."""

    alpha: float
    beta: float

    def transfer(self, size: float) -> float:
        """t(m)."""
        return self.alpha + self.beta * size


def arrival(wanted: Wanted, json_file: str | None) -> None:
    """Writes the answers."""
    outputs.check(json_file, wanted.plot)
    job = _job(wanted)
    width = parse_time(wanted.width, "--width", or_zero=True) / 1e3
    transfer = _transfer(wanted)
    answers = rows(job, width, transfer)
    if wanted.plot:
        from sobor.model.arrival_plot import draw  # noqa: PLC0415 - NumPy and Matplotlib are slow

        draw(job, width, _network(wanted.machine), Path(wanted.plot))
    write = partial(_write, answers, width, transfer, console.out())
    outputs.show(answers, json_file, write, wanted.plot)


def _job(wanted: Wanted) -> Job:
    if wanted.ranks % wanted.nodes != 0:
        raise SoborError(
            f"--ranks: expected a multiple of --nodes, {wanted.nodes}, found {wanted.ranks}"
        )
    return Job(wanted.nodes, wanted.ranks // wanted.nodes)


def _network(name: str) -> Network:
    machine = find_machine(name)
    lacking = [key for key in ("net_latency", "net_byte") if key not in machine.parameters]
    if lacking:
        raise SoborError(
            f"--machine: {name} has no network: {', '.join(lacking)} not given",
            "give --transfer, or a machine of several nodes",
        )
    alpha, beta = (machine.parameters[key].value for key in ("net_latency", "net_byte"))
    return Network(float(alpha) / 1e3, float(beta) / 1e3)


def _transfer(wanted: Wanted) -> float:
    if wanted.transfer is not None:
        return parse_time(wanted.transfer, "--transfer") / 1e3
    if wanted.size is None:
        raise SoborError(
            "the time of a transfer is needed", "add --bytes, such as --bytes 40000, or --transfer"
        )
    return _network(wanted.machine).transfer(parse_size(wanted.size, "--bytes"))


def _write(answers: list[dict[str, Any]], width: float, transfer: float, out: Console) -> None:
    first = answers[0]
    title = f"Width {figure(width)} us, t(m) {figure(transfer)} us: psi {figure(first['psi'])}"
    nodes, ranks = counted(first["nodes"], "node"), counted(first["ranks_per_node"], "rank")
    console.heading(out, f"{title}; {nodes} of {ranks}")
    numbers = ("E(W) us", "gamma", "T us")
    grid = console.table(out, "method", *numbers, "", right=numbers)
    for row in answers:
        values = (figure(row[key]) for key in ("ew_us", "gamma", "time_us"))
        grid.add_row(row["method"], *values, Text(TITLES[row["method"]]))
    out.print(console.indented(grid))
    out.print("  E(W): the root's waiting for its children, in all; docs/model.md")
