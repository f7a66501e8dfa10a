# SPDX-License-Identifier: BSD-3-Clause
"""`sobor estimate`: what Sobor would gain, by a profile and this machine's measured ratios."""

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sobor import console, outputs, variables
from sobor.bench.measure import measure
from sobor.bench.request import make_request
from sobor.errors import SoborError
from sobor.inputs import read_json
from sobor.native import find_native
from sobor.profile import first, shape, views
from sobor.profile.sums import of_any_rank
from sobor.system.cpus import read_cpus
from sobor.system.files import Files

#: Points that are measured, at most, and of those that take this share of the time.
MOST, SHARE = 16, 0.98

Row = dict[str, Any]


class Gain(NamedTuple):
    """Of one call, measured here: host time over Sobor time, and microseconds saved."""

    ratio: float
    saved_us: float


Gains = dict[tuple[str, int, int], Gain]


def load(file: str) -> dict[str, Any]:
    """A file of sobor profile --json or sobor estimate --json."""
    result = read_json(file)
    kind = views.kind_of(result) if isinstance(result, dict) else None
    if kind is None:
        raise SoborError(
            f"{file}: expected what sobor profile --json or sobor estimate --json wrote"
        )
    shape.check(file, kind, result)
    return result


def estimate(file: str, launcher: str, seconds: float, json_file: str | None) -> int:
    """Measures what the profile has most of, and writes the estimate; 1 if a job failed."""
    outputs.check(json_file)
    profile = load(file)
    if views.kind_of(profile) != "profile":
        raise SoborError(f"{file}: expected a profile, found {views.kind_of(profile)}")
    rows = [row for row in of_any_rank(profile) if not row["served"]]
    if not rows:
        raise SoborError(
            f"{file}: the host MPI served no collective calls",
            "profile the host: sobor profile --set SOBOR=off --json host.json -- ...",
        )
    native, cores = find_native(), read_cpus(Files()).usable
    variables.refuse_unserved("sobor estimate", native, variables.SWITCH)
    after, kinds = first.serve_after(native), profile.get("communicators", [])
    status, gains = _measured(important(rows, kinds, after), profile["ranks"], launcher, seconds)
    failed, set_up = first.measure(kinds, launcher, native, cores, after)
    result = predict(profile, gains, set_up, after)
    views.show(result, json_file, console.out())
    return max(status, failed)


def ranks_of(row: Row, world: int) -> int:
    """The ranks of the communicator: its name says so where the program gave it none."""
    match = re.match(r"of (\d+) ranks", row["communicator"])
    return min(int(match[1]), world) if match else world


def point_of(row: Row, world: int) -> tuple[str, int, int]:
    """What is measured for a row: operation, bytes, ranks. A class is taken at its middle."""
    size = row["bytes"]
    return row["operation"], size if size < 16 else size + size // 2, ranks_of(row, world)


def important(rows: list[Row], kinds: list[Row], after: int) -> list[Row]:
    """Of the rows that Sobor would serve, those that move data longest: nearly all of it."""
    theirs = [row for row in rows if first.served_share(kinds, row["communicator"], after) > 0]
    moving = sorted(theirs, key=_moving, reverse=True)
    whole, sum_, chosen = sum(map(_moving, theirs)), 0.0, []
    for row in moving[:MOST]:
        if sum_ >= SHARE * whole:
            break
        chosen.append(row)
        sum_ += _moving(row)
    return chosen


def _moving(row: Row) -> float:
    return row["total_us_mean"] - views.waiting_us(row)


def _measured(rows: list[Row], world: int, launcher: str, seconds: float) -> tuple[int, Gains]:
    """The status, as of the bench, and what Sobor gains at each point of the rows."""
    native, cores = find_native(), read_cpus(Files()).usable
    jobs: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        operation, size, ranks = point_of(row, world)
        if ranks > 1 and (operation == "barrier" or size > 0):
            jobs.setdefault((operation, ranks), set()).add(size or 8)
    gains, worst = {}, 0
    for (operation, ranks), sizes in jobs.items():
        request = make_request(
            native, collectives=operation, ranks=str(ranks),
            sizes=",".join(map(str, sorted(sizes))), variants="hot", launcher=launcher, peers=[],
            algorithms=None, seconds=seconds, seed=1, rounds=None, host_only=False, sync=None,
            libmpi=None, timeout=None,
        )  # fmt: skip
        status, measured = measure(request, native, cores)
        worst = max(worst, status)
        for row in measured:
            if row.get("ratio"):
                saved = row["host_us"] - row["sobor_us"]
                gains[operation, row["bytes"] or 0, ranks] = Gain(row["ratio"], saved)
    return worst, gains


def _moving_then(moving: float, calls: float, gain: Gain | None, share: float) -> float:
    """Of `share` of the calls each saves what it saves here, and not more than the ratio says."""
    if gain is None:
        return moving
    return max(moving * (share / gain.ratio + 1.0 - share), moving - share * calls * gain.saved_us)


def _point(row: Row, profile: Row, gains: Gains, after: int) -> Row:
    """A row with what is predicted of it."""
    waiting = views.waiting_us(row)
    share = first.served_share(profile.get("communicators", []), row["communicator"], after)
    is_hosts = row["served"] or share == 0.0
    gain = None if is_hosts else gains.get(point_of(row, profile["ranks"]))
    predicted = waiting + _moving_then(_moving(row), row["calls"], gain, share)
    return {
        **{key: row[key] for key in ("operation", "bytes", "communicator", "served")},
        "total_ms": row["total_us_mean"] / 1e3,
        "wait_ms": waiting / 1e3,
        "ratio": None if gain is None else gain.ratio,
        "predicted_ms": predicted / 1e3,
    }


def predict(
    profile: Row,
    gains: Gains,
    set_up: Sequence[Row] = (),
    after: int = 1,
) -> Row:
    """The profile's time in collectives with Sobor.

    Each call that Sobor would serve, from call number `after` of a communicator on, saves what it
    saves here, at most by the ratio: what it took in the program beyond that is of something else,
    as ranks without a processor. What first calls set up comes on top.
    """
    rows = list(of_any_rank(profile))
    points = [_point(row, profile, gains, after) for row in rows]
    of_host = sum(_moving(row) for row in rows if not row["served"])
    measured = (point["ratio"] is not None for point in points)
    covered = sum(map(_moving, itertools.compress(rows, measured)))
    # A rank's mean here too: not all ranks are in each communicator.
    once = [
        {
            **kind,
            "set_up_ms": kind["number"] * kind["ranks"] / profile["ranks"] * kind["first_us"] / 1e3,
        }
        for kind in set_up
    ]
    set_up_ms = sum(kind["set_up_ms"] for kind in once)
    return {
        **{key: profile[key] for key in ("wall_s", "ranks", "host")},
        "collective_s": sum(point["total_ms"] for point in points) / 1e3,
        "predicted_s": (sum(point["predicted_ms"] for point in points) + set_up_ms) / 1e3,
        "set_up_s": set_up_ms / 1e3,
        "set_up": once,
        "covered": covered / of_host if of_host else 0.0,
        "points": points,
    }
