#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds `sobor estimate` against what Sobor then takes: one command, profiled in turn.

usage: estimated.py [--rounds 7] [--launcher "mpirun --oversubscribe"] -- mpirun -n 4 ./app

The command runs with the host alone and with Sobor in turn. Of the host's profiles the one with the
median time in collectives is estimated; measured is the median of Sobor's.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SOBOR = str(Path(__file__).resolve().parents[2] / "sobor")


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def sobor(*words: str) -> None:
    """Runs the command; what the program says is of no interest here."""
    subprocess.run([SOBOR, *words], capture_output=True, check=True)


def profile(folder: Path, command: list[str], *settings: str) -> dict[str, Any]:
    """One profile."""
    file = folder / "profile.json"
    sobor("profile", *settings, "--json", str(file), "--", *command)
    return json.loads(file.read_text())


def points(profiled: dict[str, Any]) -> list[dict[str, Any]]:
    """The profile's rows as an estimate has them: means over all ranks, in milliseconds."""
    share = 1 / profiled["ranks"] / 1e3
    return [
        {**row, "total_ms": row["total_us_mean"] * row["members"] * share}
        for row in profiled["calls"]
    ]


def in_calls(profiled: dict[str, Any]) -> float:
    """Milliseconds of a rank in collectives."""
    return sum(row["total_ms"] for row in points(profiled))


def by_operation(rows: list[dict[str, Any]], key: str) -> dict[str, float]:
    """Milliseconds of each operation."""
    sums: dict[str, float] = {}
    for row in rows:
        sums[row["operation"]] = sums.get(row["operation"], 0.0) + row[key]
    return sums


def main() -> None:
    """Runs all, and prints the figures."""
    options = read_options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = [
            (
                profile(folder, options.command, "--set", "SOBOR=off"),
                profile(folder, options.command),
            )
            for _ in range(options.rounds)
        ]
        hosts = sorted((host for host, _ in pairs), key=in_calls)
        sobors = sorted((ours for _, ours in pairs), key=in_calls)
        host, ours = hosts[options.rounds // 2], sobors[options.rounds // 2]
        file, answer = folder / "host.json", folder / "estimate.json"
        file.write_text(json.dumps(host))
        sobor("estimate", "--launcher", options.launcher, "--json", str(answer), str(file))
        estimate = json.loads(answer.read_text())
    predicted, measured = estimate["predicted_s"] * 1e3, in_calls(ours)
    spread = " ".join(f"{in_calls(each):.2f}" for each in sobors)
    print(f"host {in_calls(host):.2f} ms, predicted {predicted:.2f}", end=", ")
    print(f"of it set up {estimate['set_up_s'] * 1e3:.2f}, measured {measured:.2f} ({spread})")
    print(f"predicted / measured {predicted / measured:.2f}")
    sides = (
        by_operation(points(host), "total_ms"),
        by_operation(estimate["points"], "predicted_ms"),
        by_operation(points(ours), "total_ms"),
    )
    print(f"{'ms of a rank':14}{'host':>9}{'predicted':>11}{'measured':>10}")
    for operation in sorted(sides[0]):
        now, then, found = (side.get(operation, 0.0) for side in sides)
        print(f"{operation:14}{now:9.2f}{then:11.2f}{found:10.2f}")
    print(f"{'set up':14}{'':9}{estimate['set_up_s'] * 1e3:11.2f}")


if __name__ == "__main__":
    main()
