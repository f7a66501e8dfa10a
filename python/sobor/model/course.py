# SPDX-License-Identifier: BSD-3-Clause
"""The course of a traced program: its calls in order, and what ranks computed between them."""

import numpy as np

from sobor.model.replay import FROM_ROOT, TO_ROOT, Course, Step
from sobor.trace import analysis
from sobor.trace.files import COLLECTIVES, Trace

_ROOTED = (*FROM_ROOT, *TO_ROOT)
_KEY = ["comm", "number"]


def course_of(trace: Trace) -> Course:
    """By the calls of the rank that made most; each is taken to be of all ranks."""
    records = trace.calls[np.lexsort((trace.calls["entered"], trace.calls["rank"]))]
    own = {rank: records[records["rank"] == rank] for rank in trace.ranks}
    pattern = max(own.values(), key=len)
    place = {key: i for i, key in enumerate(pattern[_KEY].tolist())}
    gaps = np.zeros((len(pattern) + 1, len(own)))
    for column, (rank, calls) in enumerate(own.items()):
        gaps[:, column] = _gaps(calls, place, trace.seconds[rank])
    sizes = _sizes(pattern)
    steps = [
        Step(name, size, int(call["root"]) if name in _ROOTED else -1, tuple(row))
        for call, size, row in zip(pattern, sizes, gaps[:-1].tolist(), strict=True)
        for name in (COLLECTIVES[call["collective"]],)
    ]
    return Course(steps, tuple(gaps[-1].tolist()))


def _gaps(calls: np.ndarray, place: dict[tuple, int], seconds: float) -> np.ndarray:
    """Seconds a rank computed before each call, and after all; before the first is all else."""
    gaps = np.zeros(len(place) + 1)
    if calls.size == 0:
        gaps[-1] = seconds
        return gaps
    between = np.maximum(0.0, calls["entered"][1:] - calls["left"][:-1]) / 1e9
    at = 0
    for key, gap in zip(calls[_KEY].tolist(), [0.0, *between.tolist()], strict=True):
        at = place.get(key, at)
        gaps[at] += gap
    inside = float((calls["left"] - calls["entered"]).sum()) / 1e9
    gaps[0] += max(0.0, seconds - inside - float(between.sum()))
    return gaps


def _sizes(pattern: np.ndarray) -> list[int]:
    """Of each call the middle one of its class: one question to the core for each."""
    classes = analysis.size_class(pattern["bytes"])
    keys = np.stack([pattern["collective"], classes])
    sizes = np.zeros(len(pattern), np.int64)
    for key in np.unique(keys, axis=1).T:
        of_class = (keys == key[:, None]).all(axis=0)
        ordered = np.sort(pattern["bytes"][of_class])
        sizes[of_class] = max(0, ordered[len(ordered) // 2])
    return sizes.tolist()
