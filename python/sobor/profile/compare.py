# SPDX-License-Identifier: BSD-3-Clause
"""What was gained: runs of the host and of Sobor that took turns, pair by pair."""

import math
from dataclasses import dataclass
from typing import Any

from sobor.profile.sums import of_any_rank

#: Student's t, 97.5 %, for 1, 2, ... degrees of freedom; beyond, that of the last serves.
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)


@dataclass(frozen=True)
class Run:
    """One run: seconds of the whole command, and its profile."""

    seconds: float
    profile: dict[str, Any]


def interval(ratios: list[float]) -> tuple[float, float | None, float | None]:
    """The geometric mean and its 95 % interval; of one pair there is none."""
    logs = [math.log(ratio) for ratio in ratios]
    count = len(logs)
    mean = sum(logs) / count
    if count < 2:
        return math.exp(mean), None, None
    spread = math.sqrt(sum((value - mean) ** 2 for value in logs) / (count - 1) / count)
    width = _STUDENT[min(count - 1, len(_STUDENT)) - 1] * spread
    return math.exp(mean), math.exp(mean - width), math.exp(mean + width)


def _seconds_in(profile: dict[str, Any], operation: str) -> float:
    rows = (row for row in of_any_rank(profile) if row["operation"] == operation)
    return sum(row["total_us_mean"] for row in rows) / 1e6


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def compare(host: list[Run], sobor: list[Run], command: str) -> dict[str, Any]:
    """Host time over Sobor time, of the whole command and of its collectives."""
    pairs = list(zip(host, sobor, strict=True))
    ratio, low, high = interval([of.seconds / our.seconds for of, our in pairs])
    operations = {row["operation"] for run in [*host, *sobor] for row in run.profile["calls"]}
    rows = [
        {
            "operation": name,
            "host_s": _mean([_seconds_in(run.profile, name) for run in host]),
            "sobor_s": _mean([_seconds_in(run.profile, name) for run in sobor]),
        }
        for name in operations
    ]
    return {
        "command": command,
        "rounds": len(pairs),
        "ranks": host[0].profile["ranks"],
        "host": host[0].profile["host"],
        "host_s": [run.seconds for run in host],
        "sobor_s": [run.seconds for run in sobor],
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "operations": sorted(rows, key=lambda row: row["sobor_s"] - row["host_s"]),
    }
