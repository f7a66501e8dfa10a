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


def row(collective, size, variant):
    forced = os.environ.get(f"SOBOR_{collective.upper()}_ALGORITHM", "auto")
    result = {"collective": collective, "ranks": ranks, "bytes": size, "variant": variant}
    result |= {"algorithm": None if host_only else forced, "host": words["--abi"]}
    for name, value in (("host_us", 6.0), ("sobor_us", 2.0), ("ratio", 3.0)):
        known = name == "host_us" or not host_only
        result |= {name: value if known else None}
        result |= {f"{name}_p10": value / 2 if known else None}
        result |= {f"{name}_p90": value * 2 if known else None}
    if trouble == "switches":
        result |= {"host_switches": 3.0, "sobor_switches": 1.5, "line_us": 0.1}
    return {**result, "calls": 100, "checked": True}


print("a line of the launcher that is no row")
for collective in words["--collectives"].split(","):
    points = [(0, "hot")]
    if collective not in ("barrier", "passthrough"):
        variants = words["--variants"].split(",")
        points = [(int(s), v) for s in words["--sizes"].split(",") for v in variants]
    for size, variant in points:
        print(json.dumps(row(collective, size, variant)), flush=True)
        if trouble == "fail":
            sys.exit("sobor-bench: bcast: wrong data")
        if trouble == "hang":
            time.sleep(60)
if trouble == "notice":
    print("sobor: shared memory not available (/dev/shm is full)", file=sys.stderr)
