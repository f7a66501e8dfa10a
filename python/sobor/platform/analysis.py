# SPDX-License-Identifier: BSD-3-Clause
"""What follows from the samples of a platform: prices, each with its spread, and forecasts."""

import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from sobor.errors import SoborError
from sobor.model.allgather import Link, crossing, plan

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

    @property
    def ends(self) -> int:
        """Of the network: one of each node; on one node, its ranks."""
        return self.job["nodes"] if self.job["nodes"] > 1 else self.job["ranks"]

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
    lanes, ratio = _enough([(pairs, median(rates)) for pairs, rates in points])
    draw = random.Random(1)
    again = [
        _enough([(pairs, median(draw.choices(rates, k=len(rates)))) for pairs, rates in points])[0]
        for _ in range(_RESAMPLES)
    ]
    best = max((rates for _, rates in points), key=median)
    return {**figure(again), "value": lanes, "ratio": ratio}, figure(best)


def _enough(points: list[tuple[float, float]]) -> tuple[int, float]:
    """The fewest pairs that fill the link, by their rates; and how much faster all are than one."""
    ratios = [rate / points[0][1] for _, rate in points]
    most = max(ratios)
    pairs = next(at for (at, _), ratio in zip(points, ratios, strict=True) if ratio > 0.9 * most)
    return int(pairs) if most > LANES_WORTH else 1, most


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
    if rows.points("bagds"):
        link = Link(answers["ts_us"]["value"], answers["tw_us"]["value"])
        answers["crossing_elements"] = _crossing(rows, link)
    return answers


def _between(known: list[tuple[float, float]], eager: float) -> Callable[[float], float]:
    """Times of sizes between those that were measured; not across the step at the eager limit.

    Beyond the longest in proportion: two noisy points would tell less of a third.
    """

    def time(size: float) -> float:
        if size > known[-1][0]:
            return known[-1][1] * size / known[-1][0]
        side = [point for point in known if (point[0] <= eager) == (size <= eager)]
        pairs = list(itertools.pairwise(side if len(side) > 1 else known))
        (low, first), (high, second) = next((p for p in pairs if size <= p[1][0]), pairs[-1])
        return first + (second - first) * (size - low) / (high - low)

    return time


def _in_a_row(rows: Rows, measure: str) -> list[tuple[float, float]]:
    """Microseconds of calls by their bytes."""
    return [(at, median(times) * 1e6) for at, times in rows.points(measure)]


@dataclass(frozen=True)
class _Ends:
    """What transfers of all ends take, in microseconds."""

    count: int
    star: bool
    latency: float
    overhead: float
    rate: float  # bytes a microsecond of one way, by all pairs
    eager: float
    exchange: Callable[[float], float]  # of all pairs at once

    def stage(self, longest: float, together: float) -> float:
        """All exchange at once: the bytes of the longest transfer, and of all.

        Long enough, nothing is faster than a stream, which all take turns with on a star: a bucket
        of tokens lets some short messages pass, and of an odd number of ends one has no partner.
        """
        return max(self.exchange(longest), (together if self.star else longest) / self.rate)

    def allgather(self, size: float) -> float:
        """By recursive doubling; where that takes more stages, by Bruck's algorithm."""
        whole = self.count & (self.count - 1) == 0
        stages = plan("recursive-doubling" if whole else "bruck", self.count).each
        return sum(self.stage(longest * size, blocks * size) for longest, blocks in stages)

    def alltoall(self, size: float) -> float:
        """All messages of an end at once; above the eager limit as one exchange of their bytes."""
        others = self.count - 1
        one = self.stage(size, self.count * size)
        sent = self.stage(others * size, self.count * others * size)
        if size <= self.eager:
            sent = self.latency + others * max(0.0, one - self.latency)
        return sent + (others - 1) * self.overhead


def _forecasts(rows: Rows, answers: dict[str, Any]) -> list[dict[str, Any]]:
    """Beside what was measured."""
    switch, eager = answers["switch"], answers["eager_bytes"]["value"]
    narrow = switch["blocking"] if switch["value"] == "blocking" else 1.0
    ends = _Ends(
        count=rows.ends,
        star=switch["value"] == "star",
        latency=answers["ts_us"]["value"],
        overhead=answers["overhead_us"]["value"],
        rate=answers["bandwidth"]["value"] / narrow / 1e6,
        eager=eager,
        exchange=_between(_in_a_row(rows, "exchange-time"), eager),
    )
    return [
        {
            "collective": collective,
            "ends": ends.count,
            "bytes": int(at),
            "forecast_us": getattr(ends, collective)(at),
            "measured_us": time,
        }
        for collective in ("allgather", "alltoall")
        for at, time in _in_a_row(rows, collective)
    ]


def _crossing(rows: Rows, link: Link) -> dict[str, Any]:
    """Up to how many elements of each end BAGDS is ahead of each-with-each on a star.

    By the formulas; measured with their (p - 1)^2 transfers; and with all that it needs.
    """
    ours = _in_a_row(rows, "bagds")
    found: dict[str, Any] = {"model": crossing(link, rows.ends, "star")}
    for name, measure in (("measured", "(p - 1)^2 transfers"), ("whole", "each-with-each")):
        gains = [
            (at / ELEMENT, theirs / mine)
            for (at, mine), (_, theirs) in zip(ours, _in_a_row(rows, measure), strict=True)
        ]
        found[name] = _crosses(gains)
        found[f"{name}_gains"] = [{"elements": at, "gain": gain} for at, gain in gains]
    return found


def _crosses(gains: list[tuple[float, float]]) -> float | None:
    """Where a gain that falls passes 1.

    Where as few points as possible are on the wrong side: noise may move any. None: it does not;
    0: it never was above.
    """
    wrong = [
        sum(gain < 1 for _, gain in gains[:i]) + sum(gain >= 1 for _, gain in gains[i:])
        for i in range(len(gains) + 1)
    ]
    place = wrong.index(min(wrong))
    if place in (0, len(gains)):
        return 0.0 if place == 0 else None
    (low, before), (high, after) = gains[place - 1], gains[place]
    share = (before - 1) / (before - after) if before > after else 0.5
    return low * (high / low) ** min(1.0, max(0.0, share))
