# SPDX-License-Identifier: BSD-3-Clause
"""What is in the files of sobor profile --json and sobor estimate --json."""

from typing import Any

from sobor.inputs import (
    COUNT,
    KNOWN_OR_NOT,
    NUMBER,
    POSITIVE,
    SIZE,
    SWITCH,
    TEXT,
    Each,
    Optional,
    check_shape,
)

_CALL = {"operation": TEXT, "bytes": SIZE, "communicator": TEXT}
_KIND = {"communicator": TEXT, "number": COUNT, "operations": Each(SIZE)}

_PROFILE = {
    **{"wall_s": POSITIVE, "ranks": COUNT, "host": TEXT},
    "calls": [
        {
            **_CALL,
            **{"served": SWITCH, "members": COUNT, "calls": NUMBER, "wait_us_mean": KNOWN_OR_NOT},
            **{f"total_us_{name}": NUMBER for name in ("min", "mean", "max")},
        }
    ],
    "other": [{"function": TEXT, "calls": NUMBER}],
    "communicators": Optional([{**_KIND, "ranks": COUNT, "calls": NUMBER}]),
}
_COMPARISON = {
    **{"command": TEXT, "rounds": COUNT, "ranks": COUNT, "host": TEXT},
    **{"host_s": [NUMBER], "sobor_s": [NUMBER], "ratio": NUMBER},
    **{"ratio_low": KNOWN_OR_NOT, "ratio_high": KNOWN_OR_NOT},
    "operations": [{"operation": TEXT, "host_s": NUMBER, "sobor_s": NUMBER}],
}
_ESTIMATE = {
    **{"wall_s": NUMBER, "ranks": COUNT, "host": TEXT, "covered": NUMBER},
    **{"collective_s": NUMBER, "predicted_s": NUMBER, "set_up_s": Optional(NUMBER)},
    "set_up": Optional([{**_KIND, "first_us": NUMBER, "set_up_ms": NUMBER}]),
    "points": [
        {
            **_CALL,
            **{"total_ms": NUMBER, "wait_ms": NUMBER, "predicted_ms": NUMBER},
            "ratio": KNOWN_OR_NOT,
        }
    ],
}
_SHAPES = {"profile": _PROFILE, "comparison": _COMPARISON, "estimate": _ESTIMATE}


def check(file: str, kind: str, result: dict[str, Any]) -> None:
    """Refuses what was changed, or is of a version that wrote something else."""
    check_shape(file, result, _SHAPES[kind])
