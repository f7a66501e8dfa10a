# SPDX-License-Identifier: BSD-3-Clause
"""What a trace says: shares of time, waiting, widths of arrival, who is late.

All times here are in nanoseconds; what is written, in microseconds and seconds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sobor.errors import SoborError
from sobor.model.arrival import impact, steps
from sobor.sizes import short_size
from sobor.trace.files import COLLECTIVES, HOST, Trace

PERCENTILES = (10, 50, 90, 99)
_SIDES = ("left", "right")


@dataclass(frozen=True)
class Calls:
    """The calls that all members made: one entry for each in all arrays but `rows`.

    `rows` are their records, those of one call together and in the order of arrival;
    `begin` is where each call's begin.
    """

    rows: np.ndarray
    begin: np.ndarray
    ranks: np.ndarray
    first: np.ndarray
    last: np.ndarray
    before_last: np.ndarray  # when all but the last were there
    end: np.ndarray
    late: np.ndarray  # the rank that came last
    bytes: np.ndarray
    collective: np.ndarray
    comm: np.ndarray
    site: np.ndarray

    @property
    def count(self) -> int:
        """How many calls there are."""
        return self.begin.size

    @property
    def width(self) -> np.ndarray:
        """From the first arrival to the last."""
        return self.last - self.first

    def spread(self, values: np.ndarray) -> np.ndarray:
        """A value of each call, for each of its records."""
        return np.repeat(values, self.ranks)

    @property
    def waiting(self) -> np.ndarray:
        """For each record: until the last has come, or until this rank has left."""
        rows = self.rows
        return np.clip(
            np.minimum(rows["left"], self.spread(self.last)) - rows["entered"], 0.0, None
        )


def chosen(trace: Trace, collective: str | None) -> np.ndarray:
    """The records of one operation, or all."""
    if collective is None:
        return trace.calls
    if collective not in COLLECTIVES:
        raise SoborError(
            f'--collective: expected one of {", ".join(COLLECTIVES)}, found "{collective}"'
        )
    return trace.calls[trace.calls["collective"] == COLLECTIVES.index(collective)]


def match(trace: Trace, rows: np.ndarray) -> Calls:
    """Puts the records of one call together; calls that a member's record lacks are left out."""
    sizes = np.array([0 if comm.between else comm.size for comm in trace.comms])
    rows = rows[sizes[rows["comm"]] > 1]
    rows = rows[np.lexsort((rows["entered"], rows["number"], rows["comm"]))]
    new = np.ones(rows.size, bool)
    for name in ("comm", "number"):
        new[1:] &= rows[name][1:] == rows[name][:-1]
    new[1:] = ~new[1:]
    begin = np.flatnonzero(new)
    counts = np.diff(np.append(begin, rows.size))
    whole = counts == sizes[rows["comm"][begin]]
    if begin.size:
        kinds = np.maximum.reduceat(rows["collective"], begin)
        whole &= kinds == np.minimum.reduceat(rows["collective"], begin)
    if trace.clock_error is None and begin.size:
        hosts = np.array([_host_number(trace, rank) for rank in range(max(trace.ranks) + 1)])
        where = hosts[rows["rank"]]
        whole &= np.maximum.reduceat(where, begin) == np.minimum.reduceat(where, begin)
    rows = rows[np.repeat(whole, counts)]
    counts = counts[whole]
    return _calls(rows, np.cumsum(counts) - counts, counts)


def _host_number(trace: Trace, rank: int) -> int:
    return list(trace.hosts.values()).index(trace.hosts[rank]) if rank in trace.hosts else -1


def _calls(rows: np.ndarray, begin: np.ndarray, counts: np.ndarray) -> Calls:
    last = begin + counts - 1
    any_calls = begin.size > 0
    return Calls(
        rows=rows,
        begin=begin,
        ranks=counts,
        first=rows["entered"][begin],
        last=rows["entered"][last],
        before_last=rows["entered"][last - 1],
        end=np.maximum.reduceat(rows["left"], begin) if any_calls else np.empty(0),
        late=rows["rank"][last],
        bytes=np.maximum.reduceat(rows["bytes"], begin) if any_calls else np.empty(0, np.int64),
        collective=rows["collective"][begin],
        comm=rows["comm"][begin],
        # Of the lowest rank: ranks may call at different places.
        site=rows["site"][np.lexsort((rows["rank"], np.repeat(begin, counts)))][begin],
    )


def analyse(trace: Trace, collective: str | None = None, transfer: float | None = None) -> dict:
    """All figures, as they are written in JSON; `transfer` in nanoseconds."""
    rows = chosen(trace, collective)
    calls = match(trace, rows)
    busy = float((rows["left"] - rows["entered"]).sum())
    run = trace.run * 1e9
    return {
        "ranks": trace.size,
        "traced_ranks": len(trace.ranks),
        "hosts": len(set(trace.hosts.values())),
        "seconds": max(trace.seconds.values()),
        "clock_error_us": None if trace.clock_error is None else trace.clock_error * 1e6,
        "notes": trace.notes,
        "calls": int(rows.size),
        "matched_calls": calls.count,
        "unmatched_records": int(rows.size - calls.rows.size),
        "share": busy / run,
        "waiting_share": float(calls.waiting.sum()) / run,
        "served_share": float((rows["algorithm"] > 0).mean()) if rows.size else 0.0,
        "operations": shares(trace, rows, calls, "collective"),
        "sizes": shares(trace, rows, calls, "bytes"),
        "communicators": shares(trace, rows, calls, "comm"),
        "algorithms": algorithms(trace, rows),
        "sites": widths(trace, calls),
        "late": lateness(trace, calls),
        "impact": impacts(calls, transfer),
        "otherwise": [],
    }


def size_class(sizes: np.ndarray) -> np.ndarray:
    """The next power of two, 0 for 0."""
    return np.where(sizes <= 0, 0, 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64))


def _label(trace: Trace, kind: str, value: int) -> str:
    if kind == "comm":
        return trace.comms[value].name
    if kind == "collective":
        return COLLECTIVES[value]
    return "0" if value == 0 else f"<= {short_size(value)}"


def shares(trace: Trace, rows: np.ndarray, calls: Calls, kind: str) -> list[dict[str, Any]]:
    """Calls and their time by operation, size or communicator, the most first (sizes in order)."""
    if rows.size == 0:
        return []

    def key(of: np.ndarray) -> np.ndarray:
        return size_class(of[kind]) if kind == "bytes" else of[kind]

    values, where = np.unique(key(rows), return_inverse=True)
    time = np.bincount(where, rows["left"] - rows["entered"], values.size)
    count = np.bincount(where, minlength=values.size)
    seen = np.searchsorted(values, key(calls.rows))
    waiting = np.bincount(seen, calls.waiting, values.size)
    run = trace.run * 1e9
    result = [
        {
            "name": _label(trace, kind, int(value)),
            "records": int(count[i]),
            "share": time[i] / run,
            "waiting_share": waiting[i] / run,
            "moving_share": (time[i] - waiting[i]) / run,
            "mean_us": time[i] / count[i] / 1e3,
        }
        for i, value in enumerate(values)
    ]
    return result if kind == "bytes" else sorted(result, key=lambda r: -r["share"])


def algorithms(trace: Trace, rows: np.ndarray) -> list[dict[str, Any]]:
    """Who served how many calls of which operation, and how long one took."""
    if rows.size == 0:
        return []
    pair = rows["collective"].astype(np.int64) * len(trace.algorithms) + rows["algorithm"]
    values, where = np.unique(pair, return_inverse=True)
    time = np.bincount(where, rows["left"] - rows["entered"])
    count = np.bincount(where)
    return [
        {
            "collective": COLLECTIVES[int(value) // len(trace.algorithms)],
            "algorithm": trace.algorithms[int(value) % len(trace.algorithms)],
            "served": trace.algorithms[int(value) % len(trace.algorithms)] != HOST,
            "records": int(count[i]),
            "mean_us": time[i] / count[i] / 1e3,
        }
        for i, value in enumerate(values)
    ]


def widths(trace: Trace, calls: Calls) -> list[dict[str, Any]]:
    """Widths of arrival by operation and call site, the most waiting first.

    The latest rank of a site is the one that held the others up for the longest in all: the one
    that is last most often may be so by a fraction of a microsecond.
    """
    result = []
    alone = (calls.last - calls.before_last).astype(float)
    waited = np.bincount(np.repeat(np.arange(calls.count), calls.ranks), calls.waiting, calls.count)
    pair = calls.collective.astype(np.int64) * len(trace.sites) + calls.site
    for value in np.unique(pair):
        here = pair == value
        late, which = np.unique(calls.late[here], return_inverse=True)
        latest = int(late[np.bincount(which, alone[here]).argmax()])
        delay = alone[here & (calls.late == latest)]
        width = np.percentile(calls.width[here], PERCENTILES) / 1e3
        result.append(
            {
                "collective": COLLECTIVES[int(value) // len(trace.sites)],
                "site": trace.sites[int(value) % len(trace.sites)],
                "calls": int(here.sum()),
                "width_us": {f"p{p}": w for p, w in zip(PERCENTILES, width, strict=True)},
                "waiting_us": float(waited[here].sum() / 1e3),
                "latest_rank": latest,
                "latest_share": float(delay.size / here.sum()),
                "latest_by_us": float(np.median(delay) / 1e3),
            }
        )
    return sorted(result, key=lambda row: -row["waiting_us"])


def lateness(trace: Trace, calls: Calls) -> list[dict[str, Any]]:
    """For each rank: how it arrives after the first, and how often and by how much it is last."""
    arrival = calls.rows["entered"] - calls.spread(calls.first)
    order = np.argsort(calls.rows["rank"], kind="stable")
    begin, end = (np.searchsorted(calls.rows["rank"][order], trace.ranks, s) for s in _SIDES)
    waiting = calls.waiting
    places = max(trace.ranks) + 1
    last = np.bincount(calls.late, minlength=places)
    held_up = np.bincount(calls.late, calls.last - calls.before_last, places)
    busy = np.bincount(trace.calls["rank"], trace.calls["left"] - trace.calls["entered"], places)
    result = []
    for place, rank in enumerate(trace.ranks):
        mine = order[begin[place] : end[place]]
        if mine.size == 0:
            continue
        middle, high = np.percentile(arrival[mine], (50, 90)) / 1e3
        run = 1e9 * trace.seconds[rank]
        result.append(
            {
                "rank": rank,
                "host": trace.hosts[rank],
                "calls": int(mine.size),
                "last": int(last[rank]),
                "last_share": float(last[rank] / mine.size),
                "held_up_us": float(held_up[rank] / 1e3),
                "arrival_us": {
                    "mean": float(arrival[mine].mean() / 1e3),
                    "p50": float(middle),
                    "p90": float(high),
                },
                "waiting_share": float(waiting[mine].sum() / run),
                "share": float(busy[rank] / run),
            }
        )
    return result


def impacts(calls: Calls, transfer: float | None = None) -> list[dict[str, Any]]:
    """Unbalance degree and impact by operation, size and number of ranks."""
    sizes = size_class(calls.bytes)
    keys = np.stack([calls.collective.astype(np.int64), sizes, calls.ranks], axis=1)
    index = np.repeat(np.arange(calls.count), calls.ranks)
    waited = np.bincount(index, calls.waiting, calls.count) / np.maximum(calls.ranks, 1)
    result = []
    for collective, size, ranks in np.unique(keys, axis=0):
        here = (keys == (collective, size, ranks)).all(axis=1)
        moved = float(np.percentile((calls.end - calls.last)[here], 10))
        step = transfer if transfer is not None else max(moved / steps(int(ranks)), 1.0)
        width = float(np.median(calls.width[here]))
        result.append(
            {
                "collective": COLLECTIVES[int(collective)],
                "bytes": int(size),
                "ranks": int(ranks),
                "calls": int(here.sum()),
                "width_us": width / 1e3,
                "transfer_us": step / 1e3,
                "psi": width / step,
                "gamma": impact(width / step, int(ranks)),
                "measured_gamma": float(waited[here].mean() / step),
            }
        )
    return result
