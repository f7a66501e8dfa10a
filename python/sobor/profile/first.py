# SPDX-License-Identifier: BSD-3-Clause
"""What Sobor sets up in first calls: by a profile's communicators, measured on this machine."""

import os
import statistics
from typing import Any

from sobor import console, variables
from sobor.bench.job import run_launch
from sobor.bench.request import SIZELESS
from sobor.bench.target import Target, make_target
from sobor.errors import SoborError
from sobor.launchers import Forward, Launch, plan_launch
from sobor.native import Native
from sobor.run import HEAP
from sobor.sizes import counted

Row = dict[str, Any]
#: Operations of a kind of communicator, each with the bytes of its longest call.
Uses = tuple[tuple[str, int], ...]

#: Jobs of each kind of communicator, of which the median counts, and kinds at most.
_JOBS, _KINDS, _SECONDS = 3, 8, 60.0
_WORLD = "MPI_COMM_WORLD"


def serve_after(native: Native) -> int:
    """The call on a communicator from which on Sobor serves it."""
    known = {row["name"]: row["value"] for row in native.query("variables")}
    return int(known["SOBOR_SERVE_AFTER"])


def served_share(kinds: list[Row], communicator: str, after: int) -> float:
    """Of the calls on communicators of this name, those that Sobor would serve."""
    of_name = [kind for kind in kinds if kind["communicator"] == communicator]
    calls = sum(kind["number"] * kind["calls"] for kind in of_name)
    served = sum(kind["number"] * served_calls(kind, after) for kind in of_name)
    return served / calls if calls else 1.0


def served_calls(kind: Row, after: int) -> float:
    """Calls of such a communicator that Sobor would serve."""
    if kind["ranks"] < 2:
        return 0.0
    if kind["communicator"] == _WORLD:
        return kind["calls"]
    return max(0.0, kind["calls"] - after + 1)


def measure(
    kinds: list[Row], launcher: str, native: Native, cores: int, after: int
) -> tuple[int, list[Row]]:
    """The kinds of communicators that Sobor would serve, with what one of them takes to set up.

    Before them 1 if a job failed.
    """
    served = [kind for kind in kinds if served_calls(kind, after) > 0]
    target = make_target(launcher, native)
    priced, failed = {}, 0
    for kind in served:
        key = (kind["ranks"], _uses(kind))
        if key not in priced and len(priced) < _KINDS:
            priced[key] = _price(*key, target, native, cores)
            failed |= priced[key] is None
        priced.setdefault(key, None)
    return int(failed), [
        {**kind, "first_us": priced[kind["ranks"], _uses(kind)]}
        for kind in served
        if priced[kind["ranks"], _uses(kind)] is not None
    ]


def _uses(kind: Row) -> Uses:
    sized = {
        name: 0 if name in SIZELESS else size if size < 16 else size + size // 2
        for name, size in kind["operations"].items()
        if name in SIZELESS or size > 0
    }
    return tuple(sized.items())


def _price(ranks: int, uses: Uses, target: Target, native: Native, cores: int) -> float | None:
    """Microseconds by which first calls are longer than later ones, a rank's mean."""
    if not uses:
        return 0.0
    launch = _launch(ranks, uses, target, native, cores)
    sums = []
    for _ in range(_JOBS):
        outcome = run_launch(launch, _SECONDS, lambda _row: None)
        if outcome.problem or len(outcome.rows) < len(uses):
            problem = outcome.problem or "it ended before everything was measured"
            console.print_error(
                SoborError(f"{target.launcher.label}, {counted(ranks, 'rank')}: {problem}")
            )
            return None
        sums.append(sum(max(0.0, row["first_us"] - row["usual_us"]) for row in outcome.rows))
    return statistics.median(sums)


def _launch(ranks: int, uses: Uses, target: Target, native: Native, cores: int) -> Launch:
    command = [
        *target.start(ranks, cores),
        str(native.bench),
        *("--abi", target.library.abi, "--libmpi", str(target.library.path)),
        *("--first", "--collectives", ",".join(name for name, _size in uses)),
        *("--sizes", ",".join(str(size or 8) for _name, size in uses)),
    ]
    heap = str(native.heap) if variables.is_on(HEAP, {}, os.environ) else None
    forward = Forward(str(native.preload), variables.present(os.environ), {}, os.environ, heap)
    launch = plan_launch(command, forward)
    return Launch(launch.argv, {**launch.env, **target.environment(ranks > cores)}, launch.warnings)
