# SPDX-License-Identifier: BSD-3-Clause
"""Compares what Sobor chooses with the best that it has, on simulated machines.

For every machine file with at least 64 cores on a node, 8, 16, half as many ranks as cores and as
many as cores, every collective operation with several algorithms, and sizes from 8 bytes to
64 KiB, or of few ranks up to 512 KiB: the simulated time of the algorithm that is chosen, over that
of the fastest of those that are chosen among. Each time is the median of 16 calls after others: 16,
one turn of a rank's slots, or as many as bring all of a ring into use and are behind the first
trial of the copy policy; of long ones that of 4 calls. An algorithm is left as soon as it is plain
that it takes longer than what is chosen.

And the same with other prices: how much longer what is chosen takes where lines and bytes are taken
to cost what they do on another of the machines, for what is chosen by the machine's own prices.

What is above LIMIT, or above SWAPPED_LIMIT with another machine's prices, is listed in
tests/sim/choice.json, and may not get worse. --check looks at few points, at all with
SOBOR_TEST_LONG=1, and ends with an error if one is above what is allowed. --write writes that file
and the table of docs/simulator.md.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from sobor.machines import Machine, read_machine  # noqa: E402
from sobor.native import Native, find_native  # noqa: E402
from sobor.sizes import short_size  # noqa: E402

PAGE = ROOT / "docs" / "simulator.md"
LISTED = ROOT / "tests" / "sim" / "choice.json"
BEGIN = "<!-- Written by scripts/compare_choice.py --write; do not edit. -->"
END = "<!-- End of the choices. -->"

LIMIT = 1.05
SWAPPED_LIMIT = 1.15
# What is listed may be worse by so much, and is worth a look if it is better by more.
SLACK = 1.02
CORES_LEAST = 64
# With so many the reductions of all cores are quickly simulated.
CORES_QUICK = 128
CALLS = 16
# Calls before those that are timed, where 16 are not enough: all of a ring that messages of that
# length go round in has been used once, and the copy policy, which tries another mode soon, is at
# none of its trials.
WARMUPS = {1024: 256, 4096: 160, 16384: 80}
SIZES = (8, 64, 256, 1024, 4096, 16384, 65536)
# Those of longer ones are few; a trial of the copy policy is over by then.
LONG_CALLS = (4, 40)
# Bytes of the simulator's element of a reduction.
ELEMENT = 8
# What all ranks together receive in one call: more takes minutes to simulate.
TOGETHER_MOST = 32_000_000
# Those with several algorithms; whose counts may differ, and Exscan, go as their siblings.
COLLECTIVES = (
    "barrier",
    "bcast",
    "allgather",
    "reduce",
    "allreduce",
    "reduce_scatter_block",
    "scan",
)
# Points of longer messages, of few ranks: of more they take minutes. Of reductions but those that
# deal parts out, the same one is far the fastest of all long ones.
LONG_ONES = (
    ("bcast", 16, 131072),
    ("bcast", 16, 524288),
    ("allgather", 8, 131072),
    ("reduce", 8, 131072),
    ("allreduce", 8, 131072),
    ("reduce_scatter_block", 8, 131072),
    ("reduce_scatter_block", 8, 524288),
    ("scan", 8, 131072),
)
# Their algorithms follow from the built-in prices alone, as the test unit.select looks for.
REDUCTIONS = COLLECTIVES[3:]


class Point(NamedTuple):
    """A call on a machine."""

    collective: str
    machine: str
    ranks: int
    bytes: int


@dataclass(frozen=True)
class Answer:
    """What was chosen, what is best, and how many times as long the former takes.

    The same for what is chosen by the prices of another machine, the worst, and by its own.
    """

    chosen: str
    best: str
    ratio: float
    swapped: float
    by: str


def cores_of(machine: Machine, native: Native) -> int:
    """Cores of one node."""
    return native.query("topology", "--machine", machine.topology)["cores"]


def large_machines(native: Native) -> dict[str, tuple[Machine, int]]:
    """The machine files that come with Sobor, of many cores, with their number."""
    files = sorted((ROOT / "share" / "sobor" / "machines").glob("*.json"))
    found = [(machine, cores_of(machine, native)) for machine in map(read_machine, files)]
    return {machine.name: (machine, cores) for machine, cores in found if cores >= CORES_LEAST}


def sizes_of(collective: str, ranks: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes that can be simulated; a barrier has none."""
    if collective == "barrier":
        return (0,)
    each = ranks * ranks if collective == "allgather" else ranks
    return tuple(size for size in sizes if size * each <= TOGETHER_MOST)


def all_points(cores: int, machine: str) -> Iterator[Point]:
    """Every point of a machine."""
    for collective in COLLECTIVES:
        for ranks in (8, 16, cores // 2, cores):
            for size in sizes_of(collective, ranks, SIZES):
                yield Point(collective, machine, ranks, size)
    for collective, ranks, size in LONG_ONES:
        yield Point(collective, machine, ranks, size)


def few_points(cores: int, machine: str) -> Iterator[Point]:
    """Some that are quickly simulated: around where one algorithm gives way to the next.

    Allgather, whose time grows with the square of the ranks, on half as many as cores at most; and
    on the largest machines reductions, which are chosen alike on all.
    """
    for collective in COLLECTIVES:
        half = collective == "allgather" or (collective in REDUCTIONS and cores > CORES_QUICK)
        many = cores // 2 if half else cores
        few = (64, 256, 4096) if collective == "reduce_scatter_block" else (64, 4096)
        for ranks, sizes in ((8, few), (16, (256,)), (many, (64,))):
            for size in sizes_of(collective, ranks, sizes):
                yield Point(collective, machine, ranks, size)


def prices_of(machine: Machine) -> str:
    """A line from another core of a NUMA node, and a byte copied from one, in nanoseconds."""
    line = float(machine.parameters["read_numa"].value)
    byte = 1 / float(machine.parameters["copy_numa"].value)
    return f"{line:g},{byte:g}"


def asked_bytes(point: Point) -> int:
    """What a call is chosen by: all have at least one element of a reduce_scatter_block."""
    if point.collective != "reduce_scatter_block":
        return point.bytes
    least = ELEMENT * point.ranks
    return (point.bytes + least - 1) // least * least


def calls_of(point: Point) -> tuple[int, int]:
    """Calls that are timed, and those before."""
    return LONG_CALLS if point.bytes > SIZES[-1] else (CALLS, warmups(point))


def warmups(point: Point) -> int:
    """Calls before those that are timed, where these are CALLS."""
    slow = point.collective in ("barrier", "allgather")
    return CALLS if slow else WARMUPS.get(point.bytes, CALLS)


def ask(point: Point, machine: Machine, native: Native, prices: str | None = None) -> Any:
    """What would be chosen, and the candidates, by built-in prices if no others are given."""
    words = [] if prices is None else ["--prices", prices]
    words += [] if machine.processor is None else ["--processor", machine.processor]
    return native.query(
        "choice", "--machine", machine.topology, "--ranks", str(point.ranks),
        "--collective", point.collective, "--bytes", str(asked_bytes(point)), *words,
    )  # fmt: skip


def candidates(answer: Any) -> list[str]:
    """What is chosen among."""
    rows = [row for row in answer["candidates"] if row["eligible"]]
    return [row["name"] for row in rows if row["expected_us"] is not None]


def simulate(
    point: Point, names: list[str], enough_us: float | None, machine: Machine, native: Native
) -> dict[str, float]:
    """Microseconds by algorithm; of what takes longer than `enough_us`, some that are more."""
    calls, before = calls_of(point)
    command = [
        str(native.simulator), point.collective, "--machine", str(machine.path),
        "--ranks", str(point.ranks), "--bytes", str(point.bytes), "--algorithm", ",".join(names),
        "--calls", str(calls), "--warmup", str(before),
    ]  # fmt: skip
    if enough_us is not None:
        command += ["--enough", str(round(enough_us * 1000))]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {answer.returncode}")
    return {row["algorithm"]: row["median_us"] for row in json.loads(answer.stdout)}


class Kept:
    """Times of earlier runs of this script with the same simulator: a whole run takes long."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.lock = Lock()
        self.times: dict[str, float] = {}
        if path is not None and path.exists():
            self.times = json.loads(path.read_text(encoding="utf-8"))

    def simulate(
        self,
        point: Point,
        names: list[str],
        machine: Machine,
        native: Native,
        enough_us: float | None = None,
    ) -> dict[str, float]:
        """As `simulate`, but for what is known."""
        how = () if enough_us is None else (enough_us,)
        keys = {name: " ".join(map(str, (*point, name, *how))) for name in names}
        missing = [name for name in names if keys[name] not in self.times]
        if missing:
            for name, us in simulate(point, missing, enough_us, machine, native).items():
                self.times[keys[name]] = us
            self.save()
        return {name: self.times[keys[name]] for name in names}

    def save(self) -> None:
        """For the next run, as it stands now: this one may be ended at any moment."""
        if self.path is None:
            return
        # Of the threads one writes at a time, and what is there is whole or that of before.
        with self.lock:
            new = self.path.with_name(self.path.name + ".new")
            new.write_text(json.dumps(self.times.copy(), indent=0) + "\n", encoding="utf-8")
            new.replace(self.path)


def compare(point: Point, machines: dict[str, Machine], native: Native, kept: Kept) -> Answer:
    """One point."""
    machine = machines[point.machine]
    answer = ask(point, machine, native)
    chosen = answer["algorithm"]
    priced = {point.machine: machine} if point.collective in REDUCTIONS else machines
    swapped = {
        name: ask(point, machine, native, prices_of(other))["algorithm"]
        for name, other in priced.items()
    }
    priced_names = list(dict.fromkeys([chosen, *swapped.values()]))
    times = kept.simulate(point, priced_names, machine, native)
    others = [name for name in candidates(answer) if name not in times]
    times |= kept.simulate(point, others, machine, native, min(times.values()))
    best = min(times, key=times.__getitem__)
    by = max(swapped, key=lambda name: times[swapped[name]])
    worse = times[swapped[by]] / times[swapped[point.machine]]
    return Answer(chosen, best, times[chosen] / times[best], worse, by)


def listed() -> dict[Point, dict[str, Any]]:
    """The points that are above a limit."""
    rows = json.loads(LISTED.read_text(encoding="utf-8"))
    return {Point(*(row[field] for field in Point._fields)): row for row in rows}


def is_high(answer: Answer) -> bool:
    """Whether it is to be listed."""
    return answer.ratio > LIMIT or answer.swapped > SWAPPED_LIMIT


def check(answers: dict[Point, Answer]) -> int:
    """Tells what is above what is allowed; how many times."""
    known = listed()
    wrong = []
    for point, answer in answers.items():
        row = known.get(point, {})
        most = max(LIMIT, row.get("ratio", 0) * SLACK)
        swapped_most = max(SWAPPED_LIMIT, row.get("swapped", 0) * SLACK)
        where = f"{point.collective}, {point.machine}, {point.ranks} ranks, {point.bytes} bytes"
        if answer.ratio > most:
            wrong.append(
                f"{where}: {answer.chosen} takes {answer.ratio:.3f} times as long as "
                f"{answer.best}; expected at most {most:.3f}"
            )
        if answer.swapped > swapped_most:
            wrong.append(
                f"{where}: by the prices of {answer.by} it takes {answer.swapped:.3f} times as "
                f"long; expected at most {swapped_most:.3f}"
            )
    worst = max(answer.ratio for answer in answers.values())
    print("\n".join([*wrong, f"{len(answers)} points, {len(wrong)} wrong; worst: {worst:.3f}"]))
    return len(wrong)


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(answers: dict[Point, Answer], machines: list[str]) -> Iterator[str]:
    """Mean and worst of each machine and collective."""
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for point, answer in answers.items():
        ratios[point.collective, point.machine].append(answer.ratio)
    heads = " | ".join(f"`{name}`" for name in machines)
    yield f"| mean, worst | {heads} |"
    yield "| --- |" + " ---: |" * len(machines)
    for collective in COLLECTIVES:
        cells = [ratios[collective, machine] for machine in machines]
        yield (
            f"| {collective} | " + " | ".join(f"{mean(c):.2f}, {max(c):.2f}" for c in cells) + " |"
        )


def exceptions(answers: dict[Point, Answer]) -> Iterator[str]:
    """The points above LIMIT, those of one choice on one line."""
    lines: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for point, answer in answers.items():
        if answer.ratio > LIMIT:
            key = (point.collective, point.machine, point.ranks, answer.chosen, answer.best)
            size = short_size(point.bytes) if point.bytes else "-"
            lines[key].append(f"{size}: {answer.ratio:.2f}")
    if not lines:
        return
    yield "| | machine | ranks | chosen | best | bytes: ratio |"
    yield "| --- | --- | ---: | --- | --- | --- |"
    for (collective, machine, ranks, chosen, best), cells in lines.items():
        yield (
            f"| {collective} | `{machine}` | {ranks} | `{chosen}` | `{best}` | {', '.join(cells)} |"
        )
    yield ""


def swaps(answers: dict[Point, Answer]) -> Iterator[str]:
    """The points where another machine's prices matter."""
    high = {p: a for p, a in answers.items() if a.swapped > SWAPPED_LIMIT}
    within = len(answers) - len(high)
    yield f"With the prices of another machine, {within} points within {SWAPPED_LIMIT}."
    if high:
        yield "Above:"
        yield ""
    for point, answer in high.items():
        size = f" of {short_size(point.bytes)}" if point.bytes else ""
        where = f"{point.collective}{size}, `{point.machine}`, {point.ranks} ranks"
        yield f"- {where}, by `{answer.by}`: {answer.swapped:.2f}"


def page_text(answers: dict[Point, Answer], machines: list[str]) -> str:
    """What is written between the marks."""
    ratios = [answer.ratio for answer in answers.values()]
    within = sum(ratio <= LIMIT for ratio in ratios)
    head = (
        f"{within} of {len(ratios)} points within {LIMIT}; geometric mean {mean(ratios):.3f}, "
        f"worst {max(ratios):.2f}."
    )
    lines = [head, "", *summary(answers, machines), "", *exceptions(answers), *swaps(answers)]
    return "\n".join([*lines, ""])


def write(answers: dict[Point, Answer], machines: list[str]) -> None:
    """The list of what is above the limits, and the table."""
    rows = [
        {
            **point._asdict(),
            **asdict(answer),
            "ratio": round(answer.ratio, 3),
            "swapped": round(answer.swapped, 3),
        }
        for point, answer in answers.items()
        if is_high(answer)
    ]
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    LISTED.write_text(f"[\n{lines}\n]\n" if rows else "[]\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        sys.exit(f"{PAGE}: expected the lines {BEGIN} and {END}")
    text = page_text(answers, machines)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    print(f"written to {LISTED} and {PAGE}", file=sys.stderr)


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if one is above what is allowed")
    parser.add_argument("--write", action="store_true", help="write the list and the table")
    parser.add_argument("--jobs", type=int, default=1, help="points at once")
    parser.add_argument(
        "--times",
        type=Path,
        help="a file that keeps what one build simulated",
    )
    return parser.parse_args()


def main() -> int:
    """Simulates, compares."""
    options = parse_options()
    short = options.check and os.environ.get("SOBOR_TEST_LONG", "") in ("", "0")
    native = find_native()
    found = large_machines(native)
    machines = {name: machine for name, (machine, _) in found.items()}
    choose = few_points if short else all_points
    points = [point for name, (_, cores) in found.items() for point in choose(cores, name)]
    points.sort(key=lambda point: COLLECTIVES.index(point.collective))
    kept = Kept(options.times)

    def one(point: Point) -> Answer:
        return compare(point, machines, native, kept)

    pool = ThreadPoolExecutor(options.jobs)
    try:
        answers = dict(zip(points, pool.map(one, points), strict=True))
    finally:
        pool.shutdown(cancel_futures=True)
    if options.write:
        write(answers, list(machines))
    if not options.check:
        print(page_text(answers, list(machines)))
        return 0
    return 1 if check(answers) else 0


sys.exit(main())
