# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for sobor-bench: rows with made-up times, and the troubles that FAKE_BENCH names."""

import json
import os
import sys
import time

words = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
options = os.environ["FAKE_LAUNCHER_OPTIONS"].split()
ranks = int(options[options.index("-n") + 1])
trouble = os.environ.get("FAKE_BENCH", "")
host_only = "--host-only" in sys.argv
#: Of four cores, each with two hardware threads.
PROCESSORS = 8


def row(collective, size, variant, method=None, sync=None):
    forced = os.environ.get(f"SOBOR_{collective.upper()}_ALGORITHM", "auto")
    result = {"collective": collective, "ranks": ranks, "bytes": size, "variant": variant}
    result |= {"nodes": 2 if trouble == "behind-nodes" else 1, "processors": PROCESSORS}
    result |= {"oversubscribed": ranks > PROCESSORS, "method": method, "sync": sync}
    result |= {"algorithm": None if host_only else forced, "host": words["--abi"]}
    for name, value in figures(method, sync).items():
        known = not name.startswith(("sobor", "ratio")) or not host_only
        result |= {name: value if known else None}
        result |= {f"{name}_p10": value / 2 if known else None}
        result |= {f"{name}_p90": value * 2 if known else None}
    if method == "window":
        result |= {"host_late": 2, "sobor_late": 3}
    if "--limits" in sys.argv:
        result |= {
            "limit_ordinary_us": 1.9,
            "limit_wide_us": 1.7,
            "limit_non_temporal_us": 1.6,
            "limit_ratio": 1.25,
        }
    if trouble.startswith("behind") and size >= 4096:
        result |= {"host_us": 1.0, "ratio": 0.5}
    if trouble == "switches":
        result |= {"host_switches": 3.0, "sobor_switches": 1.5}
    return {**result, "calls": 100, "checked": True}


def figures(method, sync):
    """The host's own barrier lets its root go first, which hides two thirds of a call."""
    given = {"host_us": 6.0, "sobor_us": 2.0, "ratio": 3.0, "line_us": 0.1}
    if sync is None:
        return given
    if sync == "own":
        given |= {"host_us": 2.0, "ratio": 1.0}
    given |= {"host_skew_us": 4.0 if sync == "own" else 0.1, "host_span_us": 6.0}
    given |= {"sobor_skew_us": 0.1, "sobor_span_us": 2.0}
    if method == "single":
        given |= {"host_max_us": given["host_us"], "sobor_max_us": 2.0}
    return given


def ways(collective, variant):
    """The methods of a point, each with whose barrier comes before."""
    sync = words.get("--sync")
    if collective == "passthrough":
        return [(None, None)]
    found = []
    for method in words["--method"].split(","):
        if variant == "chain" and method != "sobor":
            continue
        plain = method in ("row", "window") or variant == "chain"
        plain = plain or (collective, method) == ("barrier", "sobor")
        both = ["own", "common"] if method == "single" else ["common"]
        found += [(method, each) for each in ([None] if plain else [sync] if sync else both)]
    return found


if os.environ.get("FAKE_ARGUMENTS"):
    with open(os.environ["FAKE_ARGUMENTS"], "a") as file:
        file.write(json.dumps(sys.argv[1:]) + "\n")
print("a line of the launcher that is no row")
for collective in words["--collectives"].split(","):
    points = [(0, "hot")]
    if collective not in ("barrier", "passthrough"):
        variants = words["--variants"].split(",")
        points = [(int(s), v) for s in words["--sizes"].split(",") for v in variants]
    for point in [(*each, *way) for each in points for way in ways(collective, each[1])]:
        print(json.dumps(row(collective, *point)), flush=True)
        if trouble == "fail":
            sys.exit("sobor-bench: bcast: wrong data")
        if trouble == "hang":
            time.sleep(60)
if trouble == "notice":
    print("sobor: shared memory not available (/dev/shm is full)", file=sys.stderr)
