# SPDX-License-Identifier: BSD-3-Clause
"""Compares the simulator with this machine, and writes the table of docs/simulator.md.

Measures the machine (sobor simulate --calibrate), times every algorithm with two ranks (sobor
bench), simulates the same on the measured machine, and shows both side by side. With --write the
table in docs/simulator.md is replaced. Nothing else should run meanwhile.

A virtual machine's cores may be near each other now and far apart a second later. So all is
measured in several rounds, the machine and the points in turn: of each point, and of each number of
the machine, the median counts. What a call costs besides its algorithm (Sobor's wrapper, and with a
broadcast the clock and ranks that do not begin together) cannot be measured by itself: it is taken
from one point of each collective, the barrier of one exchange that is fastest and the shortest
broadcast in slots.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from sobor.machines import Machine, read_machine  # noqa: E402
from sobor.native import find_native  # noqa: E402
from sobor.sizes import parse_sizes, short_size  # noqa: E402

PAGE = ROOT / "docs" / "simulator.md"
BEGIN = "<!-- Written by scripts/compare_simulator.py --write; do not edit. -->"
END = "<!-- End of the comparison. -->"
RANKS = 2
CALLS = 200
# Calls before, where the root has to find out how to write into its ring: three laps of it.
LAPS_BYTES = 13 << 20
WARMUP_MOST = 4000
# The points that say what a call costs: those of them that are measured, the fastest.
CALL_FROM = {
    "barrier": [("flat", 0), ("exchange", 0), ("dissemination", 0)],
    "bcast": [("slots", 8)],
}

Point = tuple[str, str, int]  # collective, algorithm, bytes


def sobor(*arguments: str) -> str:
    """Runs the sobor command of this checkout and returns its output."""
    command = [str(ROOT / "sobor"), *arguments]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {answer.returncode}")
    return answer.stdout


def algorithms(collective: str) -> list[str]:
    """All algorithms of a collective."""
    known = find_native().query("algorithms")
    return [entry["name"] for entry in known if entry["collective"] == collective]


def measure(collective: str, options: argparse.Namespace) -> dict[Point, float]:
    """Microseconds by sobor bench; what an algorithm does not do itself is left out."""
    forced = ",".join(f"{collective}:{name}" for name in algorithms(collective))
    words = ["bench", collective, "--ranks", str(RANKS), "--launcher", options.launcher]
    words += ["--algorithms", forced, "--seconds", str(options.bench_seconds), "--json", "-"]
    if collective == "bcast":
        words += [
            "--sizes",
            ",".join(map(str, options.sizes)),
            "--variants",
            "hot",
            "--sync",
            "common",
        ]
    rows = json.loads(sobor(*words))
    times: dict[Point, float] = {}
    for row in rows:
        if row["algorithm"] in (None, "host") or row["sobor_us"] is None:
            continue
        point = (collective, row["algorithm"], row["bytes"])
        times[point] = min(row["sobor_us"], times.get(point, row["sobor_us"]))
    return times


def simulate(collective: str, machine: Path, *words: str) -> dict[Point, float]:
    """Mean microseconds by sobor simulate."""
    fixed = ["simulate", collective, "--machine", str(machine), "--ranks", str(RANKS)]
    fixed += ["--algorithm", "all", "--calls", str(CALLS), "--json", "-"]
    rows = json.loads(sobor(*fixed, *words))
    return {(row["collective"], row["algorithm"], row["bytes"]): row["mean_us"] for row in rows}


def predict(collective: str, machine: Path, sizes: list[int]) -> dict[Point, float]:
    """Microseconds of all points, in calls that follow one another as they do in sobor bench."""
    if collective == "barrier":
        return simulate(collective, machine, "--sync", "chain")
    points: dict[Point, float] = {}
    for size in sizes:
        warmup = str(max(5, min(LAPS_BYTES // size, WARMUP_MOST) if size >= 4096 else 5))
        words = ("--sync", "barrier", "--bytes", str(size), "--warmup", warmup)
        points |= simulate(collective, machine, *words)
    return points


def calibrate(folder: Path, number: int, options: argparse.Namespace) -> Path:
    """Measures the machine."""
    file = folder / f"here{number}.json"
    sobor("simulate", "--calibrate", str(file), "--seconds", str(options.seconds))
    return file


def usual(rounds: list[dict[Point, float]]) -> dict[Point, float]:
    """Of each point the median of its times."""
    points = dict.fromkeys(point for times in rounds for point in times)
    return {point: median(t[point] for t in rounds if point in t) for point in points}


def usual_machine(folder: Path, files: list[Path]) -> Path:
    """The machine with the median of each number."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    made = folder / "usual.json"
    for name, number in found[0]["parameters"].items():
        number["value"] = median(each["parameters"][name]["value"] for each in found)
    made.write_text(json.dumps(found[0]), encoding="utf-8")
    return made


def with_call(
    collective: str, file: Path, measured: dict[Point, float], predicted: dict[Point, float]
) -> Path:
    """The machine with the cost of a call that makes the point it is taken from come out right."""
    points = [(collective, name, size) for name, size in CALL_FROM[collective]]
    known = [point for point in points if point in measured and point in predicted]
    if not known:
        return file
    missing = min(measured[point] - predicted[point] for point in known)
    description = json.loads(file.read_text(encoding="utf-8"))
    description["parameters"]["call"] = {
        "value": round(max(missing, 0) * 1000, 1),
        "unit": "ns",
        "source": f"measured less predicted time of the {collective} that says most about it",
        "assumed": False,
    }
    made = file.with_name(f"{collective}.json")
    made.write_text(json.dumps(description), encoding="utf-8")
    return made


def figure(value: float) -> str:
    """Three digits that count."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def table(
    machine: Machine,
    measured: dict[Point, float],
    predicted: dict[Point, float],
    calls: dict[str, float],
) -> str:
    """The comparison as Markdown, with a summary."""
    points = [point for point in measured if point in predicted]
    ratios = [predicted[point] / measured[point] for point in points]
    factors = [max(ratio, 1 / ratio) for ratio in ratios]
    near = sum(factor <= 1.5 for factor in factors)
    lines = [
        f"{machine.title}; two ranks under Open MPI; {date.today().isoformat()}.",
        "",
        "| collective | algorithm | bytes | measured, µs | predicted, µs | predicted / measured |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for point, ratio in zip(points, ratios, strict=True):
        collective, algorithm, size = point
        times = f"{figure(measured[point])} | {figure(predicted[point])} | {ratio:.2f}"
        shown = short_size(size) if size else "-"
        lines.append(f"| {collective} | `{algorithm}` | {shown} | {times} |")
    lines += ["", f"Within a factor of 1.5: {near} of {len(points)}; worst: {max(factors):.2f}."]
    lines += ["", *_numbers(machine)]
    shown = ", ".join(f"{collective} {cost:g} ns" for collective, cost in calls.items())
    lines += ["", f"A call besides its algorithm: {shown}."]
    return "\n".join(lines) + "\n"


def _numbers(machine: Machine) -> list[str]:
    """The numbers that matter most between two cores."""
    names = ("read_l3", "read_numa", "read_machine", "invalidate_l3", "invalidate_machine")
    names = (*names, "copy_core", "copy_l3", "copy_numa", "memory_numa", "pause", "clock")
    shown = [
        f"`{name}` {machine.parameters[name].value:g} {machine.parameters[name].unit}"
        for name in names
        if name in machine.parameters and not machine.parameters[name].assumed
    ]
    return ["Measured for it: " + ", ".join(shown) + "."]


def write_page(text: str) -> None:
    """Puts the table into docs/simulator.md."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        sys.exit(f"{PAGE}: expected the lines {BEGIN} and {END}")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    print(f"written to {PAGE}", file=sys.stderr)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="replace the table in docs/simulator.md"
    )
    parser.add_argument("--machine", type=Path, help="a machine file, instead of measuring one now")
    parser.add_argument("--rounds", type=int, default=5, help="of measurement")
    parser.add_argument("--seconds", type=float, default=5, help="for measuring the machine")
    parser.add_argument("--bench-seconds", type=float, default=0.15, help="for each point")
    parser.add_argument("--sizes", default="8,1K,16K,64K,256K,1M,4M", help="of the broadcasts")
    parser.add_argument("--launcher", default="mpirun.openmpi", help="of Open MPI")
    parser.add_argument("--json", type=Path, help="write the points to this file")
    options = parser.parse_args()
    options.sizes = parse_sizes(options.sizes, "--sizes")
    return options


def main() -> None:
    """Measures, simulates, compares."""
    options = parse_options()
    rounds: list[dict[Point, float]] = []
    predicted: dict[Point, Any] = {}
    files: list[Path] = []
    with tempfile.TemporaryDirectory(prefix="sobor-") as folder:
        for number in range(options.rounds):
            files.append(options.machine or calibrate(Path(folder), number, options))
            rounds += [measure(collective, options) for collective in ("barrier", "bcast")]
        measured = usual(rounds)
        usually = usual_machine(Path(folder), files)
        calls: dict[str, float] = {}
        for collective in ("barrier", "bcast"):
            bare = predict(collective, usually, options.sizes)
            file = with_call(collective, usually, measured, bare)
            predicted |= predict(collective, file, options.sizes)
            calls[collective] = read_machine(file).parameters["call"].value
        machine = read_machine(usually)
    text = table(machine, measured, predicted, calls)
    print(text, end="")
    if options.json is not None:
        rows = [
            {"collective": c, "algorithm": a, "bytes": b, "measured_us": measured[c, a, b],
             "predicted_us": predicted[c, a, b]}
            for c, a, b in measured if (c, a, b) in predicted
        ]  # fmt: skip
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if options.write:
        write_page(text)


if __name__ == "__main__":
    main()
