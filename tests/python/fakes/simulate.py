# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for sobor-simulate: rows of its form, whose times follow from the arguments."""

import json
import os
import sys


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


TIMES = {"core": 1.0, "node": 1.0, "numa": 2.0, "socket": 1.5}
LINES = {"l2": 0, "l3": 900, "numa": 30, "package": 20, "machine": 10, "memory": 0}


def row(algorithm, factor, size):
    ranks = int(option("--ranks"))
    median = ranks * factor * TIMES[option("--map")]
    explored = option("--check") == "on"
    return {
        "collective": sys.argv[1],
        "algorithm": algorithm,
        "machine": option("--machine"),
        "map": option("--map"),
        "nodes": int(option("--nodes", "1")),
        "ranks": ranks,
        "bytes": size,
        "root": 0,
        "calls": int(option("--calls", "100")),
        "seed": int(option("--seed")),
        "arrival": option("--arrival", "none"),
        "median_us": None if explored else median,
        "max_us": None if explored else 2 * median,
        "mean_us": None if explored else median,
        "rank_mean_us": None if explored else 0.5 * median,
        "rank_max_us": None if explored else 0.75 * median,
        "p10_us": None if explored else 0.9 * median,
        "p90_us": None if explored else 1.1 * median,
        **({"lines": LINES} if option("--lines") == "on" else {}),
        **({"schedules": int(option("--schedules", "1"))} if explored else {}),
        "violations": json.loads(os.environ.get("FAKE_VIOLATIONS", "[]")),
    }


def main():
    if option("--set") == "SOBOR_X=1":
        print("sobor: --set: expected a variable of Sobor, found SOBOR_X", file=sys.stderr)
        sys.exit(2)
    names = option("--algorithm")
    chosen = {"all": ["flat", "tree"], "auto": ["flat"]}.get(names, names.split(","))
    sizes = [int(size) for size in option("--bytes", "0").split(",")]
    rows = [row(n, 0.1 * (i + 1), size) for size in sizes for i, n in enumerate(chosen)]
    if option("--timeline"):
        records = [
            {"rank": rank, "kind": kind, "begin_us": begin, "end_us": begin + 0.7}
            for rank in range(int(option("--ranks")))
            for begin, kind in enumerate(("wait", "copy", "notify"))
        ]
        with open(option("--timeline"), "w") as file:
            file.write(json.dumps({"records": records}))
    if os.environ.get("FAKE_ARGUMENTS"):
        with open(os.environ["FAKE_ARGUMENTS"], "a") as file:
            print(json.dumps(sys.argv[1:]), file=file)
    print(json.dumps(rows))
    if any(r["violations"] for r in rows):
        print("sobor: race between rank 0 and rank 1", file=sys.stderr)
        sys.exit(1)


main()
