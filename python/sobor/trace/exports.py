# SPDX-License-Identifier: BSD-3-Clause
"""A trace in the formats of others: trace events for viewers, arrivals for sobor simulate."""

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sobor.errors import SoborError
from sobor.trace.analysis import Calls
from sobor.trace.files import COLLECTIVES, HOST, Trace


def write_events(trace: Trace, rows: np.ndarray, path: str) -> None:
    """Writes the Trace Event format (JSON): one process for each host, one thread for each rank."""
    hosts = sorted(set(trace.hosts.values()))
    number = {host: place for place, host in enumerate(hosts, start=1)}
    events = [
        *(_name("process_name", place, None, host) for host, place in number.items()),
        *(
            _name("thread_name", number[trace.hosts[rank]], rank, f"rank {rank}")
            for rank in trace.ranks
        ),
    ]
    with _open(path, "--events") as file:
        file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        # One by one: a long trace has more events than memory holds.
        for place, event in enumerate(itertools.chain(events, _events(trace, rows, number))):
            file.write(",\n" if place else "")
            file.write(json.dumps(event))
        file.write("\n]}\n")


def _name(kind: str, process: int, thread: int | None, name: str) -> dict[str, Any]:
    event = {"ph": "M", "name": kind, "pid": process, "args": {"name": name}}
    return event if thread is None else {**event, "tid": thread}


def _events(trace: Trace, rows: np.ndarray, host: dict[str, int]) -> Iterator[dict[str, Any]]:
    for row in rows:
        algorithm = trace.algorithms[row["algorithm"]]
        rank = int(row["rank"])
        yield {
            "ph": "X",
            "name": COLLECTIVES[row["collective"]],
            "cat": HOST if algorithm == HOST else "sobor",
            "pid": host[trace.hosts[rank]],
            "tid": rank,
            "ts": round(float(row["entered"]) / 1e3, 3),
            "dur": round(float(row["left"] - row["entered"]) / 1e3, 3),
            "args": {
                "bytes": int(row["bytes"]),
                "algorithm": algorithm,
                "communicator": trace.comms[row["comm"]].name,
                "number": int(row["number"]),
                "root": int(row["root"]),
                "site": trace.sites[row["site"]],
                "error": int(row["error"]),
            },
        }


def write_arrival(calls: Calls, path: str) -> int:
    """Writes for each call how late each rank came, in microseconds; returns how many calls.

    The calls are those of as many ranks as most calls have: a line has one column for each.
    """
    if calls.count == 0:
        raise SoborError("--write-arrival: the trace has no call that all ranks recorded")
    sizes, times = np.unique(calls.ranks, return_counts=True)
    ranks = int(sizes[times.argmax()])
    lines = [
        "# How late each rank came to each call of a trace, in microseconds after the first:",
        f"# one line for each call, one column for each of {ranks} ranks, in their order.",
        *_lines(calls, ranks),
    ]
    with _open(path, "--write-arrival") as file:
        file.write("\n".join(lines) + "\n")
    return len(lines) - 2


def _lines(calls: Calls, ranks: int) -> Iterable[str]:
    places = np.flatnonzero(calls.ranks == ranks)
    # In the order of time, whatever the communicator.
    for place in places[np.argsort(calls.first[places], kind="stable")]:
        rows = calls.rows[calls.begin[place] : calls.begin[place] + ranks]
        after = (rows["entered"] - calls.first[place])[np.argsort(rows["rank"])] / 1e3
        yield " ".join(f"{value:.3f}" for value in after)


def _open(path: str, option: str):
    try:
        return Path(path).open("w", encoding="utf-8")
    except OSError as error:
        raise SoborError(f"{option}: {path}: {error.strerror}") from None
