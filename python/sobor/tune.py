# SPDX-License-Identifier: BSD-3-Clause
"""`sobor tune`: measures this machine, and keeps what it found for the jobs that come."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs, variables
from sobor.bench.figures import figure
from sobor.bench.job import Row
from sobor.bench.measure import measure
from sobor.bench.request import Request, make_request
from sobor.bench.target import make_target
from sobor.bench.tuning import AUTO, line_of, nodes_of, rules_of
from sobor.errors import SoborError
from sobor.launchers.options import split_words
from sobor.native import Native, find_native
from sobor.platform import machine_file
from sobor.platform.run import Wanted as Platform
from sobor.platform.run import measure as measure_platform
from sobor.sizes import counted, parse_counts
from sobor.system.cpus import read_cpus
from sobor.system.files import Files
from sobor.tuning import VARIABLE, measured_rule

_LAUNCHER = "mpirun"
_USUAL_SECONDS = 3.0
_QUICK_SECONDS = 0.5

# What --full times, the rules of which are kept: operations that combine nothing.
_WHOLE = ("barrier", "bcast")
_PARTS = (
    *("scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw"),
)
_SIZES = (8, 256, 2048, 16384, 131072, 1048576)
# All parts of a rank together: of many ranks the long ones are left out.
_TOGETHER_MOST = 2 << 20
# For each side of a point.
_FULL_SECONDS = 0.06
_FULL_ROUNDS = 3


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor tune`."""

    quick: bool = False
    full: bool = False
    launcher: str | None = None
    ranks: str | None = None
    libmpi: str | None = None


def tune(wanted: Wanted, json_file: str | None) -> None:
    """Measures, and writes what was found and where it is kept."""
    native = find_native()
    _check(wanted, native)
    outputs.check(json_file, None)
    numbers = None if wanted.ranks is None else parse_counts(wanted.ranks, "--ranks")
    seconds = _QUICK_SECONDS if wanted.quick else _USUAL_SECONDS
    answer = native.tune("--seconds", str(seconds))
    kept = list(answer["entries"])
    if wanted.full:
        numbers = numbers or [entry["ranks"] for entry in kept]
    # Where nothing can be kept, it is said at the end.
    if wanted.launcher and answer["file"] and not _errors(kept):
        # With --full the launcher is without a number of ranks.
        most = max(numbers) if wanted.full else None
        answer["network"] = _keep_network(native, wanted, answer["file"], most)
    if wanted.full:
        answer["rules"] = [_keep_rules(native, wanted, ranks) for ranks in numbers]
        kept += answer["rules"]
    outputs.show(answer, json_file, lambda: _write(answer, console.out()))
    errors = _errors(kept)
    if errors:
        raise SoborError(f"what was measured is not kept: {'; '.join(sorted(errors))}")


def _errors(kept: list[dict[str, Any]]) -> set[str]:
    """Why entries are not kept."""
    return {entry["error"] for entry in kept} - {None}


def _check(wanted: Wanted, native: Native) -> None:
    """Refuses options that contradict each other, and rules that would be measured."""
    if wanted.ranks is not None and not wanted.full:
        raise SoborError("--ranks is for --full", "add --full, or leave out --ranks")
    if wanted.ranks is not None and 1 in parse_counts(wanted.ranks, "--ranks"):
        raise SoborError("--ranks: a collective needs at least 2 ranks, found 1")
    if wanted.libmpi is not None and wanted.launcher is None and not wanted.full:
        raise SoborError("--libmpi is for --launcher or --full", "add one, or leave out --libmpi")
    if wanted.full and os.environ.get(VARIABLE):
        raise SoborError(
            f"--full: {VARIABLE} is set, so its rules would be measured", f"unset {VARIABLE}"
        )
    if wanted.full:
        variables.refuse_unserved("--full", native, variables.SWITCH, variables.SERVED)
    if wanted.full or wanted.launcher:
        # Whether it can be measured, before anything is.
        make_target(wanted.launcher or _LAUNCHER, native, wanted.libmpi)


def _keep_network(
    native: Native, wanted: Wanted, prices: str, ranks: int | None = None
) -> dict[str, Any]:
    """Measures the platform that the launcher gives; keeps the network of several nodes."""
    words = split_words(wanted.launcher, "--launcher")
    platform = Platform(words, libmpi=wanted.libmpi, ranks=ranks, between_nodes=True)
    answers = measure_platform(native, platform)
    nodes = answers["job"]["nodes"]
    if nodes == 1:
        return {"nodes": 1, "file": None}
    file = str(Path(prices).with_name("network.json"))
    machine_file.check(file)
    machine_file.write(native, file, answers)
    return {"nodes": nodes, "file": file}


def _keep_rules(native: Native, wanted: Wanted, ranks: int) -> dict[str, Any]:
    """Times the MPI against Sobor's own choice with so many ranks; keeps where the MPI wins."""
    cores = read_cpus(Files()).usable
    rows: list[Row] = []
    for request in _requests(native, wanted, ranks):
        status, found = measure(request, native, cores)
        if status != 0:
            raise SoborError(
                f"--full: {counted(ranks, 'rank')} could not be measured; no rule of them is kept"
            )
        rows += found
        if (nodes := nodes_of(rows)) > 1:
            raise SoborError(
                f"--full: {ranks} ranks were on {nodes} nodes; rules are of the ranks of one, so "
                "no rule of them is kept",
                "measure rules inside an allocation of one node",
            )
    rules = rules_of(rows)
    lines = [line_of(rule) for rule in rules]
    (entry,) = native.tune("--rules", rows[0]["host"], str(ranks), *lines)["entries"]
    return {**entry, "rules": rules}


def _requests(native: Native, wanted: Wanted, ranks: int) -> list[Request]:
    """What is timed: Sobor's own choice even where an earlier rule sends calls to the host."""
    short = [size for size in _SIZES if size * ranks <= _TOGETHER_MOST]
    return [
        make_request(
            native,
            collectives=",".join(collectives),
            ranks=str(ranks),
            sizes=",".join(map(str, sizes)),
            variants="hot,cold",
            launcher=wanted.launcher or _LAUNCHER,
            peers=[],
            algorithms=",".join(f"{name}:{AUTO}" for name in collectives),
            seconds=_FULL_SECONDS,
            seed=1,
            rounds=_FULL_ROUNDS,
            host_only=False,
            sync=None,
            libmpi=wanted.libmpi,
            timeout=None,
        )
        for collectives, sizes in ((_WHOLE, _SIZES), (_PARTS, short or _SIZES[:1]))
    ]


def _write(answer: dict[str, Any], out: Console) -> None:
    console.heading(out, f"Prices in {answer['file']}" if answer["file"] else "Prices")
    names = list(answer["entries"][0]["prices"])
    grid = console.table(out, "ranks", *names, right=("ranks", *names))
    for entry in answer["entries"]:
        row = [
            f"{figure(entry['prices'][name])} ns" if name in entry["prices"] else ""
            for name in names
        ]
        grid.add_row(*(Text(cell) for cell in (str(entry["ranks"]), *row)))
    out.print(console.indented(grid))
    if "network" in answer:
        _write_network(answer["network"], out)
    if "rules" in answer:
        _write_rules(answer["rules"], out)
    out.print("  sobor info --prices lists all that follows from them")


def _write_network(network: dict[str, Any], out: Console) -> None:
    console.heading(out, f"Network of {counted(network['nodes'], 'node')}")
    if network["file"] is None:
        out.print("  the launcher gives one node: there is nothing to measure between nodes")
    else:
        out.print(f"  in {network['file']}; jobs go by it with SOBOR_NETWORK={network['file']}")


def _write_rules(entries: list[dict[str, Any]], out: Console) -> None:
    console.heading(out, "Rules in the same file")
    for entry in entries:
        for rule in entry["rules"]:
            sizes = rule.get("bytes", {"from": 0, "to": None})
            text = measured_rule({**rule, **sizes, "mpi": entry["mpi"]})
            out.print(Text(f"  {text}  (host time / Sobor's: {rule['note']})"))
        if not entry["rules"]:
            out.print(
                Text(f"  {entry['mpi']}, {counted(entry['ranks'], 'rank')}: Sobor serves all")
            )
