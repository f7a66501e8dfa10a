# SPDX-License-Identifier: BSD-3-Clause
"""What follows from the samples of a platform: prices, each with its spread, and forecasts."""

import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from sobor.errors import SoborError
from sobor.model.allgather import Link, plan

#: Bytes of an element, as published.
ELEMENT = 4
#: The two points of the published fit, in elements.
TWO_POINTS = (1, 2048)
#: Of what all pairs could gain over one: below, and above.
STAR_BELOW, CROSSBAR_ABOVE = 0.3, 0.7
#: Two pairs have to move so many times the bytes of one to count as lanes.
LANES_WORTH = 1.3
_RESAMPLES = 40

Figure = dict[str, Any]
Points = list[tuple[float, list[float]]]


@dataclass(frozen=True)
class Rows:
    """The rows that a job wrote."""

    job: dict[str, Any]
    rows: list[dict[str, Any]]

    def points(self, measure: str, how: str | None = None) -> Points:
        """Samples by what was varied."""
        return [
            (row["at"], row["samples"])
            for row in self.rows
            if row["measure"] == measure and how in (None, row["how"])
        ]

    def samples(self, measure: str, how: str | None = None, place: int = 0) -> list[float]:
        """The samples of one row."""
        points = self.points(measure, how)
        if not points:
            raise SoborError(f"the job measured no {measure}: it ended too early")
        return points[place][1]


def quantile(values: Iterable[float], share: float) -> float:
    """Of sorted values the one at that share."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def figure(values: list[float], factor: float = 1.0) -> Figure:
    """A median with its spread."""
    return {
        "value": median(values) * factor,
        "p10": quantile(values, 0.1) * factor,
        "p90": quantile(values, 0.9) * factor,
        "samples": len(values),
    }


def fit(points: list[tuple[float, float]]) -> Link:
    """t_s and t_w in microseconds, of times in seconds: least squares of the relative errors.

    Times span four orders: absolute errors would be those of the longest message alone.
    """
    weights = [1 / time**2 for _, time in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    both = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points, strict=True))
    each = both / sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    return Link(max(0.0, (mean_y - each * mean_x) * 1e6), max(0.0, each * 1e6))


def fit_two(points: list[tuple[float, float]]) -> Link:
    """The same through the two published points."""
    (one, short), (many, long) = (point for point in points if point[0] in TWO_POINTS)
    each = max(0.0, (long - short) / (many - one))
    return Link(max(0.0, short - one * each) * 1e6, each * 1e6)


def _fitted(pings: Points, how: Callable[[list], Link]) -> dict[str, Figure]:
    """t_s and t_w, with the spread over samples drawn again."""
    draw = random.Random(1)
    best = how([(at, median(times)) for at, times in pings])
    again = [
        how([(at, median(draw.choices(times, k=len(times)))) for at, times in pings])
        for _ in range(_RESAMPLES)
    ]
    latencies, elements = [link.latency for link in again], [link.element for link in again]
    return {
        "ts_us": {**figure(latencies), "value": best.latency},
        "tw_us": {**figure(elements), "value": best.element},
    }


def _switch(rows: Rows) -> Figure:
    """Star, crossbar or between; and how many times too narrow it is. Two pairs tell."""
    (_, one), (pairs, of_all) = (points := rows.points("pairs"))[0], points[-1]
    ratios = [rate / median(one) for rate in of_all]
    ratio, kind = median(ratios), "unknown"
    if pairs > 1:
        gained = (ratio - 1) / (pairs - 1)
        kind = "star" if gained < STAR_BELOW else "blocking"
        kind = "crossbar" if gained > CROSSBAR_ABOVE else kind
    spread = {**figure(ratios), "value": kind}
    return {**spread, "ratio": ratio, "pairs": int(pairs), "blocking": max(1.0, pairs / ratio)}


def _lanes(rows: Rows) -> tuple[Figure, Figure]:
    """Pairs of two nodes that together are faster than one; and what all of them move."""
    points = rows.points("lanes") or [(1, rows.samples("stream"))]
    one = median(points[0][1])
    ratios = [median(rates) / one for _, rates in points]
    most = max(ratios)
    enough = next(i for i, ratio in enumerate(ratios) if ratio > 0.9 * most)
    lanes = int(points[enough][0]) if most > LANES_WORTH else 1
    best = max((rates for _, rates in points), key=median)
    return {"value": lanes, "ratio": most, **_bounds(ratios)}, figure(best)


def _bounds(values: list[float]) -> Figure:
    return {"p10": min(values), "p90": max(values), "samples": len(values)}


def _flops(rows: Rows) -> dict[str, Figure]:
    found = {}
    for how in ("dependent", "independent"):
        for place, cores in enumerate(("one", "all")):
            found[f"{how}_{cores}"] = figure(rows.samples("flops", how, place))
    return found


def prices(rows: Rows) -> dict[str, Any]:
    """All that is measured, by name."""
    flops = _flops(rows)
    answers = {
        "job": rows.job,
        "flops": {**flops["independent_one"], **flops},
    }
    if rows.job["ranks"] < 2:
        return answers
    pings = rows.points("ping")
    leaves, stays = rows.samples("eager")
    switch = _switch(rows)
    lanes, injection = _lanes(rows)
    answers |= {
        **_fitted(pings, fit),
        "two_points": _fitted(pings, fit_two),
        "bandwidth": figure(rows.samples("stream")),
        "exchange": figure(rows.samples("exchange")),
        "overhead_us": figure(rows.samples("send"), 1e6),
        "eager_bytes": {"value": int(leaves), "p10": int(leaves), "p90": int(stays), "samples": 1},
        "lanes": lanes,
        "injection": injection,
        "switch": switch,
        "barrier_precision_us": figure(rows.samples("barrier"), 1e6),
        "reference_precision_us": {
            "by": next(row["how"] for row in rows.rows if row["measure"] == "reference"),
            **figure(rows.samples("reference"), 1e6),
        },
        "pings": [{"elements": int(at), **figure(times, 1e6)} for at, times in pings],
    }
    answers["forecasts"] = _forecasts(rows, answers)
    return answers


def _exchange(rows: Rows) -> Callable[[float], float]:
    """Microseconds that two ends take to exchange so many bytes, between what was measured."""
    known = [(at, median(times) * 1e6) for at, times in rows.points("exchange-time")]

    def time(size: float) -> float:
        pairs = list(itertools.pairwise(known))
        (low, first), (high, second) = next((p for p in pairs if size <= p[1][0]), pairs[-1])
        return first + (second - first) * (size - low) / (high - low)

    return time


def forecast(
    collective: str, ends: int, size: float, exchange: Callable, switch: dict, latency: float
) -> float:
    """Microseconds of a call by its best method: its stages, one after the other.

    Two ends that exchange say what a stage takes where all can. On a star the bytes of all others
    take their turn; their latencies overlap.
    """
    methods = ("ring",) if collective == "alltoall" else ("ring", "bruck", "recursive-doubling")
    kind = switch["value"]

    def stage(longest: int, all_blocks: int) -> float:
        time = exchange(longest * size)
        turns = all_blocks / longest / 2 if kind == "star" else 1.0
        turns = switch["blocking"] if kind == "blocking" else turns
        return latency + max(0.0, time - latency) * max(1.0, turns)

    times = [sum(itertools.starmap(stage, plan(method, ends).each)) for method in methods]
    if collective == "alltoall":  # all messages at once
        times.append(times[0] - (ends - 2) * latency)
    return min(times)


def _forecasts(rows: Rows, answers: dict[str, Any]) -> list[dict[str, Any]]:
    """Beside what was measured."""
    job, exchange = rows.job, _exchange(rows)
    ends = job["nodes"] if job["nodes"] > 1 else job["ranks"]
    latency = answers["ts_us"]["value"]
    return [
        {
            "collective": collective,
            "ends": ends,
            "bytes": int(at),
            "forecast_us": forecast(collective, ends, at, exchange, answers["switch"], latency),
            "measured_us": figure(times, 1e6)["value"],
        }
        for collective in ("allgather", "alltoall")
        for at, times in rows.points(collective)
    ]
