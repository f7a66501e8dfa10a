# SPDX-License-Identifier: BSD-3-Clause
"""Runs what `sobor simulate` was asked for and writes the results."""

import tempfile
from functools import partial
from pathlib import Path

from sobor import console, outputs
from sobor.errors import SoborError
from sobor.native import Native
from sobor.progress import counter
from sobor.simulate import table, timeline
from sobor.simulate.engine import Row, check_engine, run_engine
from sobor.simulate.request import Job, Options, Request, make_request
from sobor.sizes import short_size

_FAULT = 1


def simulate(options: Options, native: Native) -> int:
    """Simulates, writes table, files and picture; 1 if a check found a fault."""
    check_engine(native)
    request = make_request(options, native)
    drawn: list[Path] = []
    rows = _run_all(request, native, drawn)
    _write(rows, request, drawn)
    return _FAULT if any(table.faults(row) for row in rows) else 0


def _run_all(request: Request, native: Native, drawn: list[Path]) -> list[Row]:
    """The rows of all runs; adds pictures that were made to `drawn`."""
    rows: list[Row] = []
    with counter(36) as progress:
        task = progress.add_task("starting", total=len(request.jobs))
        for job in request.jobs:
            progress.update(task, description=f"{request.collective}: {job.title}")
            rows += _run(job, request, native, drawn)
            progress.advance(task)
    # Messages say which machine by its name, wherever its file is.
    return [
        {**row, "machine": request.machine.name, "oversubscribed": row["ranks"] > request.cores}
        for row in rows
    ]


def _run(job: Job, request: Request, native: Native, drawn: list[Path]) -> list[Row]:
    if request.timeline is None:
        return run_engine(native, job.arguments, None)
    with tempfile.TemporaryDirectory(prefix="sobor-") as folder:
        path = Path(folder) / "timeline.json"
        rows = run_engine(native, job.arguments, path)
        if not path.exists() and any(map(table.faults, rows)):
            return rows  # a run that a fault has ended
        records = timeline.read_records(path)
    title = _picture_title(rows[0], job, request)
    picture = timeline.draw(records, job.ranks, _nodes(job, request, native), title)
    request.timeline.write_text(picture, encoding="utf-8")
    drawn.append(request.timeline)
    return rows


def _picture_title(row: Row, job: Job, request: Request) -> str:
    size = f" of {short_size(row['bytes'])} bytes" if row.get("bytes") else ""
    turns = table.TURNS if job.ranks > request.cores else ""
    what = f"simulated {row['collective']} {row['algorithm']}{size}"
    return f"{what}, {job.title} on {request.machine.title}{turns}"


def _nodes(job: Job, request: Request, native: Native) -> list[int]:
    """The NUMA node of each rank; unknown where there are several hosts."""
    if request.machine.nodes > 1:
        return []
    groups = native.query(
        "groups", "--machine", request.machine.topology, "--map", job.mapping,
        "--ranks", str(job.ranks),
    )  # fmt: skip
    nodes = [rank["node"] for rank in groups.get("ranks", [])]
    return nodes if len(nodes) == job.ranks and min(nodes) >= 0 else []


def _write(rows: list[Row], request: Request, drawn: list[Path]) -> None:
    if not rows:
        raise SoborError("no algorithm can do this; sobor info --algorithms lists them")
    write = partial(
        table.write, rows, request.machine, request.checks, request.histogram, console.out()
    )
    outputs.show(rows, request.json_file, write, *drawn)
